/** Deciding on holds and erasure: whatever became of a session, as long as it lives here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { given, plain, sessionId, type Given } from "../given.ts";

const erase = {
  do: "erase",
  ranges: [
    [1, 2],
    [4, 4],
  ],
  records: 3,
  bytes: 90,
  reason: "asked for",
} as const;

test("an erasure is one event with the ranges and how much it was", () => {
  const body = {
    ranges: [
      [1, 2],
      [4, 4],
    ],
    records: 3,
    bytes: 90,
  };
  assert.deepEqual(given().brings(erase), [
    { type: "content.erased", body, content: { reason: "asked for" } },
  ]);
  const { reason: _, ...silent } = erase;
  assert.deepEqual(given().brings(silent), [{ type: "content.erased", body }]);
});

test("erased contents add up in the standing", () => {
  const { state } = given()
    .when(erase)
    .when({ do: "erase", ranges: [[3, 3]], records: 1, bytes: 10 });
  assert.deepEqual(state.standing.erased, { ranges: [[1, 4]], records: 4, bytes: 100 });
});

test("a hold and its end are events with the reason", () => {
  const held = given().when({ do: "hold", name: "case", reason: "the court" });
  assert.deepEqual(plain(held.state.standing.holds), [["case", 2]]);
  assert.deepEqual(held.brings({ do: "lift", name: "case", reason: "it is over" }), [
    { type: "hold.lifted", body: { name: "case" }, content: { reason: "it is over" } },
  ]);
  assert.deepEqual(plain(held.when({ do: "lift", name: "case" }).state.standing.holds), []);
  const missing = {
    code: "not-found",
    message: 'there is no hold "audit"',
    hint: '"skein state ID" lists the holds',
  };
  assert.deepEqual(held.refusal({ do: "lift", name: "audit" }), missing);
});

test("under a hold nothing is erased, and the refusal names session and hold", () => {
  const held = given().when({ do: "hold", name: "case" });
  assert.deepEqual(held.refusal(erase), {
    code: "refused",
    message: `${sessionId} is under legal hold "case"`,
    hint: 'lift it first: "skein hold ID NAME --lift"',
  });
  assert.equal(held.when({ do: "lift", name: "case" }).brings(erase).length, 1);
});

test(`there are at most ${limit.holdsMax} holds; one that is there may be set again`, () => {
  const name = (place: number): string => `hold ${place}`;
  const names = Array.from({ length: limit.holdsMax }, (_, place) => name(place));
  const full = given().write(...names.map((one) => ({ type: "hold.set", body: { name: one } })));
  const refusal = { code: "refused", message: `a session has at most ${limit.holdsMax} holds` };
  assert.deepEqual(full.refusal({ do: "hold", name: "more" }), {
    ...refusal,
    hint: 'lift one first: "skein hold ID NAME --lift"',
  });
  assert.equal(full.brings({ do: "hold", name: name(0) }).length, 1);
});

test("a session can be held and erased from in any status but moved", () => {
  const closed = given().when({ do: "close" });
  const archived = closed.when({ do: "archive" });
  const running = given().and("turn.started", { inputs: [] });
  const asleep = given().when({ do: "sleep" });
  for (const one of [running, asleep, closed, archived]) {
    assert.equal(one.brings(erase).length, 1);
    assert.equal(one.when({ do: "hold", name: "h" }).brings({ do: "lift", name: "h" }).length, 1);
  }
  const moved: Given = given().and("session.moved", { move: "m" });
  for (const command of [erase, { do: "hold", name: "h" } as const]) {
    const { code, message } = moved.refusal(command);
    assert.deepEqual([code, /moved/.test(message)], ["refused", true]);
  }
});

test("a fork of a session with erasures begins with a record for each shared one", () => {
  const erased = [
    { ranges: [[1, 1]], records: 1, bytes: 9 },
    { ranges: [[3, 3]], records: 0, bytes: 0 },
  ] as const;
  const drafts = given().brings({ do: "fork", parentHash: "a".repeat(64), by: "person", erased });
  assert.deepEqual(
    drafts.slice(1).map(({ type, body }) => [type, body]),
    erased.map((one) => ["content.erased", one]),
  );
});
