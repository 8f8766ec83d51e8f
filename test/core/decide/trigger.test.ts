/** Triggers: each cause fires once, what is told waits only once, and messages fire what they fit. */
import type { Command } from "../../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSessionId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { empty, given, sessionId, workspaceId, type Given } from "../given.ts";
import { digest } from "../digest.ts";

const other = makeSessionId({ nowMs: 2, random: new Uint8Array(10) });
const sha = (text: string): string => digest("", text);
const types = (log: Given, command: Command): string[] => log.brings(command).map(({ type }) => type);

const timed = (missed?: "once" | "all" | "skip"): Given =>
  given().when({
    do: "trigger",
    name: "tick",
    kind: "every",
    spec: { kind: "every", everyMs: 1_000 },
    nextMs: 1_000,
    ...(missed === undefined ? {} : { missed }),
  });
const fire = (more: object = {}): Command => ({
  do: "fire",
  name: "tick",
  setSeq: 2,
  digest: sha("1"),
  dueMs: 1_000,
  nextMs: 2_000,
  text: "tick",
  ...more,
});

test("a session is opened with its triggers in the first append", () => {
  const setting = {
    name: "cron",
    kind: "cron",
    spec: { kind: "cron", cron: "* * * * *" },
    nextMs: 60_000,
  } as const;
  const log = empty(sessionId).when({
    do: "open",
    workspace: workspaceId,
    objective: "Tick",
    triggers: [setting],
  });
  assert.deepEqual(
    log.records.map(({ type }) => type),
    ["session.opened", "trigger.set"],
  );
  assert.equal(log.state.standing.triggers.get("cron")?.nextMs, 60_000);
  const triggers = Array.from({ length: limit.triggersMax + 1 }, (_, n) => ({ ...setting, name: `t${n}` }));
  const open = { do: "open", workspace: workspaceId, objective: "Tick", triggers } as const;
  assert.equal(empty(sessionId).refusal(open).code, "invalid");
});

test("a time fires once: for a second worker it is a conflict", () => {
  const log = timed().when({ do: "sleep" });
  assert.deepEqual(types(log, fire()), ["trigger.fired", "session.woken", "input.received"]);
  const fired = log.when(fire());
  assert.equal(fired.refusal(fire()).code, "conflict");
  assert.equal(fired.state.standing.triggers.get("tick")?.nextMs, 2_000);
  assert.equal(
    fired.refusal({ do: "skip", name: "tick", setSeq: 2, dueMs: 1_000, count: 1 }).code,
    "conflict",
  );
});

test("a trigger that was replaced or removed does not fire for an earlier observation", () => {
  const anew = timed().when({ do: "trigger", name: "tick", kind: "every", spec: {}, nextMs: 1_000 });
  assert.equal(anew.refusal(fire()).code, "not-found");
  assert.equal(timed().when({ do: "untrigger", name: "tick" }).refusal(fire()).code, "not-found");
});

test("an unread firing is not repeated, unless every time counts", () => {
  const again = fire({ dueMs: 2_000, nextMs: 3_000, digest: sha("2") });
  assert.deepEqual(types(timed().when(fire()), again), ["trigger.fired"]);
  assert.deepEqual(types(timed("all").when(fire()), again), ["trigger.fired", "input.received"]);
  const occurrence: Command = { do: "fire", name: "tick", setSeq: 2, digest: sha("3"), text: "by hand" };
  assert.deepEqual(types(timed().when(fire()), occurrence), ["trigger.fired", "input.received"]);
});

test("a manual firing leaves the scheduled time unchanged", () => {
  const log = timed().when({ do: "fire", name: "tick", setSeq: 2, digest: sha("3"), text: "by hand" });
  assert.equal(log.state.standing.triggers.get("tick")?.nextMs, 1_000);
  assert.deepEqual(types(log, fire({ dueMs: 1_000 })), ["trigger.fired"]);
});

test("a watched trigger fires only if its last-seen state is current", () => {
  const log = given().when({ do: "trigger", name: "tick", kind: "file", spec: {}, digest: sha("a") });
  const change = (was: string, now: string): Command => {
    return { do: "fire", name: "tick", setSeq: 2, was: sha(was), digest: sha(now), text: "changed" };
  };
  const changed = log.when(change("a", "b"));
  assert.equal(changed.refusal(change("a", "b")).code, "conflict");
  assert.equal(changed.when(change("b", "a")).state.standing.triggers.get("tick")?.lastCause, sha("a"));
});

test("a session that sleeps for named triggers wakes for those only", () => {
  const two = timed().when({ do: "trigger", name: "other", kind: "every", spec: {}, nextMs: 1_000 });
  const asleep = two.when({ do: "sleep", triggers: ["other"] });
  assert.deepEqual(types(asleep, fire()), ["trigger.fired", "input.received"]);
  assert.deepEqual(types(asleep, fire({ name: "other", setSeq: 3 })), [
    "trigger.fired",
    "session.woken",
    "input.received",
  ]);
});

test("a trigger that fires in the turn before a sleep wakes the session after the turn", () => {
  const turn = timed()
    .when({ do: "begin", inputs: [] })
    .when({ do: "sleep", triggers: ["tick"] });
  const end = { do: "end", outcome: "completed" } as const;
  assert.equal(turn.when(end).state.standing.status, "sleeping");
  assert.equal(turn.when(fire()).when(end).state.standing.status, "open");
  const told = turn.when({ do: "append", records: [{ type: "input.received", text: "hi", from: "system" }] });
  assert.equal(told.when(end).state.standing.status, "sleeping");
});

const receive = (more: object = {}): Command => ({
  do: "receive",
  from: other,
  message: "msg_1",
  number: 1,
  text: "hi",
  ...more,
});

test("a message fires matching triggers, and wakes sessions that wait for one of them", () => {
  const listening = given()
    .when({ do: "trigger", name: "rates", kind: "message", spec: {}, topic: "rates" })
    .when({ do: "trigger", name: "peer", kind: "message", spec: {}, from: other });
  const fired = (log: Given, command: Command): unknown[] =>
    log.brings(command).flatMap(({ type, body }) => {
      return type === "trigger.fired"
        ? [(body as { name: string }).name]
        : type === "session.woken"
          ? [body]
          : [];
    });
  assert.deepEqual(fired(listening, receive()), ["peer"]);
  assert.deepEqual(fired(listening, receive({ topic: "rates" })), ["peer", "rates"]);
  const asleep = listening.when({ do: "sleep", triggers: ["rates"] });
  assert.deepEqual(fired(asleep, receive({ topic: "news" })), ["peer"]);
  assert.deepEqual(fired(asleep, receive({ topic: "rates" })), [
    "peer",
    "rates",
    { by: "message", trigger: "rates" },
  ]);
  const person = (more: object): Command => ({
    do: "append",
    records: [{ type: "input.received", text: "hi", topic: "rates" }],
    ...more,
  });
  assert.deepEqual(fired(listening, person({ sent: true })), ["rates"], "a person is no session");
  assert.deepEqual(fired(listening, person({})), [], "what is not sent is no message");
  assert.deepEqual(fired(asleep, person({ sent: true })), ["rates", { by: "person" }]);
  const body = { name: "peer", digest: sha("msg_1"), input: 1 };
  assert.deepEqual(listening.brings(receive())[1], { type: "trigger.fired", body });
});
