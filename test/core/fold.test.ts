/**
 * The fold: total over every event type, with and without contents; and what each event does to the state.
 */
import { fold } from "../../src/core/fold.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventTypes, type SessionEventType } from "../../src/core/catalog.ts";
import { sessionTypes } from "./written-order.ts";
import { readEvent } from "../../src/core/event.ts";
import type { Mind, Standing, State } from "../../src/core/state.ts";
import { emptyState, mindHash, transcriptRanges } from "../../src/core/state.ts";
import { digest } from "./digest.ts";
import { empty, foldOne, given, plain, seal, sessionId, type Given } from "./given.ts";
import { otherSession, samples } from "./samples.ts";

/** Every sample after another, in the order of the catalogue: not a life anybody led, and still a state. */
/** Types of later versions, which a hash that was taken before them must not be moved by. */
const later: readonly string[] = [
  "message.delivered",
  "trigger.skipped",
  "checks.set",
  "check.ran",
  "session.split",
  "source.imported",
  "input.imported",
  "answer.imported",
  "call.imported",
  "proxy.requested",
  "proxy.responded",
  "proxy.failed",
  "item.pinned",
  "item.unpinned",
  "context.planned",
  "context.retrieved",
  "zone.acted",
  "session.amended",
  "budget.drawn",
];

const everything = (leftOut: readonly string[] = []): Given => {
  const events = sessionTypes
    .filter((type) => !leftOut.includes(type))
    .map((type) => ({ type, ...samples[type] }));
  return empty(sessionId).write(...events);
};

test("every event of a session has a fold, and every sample leads to a state", () => {
  const { states } = everything();
  assert.equal(states.length, sessionTypes.length + 1);
  for (const [seq, state] of states.entries()) assert.equal(state.seq, seq);
});

test("folding does not read contents: without them the states are the same", () => {
  const whole = everything();
  let states: State[] = [emptyState];
  for (const record of whole.records)
    states = [...states, foldOne(states, { ...record, content: null, salt: null })];
  assert.deepEqual(plain(states), plain(whole.states));
});

test("folding never changes the state it was given", () => {
  const freeze = (value: unknown): void => {
    if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  };
  let states: State[] = [emptyState];
  for (const record of everything().records) {
    freeze(states.at(-1));
    states = [...states, foldOne(states, record)];
  }
  assert.equal(states.at(-1)?.seq, sessionTypes.length);
});

test("an event that does not follow is a fault of the program", () => {
  const one = readEvent(given().records[0]!, true);
  assert.throws(
    () => fold(given().state, one, () => assert.fail()),
    /invariant: event 1 cannot follow position 1/,
  );
});

test("only a rewind recalls, and only its target position", () => {
  const whole = everything();
  for (const [place, record] of whole.records.entries()) {
    const asked: number[] = [];
    fold(whole.states[place]!, readEvent(record, false), (seq) => {
      asked.push(seq);
      return whole.states[seq]!.mind;
    });
    assert.deepEqual(asked, record.type === "session.rewound" ? [1] : []);
  }
});

test("a foreign record moves position and time on, and nothing else", () => {
  const before = given();
  const after = before.write({ type: "x.note", body: [1], content: "any" });
  assert.deepEqual(plain(after.state), plain({ ...before.state, seq: 2, at: after.records[1]?.at }));
});

test("the first record of a newer program is remembered, whatever follows", () => {
  const before = given();
  const later = { ...seal(sessionId, { type: "turn.started", body: { new: 1 } }, before.records[0]), v: 3 };
  const states = [...before.states, foldOne(before.states, later)];
  const newer = { type: "turn.started", v: 3, seq: 2 };
  const standing = { ...before.state.standing, newer };
  assert.deepEqual(plain(states[2]), plain({ ...before.state, seq: 2, at: later.at, standing }));
  const more = seal(sessionId, { type: "turn.mused", body: {} }, later);
  assert.deepEqual(foldOne(states, more).standing.newer, newer);
});

test("an event of the workspace or a project does not belong into a session: it becomes read-only", () => {
  const otherTypes = eventTypes.filter((type) => !sessionTypes.includes(type as SessionEventType));
  assert.equal(otherTypes.length, 39);
  for (const type of otherTypes) {
    const { state } = given().write({ type, ...samples[type] });
    assert.deepEqual(state.standing.newer, { type, v: 1, seq: 2 });
  }
});

type Change = { readonly mind?: Partial<Mind>; readonly standing?: Partial<Standing> };

/** The state is what it was, but for the change, position and time. */
function assertChanges(before: Given, after: Given, change: Change): void {
  const { seq, at } = after.state;
  const mind = { ...before.state.mind, ...change.mind };
  const standing = { ...before.state.standing, ...change.standing };
  assert.deepEqual(plain(after.state), plain({ seq, at, mind, standing }));
}

const nothingHeld: readonly SessionEventType[] = [
  "resource.changed",
  "message.refused",
  "message.delivered",
  "trigger.skipped",
  "budget.reached",
  "tool.denied",
];

test("evidence changes nothing but position and time", () => {
  for (const type of nothingHeld) {
    const before = given();
    assertChanges(before, before.write({ type, ...samples[type] }), {});
  }
});

test("spending is counted, and an unsettled reservation counts as spent", () => {
  const nobody: [number, number][] = [];
  const request = { ...samples["model.requested"].body, inputs: nobody };
  const asked = given().and("model.requested", request);
  assert.deepEqual(asked.state.standing.reserved, {
    seq: 2,
    model: "acme/large-2",
    amounts: request.reserved,
  });
  assert.equal(asked.state.standing.used.tokens, 0);
  const answered = asked.and("model.responded", samples["model.responded"].body, { blocks: [] });
  const { reserved, used, unpriced } = answered.state.standing;
  assert.deepEqual([reserved, used.tokens, used.nanoUsd, used.steps, unpriced], [null, 150, 1_500, 1, 0]);
  const crashed = asked.and("model.requested", request);
  assert.deepEqual(crashed.state.standing.used, {
    tokens: 500,
    nanoUsd: 2_000_000,
    steps: 4 + 2,
    turns: 2,
    toolCalls: 3,
    wallMs: 60_000,
  });
  const unpricedAnswer = { ...samples["model.responded"].body, costNanoUsd: null };
  const free = asked.and("model.responded", unpricedAnswer, { blocks: [] });
  assert.deepEqual([free.state.standing.used.nanoUsd, free.state.standing.unpriced], [0, 1]);
});

test("a failed call costs its reported amount, or its reservation when that is unknown", () => {
  const body = { ...samples["model.requested"].body, inputs: [] };
  const asked = given().and("model.requested", body);
  const failed = asked.and("model.failed", samples["model.failed"].body);
  assert.deepEqual([failed.state.standing.used.tokens, failed.state.standing.used.nanoUsd], [150, 40]);
  const unknown = asked.and("model.failed", { ...samples["model.failed"].body, costNanoUsd: null });
  assert.deepEqual(
    [unknown.state.standing.used.tokens, unknown.state.standing.used.nanoUsd],
    [500, 2_000_000],
  );
  for (const { state } of [failed, unknown]) assert.equal(state.standing.reserved, null);
});

test("a second attempt is not a second step", () => {
  const body = { ...samples["model.requested"].body, inputs: [], reserved: {} };
  const turn = given().and("turn.started", { inputs: [] });
  const twice = turn.and("model.requested", body).and("model.requested", { ...body, attempt: 2 });
  assert.deepEqual([twice.state.standing.used.steps, twice.state.standing.turn?.steps], [1, 1]);
});

test("a call goes from requested over approved and started to settled", () => {
  const { body } = samples["tool.requested"];
  const asked = given().and("tool.requested", body, { input: 1 });
  const call = { seq: 2, tool: "files.read", effect: "read", phase: "asked", attempts: 0 };
  assert.deepEqual(asked.state.mind.calls.toJSON(), [["call_1", call]]);
  const { ask: _, ...unasked } = body;
  const requested = given().and("tool.requested", unasked, { input: 1 });
  assert.equal(requested.state.mind.calls.get("call_1")?.phase, "requested");
  const approved = asked.and("tool.approved", { call: "call_1" });
  assert.equal(approved.state.mind.calls.get("call_1")?.phase, "approved");
  const started = approved.and("tool.started", { call: "call_1", attempt: 1 });
  assert.equal(started.state.mind.calls.get("call_1")?.phase, "started");
  assert.equal(started.state.standing.used.toolCalls, 1);
  const settled = started.and("tool.settled", { call: "call_1", status: "ok" });
  assert.deepEqual([settled.state.mind.calls.size, settled.state.mind.toSeq], [0, 5]);
  const stranger = asked.and("tool.approved", { call: "call_9" });
  assert.deepEqual(plain(stranger.state.mind), plain(asked.state.mind));
});

test("a named thing is set by one event, changed by the same, and removed by another", () => {
  const { limits } = samples["budget.set"].body;
  const held = ({ state }: Given) => {
    const { holds, triggers, bindings, permissions, labels, scores, contracts, checkpoints } = state.standing;
    const { items, scratch, documents } = state.mind;
    const all = { holds, triggers, bindings, permissions, labels, scores, contracts, checkpoints };
    return Object.entries({ ...all, items, scratch, documents }).flatMap(([name, { size }]) =>
      size === 0 ? [] : [`${name} ${size}`],
    );
  };
  const names = ["hold.set", "trigger.set", "resource.bound", "permission.set", "item.recorded"] as const;
  const more = ["scratch.set", "score.recorded", "contract.declared", "checkpoint.saved"] as const;
  const set = [...names, ...more, "document.loaded" as const].map((type) => ({ type, ...samples[type] }));
  const labeled = { type: "session.labeled", body: { set: { l: "v" } } };
  const once = given().write(...set, labeled, { type: "budget.set", body: { limits } });
  const everything = ["holds 1", "triggers 1", "bindings 1", "permissions 1", "labels 1", "scores 1"];
  const rest = ["contracts 1", "checkpoints 1", "items 1", "scratch 1", "documents 1"];
  assert.deepEqual(held(once), [...everything, ...rest]);
  const twice = once.write(...set, labeled);
  assert.deepEqual(held(twice), held(once));
  assert.equal(twice.state.standing.holds.get("audit"), 2 + set.length + 2);
  assert.deepEqual(twice.state.standing.limits, limits);
  const gone = twice
    .and("hold.lifted", { name: "audit" })
    .and("trigger.removed", { name: "nightly" })
    .and("resource.unbound", { name: "rates" })
    .and("permission.set", { name: "shell", tool: "shell", rule: "none" })
    .and("session.labeled", { remove: ["l"] })
    .and("item.retracted", { kind: "task", key: "check-rate" })
    .and("scratch.set", { key: "step", removed: true });
  assert.deepEqual(held(gone), ["scores 1", "contracts 1", "checkpoints 1", "documents 1"]);
});

test("messages are counted by the session at the other end, and nothing that is not named is spent", () => {
  const { "message.sent": sent, "message.received": got } = samples;
  const blocks = { blocks: [] };
  const talked = given()
    .and("message.sent", sent.body, blocks)
    .and("message.sent", { ...sent.body, number: sent.body.number + 1 }, blocks)
    .and("message.received", { ...got.body, input: 1 }, blocks);
  const { standing } = talked.state;
  assert.deepEqual(standing.sent.toJSON(), [[otherSession, 2]]);
  assert.deepEqual(standing.received.toJSON(), [[otherSession, 1]]);
  assert.deepEqual(standing.inbox, { waiting: [[1, 1]], received: 1, fromSeq: 4 });
  const allotting = given().and("budget.allotted", {
    session: otherSession,
    direction: "given",
    amounts: { turns: 2 },
  });
  const none = { tokens: 0, nanoUsd: 0, steps: 0, toolCalls: 0, wallMs: 0 };
  assert.deepEqual(allotting.state.standing.allotted, { ...none, turns: 2 });
});

test("a trigger remembers the cause it last fired for", () => {
  const set = given().and("trigger.set", samples["trigger.set"].body, { spec: 1 });
  assert.equal(set.state.standing.triggers.get("nightly")?.lastCause, null);
  const { body } = samples["trigger.fired"];
  const fired = set.and("trigger.fired", body);
  assert.equal(fired.state.standing.triggers.get("nightly")?.lastCause, body.digest);
  const stranger = set.and("trigger.fired", { ...body, name: "unknown" });
  assert.equal(stranger.state.standing.triggers.size, 1);
});

test("an overlay inside a newer one is forgotten, one that reaches out of it stays", () => {
  const body = { strategy: "summarize" as const, tokensBefore: 9, tokensAfter: 1 };
  const two = given()
    .and("transcript.compacted", { ...body, fromSeq: 2, toSeq: 4 })
    .and("transcript.compacted", { ...body, fromSeq: 6, toSeq: 9 })
    .and("transcript.compacted", { ...body, fromSeq: 3, toSeq: 9 });
  const spans = two.state.mind.overlays.map(({ fromSeq, toSeq, seq }) => [fromSeq, toSeq, seq]);
  assert.deepEqual(spans, [
    [2, 4, 2],
    [3, 9, 4],
  ]);
});

test("allotments move limits and unused amounts, there and back", () => {
  const amounts = { tokens: 10, steps: 1 };
  const session = otherSession;
  const giver = given()
    .and("budget.allotted", { session, direction: "given", amounts })
    .and("budget.allotted", { session, direction: "regained", amounts: { tokens: 4 } });
  assert.deepEqual([giver.state.standing.allotted.tokens, giver.state.standing.allotted.steps], [6, 1]);
  const taker = given()
    .and("budget.set", { limits: { tokens: 5 } })
    .and("budget.allotted", { session, direction: "got", amounts })
    .and("budget.allotted", { session, direction: "returned", amounts: { tokens: 2, turns: 1 } });
  assert.deepEqual(taker.state.standing.limits, { tokens: 13, steps: 1 });
});

test("the transcript leaves out rewound entries", () => {
  const said = given().and("turn.started", { inputs: [] }).and("scratch.set", { key: "s" }, { value: 1 });
  assert.deepEqual(transcriptRanges(said.state.mind), [[1, 2]]);
  assert.deepEqual(transcriptRanges(given().state.mind), []);
});

test("the hash of the mind is fixed for ever in its form 1", () => {
  const again = (["item.recorded", "scratch.set", "tool.requested"] as const).map((type) => ({
    type,
    ...samples[type],
  }));
  const { mind } = everything(later).write(...again).state;
  for (const held of [mind.items, mind.scratch, mind.documents, mind.bases, mind.calls])
    assert.ok(held.size > 0);
  for (const held of [mind.lost, mind.overlays, mind.memory]) assert.ok(held.length > 0);
  assert.equal(
    mindHash(digest, emptyState.mind),
    "982c702537794a3d4470956e72fb5a34024e5757c31f40ba479664a7e0c78d5b",
  );
  assert.equal(mindHash(digest, mind), "8aeb0cdd3d06a326316c2fb6895113929670782d8fb21a943310e94ee47c857c");
});
