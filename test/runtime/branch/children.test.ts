/** Children: sessions that a session opens itself, what they get and give back, and their end with it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ModelCall } from "../../../src/model/port.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { cases, kind } from "../../kind.ts";
import { madeWorld } from "../made-world.ts";
import { workspace } from "../place.ts";
import { engineWith, scripted, use, type Line } from "../turn/scripted.ts";

const world = realWorld();
const until = async (holds: () => Promise<boolean>, ms = 30_000): Promise<void> => {
  for (const end = world.now() + ms; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(5);
  }
};

/** A model that answers by what the objective of the session is, and how often it was asked for it. */
function byObjective(lines: Readonly<Record<string, readonly Line[]>>) {
  const counts = new Map<string, number>();
  return scripted([
    (call: ModelCall) => {
      const text = JSON.stringify(call.parts.filter(({ part }) => part === "system"));
      const isFork = JSON.stringify(call.parts).includes("You are a fork of the session");
      const [own = ""] = Object.keys(lines).filter((one) => text.includes(one));
      const name = isFork ? "a fork" : own;
      const count = counts.get(name) ?? 0;
      counts.set(name, count + 1);
      return lines[name]?.[count] ?? "Nothing more.";
    },
  ]);
}

const childOf = async (engine: Engine, text: string): Promise<Session> => {
  const { rows } = await engine.sessions({ text });
  return engine.session(rows[0]!.session);
};
const stands = async (session: Session) => (await session.fold()).standing;
const allotments = async (session: Session) => {
  const found: unknown[] = [];
  for await (const { body } of session.events({ types: ["budget.allotted"] })) {
    const { session: other, direction, amounts } = body as Record<string, unknown>;
    found.push([direction, other, amounts]);
  }
  return found;
};

test("a parent waits for a child until it ends; the child's result wakes the parent", async () => {
  const script = byObjective({
    "Plan the trip": [
      [use("open", { objective: "Book the hotel", budget: { steps: 5 }, wait: true })],
      "I wait.",
    ],
    "Book the hotel": [[use("record", { kind: "fact", key: "hotel", value: "Adler" })], "Booked."],
  });
  await using engine = engineWith(script);
  const parent = await engine.open({ name: "Trip", objective: "Plan the trip", budget: { steps: 20 } });
  await parent.input("Go");
  await using _ = await engine.work({ name: "one" });
  await using __ = await engine.work({ name: "two" });
  await until(async () => (await stands(parent)).lastTurn === 2 && (await stands(parent)).status === "open");
  const child = await childOf(engine, "hotel");
  for (const one of [parent, child]) {
    const { nodes } = await one.lineage();
    assert.deepEqual(
      nodes.map(({ session, relation, parent: from }) => [session, relation, from?.session]),
      [
        [parent.id, null, undefined],
        [child.id, "child", parent.id],
      ],
    );
  }
  const { status, why, parent: by, depth, used } = await stands(child);
  assert.deepEqual(
    [status, why?.by, by?.session, depth, used.steps],
    ["closed", "completed", parent.id, 1, 2],
  );
  assert.deepEqual(await allotments(child), [
    ["got", parent.id, { steps: 5 }],
    ["returned", parent.id, { steps: 3 }],
  ]);
  assert.deepEqual(await allotments(parent), [
    ["given", child.id, { steps: 5 }],
    ["regained", child.id, { steps: 3 }],
  ]);
  const { limits, allotted, used: own } = await stands(parent);
  assert.deepEqual([limits.steps, allotted.steps, own.steps], [20, 2, 3]);
  const last = JSON.stringify(script.calls.at(-1)!.parts.at(-1));
  assert.match(last, /the session that you waited for has ended/);
  assert.match(last, /Adler/);
  assert.equal((await engine.verify()).ok, true);
});

test("a child has its parent's bindings and rules, and nothing that another agent is bound to", async () => {
  const script = byObjective({
    "Lead it": [[use("open", { objective: "Look around", agent: "scout", name: "scout" })], "Done."],
  });
  await using engine = engineWith(script);
  await engine.addAgent({
    name: "lead",
    instructions: "Lead.",
    permissions: [{ tool: "shell", rule: "deny" }],
  });
  await engine.addAgent({
    name: "scout",
    instructions: "Scout.",
    bind: [{ kind: "directory", path: "/" }],
    permissions: [{ tool: "*", rule: "allow" }],
  });
  const bind = [{ kind: "shell", path: process.cwd() }] as const;
  const parent = await engine.open({ objective: "Lead it", agent: "lead", bind, labels: { plan: "x" } });
  await parent.input("Go");
  await parent.run();
  const child = await childOf(engine, "Look around");
  const { bindings, permissions, agent, labels } = await stands(child);
  assert.deepEqual([[...bindings.keys()], agent?.name, labels.size], [["shell"], "scout", 0]);
  assert.deepEqual(
    [...permissions.entries()].map(([name, { tool, rule }]) => [name, tool, rule]),
    [["parent-1", "shell", "deny"]],
  );
});

test("a parent reads the log of a child that a pointer leads to, and no other", async () => {
  let ending = "";
  const script = byObjective({
    "Plan it": [
      [use("open", { objective: "Dig for it", wait: true })],
      "I wait.",
      () => [
        use("recall", { session: ending, fromSeq: 1 }),
        use("recall", { session: "zzzzzz", fromSeq: 1 }, "b"),
      ],
      "Read.",
    ],
  });
  await using engine = engineWith(script);
  const parent = await engine.open({ objective: "Plan it" });
  await parent.input("Go");
  await parent.run();
  const child = await childOf(engine, "Dig for it");
  ending = child.id.slice(-8);
  await using _ = await engine.work();
  await until(async () => (await stands(parent)).lastTurn === 2 && (await stands(parent)).status === "open");
  const results = JSON.stringify(script.calls.at(-1)!.parts.at(-1));
  assert.match(results, /session\.opened/);
  assert.match(results, /is not a predecessor/);
});

test("the model gets an error for an unknown agent and for more than the remaining budget", async () => {
  const script = scripted([
    [
      use("open", { objective: "X", agent: "nobody" }, "a"),
      use("open", { objective: "X", budget: { steps: 99 } }, "b"),
    ],
    "Well.",
  ]);
  await using engine = engineWith(script);
  const parent = await engine.open({ objective: "Try", budget: { steps: 20 } });
  await parent.input("Go");
  await parent.run();
  const results = JSON.stringify(script.calls[1]!.parts.at(-1));
  assert.match(results, /nobody/);
  assert.match(results, /budget: steps: expected at most \d+, got 99/);
  assert.equal((await engine.sessions()).rows.length, 1);
});

test("children open children, up to a depth", async () => {
  const script = scripted([
    (call) =>
      call.parts.filter(({ part }) => part === "message").length === 1
        ? [use("open", { objective: "Dig", wait: true })]
        : "Deep enough.",
  ]);
  await using engine = engineWith(script);
  const root = await engine.open({ objective: "Dig" });
  await root.input("Go");
  await using _ = await engine.work();
  await until(async () => (await stands(root)).lastTurn === 2 && (await stands(root)).status === "open");
  const { rows } = await engine.sessions({ limit: 100 });
  assert.equal(rows.length, 9);
  const deepest = await Promise.all(
    rows.map(async ({ session }) => (await stands(await engine.session(session))).depth),
  );
  assert.deepEqual(
    deepest.toSorted((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
  );
});

test("a fork that a model makes works on its objective, returns the rest, and its parent waits", async () => {
  for (const wait of [true, false]) {
    const lines: Line[] = [
      [use("fork", { objective: "Ask the hotel", ...(wait ? { wait } : {}) })],
      wait ? "I wait." : "Go on without me.",
    ];
    const script = scripted([
      (call: ModelCall) => {
        const text = JSON.stringify(call.parts);
        if (!text.includes("You are a fork of the session")) return lines.shift() ?? "It is booked.";
        if (text.includes("recorded fact hotel")) return "Booked.";
        return [use("record", { kind: "fact", key: "hotel", value: "Adler" })];
      },
    ]);
    await using engine = engineWith(script);
    const parent = await engine.open({ name: "Trip", objective: "Plan the trip", budget: { steps: 20 } });
    await parent.input("Go");
    await using _ = await engine.work({ name: "one" });
    await until(async () => (await engine.sessions({ text: "Ask the hotel" })).rows.length === 1);
    const child = await childOf(engine, "Ask the hotel");
    await until(async () => (await stands(child)).status === "closed");
    await until(async () => (await stands(parent)).lastTurn === (wait ? 2 : 1));
    await until(async () => (await stands(parent)).status === "open");
    const { why, depth, used } = await stands(child);
    assert.deepEqual([why?.by, depth, used.steps], ["completed", 1, 2]);
    assert.equal((await engine.sessions({ text: "Ask the hotel" })).rows[0]?.name, "Ask the hotel");
    const inputs: string[] = [];
    for await (const { content, seq } of child.events({ types: ["input.received"] }))
      if (seq > (await stands(child)).fork!.seq) inputs.push(JSON.stringify(content));
    assert.equal(inputs.length, 1);
    assert.match(inputs[0]!, /Ask the hotel/);
    // A quarter of what was left was given, and what was not used came back.
    assert.deepEqual((await stands(parent)).allotted.steps, 2);
    const told = (await Array.fromAsync(parent.events({ types: ["input.received"] }))).slice(1);
    assert.equal(told.length, wait ? 1 : 0);
    if (wait) assert.match(JSON.stringify(told[0]!.content), /that you waited for has ended.*hotel: Adler/s);
    assert.equal((await engine.verify()).ok, true);
  }
});

test("cancelling the tree ends the deepest first, and unused budget returns to the top", async () => {
  const script = byObjective({
    Top: [
      [
        use("open", { objective: "Middle", budget: { steps: 10 }, wait: true }),
        use("fork", { objective: "Beside" }),
      ],
      "I wait.",
    ],
    Middle: [[use("open", { objective: "Bottom", budget: { steps: 4 }, wait: true })], "I wait."],
    Bottom: [[use("sleep", {})], "Asleep."],
    "a fork": [[use("sleep", {})], "Asleep."],
  });
  await using engine = engineWith(script);
  const top = await engine.open({ objective: "Top", budget: { steps: 40 } });
  await top.input("Go");
  await using worker = await engine.work();
  const sleeps = async (text: string) => (await engine.sessions({ text })).rows[0]?.status === "sleeping";
  const isAsleep = async () => (await stands(top)).status === "sleeping";
  await until(async () => (await sleeps("Bottom")) && (await sleeps("Beside")) && (await isAsleep()));
  await worker.stop();
  const middle = await childOf(engine, "Middle");
  const bottom = await childOf(engine, "Bottom");
  const beside = await childOf(engine, "Beside");
  const done = await top.cancel({ tree: true, reason: "enough" });
  const order = done.cancelled!;
  assert.deepEqual(new Set(order), new Set([middle.id, bottom.id, beside.id, top.id]));
  assert.ok(order.indexOf(bottom.id) < order.indexOf(middle.id));
  assert.equal(order.at(-1), top.id);
  const { used, allotted } = await stands(top);
  let spent = 0;
  for (const one of [middle, bottom, beside]) spent += (await stands(one)).used.steps;
  assert.deepEqual([used.steps, allotted.steps], [2, spent]);
  for (const one of [middle, bottom, beside]) assert.equal((await stands(one)).why?.by, "cancelled");
});

test("an ended parent passes returned budget on; a missing one gets nothing", async () => {
  const script = byObjective({
    Top: [[use("open", { objective: "Middle", budget: { steps: 10 } })], "Done."],
    Middle: [[use("open", { objective: "Bottom", budget: { steps: 4 } })], "Done."],
  });
  for (const gone of [false, true]) {
    const fresh = byObjective({
      Top: [[use("open", { objective: "Middle", budget: { steps: 10 } })], "Done."],
      Middle: [[use("open", { objective: "Bottom", budget: { steps: 4 } })], "Done."],
    });
    await using engine = engineWith(gone ? script : fresh);
    const top = await engine.open({ objective: "Top", budget: { steps: 40 } });
    await top.input("Go");
    await top.run();
    const middle = await childOf(engine, "Middle");
    await middle.run();
    const bottom = await childOf(engine, "Bottom");
    assert.equal((await stands(middle)).status, "closed");
    assert.equal((await stands(top)).allotted.steps, 6);
    if (gone) await engine.delete(middle.id);
    await bottom.close();
    assert.equal((await stands(top)).allotted.steps, gone ? 6 : 2);
    assert.equal((await allotments(bottom)).length, gone ? 1 : 2);
    // Reopened and closed again, it has nothing more to give back.
    await bottom.reopen();
    await bottom.budget({ steps: 100 });
    await bottom.close();
    assert.equal((await stands(top)).allotted.steps, gone ? 6 : 2);
    assert.equal((await engine.verify()).ok, true);
  }
});

test("unused time is returned: up to the last record for a dead process", async () => {
  const made = madeWorld();
  const clock = { ...made, isGone: (holder: string) => holder === "dead" };
  const script = scripted([[use("fork", { objective: "Part", budget: { wallMs: 60_000 } })], "Done."]);
  for (const end of ["cancel", "close", "clear", "delete"] as const) {
    for (const [holder, afterMs, counted] of [
      ["dead", 5_000, 0],
      ["lost", 20_000, 0],
      ["live", 5_000, 5_000],
    ] as const) {
      await using engine = engineWith(script, { world: clock });
      script.calls.length = 0;
      const parent = await engine.open({ objective: "Whole", budget: { wallMs: 100_000 } });
      await parent.input("Go");
      await parent.run();
      const child = await childOf(engine, "Part");
      await child.input("Go on");
      const drive = await child.drive({ holder });
      await drive.begin();
      made.pass(2_000);
      await drive.request({ model: "test/scripted" });
      made.pass(afterMs);
      // What runs can only be cancelled.
      if (end !== "cancel") await child.suspend();
      if (end === "delete") await engine.delete(child.id);
      // What is left goes on with the next session, and comes back at its end.
      else if (end === "clear") await (await child.clear()).close();
      else await child[end]();
      assert.equal((await stands(parent)).allotted.wallMs, 2_000 + counted, `${end} ${holder}`);
    }
  }
});

test("however they end, and in whatever order, nothing is lost or doubled", async () => {
  const ends = fc.array(
    fc.record({
      ask: fc.integer({ min: 1, max: 5 }),
      turns: fc.integer({ min: 0, max: 2 }),
      end: fc.constantFrom("close", "cancel", "clear", "delete", "leave"),
      twice: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(ends, async (children) => {
      const store = kind().store({ world, workspace });
      const calls = children.map(({ ask }, place) =>
        use("fork", { objective: `Part ${place}`, budget: { steps: ask } }, `c${place}`),
      );
      const script = scripted([calls, "Done."]);
      await using engine = engineWith(script, { store });
      const parent = await engine.open({ objective: "Whole", budget: { steps: 50 } });
      await parent.input("Go");
      await parent.run();
      let [out, spent] = [0, 0];
      for (const [place, { ask, turns, end, twice }] of children.entries()) {
        const child = await childOf(engine, `Part ${place}`);
        // It ends by itself when it has done what it was forked for.
        for (let turn = 0; turn < turns && (await stands(child)).status !== "closed"; turn++) {
          await child.input("Go on");
          await child.run();
        }
        const { used: amounts, status } = await stands(child);
        const used = amounts.steps;
        assert.ok(used <= ask);
        if (status === "closed") spent += used;
        else if (end === "leave") out += ask;
        else {
          if (end === "delete") await engine.delete(child.id);
          else if (end === "clear") await (await child.clear()).close();
          else await child[end]();
          spent += used;
        }
        if (end === "close" && twice && status !== "closed") {
          await child.reopen();
          await child.cancel();
        }
      }
      const { limits, used, allotted } = await stands(parent);
      assert.deepEqual([limits.steps, used.steps, allotted.steps], [50, 2, out + spent]);
    }),
    cases(30),
  );
});
