/** The form of segments: whatever records there are come back as they were, and any part of them. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { bodyHashOf, contentHashOf, genesisHash, link } from "../../../src/core/chain.ts";
import type { LogId } from "../../../src/core/ids.ts";
import type { RecordColumns } from "../../../src/store/sqlite/read.ts";
import { pack, packAtOnce, type PackedRow, type SegmentRange } from "../../../src/store/sqlite/segment.ts";
import { makeSegmentWriter } from "../../../src/store/sqlite/segment-write.ts";
import { makeSegments } from "../../../src/store/sqlite/segments.ts";
import { schema } from "../../../src/store/sqlite/schema.ts";
import { digest } from "../../core/digest.ts";

const session = "ses_00000000000000000000000001" as LogId;
const nameOf = (id: number): string => `name.${id}`;

interface Given {
  readonly step: number;
  readonly wait: number;
  readonly type: number;
  readonly turn: number | null;
  readonly cause: number | null;
  readonly key: string | null;
  readonly body: string;
  readonly content: string | null;
  readonly erased: boolean;
}

const whole = fc.nat(2 ** 31);
const given: fc.Arbitrary<Given> = fc.record({
  step: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 100_000 })),
  wait: fc.oneof(fc.constant(0), fc.integer({ min: -5, max: 100_000 })),
  type: fc.integer({ min: 4, max: 300 }),
  turn: fc.option(whole),
  cause: fc.option(whole),
  key: fc.option(fc.stringMatching(/^[0-9a-f]{32}$/)),
  body: fc.json(),
  content: fc.option(fc.string({ unit: "grapheme", maxLength: 400 })),
  erased: fc.boolean(),
});

const hex = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text, "hex"));

/** Records as they lie in the table, from a position on, each chained to the one before. */
function rangeOf(list: readonly Given[], fromSeq: number): SegmentRange {
  let [position, at, before] = [fromSeq * 3, 1_700_000_000_000, genesisHash];
  const rows = list.map((one, place): PackedRow => {
    position += one.step;
    at += one.wait;
    const seq = fromSeq + place;
    const salt = digest("", `${place}`).slice(0, 32);
    const contentHash = one.content === null ? null : contentHashOf(digest, salt, one.content);
    const contentBytes = one.content === null ? null : Buffer.byteLength(one.content);
    const { turn, cause, key, body } = one;
    const fields = { session, seq, at, type: nameOf(one.type), v: 1, actor: nameOf(2), turn, cause, key };
    before = link(digest, before, { ...fields, contentHash, contentBytes }, bodyHashOf(digest, body));
    const held = one.content !== null && !one.erased;
    const head = [
      1,
      seq,
      at,
      one.type,
      1,
      2,
      turn,
      cause,
      hex(key),
      body,
      hex(contentHash),
      contentBytes,
    ] as const;
    const row: Required<RecordColumns> = [
      ...head,
      Buffer.from(before, "hex"),
      held ? hex(salt) : null,
      held ? one.content : null,
    ];
    return { position, row };
  });
  return { rows, before: Buffer.from(genesisHash, "hex") };
}

const opened = () => {
  const database = new DatabaseSync(":memory:");
  database.exec(schema);
  const segments = makeSegments(database, { digest, sessionOf: () => session, name: nameOf });
  return { segments, writer: makeSegmentWriter(database, segments) };
};

test("records come back from a segment as they were, all of them and any part", async () => {
  const cases = fc.asyncProperty(
    fc.array(given, { minLength: 1, maxLength: 60 }),
    fc.integer({ min: 1, max: 1_000_000 }),
    fc.tuple(fc.nat(59), fc.nat(59), fc.boolean()),
    async (list, fromSeq, [a, b, contents]) => {
      const range = rangeOf(list, fromSeq);
      const { segments, writer } = opened();
      const packing = list.length % 2 === 0 ? await pack(range) : packAtOnce(range);
      writer.add(range, packing, { seq: fromSeq, instead: null });
      const segment = segments.at(1, fromSeq);
      assert.ok(segment);
      assert.deepEqual(segments.unpacked(segment), range);
      const [first, last] = [fromSeq + Math.min(a, b), fromSeq + Math.max(a, b)];
      segments.forget();
      const part = segments.records(segment, { fromSeq: first, toSeq: last, contents });
      const expected = range.rows.filter(({ row }) => row[1] >= first && row[1] <= last);
      assert.deepEqual(
        part.map(({ seq, hash, content, body, cause }) => [seq, hash, content, body, cause]),
        expected.map(({ row }) => [
          row[1],
          Buffer.from(row[12]).toString("hex"),
          contents ? row[14] : null,
          row[9],
          row[7],
        ]),
      );
      for (const { position, row } of range.rows) assert.equal(segments.positionOf(1, row[1]), position);
    },
  );
  await fc.assert(cases, { numRuns: 150 });
});

test("cutting a segment removes that part and leaves the rest unchanged", () => {
  const cases = fc.property(fc.array(given, { minLength: 2, maxLength: 40 }), fc.nat(40), (list, keep) => {
    const range = rangeOf(list, 1);
    const { segments, writer } = opened();
    writer.add(range, packAtOnce(range), { seq: 1, instead: null });
    const gone = writer.cut(1, keep);
    const kept = range.rows.filter(({ row }) => row[1] <= keep);
    assert.deepEqual(
      gone,
      keep >= list.length ? null : range.rows.slice(keep).map(({ position }) => position),
    );
    const segment = segments.upTo(1, Number.MAX_SAFE_INTEGER);
    assert.deepEqual(segment && segments.unpacked(segment)?.rows, kept.length === 0 ? undefined : kept);
    assert.equal(writer.cut(1, keep), null);
  });
  fc.assert(cases, { numRuns: 100 });
});
