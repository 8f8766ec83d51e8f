/** Decisions of a turn: intent before effect, budgets, approvals, and what comes next from any state. */
import type { Command, CommandOf } from "../../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mindHash, resources, type State } from "../../../src/core/state.ts";
import { nextOf } from "../../../src/core/turn/next.ts";
import { digest } from "../digest.ts";
import { given, type Given } from "../given.ts";

const model = "test/model";
const sha = "5e".repeat(32);

const begin: Command = { do: "begin", inputs: [] };
const request = (more: Partial<CommandOf<"request">> = {}): Command => ({
  do: "request",
  model,
  renderer: 1,
  context: sha,
  parts: 3,
  inputs: [],
  reserved: { tokens: 100, nanoUsd: 1_000 },
  outputTokensMax: 50,
  settings: { model, images: false },
  nowMs: 1_700_000_000_000,
  ...more,
});
const respond = (more: Partial<CommandOf<"respond">> = {}): Command => ({
  do: "respond",
  model,
  finish: "stop",
  usage: { inputTokens: 60, outputTokens: 10 },
  costNanoUsd: 700,
  blocks: [{ type: "text", text: "Yes." }],
  calls: [],
  ...more,
});
const called = (call: string, verdict: "run" | "ask" | "deny" | "error" = "run") => ({
  call,
  tool: "pay",
  effect: "unsafe" as const,
  input: { to: "ann" },
  verdict,
  reason: "because",
});
const start = (...calls: string[]): Command => ({ do: "start", calls, nowMs: 1_700_000_000_000 });

test("a model is called only in a turn, once at a time, and never with open tool calls", () => {
  assert.equal(given().refusal(request()).code, "refused");
  const turn = given().when(begin);
  assert.equal(turn.when(request()).refusal(request()).code, "conflict");
  const open = turn.when(request()).when(respond({ calls: [called("a")] }));
  assert.match(open.refusal(request()).message, /no outcome yet/);
  const interrupted = turn.when({ do: "interrupt" });
  assert.match(interrupted.refusal(request()).message, /interrupted/);
});

test("the answer and the calls it asks for are one append, each call caused by it", () => {
  const asked = given().when(begin).when(request());
  const drafts = asked.brings(respond({ calls: [called("a"), called("b", "deny"), called("c", "error")] }));
  assert.deepEqual(
    drafts.map(({ type, cause }) => [type, cause]),
    [
      ["model.responded", 3],
      ["tool.requested", 4],
      ["tool.requested", 4],
      ["tool.denied", 6],
      ["tool.settled", 6],
      ["tool.requested", 4],
      ["tool.settled", 9],
    ],
  );
  const after = asked.write(...drafts).state;
  assert.deepEqual([...after.mind.calls.keys()], ["a"]);
  assert.deepEqual(after.standing.turn?.answered, { finish: "stop", calls: 3 });
});

test("a call that needs approval suspends the session, and an answer resumes it", () => {
  const asked = given().when(begin).when(request());
  const waiting = asked.when(respond({ calls: [called("a", "ask"), called("b", "ask")] }));
  assert.deepEqual(waiting.state.standing.why, { by: "approval", seq: 7 });
  const one = waiting.when({ do: "answer", allow: true, calls: ["a"] });
  assert.equal(one.state.standing.status, "suspended");
  const both = one.when({ do: "answer", allow: false, reason: "no" });
  assert.deepEqual([both.state.standing.status, [...both.state.mind.calls.keys()]], ["running", ["a"]]);
  assert.equal(waiting.refusal({ do: "answer", allow: true, calls: ["z"] }).code, "not-found");
  assert.equal(both.refusal({ do: "answer", allow: true }).code, "refused");
});

test("a tool starts only once it may, and a session tool never does", () => {
  const turn = given().when(begin).when(request());
  const asked = turn.when(respond({ calls: [called("a", "ask")] }));
  assert.equal(asked.refusal(start("a")).code, "refused");
  const own = turn.when(respond({ calls: [{ ...called("a"), effect: "session" as const }] }));
  assert.match(own.refusal(start("a")).message, /cannot be started/);
  const open = turn.when(respond({ calls: [called("a")] }));
  assert.deepEqual(open.brings(start("a"))[0]?.body, { call: "a", attempt: 1 });
  assert.deepEqual(open.when(start("a")).brings(start("a"))[0]?.body, { call: "a", attempt: 2 });
});

test("a session tool and its result are one append; a refusal is its result", () => {
  const act: CommandOf<"settle">["act"] = { do: "record", kind: "fact", key: "k", value: 1 };
  const open = given()
    .when(begin)
    .when(request())
    .when(respond({ calls: [{ ...called("a"), effect: "session" }] }));
  const settle: Command = { do: "settle", call: "a", status: "ok", output: "done", act };
  assert.deepEqual(
    open.brings(settle).map(({ type, cause, actor }) => [type, cause, actor]),
    [
      ["item.recorded", 5, "tool:pay"],
      ["tool.settled", 5, "tool:pay"],
    ],
  );
  const wrong = { ...settle, act: { do: "retract", kind: "fact", key: "none" } } as const;
  const [only] = open.brings(wrong);
  assert.deepEqual(only?.body, { call: "a", status: "error" });
});

test("a late result of a settled call is stored as evidence and changes nothing", () => {
  const open = given()
    .when(begin)
    .when(request())
    .when(respond({ calls: [called("a")] }))
    .when(start("a"));
  const late: Command = { do: "settle", call: "a", status: "ok", output: "paid", late: true };
  const ended = open.when({ do: "interrupt" }).when({ do: "end", outcome: "interrupted" });
  assert.equal(ended.state.mind.calls.size, 0);
  const after = ended.when(late);
  assert.deepEqual(JSON.parse(after.records.at(-1)!.body), { call: "a", status: "ok", late: true });
  assert.equal(mindHash(digest, after.state.mind), mindHash(digest, ended.state.mind));
});

test("an interrupt of a session without a runner ends the turn at once, with a valid hash", () => {
  const open = given()
    .when(begin)
    .when(request())
    .when(respond({ calls: [called("a"), { ...called("b"), effect: "read" as const }] }))
    .when(start("a", "b"));
  const ended = open.when({ do: "interrupt", idle: true });
  const settled = ended.records.filter(({ type }) => type === "tool.settled");
  assert.deepEqual(
    settled.map(({ body }) => (JSON.parse(body) as { status: string }).status),
    ["unknown", "skipped"],
  );
  const claimed = JSON.parse(ended.records.at(-1)!.body) as { mindHash: string };
  assert.equal(claimed.mindHash, mindHash(digest, ended.state.mind));
  assert.equal(ended.state.standing.status, "open");
});

test("a model call in flight is written off when the turn is ended over its head", () => {
  const asked = given().when(begin).when(request());
  for (const command of [{ do: "cancel" }, { do: "interrupt", idle: true }] as const) {
    const after = asked.when(command).state.standing;
    assert.deepEqual([after.reserved, after.used.tokens, after.used.nanoUsd], [null, 100, 1_000]);
  }
});

test("each limit suspends before it is passed, and says which", () => {
  const limited = (limits: CommandOf<"budget">["limits"]): Given => given().when({ do: "budget", limits });
  const reached = (before: Given, command: Command): unknown => {
    const [first, second] = before.brings(command);
    assert.deepEqual([first?.type, second?.type], ["budget.reached", "session.suspended"]);
    return (first!.body as { resource: string }).resource;
  };
  assert.equal(reached(limited({ turns: 0 }), begin), "turns");
  assert.equal(reached(limited({ steps: 0 }).when(begin), request()), "steps");
  assert.equal(reached(limited({ tokens: 99 }).when(begin), request()), "tokens");
  assert.equal(reached(limited({ usd: 0.000_000_9 }).when(begin), request()), "nanoUsd");
  const late = request({ nowMs: 1_700_000_060_000 });
  assert.equal(reached(limited({ wallMs: 1_000 }).when(begin), late), "wallMs");
  const open = limited({ toolCalls: 1 })
    .when(begin)
    .when(request())
    .when(respond({ calls: [called("a"), called("b")] }));
  assert.equal(reached(open, start("a", "b")), "toolCalls");
  const { reserved: _, ...unpriced } = request() as CommandOf<"request">;
  const [only] = limited({ usd: 1 })
    .when(begin)
    .brings({ ...unpriced, reserved: { tokens: 1 } });
  assert.deepEqual(only?.body, { by: "budget" });
});

const take: Command = { do: "take", holder: "ann", leaseMs: 60_000, ranOut: true };
const release = (before: Given): Given => {
  const { lease } = before.state.standing;
  return before.when({ do: "release", epoch: lease.held ? lease.epoch : 0 });
};
/** Every record is a millisecond later than the one before: this many of them, none of them work. */
const wait = (before: Given, ms: number): Given =>
  ms === 0 ? before : wait(before.and("session.renamed", {}, { name: "later" }), ms - 1);
const wallOf = ({ state }: Given): number => state.standing.used.wallMs;

test("active time is counted as it passes, and not while idle", () => {
  const answered = given().when(take).when(begin).when(request());
  const asked = release(answered.when(respond({ calls: [called("a", "ask")] })));
  // From the start of the turn: a request, an answer, a call, a suspension, the end of the lease.
  assert.equal(wallOf(asked), 5);
  const allowed = wait(asked, 40).when({ do: "answer", allow: true });
  assert.equal(wallOf(allowed), 5);
  const again = allowed.when(take);
  assert.equal(wallOf(wait(again, 10).when(start("a"))), 16);
  const done = again.when(start("a")).when({ do: "settle", call: "a", status: "ok" }).when(request());
  assert.equal(wallOf(release(done.when(respond()).when({ do: "end", outcome: "completed" }))), 10);
});

test("after a crash active time counts up to the last record of the lease holder", () => {
  const crashed = wait(given().when(take).when(begin).when(request()), 40);
  assert.equal(wallOf(crashed), 1);
  assert.equal(wallOf(wait(crashed.when(take), 3)), 1);
  assert.equal(wallOf(release(crashed.when(take))), 2);
  for (const command of [{ do: "cancel" }, { do: "interrupt", idle: true }] as const) {
    const ended = crashed.when(command);
    assert.equal(wallOf(ended), 1);
    // One who was there all the time says so when it gives the lease back.
    assert.ok(wallOf(release(ended)) > 40);
    assert.equal(release(ended).state.standing.workedTo, null);
  }
});

test("a time limit reports the same use as the state", () => {
  const limited = given()
    .when({ do: "budget", limits: { wallMs: 2_000 } })
    .when(take)
    .when(begin);
  const nowMs = limited.state.at + 2_500;
  const [reached, suspended] = limited.brings(request({ nowMs }));
  assert.deepEqual(reached?.body, { resource: "wallMs", limit: 2_000, used: 2_500 });
  assert.deepEqual(suspended?.content, { reason: "time budget exhausted: 2 s of 2 s" });
  const before = given()
    .when({ do: "budget", limits: { wallMs: 4 } })
    .when(take)
    .when(begin);
  const called4 = before.when(request({ nowMs: 0 })).when(respond({ calls: [called("a")] }));
  const used = called4.when(start("a")).when({ do: "settle", call: "a", status: "ok" });
  // It is used up to the last millisecond, though none has passed since.
  assert.deepEqual(
    [wallOf(used) >= 4, used.brings(request({ nowMs: 0 }))[0]?.type],
    [true, "budget.reached"],
  );
});

/** What a loop might do next, and much that it never would. */
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  fc.constant(begin),
  fc.constant<Command>({ do: "append", records: [{ type: "input.received", text: "hi" }] }),
  fc.record({ tokens: fc.nat(200), nanoUsd: fc.nat(2_000) }).map((reserved) => request({ reserved })),
  fc
    .array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("run", "ask", "deny", "error")), {
      maxLength: 3,
    })
    .map((calls) => [...new Map(calls.map((one) => [one[0], one])).values()])
    .map((calls) => respond({ calls: calls.map(([call, verdict]) => called(call, verdict)) })),
  fc.constant<Command>({ do: "fail", model, error: "dropped", retryable: true, costNanoUsd: null }),
  fc.constantFrom("a", "b", "c").map((call) => start(call)),
  fc
    .tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("ok", "error", "unknown"), fc.boolean())
    .map(([call, status, ask]): Command => ({ do: "settle", call, status, ask })),
  fc.boolean().map((allow): Command => ({ do: "answer", allow })),
  fc.boolean().map((idle): Command => ({ do: "interrupt", idle })),
  fc.constantFrom<Command>(
    { do: "end", outcome: "completed" },
    { do: "end", outcome: "interrupted" },
    { do: "suspend" },
    { do: "activate" },
    { do: "cancel" },
    { do: "reopen" },
    { do: "budget", limits: { tokens: 2_000, toolCalls: 5 } },
    { do: "compact", fromSeq: 1, toSeq: 2, strategy: "summarize", tokensBefore: 9, tokensAfter: 1 },
  ),
);

function live(commands: readonly Command[]): Given {
  let session = given().when({ do: "budget", limits: { tokens: 1_500, usd: 0.000_02, toolCalls: 4 } });
  for (const command of commands) if (session.decide(command).ok) session = session.when(command);
  return session;
}

const spent = ({ standing }: State): number[] => resources.map((resource) => standing.used[resource]);

test("any commands in any order: money never rewinds, hashes hold, calls end once", () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 60 }), (commands) => {
      const session = live(commands);
      const open = new Set<string>();
      for (const [place, record] of session.records.entries()) {
        const [before, after] = [session.states[place]!, session.states[place + 1]!];
        const body = JSON.parse(record.body) as { call: string; late?: boolean; mindHash: string };
        if (record.type === "tool.requested") {
          assert.ok(!open.has(body.call), "no two open calls share an id");
          open.add(body.call);
        }
        if (record.type === "tool.started") assert.ok(open.has(body.call), "only an open call starts");
        if (record.type === "tool.settled") assert.ok(open.delete(body.call), "a call ends once");
        if (record.type === "turn.ended") {
          assert.equal(body.mindHash, mindHash(digest, after.mind));
          assert.deepEqual([open.size, after.standing.reserved], [0, null]);
        }
        const [was, is] = [spent(before), spent(after)];
        assert.ok(
          is.every((amount, at) => amount >= was[at]!),
          `${record.type} took something back`,
        );
      }
    }),
    { numRuns: 2_000 },
  );
});

test("every state has a next step, and taking it eventually succeeds", () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 40 }), (commands) => {
      let session = live(commands);
      for (let steps = 0; steps < 50; steps++) {
        const next = nextOf(session.state, { steered: false, stepsMax: 5 });
        if (next.next === "rest") return;
        session = session.when(doing(next.next, session.state, "outcome" in next ? next.outcome : null));
      }
      assert.fail("it never comes to rest");
    }),
    { numRuns: 1_000 },
  );
});

test("what an input brings in stands right before the record that takes it up", () => {
  const entry = { kind: "item", seq: 1, digest: sha, score: 0.5, why: "words" };
  const retrieved = { inputs: [2], entries: [entry], ranker: "bm25" };
  const begun = given().when({ ...begin, retrieved });
  assert.deepEqual(
    begun.records.slice(-2).map(({ type, turn }) => [type, turn]),
    [
      ["context.retrieved", null],
      ["turn.started", 1],
    ],
  );
  const steered = begun.brings({ do: "retrieve", retrieved });
  assert.deepEqual(
    steered.map(({ type, turn }) => [type, turn]),
    [["context.retrieved", 1]],
  );
});

/** What the loop does, without a model and tools. */
function doing(next: string, state: State, outcome: CommandOf<"end">["outcome"] | null): Command {
  const [first] = state.mind.calls.entries();
  switch (next) {
    case "begin": {
      const inputs = state.standing.inbox.waiting.flatMap(([from, to]) =>
        Array.from({ length: to - from + 1 }, (_, place) => [1, from + place] as const),
      );
      return { do: "begin", inputs };
    }
    case "write-off":
      return { do: "fail", model, error: "crashed", retryable: true, costNanoUsd: null };
    case "calls": {
      if (first === undefined) throw new Error("there are calls");
      const [call, { phase }] = first;
      if (phase === "asked") return { do: "suspend", by: "approval" };
      return phase === "started" ? { do: "settle", call, status: "ok" } : start(call);
    }
    case "request":
      // The loop answers right after; a request that stays open is written off.
      return state.standing.turn!.attempts > 3 ? { do: "suspend", by: "error" } : request();
    default:
      return { do: "end", outcome: outcome ?? "completed" };
  }
}
