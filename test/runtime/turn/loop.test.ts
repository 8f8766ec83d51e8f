/** The turn loop: retries, ends, budgets, approvals, steering, interrupts, and what a dead runner left. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { ModelError } from "../../../src/model/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { workspace } from "../place.ts";
import { engineWith, say, scripted, use, type Line } from "./scripted.ts";

/** The types of the session's records, without those that every run has. */
async function typesOf(session: Session): Promise<string[]> {
  const types: string[] = [];
  const usual = /^(session\.opened|session\.migrated|lease\.|tools\.bound|resource\.bound)/;
  for await (const { type } of session.events()) if (!usual.test(type)) types.push(type);
  return types;
}

async function contentsOf(session: Session, type: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { body, content } of session.events({ types: [type] })) {
    found.push({ ...(body as object), ...(content as object) });
  }
  return found;
}

async function ask(session: Session, text: string): Promise<void> {
  for await (const _ of session.ask(text));
}

const soon = (kind: "overloaded" | "rate-limited" | "dropped") =>
  new ModelError(kind, `the server said ${kind}`, { retryAfterMs: 1 });

test("a model that is overloaded, rate limited or drops the stream is retried", async () => {
  const script = scripted([soon("overloaded"), soon("rate-limited"), soon("dropped"), "At last."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Try" });
  await ask(session, "Hi");
  const types = await typesOf(session);
  assert.equal(types.filter((type) => type === "model.requested").length, 4);
  assert.deepEqual(types.slice(-2), ["model.responded", "turn.ended"]);
  const { status, budget } = await session.state();
  assert.deepEqual([status, budget.used.steps], ["open", 1]);
  // What was dropped may have cost all that was reserved for it; what was refused cost nothing.
  assert.ok(budget.used.tokens > 110);
});

test("a model that refuses the key suspends the session, which resumes once it is fixed", async () => {
  const script = scripted([new ModelError("auth", "the key is refused"), "Better now."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Try" });
  await ask(session, "Hi");
  const { status, why } = await session.state();
  assert.deepEqual(
    [status, why?.by, why?.reason],
    ["suspended", "error", "test/scripted: the key is refused"],
  );
  await session.activate();
  assert.equal((await session.run()).status, "open");
  assert.deepEqual((await typesOf(session)).slice(-2), ["model.responded", "turn.ended"]);
});

for (const [name, line, outcome] of [
  ["a refusal", { finish: "refusal", blocks: [say("No.")] }, "refused"],
  ["a content filter", { finish: "content-filter", blocks: [] }, "refused"],
  ["a length stop", { finish: "length", blocks: [say("And then")] }, "length"],
  ["an empty answer", { finish: "stop", blocks: [] }, "completed"],
] as const satisfies readonly (readonly [string, Line, string])[]) {
  test(`${name} ends the turn as ${outcome}, and the session continues`, async () => {
    const script = scripted([line, "Fine."]);
    await using engine = engineWith(script);
    const session = await engine.open({ objective: "Try" });
    await ask(session, "Hi");
    await ask(session, "And now?");
    const ended = (await contentsOf(session, "turn.ended")) as { outcome: string }[];
    assert.deepEqual(
      ended.map((one) => one.outcome),
      [outcome, "completed"],
    );
  });
}

test("arguments that are not JSON, wrong ones and unknown tools go back to the model as errors", async () => {
  const script = scripted([
    [
      { type: "tool-call", call: "a", tool: "record", input: '{"kind":', malformed: true },
      use("record", { kind: "opinion" }, "b"),
      use("no_such_tool", {}, "c"),
    ],
    "I see.",
  ]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Try" });
  await ask(session, "Hi");
  const settled = (await contentsOf(session, "tool.settled")) as { status: string; output: string }[];
  assert.deepEqual(
    settled.map(({ status }) => status),
    ["error", "error", "error"],
  );
  assert.match(settled[0]!.output, /not JSON/);
  assert.match(settled[1]!.output, /^invalid arguments: key/);
  assert.match(settled[2]!.output, /there is no tool no_such_tool; there are record/);
  assert.equal((await session.state()).status, "open");
});

const counting = (runs: string[], more: Partial<Parameters<typeof defineTool>[0]> = {}) =>
  defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ to: z.string() }),
    run: async (input, call) => {
      runs.push(`${(input as { to: string }).to} ${call.key.length}`);
      return { paid: true };
    },
    ...more,
  });
const payBinding = { kind: "tool", name: "pay" } as const;

test("an ask rule suspends the session; allowed, the call runs; denied, the model gets it", async () => {
  const runs: string[] = [];
  const script = scripted([[use("pay", { to: "ann" })], [use("pay", { to: "bob" })], "One paid, one not."]);
  await using engine = engineWith(script, { tools: [counting(runs)] });
  const session = await engine.open({
    objective: "Pay",
    bind: [payBinding],
    grant: [{ tool: "pay", rule: "ask" }],
  });
  await ask(session, "Pay both");
  const first = await session.state();
  assert.deepEqual([first.status, first.why?.by, runs], ["suspended", "approval", []]);
  await session.answer({ allow: true });
  await session.run();
  assert.deepEqual(runs, ["ann 64"]);
  assert.equal((await session.state()).status, "suspended");
  await session.answer({ allow: false, reason: "not bob" });
  await session.run();
  assert.deepEqual([(await session.state()).status, runs.length], ["open", 1]);
  const last = script.calls.at(-1)!.parts.at(-1) as unknown as {
    content: { text: string; status: string }[];
  };
  assert.deepEqual([last.content[0]!.status, last.content[0]!.text.includes("not bob")], ["skipped", true]);
  await assert.rejects(session.answer({ allow: true }), /no call waits for approval/);
});

test("the model gets a denial by a rule, and nothing runs", async () => {
  const runs: string[] = [];
  const script = scripted([[use("pay", { to: "ann" })], "Then not."]);
  await using engine = engineWith(script, { tools: [counting(runs)] });
  const session = await engine.open({
    objective: "Pay",
    bind: [payBinding],
    grant: [{ tool: "pay", rule: "deny", pattern: { to: "a*" }, reason: "frozen" }],
  });
  await ask(session, "Pay");
  const [settled] = (await contentsOf(session, "tool.settled")) as { status: string; output: string }[];
  assert.deepEqual([settled!.status, settled!.output, runs], ["skipped", "not allowed: frozen", []]);
});

test("a budget suspends the session with its reason, and a higher one resumes it", async () => {
  const script = scripted([[use("scratch", { key: "a", value: 1 })], "Done."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Spend", budget: { steps: 1 } });
  await ask(session, "Go");
  const { status, why } = await session.state();
  assert.deepEqual([status, why?.by, why?.reason], ["suspended", "budget", "step budget exhausted: 1 of 1"]);
  await session.budget({ steps: 5 });
  assert.equal((await session.run()).status, "open");
});

test("a small budget of tokens or money shortens the answer, and is never overdrawn", async () => {
  const script = scripted([{ blocks: [say("Yes.")], usage: { inputTokens: 900, outputTokens: 60 } }]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Spend", budget: { tokens: 4_000, usd: 0.02 } });
  for (let turn = 0; turn < 10; turn++) {
    await ask(session, "Go").catch(() => null);
    if ((await session.state()).status === "suspended") break;
  }
  const { status, budget } = await session.state();
  assert.equal(status, "suspended");
  assert.ok(budget.used.tokens <= 4_000, String(budget.used.tokens));
  assert.ok(script.calls.every(({ outputTokensMax }) => outputTokensMax <= 4_000));
});

test("input that comes in during a turn waits for the next, or steers it at the next step", async () => {
  let during: (() => Promise<void>) | null = null;
  const script = scripted([
    async () => {
      await during?.();
      return [use("scratch", { key: "a", value: 1 })];
    },
    "First done.",
    "Second done.",
  ]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Steer" });
  during = async () => {
    during = null;
    await session.input("xylophone");
    await session.input("quince", { mode: "steer" });
  };
  await ask(session, "Go");
  const textOf = (call: number): string => JSON.stringify(script.calls[call]!.parts);
  assert.ok(textOf(1).includes("quince") && !textOf(1).includes("xylophone"));
  assert.ok(textOf(2).includes("xylophone"));
  assert.equal((await contentsOf(session, "turn.started")).length, 2);
});

test("an interrupt ends the turn in a stream and in a tool, and the session continues", async () => {
  const hanging = defineTool({
    name: "hang",
    description: "Hangs.",
    input: z.object({}),
    run: () => new Promise(() => {}),
  });
  const script = scripted([() => new Promise<never>(() => {}), [use("hang", {})], "Back again."]);
  await using engine = engineWith(script, { tools: [hanging] });
  const session = await engine.open({ objective: "Stop", bind: [{ kind: "tool", name: "hang" }] });
  for (const until of ["model.requested", "tool.started"]) {
    for await (const event of session.ask("Go")) if (event.type === until) await session.interrupt();
    assert.equal((await session.state()).status, "open");
  }
  await ask(session, "Still there?");
  const ended = (await contentsOf(session, "turn.ended")) as { outcome: string }[];
  assert.deepEqual(
    ended.map(({ outcome }) => outcome),
    ["interrupted", "interrupted", "completed"],
  );
  const [settled] = (await contentsOf(session, "tool.settled")) as { status: string }[];
  assert.equal(settled!.status, "unknown");
});

test("two runs of one session: one runs, the other gets the name of the holder", async () => {
  const world = realWorld();
  const store = kind().store({ world, workspace });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const script = scripted([async () => held.then(() => "Done.")]);
  const one = engineWith(script, { store, world, holder: "first" });
  const two = engineWith(script, { store, world, holder: "second" });
  const session = await one.open({ objective: "Once" });
  const here = await two.session(session.id);
  await session.input("Go");
  const running = session.run();
  for await (const event of here.events({ follow: true })) if (event.type === "model.requested") break;
  await assert.rejects(here.run(), /the session is running on first/);
  release();
  assert.equal((await running).status, "open");
  await one.close();
});

test("tools that throw, hang, give back too much or no JSON are errors to the model", async () => {
  const tool = (name: string, run: () => Promise<unknown>) =>
    defineTool({ name, description: name, input: z.object({}), effect: "read", timeoutMs: 50, run });
  const huge = "0123456789".repeat(10_000_000);
  const tools = [
    tool("throws", async () => Promise.reject(new Error("no luck"))),
    tool("hangs", () => new Promise(() => {})),
    tool("shouts", async () => huge),
    tool("cycles", async () => {
      const self: { self?: unknown } = {};
      self.self = self;
      return self;
    }),
  ];
  const script = scripted([tools.map(({ name }) => use(name, {}, name)), "I see."]);
  await using engine = engineWith(script, { tools });
  const bind = tools.map(({ name }) => ({ kind: "tool", name }) as const);
  const session = await engine.open({ objective: "Break", bind });
  await ask(session, "Go");
  const settled = (await contentsOf(session, "tool.settled")) as {
    call: string;
    status: string;
    output: string;
  }[];
  const by = Object.fromEntries(settled.map(({ call, status, output }) => [call, { status, output }]));
  assert.deepEqual(by["throws"], { status: "error", output: "no luck" });
  assert.equal(by["hangs"]!.status, "error");
  assert.match(by["hangs"]!.output, /longer than 50 ms/);
  assert.equal(by["shouts"]!.status, "ok");
  assert.ok(by["shouts"]!.output.length < 40_000 && /recall with fromSeq \d+/.test(by["shouts"]!.output));
  assert.match(by["cycles"]!.output, /not JSON/);
  assert.equal((await session.state()).status, "open");
});

test("a long output is stored whole, and recall reads the rest", async () => {
  const text = Array.from({ length: 20_000 }, (_, line) => `line ${line}`).join("\n");
  const tool = defineTool({
    name: "dump",
    description: "Dumps.",
    input: z.object({}),
    effect: "read",
    run: async () => text,
  });
  const script = scripted([
    [use("dump", {})],
    ({ parts }) => {
      const [, seq, char] = /fromSeq (\d+) and fromChar (\d+)/.exec(JSON.stringify(parts)) ?? [];
      return [use("recall", { fromSeq: Number(seq), fromChar: Number(char) }, "more")];
    },
    "Read.",
  ]);
  await using engine = engineWith(script, { tools: [tool] });
  const session = await engine.open({ objective: "Read", bind: [{ kind: "tool", name: "dump" }] });
  await ask(session, "Go");
  const settled = (await contentsOf(session, "tool.settled")) as { output: { text: string } }[];
  const from = Math.floor(32_768 * 0.7);
  assert.equal(settled[1]!.output.text, text.slice(from, from + Math.floor(32_768 * 0.9)));
  assert.equal((await session.verify()).ok, true);
});

test("send, fork and sleep are each one append with their result", async () => {
  const world = realWorld();
  const store = kind().store({ world, workspace });
  let to = "";
  const script = scripted([
    () => [use("send", { to, text: "the rate is 4.1" })],
    [use("fork", { objective: "What if it rises?" })],
    [use("sleep", { forSeconds: 60, reason: "until later" })],
    "Good night.",
  ]);
  await using engine = engineWith(script, { store, world });
  const other = await engine.open({ objective: "Listen" });
  to = other.id;
  const session = await engine.open({ objective: "Talk", budget: { steps: 40 } });
  await ask(session, "Go");
  const state = await session.state();
  assert.equal(state.status, "sleeping");
  assert.equal((await other.state()).inbox.count, 1);
  const { rows } = await engine.sessions({ text: "rises" });
  const child = await engine.session(rows[0]!.session);
  const forked = await child.state();
  assert.deepEqual(
    [forked.fork?.parent, forked.transcript.openCalls, forked.budget.limits.steps],
    [session.id, 0, 9],
  );
  assert.equal((await engine.verify()).ok, true);
});

test("after a crash an unsafe call is unknown and waits for a person, others run again", async () => {
  for (const onUnknown of ["ask", "tell"] as const) {
    const world = realWorld();
    const store = kind().store({ world, workspace });
    const runs: string[] = [];
    let dies = true;
    const effects = ["read", "idempotent", "unsafe"] as const;
    const tools = effects.map((effect) =>
      defineTool({
        name: effect,
        description: effect,
        input: z.object({}),
        effect,
        run: (_, { key }) => {
          runs.push(`${effect} ${key}`);
          return dies ? new Promise(() => {}) : Promise.resolve("done");
        },
      }),
    );
    const script = scripted([effects.map((name) => use(name, {}, name)), "Carried on."]);
    // The first engine is left hanging in its tools, as if it had died; its lease runs out.
    const dead = engineWith(script, { store, world, tools, holder: "dead", leaseMs: 1_000 });
    await dead.addAgent({ name: "careful", instructions: "Be careful.", onUnknown });
    const bind = effects.map((name) => ({ kind: "tool", name }) as const);
    const session = await dead.open({ objective: "Survive", agent: "careful", bind });
    await session.input("Go");
    const drive = await session.drive({ holder: "dead", leaseMs: 1_000 });
    await drive.begin();
    await drive.request({ model: "test/scripted" });
    const calls = await drive.respond({
      finish: "tool-calls",
      usage: { inputTokens: 1, outputTokens: 1 },
      costNanoUsd: 0,
      blocks: effects.map((tool) => ({ type: "tool-call", call: tool, tool, input: {} })),
      effects: { read: "read", idempotent: "idempotent" },
    });
    await drive.start(...calls.map(({ call }) => call));
    dies = false;
    await world.sleep(1_050);
    const second = engineWith(scripted(["Carried on."]), { store, world, tools, holder: "second" });
    const here = await second.session(session.id);
    await here.run();
    const state = await here.state();
    const keys = Object.fromEntries(calls.map(({ call, key }) => [call, key]));
    assert.deepEqual(
      runs.toSorted(),
      [`idempotent ${keys["idempotent"]}`, `read ${keys["read"]}`].toSorted(),
    );
    if (onUnknown === "ask") {
      assert.deepEqual([state.status, state.why?.by], ["suspended", "unknown"]);
      await here.answer({ allow: true, text: "it did happen" });
      await here.run();
    }
    const settled = (await contentsOf(here, "tool.settled")) as { call: string; status: string }[];
    assert.deepEqual(Object.fromEntries(settled.map(({ call, status }) => [call, status])), {
      read: "ok",
      idempotent: "ok",
      unsafe: "unknown",
    });
    assert.equal((await here.state()).status, "open");
    await assert.rejects(drive.settle("unsafe", { status: "ok" }), { code: "fenced" });
  }
});

test("a probe finds the outcome of an unsafe call", async () => {
  for (const [answer, expected, ran] of [
    ["done", "ok", 0],
    ["not done", "ok", 1],
    ["unknown", "unknown", 0],
  ] as const) {
    const world = realWorld();
    const store = kind().store({ world, workspace });
    const runs: string[] = [];
    const tools = [counting(runs, { probe: async () => answer })];
    const engine = engineWith(scripted(["Fine."]), { store, world, tools });
    const session = await engine.open({ objective: "Pay", bind: [payBinding] });
    await session.input("Go");
    const drive = await session.drive({ leaseMs: 1_000 });
    await drive.begin();
    await drive.request({ model: "test/scripted" });
    const [call] = await drive.respond({
      finish: "tool-calls",
      usage: { inputTokens: 1, outputTokens: 1 },
      costNanoUsd: 0,
      blocks: [{ type: "tool-call", call: "x", tool: "pay", input: { to: "ann" } }],
    });
    await drive.start(call!.call);
    await drive.lease.release();
    await session.run();
    const [settled] = (await contentsOf(session, "tool.settled")) as { status: string }[];
    assert.deepEqual([settled!.status, runs.length], [expected, ran], answer);
  }
});

test("an unsafe call that its holder finishes after the lease has expired does not run twice", async () => {
  const world = realWorld();
  const store = kind().store({ world, workspace });
  const runs: string[] = [];
  const answers = ["not done", "done"] as const;
  let probes = 0;
  const tools = [counting(runs, { probe: async () => answers[probes++] ?? "done" })];
  const engine = engineWith(scripted(["Fine."]), { store, world, tools });
  const session = await engine.open({ objective: "Pay", bind: [payBinding] });
  await session.input("Go");
  const drive = await session.drive({ leaseMs: 1_000 });
  await drive.begin();
  await drive.request({ model: "test/scripted" });
  const [call] = await drive.respond({
    finish: "tool-calls",
    usage: { inputTokens: 1, outputTokens: 1 },
    costNanoUsd: 0,
    blocks: [{ type: "tool-call", call: "x", tool: "pay", input: { to: "ann" } }],
  });
  await drive.start(call!.call);
  // The lease is not released: its holder may be about to run the tool.
  await world.sleep(1_050);
  const second = engineWith(scripted(["Fine."]), { store, world, tools, holder: "second" });
  await (await second.session(session.id)).run();
  const [settled] = (await contentsOf(session, "tool.settled")) as { status: string }[];
  assert.deepEqual([settled?.status, runs, probes], ["ok", [], 2]);
});
