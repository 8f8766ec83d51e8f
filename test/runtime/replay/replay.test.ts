/** Replay from a position: run again into a fork, against what was recorded, and laid side by side. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { ReplayReport } from "../../../src/core/turn/run-comparison.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { all } from "../place.ts";
import { engineWith, say, scripted, use, type Line, type Scripted } from "../turn/scripted.ts";

/** Each model by its name says its own lines. */
function cast(parts: Readonly<Record<string, readonly Line[]>>): Scripted {
  const scripts = new Map(Object.entries(parts).map(([name, lines]) => [name, scripted(lines)]));
  const model = async (name: string) => {
    const script = scripts.get(name);
    if (script === undefined) throw new Error(`there is no ${name}`);
    return script.models.model(name);
  };
  const calls = [...scripts.values()].flatMap((script) => script.calls);
  return { calls, models: { byDefault: "test/one", model, list: () => [] } };
}

/** An unsafe tool and one that reads, which count how often they run. */
function counters() {
  const ran = { pay: 0, look: 0 };
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ usd: z.number(), to: z.string().optional() }),
    run: ({ usd }) => `paid ${usd}, receipt ${++ran.pay}`,
  });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ at: z.string() }),
    effect: "read",
    run: ({ at }) => ({ at, seen: ++ran.look }),
  });
  return { ran, tools: [pay, look] };
}

const fact = (key: string, value: unknown) => use("record", { kind: "fact", key, value });
/** What one model does in two turns; asked again, it does the same again. */
const once: readonly Line[] = [
  [say("Let me see."), use("look", { at: "door" }), use("pay", { usd: 5, to: "Ann" })],
  [fact("paid", 5)],
  "Ann is paid.",
  [use("look", { at: "door" }, "look-2")],
  "The door is open.",
];

async function lived(parts: Readonly<Record<string, readonly Line[]>>) {
  const { ran, tools } = counters();
  const engine = engineWith(cast(parts), { tools });
  const bind = tools.map(({ name }) => ({ kind: "tool", name }) as const);
  const session = await engine.open({ objective: "o", model: "test/one", bind });
  await all(session.ask("Pay Ann."));
  await all(session.ask("And the door?"));
  return { engine, session, ran };
}

/** What matters of a report, in short. */
const brief = ({ turns }: ReplayReport) =>
  turns.map(({ match, calls }) => [match, ...calls.map((call) => `${call.tool} ${call.match}`)]);

const contextsOf = async (session: Session) => {
  const requests = await all(session.events({ types: ["model.requested"] }));
  return Promise.all(requests.map(async ({ seq }) => (await session.context({ atSeq: seq })).matches));
};

/** By their calls: those that run at once end in any order. */
const settledIn = async (session: Session) =>
  (await all(session.events({ types: ["tool.settled"] }))).toSorted((a, b) => a.cause! - b.cause!);

const forkOf = (engine: Engine, { fork }: ReplayReport): Promise<Session> => engine.session(fork);

test("the same model does the same again, against recorded results, and nothing runs", async () => {
  const { engine, session, ran } = await lived({ "test/one": [...once, ...once] });
  const before = { head: await session.head(), ran: { ...ran } };
  const [begun] = await all(session.events({ types: ["turn.started"] }));
  const progress: unknown[] = [];
  const report = await session.replay({ from: 1, progress: (one) => progress.push(one) });
  assert.deepEqual(brief(report), [
    ["same", "look same", "pay same", "record same"],
    ["same", "look same"],
  ]);
  assert.deepEqual(
    [report.same, report.items, report.unrecorded, report.stopped, report.session],
    [true, [], 0, null, session.id],
  );
  // With all that it was opened with, and without what was asked.
  assert.equal(report.from, begun!.seq - 1);
  const total = { turns: 2, steps: 5, calls: 4, inputTokens: 500, outputTokens: 50, nanoUsd: 750_000 };
  assert.deepEqual(report.totals, {
    original: { ...total, unpriced: 0 },
    replay: { ...total, unpriced: 0 },
  });
  assert.deepEqual(progress, [
    { what: "turns", done: 1, of: 2 },
    { what: "turns", done: 2, of: 2 },
  ]);
  const fork = await forkOf(engine, report);
  const results = async (of: Session) => (await settledIn(of)).map(({ content }) => content);
  assert.deepEqual(await results(fork), await results(session));
  assert.deepEqual([await session.head(), ran], [before.head, before.ran]);
  const state = await fork.state();
  assert.deepEqual(state.labels, { replay: `${session.id}@${report.from}` });
  assert.equal(state.name, `replay of ${session.id.slice(-8)} from ${report.from}`);
  assert.deepEqual(await contextsOf(fork), [true, true, true, true, true]);
  assert.equal((await fork.replay()).ok, true);
  await engine.close();
});

test("another model: differences are shown, and unrecorded calls do not run", async () => {
  const other: readonly Line[] = [
    [use("pay", { to: "Ann", usd: 5 }), use("pay", { usd: 7 }, "pay-2"), use("look", { at: "roof" })],
    [fact("paid", 12)],
    "Ann got 5, and 7 failed.",
    "No idea.",
  ];
  const { engine, session, ran } = await lived({ "test/one": once, "test/two": other });
  const report = await session.replay({ from: 1, model: "test/two" });
  assert.deepEqual(brief(report), [
    ["different", "look different", "pay same", "record different", "pay added"],
    ["different", "look missing"],
  ]);
  assert.deepEqual(report.model, { original: "test/one", replay: "test/two" });
  assert.deepEqual([report.same, report.unrecorded], [false, 2]);
  assert.deepEqual(
    report.items.map(({ change, key, from, to }) => [change, key, from?.value, to?.value]),
    [["changed", "paid", 5, 12]],
  );
  assert.deepEqual(ran, { pay: 1, look: 2 });
  const fork = await forkOf(engine, report);
  const settled = await settledIn(fork);
  assert.deepEqual(
    settled.map(({ body, content }) => [
      (body as { status: string }).status,
      (content as { output: unknown }).output,
    ]),
    [
      ["ok", "paid 5, receipt 1"],
      ["error", "not recorded in the original; in a replay it is not run"],
      ["error", "not recorded in the original; in a replay it is not run"],
      ["ok", "recorded fact paid"],
    ],
  );
  assert.deepEqual(new Set(await contextsOf(fork)), new Set([true]));
  await engine.close();
});

test("live: unrecorded calls run only if they read", async () => {
  const other: readonly Line[] = [
    [use("look", { at: "roof" }), use("look", { at: 5 }, "look-2"), use("pay", { usd: 9 })],
    "done",
  ];
  const { engine, session, ran } = await lived({ "test/one": once, "test/two": other });
  const report = await session.replay({ from: 1, model: "test/two", tools: "live" });
  const fork = await forkOf(engine, report);
  const settled = await settledIn(fork);
  assert.deepEqual(settled.map(({ body }) => (body as { status: string }).status).toSorted(), [
    "error",
    "error",
    "ok",
  ]);
  assert.deepEqual(ran, { pay: 1, look: 3 });
  await engine.close();
});

test("a position in the middle of a turn means the beginning of that turn", async () => {
  const { engine, session } = await lived({ "test/one": [...once, ...once.slice(3)] });
  const [, second] = await all(session.events({ types: ["turn.started"] }));
  const report = await session.replay({ from: second!.seq + 2 });
  assert.deepEqual([report.from, brief(report)], [second!.seq - 1, [["same", "look same"]]]);
  assert.equal(report.turns[0]!.original?.startedSeq, second!.seq);
  await engine.close();
});

test("other instructions are pinned in the fork, and every context can be rebuilt", async () => {
  const { engine, session } = await lived({ "test/one": [...once, ...once] });
  const report = await session.replay({ from: 1, instructions: "Answer in rhyme." });
  const fork = await forkOf(engine, report);
  const { parts } = await fork.context();
  assert.equal(report.instructions, "Answer in rhyme.");
  assert.deepEqual(
    parts.filter(({ part }) => part === "system"),
    [
      { part: "system", text: "Answer in rhyme." },
      { part: "system", text: "Objective of this session:\no" },
    ],
  );
  assert.deepEqual(new Set(await contextsOf(fork)), new Set([true]));
  assert.deepEqual((await fork.state()).agent, { name: "default-replay", version: 1 });
  await engine.close();
});

test("approvals and denials of a person are repeated", async () => {
  const { ran, tools } = counters();
  const lines: readonly Line[] = [
    [use("pay", { usd: 1 }), use("pay", { usd: 2 }, "pay-2")],
    "One of two.",
    [use("pay", { usd: 1 }), use("pay", { usd: 2 }, "pay-2"), use("pay", { usd: 3 }, "pay-3")],
    "One of three.",
  ];
  const engine = engineWith(scripted(lines), { tools });
  const bind = tools.map(({ name }) => ({ kind: "tool", name }) as const);
  const grant = [{ tool: "pay", rule: "ask" } as const];
  const session = await engine.open({ objective: "o", bind, grant });
  await all(session.ask("Pay."));
  const [first, second] = (await session.state()).calls;
  await session.answer({ allow: true, calls: [first!.call] });
  await session.answer({ allow: false, calls: [second!.call], reason: "too much" });
  await session.run();
  const report = await session.replay({ from: 1 });
  assert.deepEqual(brief(report), [["different", "pay same", "pay same", "pay added"]]);
  assert.deepEqual(
    report.turns[0]!.replay?.calls.map(({ status }) => status),
    ["ok", "skipped", "skipped"],
  );
  assert.deepEqual([ran.pay, report.stopped, report.unrecorded], [1, null, 1]);
  await engine.close();
});

test("steering arrives after the same number of steps", async () => {
  const { tools } = counters();
  let session: Session | null = null;
  const steer: Line = async () => {
    await session!.input("Hurry.", { mode: "steer" });
    return [use("look", { at: "door" })];
  };
  const engine = engineWith(
    scripted([
      [use("look", { at: "a" })],
      steer,
      "Hurried.",
      [use("look", { at: "a" })],
      [use("look", { at: "door" })],
      "Hurried.",
    ]),
    { tools },
  );
  session = await engine.open({ objective: "o", bind: [{ kind: "tool", name: "look" }] });
  await all(session.ask("Look."));
  const report = await session.replay({ from: 1 });
  assert.deepEqual([report.same, report.turns[0]!.replay?.inputs], [true, ["Look.", "Hurry."]]);
  const last = (of: Session) => async () => {
    const requests = await all(of.events({ types: ["model.requested"] }));
    return requests.map(({ body }) => (body as { inputs: unknown[] }).inputs.length);
  };
  assert.deepEqual(await last(await forkOf(engine, report))(), [0, 0, 1]);
  await engine.close();
});

test("a scoring function judges both runs, and its scores are recorded in the fork", async () => {
  const { engine, session } = await lived({ "test/one": once, "test/two": ["Ann is paid.", "Shut."] });
  await session.score("tone", -1, { because: "curt" });
  const { seq } = await session.head();
  const sides: string[] = [];
  const report = await session.replay({
    from: 1,
    model: "test/two",
    score: async ({ side, session: judged, turns, items }) => {
      sides.push(`${side} ${judged} ${items.length}`);
      const right = turns.filter(({ answer }) => /paid|open/.test(answer)).length;
      const last = turns.at(-1)?.endedSeq ?? 1;
      const accuracy = { value: right / turns.length, because: `${right} right`, seq: last };
      return { accuracy, tone: side === "replay" ? 1 : 0 };
    },
  });
  assert.deepEqual(sides, [`replay ${report.fork} 0`, `original ${session.id} 1`]);
  assert.deepEqual(report.scores, [
    { name: "accuracy", original: 1, replay: 0.5 },
    { name: "tone", original: -1, replay: 1 },
  ]);
  const fork = await forkOf(engine, report);
  const [accuracy] = await all(fork.events({ types: ["score.recorded"] }));
  assert.deepEqual(accuracy!.content, { because: "1 right" });
  assert.deepEqual(accuracy!.body, {
    name: "accuracy",
    value: 0.5,
    seq: report.turns[1]!.replay!.endedSeq,
  });
  assert.equal((await session.head()).seq, seq);
  await engine.close();
});

test("a scoring function that fails is named, and the fork is there all the same", async () => {
  const { engine, session } = await lived({ "test/one": [...once, ...once, ...once] });
  const broken = () => {
    throw new Error("no judge");
  };
  await assert.rejects(session.replay({ from: 1, score: broken }), {
    code: "invalid",
    message: "replay: score: the function failed: no judge (replay)",
    hint: /^the replayed turns are in ses_/,
  });
  await assert.rejects(session.replay({ from: 1, score: () => ({ a: "b" }) as never }), /no number for "a"/);
  await assert.rejects(session.replay({ score: broken }), {
    code: "invalid",
    message: /score: requires from/,
  });
  assert.equal((await session.lineage()).nodes.length, 3);
  await engine.close();
});

test("a replay that a budget stops reports it, with the turns that are missing", async () => {
  const { engine, session } = await lived({ "test/one": [...once, ...once] });
  const report = await session.replay({ from: 1, budget: { turns: 1 } });
  assert.deepEqual([report.stopped?.by, report.same], ["budget", false]);
  assert.deepEqual(
    report.turns.map(({ match }) => match),
    ["same", "missing"],
  );
  await engine.close();
});

test("an aborted replay leaves no turn open, and reports the turns it ran", async () => {
  const stop = new AbortController();
  const endless: Line = async ({ signal }) => {
    stop.abort();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return "never said";
  };
  const { engine, session } = await lived({ "test/one": once, "test/two": [endless] });
  const report = await session.replay({ from: 1, model: "test/two", signal: stop.signal });
  assert.deepEqual(report.stopped, { by: "signal", reason: "interrupted" });
  assert.deepEqual(
    report.turns.map(({ match, replay }) => [match, replay?.outcome]),
    [
      ["different", "interrupted"],
      ["missing", undefined],
    ],
  );
  const { turn, status } = await (await forkOf(engine, report)).state();
  assert.deepEqual([turn, status], [null, "open"]);
  await engine.close();
});

test("invalid arguments are refused, and leave no fork", async () => {
  const { engine, session } = await lived({ "test/one": once });
  const { seq } = await session.head();
  await assert.rejects(session.replay({ from: seq }), { code: "refused", message: /has no input after/ });
  await assert.rejects(session.replay({ from: seq + 1 }), { code: "not-found" });
  await assert.rejects(session.replay({ from: "nowhere" }), { code: "not-found" });
  await assert.rejects(session.replay({ model: "test/one" }), { code: "invalid", message: /requires from/ });
  await assert.rejects(session.replay({ from: 1, model: "test/none" }), /there is no test\/none/);
  await assert.rejects(session.replay({ from: 1, instructions: " " }), { code: "invalid" });
  await assert.rejects(session.replay({ from: 1, tools: "all" as never }), { code: "invalid" });
  await assert.rejects(session.replay({ from: 1, budget: { usd: -1 } }), { code: "invalid" });
  await session.rewind(seq - 2);
  await assert.rejects(session.replay({ from: seq - 1 }), {
    code: "refused",
    message: /lies in a rewound range/,
  });
  assert.equal((await session.lineage()).nodes.length, 1);
  await engine.close();
});
