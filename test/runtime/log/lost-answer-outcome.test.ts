/** Lost answers, step by step: how often the store is asked, which refusal counts, what is found. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRecord } from "../../../src/core/chain.ts";
import { SkeinError } from "../../../src/core/error.ts";
import type { LogId, SessionId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { awaitOutcome, keyedParts } from "../../../src/runtime/log/lost-answer.ts";
import type {
  AppendedPart,
  Draft,
  Expect,
  Outcome,
  Part,
  ReadRange,
  Store,
} from "../../../src/store/port.ts";

/** A store of one log that answers appends as told, and holds these records. */
function answering(
  outcomes: readonly (Outcome | Error)[],
  records: readonly Partial<StoredRecord>[] = [],
  { pageMax = Infinity } = {},
) {
  const slept: number[] = [];
  let appends = 0;
  const store = {
    append: async () => {
      const outcome = outcomes[Math.min(appends++, outcomes.length - 1)];
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    read: async (_: LogId, { fromSeq, toSeq, limit: most }: ReadRange) =>
      records.filter(({ seq = 0 }) => seq >= fromSeq && seq <= toSeq).slice(0, Math.min(most, pageMax)),
    keyed: async (_: LogId, key: string) => records.find((one) => one.key === key)?.seq,
  } as unknown as Store;
  const world = { sleep: async (ms: number) => void slept.push(ms) };
  const settle = (parts: readonly Part[]) => awaitOutcome({ store, world }, parts, unknown);
  return { settle, slept, appends: () => appends };
}

const unknown = { kind: "unknown", cause: new Error("lost") } as const;
const session = "ses_1" as SessionId;
const own: Draft = {
  type: "x.mine",
  v: 1,
  actor: "system",
  turn: null,
  cause: null,
  key: "ab".repeat(16),
  body: '{"a":1}',
  bodyHash: "",
  content: null,
  blobs: [],
};
const asked = (expect: Expect, more: Partial<Part> = {}): Part => ({
  session,
  expect,
  drafts: [own, { ...own, key: null, type: "x.second" }],
  ...more,
});
const written = (seq: number, more: Partial<StoredRecord> = {}): Partial<StoredRecord> => {
  const { type, key, body } = own;
  return { seq, type, key, body, at: 7, hash: `h${seq}`, contentHash: null, ...more };
};

test("an answer that arrived is returned as it is, without another request to the store", async () => {
  const refused: Outcome = { kind: "fenced", session, epoch: 3 };
  const never = { append: () => assert.fail(), read: () => assert.fail(), keyed: () => assert.fail() };
  const world = { sleep: async () => assert.fail("waits") };
  for (const answer of [refused, { kind: "ok", parts: [] }] as const)
    assert.equal(
      await awaitOutcome({ store: never as unknown as Store, world }, [asked({ seq: 4 })], answer),
      answer,
    );
});

test("it is tried again after a pause that doubles, up to a second, and at last is unknown", async () => {
  const place = answering([unknown]);
  await assert.rejects(place.settle([asked({ seq: 4 })]), { code: "unknown", cause: unknown.cause });
  assert.deepEqual(place.slept, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000, 1_000, 1_000, 1_000]);
  assert.equal(place.appends(), limit.unknownRetriesMax);
});

test("an unavailable store is retried, and any other failure ends the search", async () => {
  const done: Outcome = { kind: "ok", parts: [] };
  const away = new SkeinError("unavailable", "away");
  const last = answering([...Array.from({ length: limit.unknownRetriesMax - 1 }, () => away), done]);
  assert.equal(await last.settle([asked({ seq: 4 })]), done);
  await assert.rejects(answering([away]).settle([asked({ seq: 4 })]), { code: "unknown", cause: away });
  for (const broken of [new Error("broken"), new SkeinError("invalid", "broken")]) {
    const place = answering([broken]);
    await assert.rejects(place.settle([asked({ seq: 4 })]), { code: "unknown", cause: broken });
    assert.equal(place.appends(), 1);
  }
});

test("a refusal counts where an earlier try would be refused, too", async () => {
  const conflict: Outcome = { kind: "conflict", session, headSeq: 9 };
  const fenced: Outcome = { kind: "fenced", session, epoch: 3 };
  for (const expect of [{ seq: 4 }, "absent"] as const) {
    const place = answering([conflict]);
    assert.equal(await place.settle([asked(expect)]), conflict);
    assert.deepEqual([place.appends(), place.slept], [1, [10]]);
  }
  for (const expect of ["exists", "unchecked"] as const) {
    await assert.rejects(answering([conflict]).settle([asked(expect)]), { code: "unknown" });
    assert.equal(await answering([fenced]).settle([asked(expect)]), fenced);
  }
  const other = asked("exists", { session: "ses_2" as SessionId });
  assert.equal(await answering([conflict]).settle([other, asked({ seq: 4 })]), conflict);
});

test("a write is found by its position or its key, and returned as the store would", async () => {
  const there = { session, at: 7 };
  const fifth = { kind: "ok", parts: [{ ...there, firstSeq: 5, headSeq: 6, hashes: ["h5", "h6"] }] };
  for (const pageMax of [1, Infinity]) {
    const place = answering([unknown], [written(5), written(6), written(7)], { pageMax });
    assert.deepEqual(await place.settle([asked({ seq: 4 })]), fifth);
    assert.deepEqual(await place.settle([asked("exists")]), fifth);
    assert.deepEqual(await place.settle([asked("unchecked")]), fifth);
    assert.deepEqual(await place.settle([asked("absent", { parent: { session, seq: 4 } })]), fifth);
    assert.equal(place.appends(), 0);
  }
  const first = { kind: "ok", parts: [{ ...there, firstSeq: 1, headSeq: 2, hashes: ["h1", "h2"] }] };
  assert.deepEqual(await answering([unknown], [written(1), written(2)]).settle([asked("absent")]), first);
});

test("the record of another is not taken for it", async () => {
  const conflict: Outcome = { kind: "conflict", session, headSeq: 9 };
  const content = { text: '"mine"', bytes: 6, salt: "", hash: "salted" };
  for (const other of [{ key: "cd".repeat(16) }, { type: "x.other" }, { body: '{"a":2}' }]) {
    const place = answering([conflict], [written(5, other), written(6)]);
    assert.equal(await place.settle([asked({ seq: 4 })]), conflict);
  }
  const salted = asked({ seq: 4 }, { drafts: [{ ...own, content }] });
  assert.equal(
    await answering([conflict], [written(5, { contentHash: "other" })]).settle([salted]),
    conflict,
  );
  const found = await answering([conflict], [written(5, { contentHash: "salted" })]).settle([salted]);
  assert.equal(found.kind, "ok");
});

test("a log that is dropped has nothing to find, and is found with the others", async () => {
  const dropped = asked({ seq: 8 }, { session: "ses_2" as SessionId, drafts: [], drop: true });
  const place = answering([unknown], [written(5), written(6)]);
  assert.deepEqual(await place.settle([asked({ seq: 4 }), dropped]), {
    kind: "ok",
    parts: [
      { session, firstSeq: 5, headSeq: 6, at: 7, hashes: ["h5", "h6"] },
      { session: "ses_2", firstSeq: 9, headSeq: 8, at: 0, hashes: [] },
    ],
  });
  await assert.rejects(place.settle([dropped]), { code: "unknown" });
  const { parts } = (await place.settle([asked({ seq: 4 }), { ...dropped, expect: "exists" }])) as {
    readonly parts: readonly AppendedPart[];
  };
  assert.deepEqual([parts[1]?.firstSeq, parts[1]?.headSeq], [1, 0]);
});

test("a draft gets a key where nothing else would hold off a second try", () => {
  const world = { random: (bytes: number) => new Uint8Array(bytes).fill(1) };
  const keys = (expect: Expect, key: string | null) =>
    keyedParts(world, [
      asked(expect, {
        drafts: [
          { ...own, key },
          { ...own, key: null },
        ],
      }),
    ])[0]?.drafts.map((draft) => draft.key);
  for (const expect of ["exists", "unchecked"] as const) {
    assert.deepEqual(keys(expect, null), ["01".repeat(16), null]);
    assert.deepEqual(keys(expect, own.key), [own.key, null]);
  }
  for (const expect of [{ seq: 4 }, "absent"] as const) assert.deepEqual(keys(expect, null), [null, null]);
  assert.deepEqual(keyedParts(world, [asked("exists", { drafts: [] })])[0]?.drafts, []);
});
