/** Handoffs of living sessions: written once, found again, and what the next session starts with. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { SkeinError } from "../../../src/core/error.ts";
import { limit } from "../../../src/core/limit.ts";
import { offlineModel } from "../../../src/model/offline.ts";
import { ModelError } from "../../../src/model/port.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { makeTokenizer } from "../../../src/runtime/turn/tokenizer.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { atLength, kind } from "../../kind.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { lastText } from "../turn/outgrown.ts";
import { all, inMemory, workspace } from "../place.ts";
import { rawDraft, writeRaw } from "../raw.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";
import { livedIn, twoInMemory } from "../two-stores.ts";

const typesOf = async (session: Session): Promise<string[]> =>
  (await all(session.events())).map(({ type }) => type);

/** The handoff that a session began with. */
async function handoffIn(session: Session): Promise<{ readonly path: string; readonly text: string }> {
  const [document] = await all(session.events({ types: ["document.loaded"] }));
  return document?.content as { path: string; text: string };
}

const loadedFrom = async (session: Session): Promise<string> => (await handoffIn(session)).path;

const pointer = (session: Session, seq: number): string => `[${session.id.slice(-8)}@${seq}]`;

test(
  "of 2,000 events and 40 decisions and tasks a fresh session knows each, in 4,000 tokens",
  { skip: atLength() },
  async () => {
    await using place = inMemory();
    const { engine, world } = place;
    const session = await engine.open({ objective: "Move the payroll to the new rates" });
    const filler = Array.from({ length: 100 }, (_, at) => ({
      type: "x.noise",
      body: { at },
      content: "words ".repeat(20),
    }));
    const stale: string[] = [];
    const reason = "the auditors asked for it in the last review";
    for (let round = 0; round < 20; round++) {
      const name = `round-${round}`;
      await session.record("decision", name, `stale-value-${round} was the first idea`, { because: reason });
      stale.push(`stale-value-${round} `);
      await session.record("decision", name, `decided-value-${round}: the rate of group ${round} is kept`, {
        because: reason,
      });
      await session.record("task", name, `todo-value-${round}: compute the run of group ${round}`);
      await session.record("task", `done-${round}`, `done-value-${round} is over`, { status: "done" });
      await session.record("decision", `gone-${round}`, `retracted-value-${round} was wrong`, {
        because: reason,
      });
      await session.retract("decision", `gone-${round}`, { because: "it was wrong" });
      stale.push(`done-value-${round} `);
      const { seq } = await session.head();
      await session.record("task", `lost-${round}`, `rewound-value-${round} went away`);
      await session.rewind(seq, { reason: "a dead end" });
      stale.push(`rewound-value-${round} `, `lost-${round}`);
      await writeRaw(place, session.id, filler);
    }
    assert.ok((await session.head()).seq >= 2_000, `${(await session.head()).seq} events`);
    const { text, tokens } = await session.handoff();
    assert.equal(tokens, await makeTokenizer(world).count(text));
    assert.ok(tokens < 4_000, `${tokens} tokens`);
    const next = await engine.open({ from: session.id });
    const shown = (await next.context()).parts
      .flatMap((part) => (part.part === "system" ? [part.text] : []))
      .join("\n");
    assert.ok(shown.includes(text.trim()), "all of it is in the context");
    let found = 0;
    for (const { kind, key, value, seq, status } of await session.items()) {
      if (kind !== "decision" && status !== "open") continue;
      found += 1;
      assert.ok(shown.includes(`${pointer(session, seq)} ${key}: ${String(value)}`), `${kind} ${key}`);
    }
    assert.equal(found, 40);
    for (const value of stale) assert.ok(!shown.includes(value), value);
    const retracted = shown.split("\n").filter((line) => line.includes("retracted-value-"));
    assert.ok(retracted.length > 0 && retracted.every((line) => line.includes(" was retracted; it was: ")));
  },
);

test("a handoff is written once, and again after new content", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "Fix login" });
  await session.record("fact", "port", 8080);
  const first = await session.handoff();
  assert.deepEqual([first.seq, first.toSeq, first.model], [3, 2, null]);
  const { standing } = await session.fold();
  assert.deepEqual([standing.handoff?.seq, standing.handoff?.toSeq], [3, 2]);
  await session.save("here");
  await session.close();
  assert.deepEqual(await session.handoff(), first);
  assert.equal((await session.head()).seq, 5);
  await session.reopen();
  await session.record("fact", "host", "localhost");
  const second = await session.handoff();
  assert.deepEqual([second.seq, second.toSeq], [8, 7]);
  assert.match(second.text, /host: localhost/);
  assert.deepEqual(await place.engine.session(session.id).then((again) => again.handoff()), second);
});

test("the same log gives the same bytes for every caller", async () => {
  const made = async () => {
    const place = inMemory();
    const session = await place.engine.open({ objective: "Fix login" });
    for (let at = 0; at < 50; at++) await session.record("decision", `d${at}`, { at }, { because: "so" });
    const { text } = await session.handoff({ write: false });
    assert.equal((await session.head()).seq, 51);
    await place.engine.close();
    return text;
  };
  assert.equal(await made(), await made());
});

test("the next session takes over agent, model, bindings, permissions, labels and objective", async () => {
  await using place = inMemory();
  const { engine } = place;
  await engine.addAgent({ name: "clerk", instructions: "Keep books.", bind: [{ kind: "shell" }] });
  const session = await engine.open({
    objective: "Keep the books",
    agent: "clerk",
    model: "offline/offline",
    labels: { team: "hr" },
    priority: 2,
    constraints: ["Never pay."],
    grant: [{ tool: "shell", rule: "ask" }],
  });
  await engine.addAgent({ name: "clerk", instructions: "Keep books, and keep them well." });
  const { seq } = await session.handoff();
  const next = await engine.open({ from: session.id.slice(-10) });
  const state = await next.state();
  assert.deepEqual(
    [state.agent, state.model, state.labels, state.priority, state.objective],
    [{ name: "clerk", version: 1 }, "offline/offline", { team: "hr" }, 2, "Keep the books"],
  );
  assert.deepEqual(state.bindings, [{ name: "shell", kind: "shell", mode: "read" }]);
  assert.deepEqual(state.permissions, [{ name: "shell", tool: "shell", rule: "ask" }]);
  assert.deepEqual(await typesOf(next), [
    "session.opened",
    "agent.pinned",
    "document.loaded",
    "resource.bound",
    "permission.set",
  ]);
  const [opened, , document] = await all(next.events());
  assert.partialDeepStrictEqual(opened, {
    body: { from: session.id },
    content: { constraints: ["Never pay."] },
  });
  assert.partialDeepStrictEqual(document, {
    body: { kind: "handoff" },
    content: { path: `${session.id}@${seq}` },
  });
  const other = await engine.open({
    from: session.id,
    objective: "Close the year",
    agent: "clerk",
    model: "offline/other",
    labels: {},
    priority: 7,
    bind: [{ kind: "shell", mode: "write" }],
  });
  const changed = await other.state();
  assert.deepEqual(
    [changed.agent, changed.model, changed.labels, changed.priority, changed.objective],
    [{ name: "clerk", version: 2 }, "offline/other", {}, 7, "Close the year"],
  );
  assert.deepEqual(changed.bindings, [{ name: "shell", kind: "shell", mode: "write" }]);
});

test("a handoff of a handoff says where the work came from", async () => {
  await using place = inMemory();
  const first = await place.engine.open({ objective: "Fix login" });
  const second = await place.engine.open({ from: first.id });
  const third = await place.engine.open({ from: second.id });
  const { text } = await handoffIn(third);
  assert.ok(text.includes(`${pointer(second, 1)} It carries on the work of ${first.id}.`));
  assert.ok(text.includes(`${pointer(second, 2)} It began with the handoff ${first.id}@2.`));
});

test("clear with a handoff closes one session and opens the next in one append", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "Fix login" });
  await session.record("task", "tests", "Write tests");
  const next = await session.clear({ handoff: true, objective: "Test login" });
  assert.deepEqual(await typesOf(session), [
    "session.opened",
    "item.recorded",
    "handoff.written",
    "session.closed",
    "session.continued",
  ]);
  assert.deepEqual(await typesOf(next), ["session.opened", "document.loaded"]);
  assert.equal((await session.state()).why?.reason, "handed off");
  assert.equal((await next.state()).objective, "Test login");
});

test("after a crash between handoff and next session nothing is lost and nothing is doubled", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "Fix login" });
  await session.record("task", "tests", "Write tests");
  const { seq } = await session.handoff();
  await session.close();
  // Here the process died, and somebody types the next command.
  const next = await place.engine.open({ from: session.id });
  assert.equal((await session.head()).seq, 4);
  assert.equal(await loadedFrom(next), `${session.id}@${seq}`);
});

test("sessions that cannot be written to are handed off all the same", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "Fix login" });
  await session.record("task", "tests", "Write tests");
  await session.close();
  await session.archive();
  const made = await session.handoff();
  assert.deepEqual([made.seq, made.toSeq], [null, 4]);
  assert.match(made.text, /It is archived/);
  await assert.rejects(session.handoff({ write: true }), { code: "refused" });
  const next = await place.engine.open({ from: session.id });
  assert.equal((await session.head()).seq, 4);
  assert.equal(await loadedFrom(next), `${session.id}@4`);
});

test("an objective that was erased must be given anew; the handoff shows it as erased", async () => {
  await using place = inMemory();
  const { engine, store, world } = place;
  const session = await engine.open({ objective: "A secret plan" });
  await session.record("fact", "port", 8080);
  const told = { type: "content.erased", body: { ranges: [[1, 1]], records: 1, bytes: 10 } };
  const drafts = [rawDraft(world, told)];
  const outcome = await store.append([{ session: session.id, expect: "exists", drafts, erase: [[1, 1]] }]);
  assert.equal(outcome.kind, "ok");
  assert.match((await session.handoff()).text, /@1\] \[erased: the objective\]/);
  await assert.rejects(engine.open({ from: session.id }), {
    code: "refused",
    message: "the objective was erased",
  });
  const next = await engine.open({ from: session.id, objective: "Another" });
  assert.equal((await next.state()).objective, "Another");
});

test("bad input is refused clearly, and nothing is written for it", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "Fix login" });
  const code = (expected: string) => (error: unknown) =>
    error instanceof SkeinError && error.code === expected;
  await assert.rejects(engine.open({ from: "ses_00000000000000000000000000" }), code("not-found"));
  await assert.rejects(engine.open({ from: "nobody" }), code("not-found"));
  await assert.rejects(engine.open({ from: "" }), code("invalid"));
  await assert.rejects(engine.open({ from: session.id, objective: " " }), code("invalid"));
  await assert.rejects(session.handoff({ tokensMax: limit.handoffTokensMax + 1 }), code("invalid"));
  await assert.rejects(session.handoff({ tokensMax: 10 }), code("invalid"));
  await assert.rejects(session.clear({ handoff: true, objective: "" }), code("invalid"));
  await assert.rejects(session.clear({ objective: " " }), code("invalid"));
  assert.equal((await session.head()).seq, 1);
  assert.equal((await engine.sessions()).rows.length, 1);
});

test("a model writes the introduction to the lists, and the session pays for it", async () => {
  const script = scripted([
    "Hello.",
    (call) => `Half done ${/\[\S+@2\]/.exec(lastText(call))?.[0]} [zzzzzzzz@9].`,
  ]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Fix login" });
  await session.record("task", "tests", "Write tests");
  const plain = await session.handoff({ write: false });
  await all(session.ask("Hi."));
  const before = (await session.fold()).standing;
  const made = await session.handoff({ model: true });
  assert.equal(made.model, "test/scripted");
  assert.ok(
    made.text.includes(`\nWritten by test/scripted:\n\n> Half done ${pointer(session, 2)}.\n`),
    made.text,
  );
  assert.ok(made.text.includes(`${pointer(session, 2)} tests: Write tests`));
  assert.ok(made.text.includes("Its last answer: Hello."));
  const { standing } = await session.fold();
  assert.deepEqual([standing.used.tokens - before.used.tokens, standing.reserved], [110, null]);
  assert.ok(standing.used.nanoUsd > before.used.nanoUsd);
  assert.equal(standing.used.steps, before.used.steps);
  // Nobody has to pay twice, and whoever wants none in particular gets it too.
  assert.deepEqual(await session.handoff({ model: true }), made);
  assert.deepEqual(await session.handoff(), made);
  assert.equal(script.calls.length, 2);
  assert.notEqual(plain.text, made.text);
  const verified = await session.verify();
  assert.ok(verified.ok);
  for await (const { seq, body } of session.events({ types: ["model.requested"] })) {
    const { purpose } = body as { purpose?: string };
    const { matches } = await session.context({ atSeq: seq });
    assert.ok(matches, `${purpose ?? "step"} at ${seq} is rebuilt byte for byte`);
  }
  await all(session.ask("Go on."));
  const shown =
    script.calls
      .at(-1)
      ?.parts.map((part) => JSON.stringify(part))
      .join("\n") ?? "";
  assert.ok(!shown.includes("Half done"), "prose is no answer of the session");
});

test("a model that fails or says nothing leaves the handoff as the log gives it", async () => {
  for (const line of [new ModelError("auth", "no key"), ""]) {
    await using engine = engineWith(scripted([line]));
    const session = await engine.open({ objective: "Fix login" });
    await session.record("task", "tests", "Write tests");
    const made = await session.handoff({ model: "test/other" });
    assert.equal(made.model, null);
    assert.ok((made.failed ?? "") !== "" && made.seq !== null);
    assert.match(made.text, /tests: Write tests/);
    assert.equal((await session.fold()).standing.reserved, null);
  }
});

test("without money for a model the handoff is written without one", async () => {
  const script = scripted(["Words."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Fix login", budget: { tokens: 10 } });
  const made = await session.handoff({ model: true });
  assert.match(made.failed ?? "", /token budget exhausted/);
  assert.deepEqual([made.model, script.calls.length, (await session.state()).status], [null, 0, "open"]);
  await assert.rejects(session.handoff({ model: "" }), { code: "invalid" });
});

test("the offline model puts the lists into sentences", async () => {
  const world = realWorld();
  const models = async () => ({
    byDefault: "offline/offline",
    model: async () => offlineModel(),
    list: () => [],
  });
  await using engine = new Engine({ store: kind().store({ world, workspace }), world, models });
  const session = await engine.open({ objective: "Fix login" });
  await session.record("decision", "storage", "SQLite");
  await session.record("task", "tests", "Write tests");
  const { text, model } = await session.handoff({ model: true });
  assert.ok(model?.startsWith("offline/"));
  assert.ok(text.includes(`> The objective: Fix login ${pointer(session, 1)}. It is open`), text);
  assert.ok(text.includes("1 decided, 1 still to do. Next: Go on with the open tasks"));
});

test("moved sessions and copies are handed off without a record in their log", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root } = await livedIn(a);
  await root.record("task", "pay", "Pay the bill");
  await b.engine.import(a.engine.export(root.id));
  const copied = await b.engine.session(root.id);
  const { seq } = await copied.head();
  const fromCopy = await b.engine.open({ from: root.id });
  assert.equal(await loadedFrom(fromCopy), `${root.id}@${seq}`);
  assert.match((await handoffIn(fromCopy)).text, /pay: Pay the bill/);
  assert.equal((await copied.head()).seq, seq);
  await all(a.engine.export(root.id, { move: true }));
  const moved = await root.head();
  const fromMoved = await a.engine.open({ from: root.id });
  assert.equal(await loadedFrom(fromMoved), `${root.id}@${moved.seq}`);
  assert.equal((await root.head()).seq, moved.seq);
});

test("a fork and a merge say in their handoff where they come from", async () => {
  await using place = inMemory();
  const root = await place.engine.open({ objective: "Fix login" });
  await root.record("decision", "storage", "SQLite");
  const fork = await root.fork({ objective: "Try PostgreSQL" });
  await fork.record("decision", "storage", "PostgreSQL");
  const { text } = await fork.handoff();
  assert.ok(text.includes(`${pointer(fork, 3)} It is a fork of ${root.id}@2.`), text);
  assert.ok(text.includes(`${pointer(fork, 3)} Try PostgreSQL`));
  assert.ok(text.includes(`${pointer(fork, 4)} storage: PostgreSQL`) && !text.includes("SQLite\n"));
  await root.merge({ from: fork.id });
  const merged = (await root.handoff()).text;
  assert.match(merged, new RegExp(`@\\d+\\] It took over what ${fork.id} knew up to \\d+\\.`));
  const [event] = await all(root.events({ types: ["session.merged"] }));
  assert.ok(merged.includes(`${pointer(root, event?.seq ?? 0)} It took over what`));
});

test("a turn with calls: waiting, failed and answered calls appear in the handoff", async () => {
  const broken = defineTool({
    name: "fetch",
    description: "Fetches.",
    input: z.object({}),
    effect: "read",
    run: () => {
      throw new Error("no route to host");
    },
  });
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ usd: z.number() }),
    effect: "unsafe",
    run: () => "paid",
  });
  const script = scripted([[use("fetch", {})], "The host is away.", [use("pay", { usd: 5 })]]);
  await using engine = engineWith(script, { tools: [broken, pay] });
  const session = await engine.open({
    objective: "Pay",
    bind: ["fetch", "pay"].map((name) => ({ kind: "tool" as const, name })),
    grant: [{ tool: "pay", rule: "ask" }],
    budget: { usd: 2 },
  });
  await all(session.ask("Fetch."));
  await all(session.ask("Now pay."));
  const { text } = await session.handoff();
  assert.match(text, /@\d+\] It is suspended \(approval\)/);
  assert.match(text, /@\d+\] Turn 2 is in progress, 1 step so far\./);
  assert.match(text, /@\d+\] The call of pay waits for approval: \{"usd":5\}/);
  assert.match(text, /@\d+\] Go on with turn 2: `skein run \w{8}`/);
  assert.match(text, /@\d+\] fetch failed: .*no route to host/);
  assert.match(text, /Used so far: 2 turns, 3 steps, .* Left of its budget: \$/);
  const next = await session.clear({ handoff: true });
  const { used } = (await session.state()).budget;
  assert.equal((await next.state()).budget.limits.nanoUsd, 2e9 - used.nanoUsd, "what is left goes on");
  assert.match((await handoffIn(next)).text, /The call of pay waits for approval/);
});

test("the next session reads the target of a pointer, and no other session", async () => {
  const script = scripted([
    (call) => {
      const [, session, seq] = /\[(\w+)@(\d+)\] rounding/.exec(JSON.stringify(call.parts)) ?? [];
      return [use("recall", { session, fromSeq: Number(seq) })];
    },
    [use("recall", { session: "stranger", fromSeq: 1 })],
    (call) => [
      use("recall", { session: /work of (ses_\w+)/.exec(JSON.stringify(call.parts))?.[1], text: "half" }),
    ],
    "Read.",
  ]);
  await using engine = engineWith(script);
  const first = await engine.open({ objective: "Keep the books" });
  await first.record("fact", "half", "half a loaf is better than none");
  const second = await engine.open({ from: first.id });
  await second.record("decision", "rounding", "x".repeat(3_000), { because: "the auditor asked" });
  const third = await engine.open({ from: second.id });
  await all(third.ask("Look it up."));
  const outputs = (await all(third.events({ types: ["tool.settled"] }))).map(({ body, content }) => [
    (body as { status: string }).status,
    JSON.stringify((content as { output: unknown }).output),
  ]);
  assert.equal(outputs.length, 3, JSON.stringify(outputs));
  assert.equal(outputs[0]?.[0], "ok");
  assert.ok(outputs[0]?.[1]?.includes("x".repeat(3_000)), "whole, where the handoff cut it");
  assert.equal(outputs[1]?.[0], "error");
  assert.match(outputs[1]?.[1] ?? "", /is not a predecessor/);
  assert.deepEqual([outputs[2]?.[0], outputs[2]?.[1]?.includes("a loaf")], ["ok", true]);
});
