/** Deciding where a session goes on from: fork, rewind, checkpoints. */
import type { Command } from "../../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSessionId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { empty, given, plain, sessionId, type Given } from "../given.ts";

const childId = makeSessionId({ nowMs: 2, random: new Uint8Array(10) });
const parentHash = "ab".repeat(32);
const fork = (more: Partial<Extract<Command, { do: "fork" }>> = {}): Command => ({
  do: "fork",
  parentHash,
  by: "person",
  ...more,
});

const rewind = (to: number, of: Given, more: object = {}): Command => ({
  do: "rewind",
  earlier: of.states[to]!,
  ...more,
});

test("a fork names its parent, and brings the objective it was given", () => {
  assert.deepEqual(given().brings(fork()), [
    { type: "session.forked", body: { parent: sessionId, parentSeq: 1, parentHash, by: "person", has: [] } },
  ]);
  const named = given().brings(fork({ objective: "o", name: "n", labels: { a: "b" }, budget: { steps: 1 } }));
  assert.deepEqual(named, [
    {
      type: "session.forked",
      body: { parent: sessionId, parentSeq: 1, parentHash, by: "person", has: ["objective", "name"] },
      content: { objective: "o", name: "n" },
    },
    { type: "session.labeled", body: { set: { a: "b" } } },
    { type: "budget.set", body: { limits: { steps: 1 } } },
  ]);
  assert.equal(empty(sessionId).refusal(fork()).code, "not-found");
});

test("a fork by a person gets the rest of the limits, never less than zero", () => {
  const spent = given()
    .and("budget.set", { limits: { tokens: 100, steps: 1 } })
    .and("budget.allotted", { session: childId, direction: "given", amounts: { tokens: 30, steps: 4 } })
    .and("transcript.compacted", {
      fromSeq: 1,
      toSeq: 1,
      strategy: "prune",
      tokensBefore: 1,
      tokensAfter: 1,
      usage: { inputTokens: 40, outputTokens: 5 },
    });
  const [, budget] = spent.brings(fork());
  assert.deepEqual(budget, { type: "budget.set", body: { limits: { tokens: 25, steps: 0 } } });
});

test("calls that were open at the fork point are skipped in the fork, because of the fork", () => {
  const asked = given().and("tool.requested", { call: "c", tool: "t", effect: "unsafe" }, { input: 1 });
  assert.deepEqual(asked.brings(fork()).slice(1), [
    { type: "tool.settled", body: { call: "c", status: "skipped" }, cause: 3 },
  ]);
});

test("a fork's standing is its own but for agent, model, bindings, tools and permissions", () => {
  const parent = empty(sessionId)
    .when({
      do: "open",
      workspace: "wsp_00000000000000000000000000",
      objective: "o",
      name: "n",
      agent: "a",
      model: "m/n",
      labels: { l: "v" },
      priority: 1,
      expiresAfterIdleMs: 5,
    })
    .when({ do: "bind", kind: "file", path: "p" })
    .when({ do: "grant", tool: "t", rule: "deny" })
    .when({ do: "budget", limits: { steps: 9 } })
    .when({ do: "save", name: "here" })
    .when({ do: "append", records: [{ type: "input.received", text: "hi" }] })
    .and("tools.bound", { digest: parentHash, tools: ["t"] }, { definitions: 1 })
    .and("hold.set", { name: "h" })
    .and("score.recorded", { name: "s", value: 1 })
    .and("trigger.set", { name: "t", kind: "at" }, { spec: 1 })
    .and("contract.declared", { topic: "t", digest: parentHash }, { schema: 1 })
    .when({ do: "take", holder: "h", leaseMs: 5_000, ranOut: false });
  const child = parent.branch(childId).when(fork({ budget: {} }));
  const { agent, model, bindings, tools, permissions, workspace, name, objective } = parent.state.standing;
  const fresh = given().state.standing;
  const expected = {
    ...fresh,
    agent,
    model,
    bindings,
    tools,
    permissions,
    workspace,
    name,
    objective,
    session: childId,
    openedAt: child.state.at,
    fork: { parent: sessionId, seq: parent.state.seq },
  };
  assert.deepEqual(plain(child.state.standing), plain(expected));
  assert.deepEqual(plain(child.state.mind), plain(parent.state.mind));
});

/** Two inputs of which the first was taken up in a turn, and a third that came since. */
const taken = (): Given =>
  given()
    .and("input.received", { input: 1 }, { blocks: [] })
    .and("input.received", { input: 2 }, { blocks: [] })
    .and("turn.started", { inputs: [[2, 1]] })
    .and("input.received", { input: 3 }, { blocks: [] })
    .and("turn.ended", { outcome: "completed", steps: 0, mindForm: 1, mindHash: parentHash });

test("a rewind names its target and the inputs processed since", () => {
  const later = taken();
  const body = { toSeq: 2, inputs: { ranges: [[1, 1]], fromSeq: 2 }, requeued: false };
  assert.deepEqual(later.brings(rewind(2, later)), [{ type: "session.rewound", body }]);
  assert.deepEqual(later.brings(rewind(2, later, { requeue: true, reason: "r" })), [
    { type: "session.rewound", body: { ...body, requeued: true }, content: { reason: "r" } },
  ]);
  const { inbox } = later.when(rewind(2, later, { requeue: true })).state.standing;
  assert.deepEqual(inbox, { waiting: [[1, 3]], received: 3, fromSeq: 2 });
  const dropped = later.when(rewind(2, later)).state.standing.inbox;
  assert.deepEqual(dropped.waiting, [[2, 3]]);
});

test("a session rewinds itself in its turn: the turn ends, and it is told why; nobody else may then", () => {
  const running = taken().and("turn.started", { inputs: [[6, 3]] });
  assert.equal(running.refusal(rewind(2, running)).code, "refused");
  const own = { requeue: true, reason: "wrong way", told: "You went back." };
  const brought = running.brings(rewind(3, running, own));
  assert.deepEqual(
    brought.map(({ type }) => type),
    ["turn.ended", "session.rewound", "input.received"],
  );
  const { standing } = running.when(rewind(3, running, own)).state;
  assert.deepEqual([standing.turn, standing.status], [null, "open"]);
  assert.deepEqual(standing.inbox.waiting.at(-1)?.[1], 4, "what it is told waits last");
  assert.equal(
    given()
      .when({ do: "close" })
      .refusal(rewind(1, given(), own)).code,
    "refused",
  );
});

test("a rewind that queued inputs again can itself be undone", () => {
  const later = taken();
  const back = later.when(rewind(2, later, { requeue: true }));
  assert.deepEqual(back.brings(rewind(6, back)), [
    { type: "session.rewound", body: { toSeq: 6, inputs: { ranges: [], fromSeq: 2 }, requeued: false } },
  ]);
});

test("a fork at a position before its beginning lists only its own inputs", () => {
  const child = taken()
    .branch(childId)
    .when(fork())
    .and("input.received", { input: 1 }, { blocks: [] })
    .and("turn.started", { inputs: [[8, 1]] })
    .when({ do: "suspend" });
  const rewound = child.brings(rewind(1, child)).find(({ type }) => type === "session.rewound");
  assert.deepEqual(rewound?.body, { toSeq: 1, inputs: { ranges: [[1, 1]], fromSeq: 7 }, requeued: false });
});

test("a rewind of a suspended turn ends the turn first, and skips the calls that come back", () => {
  const asked = given()
    .and("turn.started", { inputs: [] })
    .and("tool.requested", { call: "c", tool: "t", effect: "unsafe" }, { input: 1 })
    .and("tool.started", { call: "c", attempt: 1 })
    .when({ do: "suspend" });
  const drafts = asked.brings(rewind(3, asked));
  assert.deepEqual(
    drafts.map(({ type, body, cause, turn }) => [type, (body as { status?: string }).status, cause, turn]),
    [
      ["tool.settled", "unknown", 3, 1],
      ["turn.ended", undefined, undefined, 1],
      ["session.rewound", undefined, undefined, undefined],
      ["tool.settled", "skipped", 8, undefined],
    ],
  );
  const after = asked.write(...drafts);
  assert.equal(after.records[7]?.type, "session.rewound");
  assert.deepEqual([after.state.mind.calls.size, after.state.standing.status], [0, "open"]);
});

test("a checkpoint names a position that is there, and no number", () => {
  const two = given().when({ do: "scratch", key: "k", value: 1 });
  assert.deepEqual(two.brings({ do: "save", name: "here" }), [
    { type: "checkpoint.saved", body: { name: "here", seq: 2 } },
  ]);
  assert.deepEqual(two.brings({ do: "save", name: "1st", atSeq: 1, note: "n" }), [
    { type: "checkpoint.saved", body: { name: "1st", seq: 1 }, content: { note: "n" } },
  ]);
  for (const atSeq of [0, -1, 3]) {
    assert.equal(two.refusal({ do: "save", name: "here", atSeq }).code, "not-found", String(atSeq));
  }
  assert.equal(two.refusal({ do: "save", name: "12" }).code, "invalid");
  for (const name of ["yesterday", "-2h", "2026-11-16", "2026-11-16T09:00", "2026-11-16 09:00:30.5+01:00"])
    assert.equal(
      two.refusal({ do: "save", name }).message,
      `checkpoint: name: expected a word, got the time "${name}"`,
    );
  for (const name of ["v2026", "today", "2h", "2026-11-16-release"])
    assert.ok(two.decide({ do: "save", name }).ok, name);
});

test("a session at its limit of checkpoints can still move one", () => {
  const drafts = Array.from({ length: limit.checkpointsMax }, (_, place) => ({
    type: "checkpoint.saved",
    body: { name: `c${place}`, seq: 1 },
  }));
  const full = given().write(...drafts);
  assert.equal(full.refusal({ do: "save", name: "more" }).code, "refused");
  const moved = full.when({ do: "save", name: "c0", atSeq: 5 });
  assert.equal(moved.state.standing.checkpoints.get("c0"), 5);
});
