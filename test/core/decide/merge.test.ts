/** Deciding what comes in from another session, and judgments. */
import type { MergeNote } from "../../../src/core/branch/commands.ts";
import type { Command } from "../../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSessionId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import type { MergeWrite } from "../../../src/core/branch/merge.ts";
import { given, plain, sessionId } from "../given.ts";

const from = makeSessionId({ nowMs: 2, random: new Uint8Array(10) });
const note: MergeNote = {
  fromSeq: 2,
  toSeq: 7,
  toHash: "ab".repeat(32),
  base: { session: sessionId, seq: 1 },
  taken: 2,
  resolved: 1,
  summary: "It worked.",
  resolutions: [{ kind: "fact", key: "x", take: "ours", because: "newer" }],
};
const merge = (writes: readonly MergeWrite[], more: object = { note }): Command => ({
  do: "merge",
  from,
  writes,
  ...more,
});
const record = (key: string, value: unknown = 1): MergeWrite => ({
  write: "record",
  kind: "fact",
  key,
  value,
});

test("a merge is its items and then the note, which is their cause", () => {
  const session = given().when({ do: "record", kind: "fact", key: "old", value: 1 });
  const drafts = session.brings(
    merge([
      {
        write: "record",
        kind: "task",
        key: "t",
        value: 2,
        status: "done",
        origin: { session: from, seq: 5 },
      },
      { write: "retract", kind: "fact", key: "old", because: "it no longer holds there" },
    ]),
  );
  const { summary, resolutions, ...body } = note;
  assert.deepEqual(drafts, [
    {
      type: "item.recorded",
      body: { kind: "task", key: "t", status: "done", origin: { session: from, seq: 5 } },
      content: { value: 2 },
      cause: 5,
    },
    {
      type: "item.retracted",
      body: { kind: "fact", key: "old" },
      content: { because: "it no longer holds there" },
      cause: 5,
    },
    { type: "session.merged", body: { from, ...body }, content: { summary, resolutions } },
  ]);
  const { mind } = session.write(...drafts).state;
  assert.deepEqual([...mind.items.keys()], ["task/t"]);
  assert.deepEqual(plain(mind.bases), [[from, 7]]);
  assert.equal(mind.toSeq, 5);
});

test("a merge too large for one append is written without the note, then with it", () => {
  const first = given().when(merge([record("a"), record("b")], {}));
  assert.deepEqual(
    first.records.slice(1).map(({ type, cause }) => [type, cause]),
    [
      ["item.recorded", 3],
      ["item.recorded", 3],
    ],
  );
  assert.deepEqual(
    first.brings(merge([])).map(({ type }) => type),
    ["session.merged"],
  );
});

test("a merge during a turn belongs to the turn", () => {
  const running = given().and("turn.started", { inputs: [] });
  assert.deepEqual(
    running.brings(merge([record("a")])).map(({ turn }) => turn),
    [1, 1],
  );
});

test("a session is not merged with itself, and a closed one accepts no merge", () => {
  assert.equal(given().refusal({ do: "merge", from: sessionId, writes: [], note }).code, "invalid");
  const closed = given().when({ do: "close" });
  assert.equal(closed.refusal(merge([])).code, "refused");
  assert.match(closed.when({ do: "archive" }).refusal(merge([])).hint ?? "", /reopen it first/);
  const gone = given().refusal(merge([{ write: "retract", kind: "fact", key: "k" }]));
  assert.deepEqual(gone, {
    code: "not-found",
    message: 'there is no fact "k" to retract',
    hint: "the item was retracted meanwhile; merge again",
  });
});

test(`with what comes in there are at most ${limit.itemsMax} items`, () => {
  const full = given().when(merge(Array.from({ length: limit.itemsMax - 1 }, (_, at) => record(`k${at}`))));
  assert.equal(full.when(merge([record("last")])).state.mind.items.size, limit.itemsMax);
  const over = full.refusal(merge([record("one"), record("more")]));
  assert.equal(over.code, "refused");
  const replaced = full.when(merge([record("k0", 2), record("one"), record("two"), retract("k1")]));
  assert.equal(replaced.state.mind.items.size, limit.itemsMax);
});

const retract = (key: string): MergeWrite => ({ write: "retract", kind: "fact", key });

test("a score is a name and a number, of the session or of a position, with a reason", () => {
  const session = given();
  const score: Command = { do: "score", name: "accuracy", value: 0.8, seq: 1, because: "8 of 10" };
  assert.deepEqual(session.brings(score), [
    {
      type: "score.recorded",
      body: { name: "accuracy", value: 0.8, seq: 1 },
      content: { because: "8 of 10" },
    },
  ]);
  assert.deepEqual(session.brings({ do: "score", name: "n", value: -1 }), [
    { type: "score.recorded", body: { name: "n", value: -1 } },
  ]);
  const judged = session.when(score).when({ do: "score", name: "accuracy", value: 0.9 });
  assert.deepEqual(plain(judged.state.standing.scores), [["accuracy", { value: 0.9, seq: 3 }]]);
});

test("a score that is not a number, has no position, or is of a packed range is rejected", () => {
  for (const value of [Number.NaN, Infinity])
    assert.equal(given().refusal({ do: "score", name: "n", value }).code, "invalid");
  for (const seq of [0, 2, 1.5])
    assert.equal(given().refusal({ do: "score", name: "n", value: 1, seq }).code, "not-found");
  const closed = given().when({ do: "close" });
  assert.ok(closed.decide({ do: "score", name: "n", value: 1 }).ok);
  assert.equal(closed.when({ do: "archive" }).refusal({ do: "score", name: "n", value: 1 }).code, "refused");
});

test(`a session holds at most ${limit.scoresMax} scores`, () => {
  let session = given();
  const body = (at: number) => ({ name: `n${at}`, value: 1 });
  const drafts = Array.from({ length: limit.scoresMax }, (_, at) => ({
    type: "score.recorded",
    body: body(at),
  }));
  session = session.write(...drafts);
  assert.ok(session.decide({ do: "score", name: "n0", value: 2 }).ok);
  assert.equal(session.refusal({ do: "score", name: "other", value: 2 }).code, "refused");
});
