/** Verification: what is whole verifies, and each way to be broken is told with its place. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { SessionId } from "../../../src/core/ids.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Store } from "../../../src/store/port.ts";
import { noFile } from "../../kind.ts";
import { madeWorld } from "../made-world.ts";
import type { Place } from "../place.ts";
import { inFile, inMemory, type FilePlace } from "../place.ts";
import { writeRaw } from "../raw.ts";

/** A file with a session of ten records, the last of them a blob, and a fork at 5. */
async function filled(): Promise<{ place: FilePlace; id: string; fork: string }> {
  const place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  for (let seq = 2; seq <= 9; seq++) {
    place.world.pass(10);
    await session.append(`number ${seq}`);
  }
  await session.append("x".repeat(100_000));
  const fork = await session.fork({ atSeq: 5 });
  await fork.append("own");
  return { place, id: session.id, fork: fork.id };
}

/** Does something to the file, and verifies through an engine that knows nothing of before. */
async function after(place: FilePlace, id: string, sql: string) {
  const raw = new DatabaseSync(place.path);
  raw.exec(sql);
  raw.close();
  const other = await place.again(madeWorld());
  const report = await (await other.engine.session(id)).verify();
  const whole = await other.engine.verify();
  await other.engine.close();
  return { report, whole };
}

test("a log that is whole verifies, with its counts", async () => {
  const { place, id, fork } = await filled();
  const report = await (await place.engine.session(id)).verify();
  const counts = { sessions: 1, records: 10, contents: 10, erased: 0, erasedBytes: 0, blobs: 1 };
  assert.deepEqual(report, { ok: true, ...counts, problems: [], firstBad: null });
  const theirs = await (await place.engine.session(fork)).verify();
  assert.deepEqual([theirs.ok, theirs.records], [true, 7]);
  const own = await (await place.engine.session(fork)).verify({ own: true });
  assert.deepEqual([own.ok, own.records], [true, 2]);
  const all = await place.engine.verify();
  assert.deepEqual([all.ok, all.sessions, all.records], [true, 2, 12]);
  await place[Symbol.asyncDispose]();
});

const harms: readonly (readonly [what: string, sql: string, seq: number, problem: RegExp])[] = [
  [
    "a changed body",
    "UPDATE records SET body = '{ \"input\":3}' WHERE log = 1 AND seq = 4",
    4,
    /header or body/,
  ],
  [
    "a changed content",
    "UPDATE records SET content = upper(content) WHERE log = 1 AND seq = 4",
    4,
    /its hash/,
  ],
  ["a longer content", "UPDATE records SET content = content || ' ' WHERE log = 1 AND seq = 4", 4, /length/],
  [
    "a content without salt",
    "UPDATE records SET salt = NULL WHERE log = 1 AND seq = 4",
    4,
    /does not declare/,
  ],
  [
    "a salt without content",
    "UPDATE records SET content = NULL WHERE log = 1 AND seq = 4",
    4,
    /salt without content/,
  ],
  ["a changed time", "UPDATE records SET at = at + 1 WHERE log = 1 AND seq = 4", 4, /header or body/],
  ["a missing record", "DELETE FROM records WHERE log = 1 AND seq = 4", 4, /the record is missing/],
  [
    "missing records",
    "DELETE FROM records WHERE log = 1 AND seq IN (4, 5, 6)",
    4,
    /records up to 6 are missing/,
  ],
  [
    "two records in the wrong order",
    `UPDATE records SET seq = 99 WHERE log = 1 AND seq = 4;
     UPDATE records SET seq = 4 WHERE log = 1 AND seq = 6;
     UPDATE records SET seq = 6 WHERE log = 1 AND seq = 99`,
    4,
    /header or body/,
  ],
  ["a missing blob", "DELETE FROM blobs", 10, /its blob is missing/],
  ["a damaged blob", "UPDATE blob_chunks SET bytes = zeroblob(length(bytes))", 10, /blob does not match/],
  [
    "an unknown type",
    "UPDATE records SET type = 4711 WHERE log = 1 AND seq = 4",
    4,
    /cannot be read: name 4711/,
  ],
  ["a number that is none", "UPDATE records SET at = -9e18 WHERE log = 1 AND seq = 4", 4, /cannot be read/],
];

for (const [what, sql, seq, problem] of harms) {
  test(`${what} is reported with its position`, { skip: noFile() }, async () => {
    const { place, id } = await filled();
    const { report, whole } = await after(place, id, sql);
    assert.equal(report.ok, false);
    assert.deepEqual([report.firstBad?.session, report.firstBad?.seq], [id, seq]);
    assert.match(report.firstBad?.problem ?? "", problem);
    assert.deepEqual(whole.problems.filter(({ session }) => session === id)[0], report.firstBad);
    await place[Symbol.asyncDispose]();
  });
}

test("erased contents are counted, with their length, and are not reported as damage", async () => {
  const { place, id, fork } = await filled();
  const session = await place.engine.session(id);
  const { bytes } = await session.erase({
    ranges: [
      [1, 1],
      [4, 4],
      [10, 10],
    ],
  });
  const report = await session.verify();
  const { ok, contents, erased, erasedBytes, blobs } = report;
  assert.deepEqual([ok, contents, erased, erasedBytes, blobs], [true, 7, 3, bytes, 0]);
  const theirs = await (await place.engine.session(fork)).verify();
  assert.deepEqual([theirs.ok, theirs.contents, theirs.erased], [true, 4, 2]);
  assert.equal((await place.engine.verify()).ok, true);
  await place[Symbol.asyncDispose]();
});

test(
  "a content that is missing without an erasure is damage, and so is a false erasure",
  { skip: noFile() },
  async () => {
    const { place, id, fork } = await filled();
    const unsaid = "its content is missing, and nothing says that it was erased";
    const sql = "UPDATE records SET content = NULL, salt = NULL WHERE log = 1 AND seq IN (1, 2, 4)";
    const { report, whole } = await after(place, id, sql);
    const problems = [1, 2, 4].map((seq) => ({ session: id, seq, problem: unsaid }));
    assert.deepEqual([report.problems, whole.problems], [problems, problems]);
    const body = { ranges: [[1, 3]], records: 2, bytes: 0 };
    await writeRaw(place, fork as SessionId, [{ type: "content.erased", body }]);
    // A log that shares the positions says so, as far as it does.
    assert.deepEqual((await after(place, id, "")).report.problems, problems.slice(2));
    const undone = "its content is still there, though the log says that it was erased";
    const theirs = (await after(place, fork, "")).report.problems;
    assert.deepEqual(theirs, [
      { session: fork, seq: 3, problem: undone },
      { session: fork, seq: 4, problem: unsaid },
    ]);
    await place[Symbol.asyncDispose]();
  },
);

test("a missing tail is found when the head was noted", { skip: noFile() }, async () => {
  const { place, id } = await filled();
  const session = await place.engine.session(id);
  const noted = await session.head();
  assert.equal((await session.verify({ head: noted })).ok, true);
  await session.append("and on");
  assert.equal((await session.verify({ head: noted })).ok, true);
  const { report } = await after(place, id, "DELETE FROM records WHERE log = 1 AND seq >= 9");
  assert.equal(report.ok, true, "a log that was cut verifies by itself");
  const other = await (await place.again(madeWorld())).engine.session(id);
  const cut = await other.verify({ head: noted });
  assert.deepEqual(cut.problems, [
    { session: id, seq: 9, problem: "the tail is missing: the noted head is 10" },
  ]);
  const rewritten = await other.verify({ head: { seq: 3, hash: noted.hash } });
  assert.match(rewritten.firstBad?.problem ?? "", /not the one whose hash was noted/);
  await place[Symbol.asyncDispose]();
});

test("a store whose head is not its last record is reported", async () => {
  await using place: Place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.append("two");
  const lying = (change: object): Engine => {
    const head: Store["head"] = async (id) => ({ ...(await place.store.head(id))!, ...change });
    return new Engine({ store: { ...place.store, head }, world: place.world });
  };
  const problemWith = async (change: object) => {
    const { problems } = await (await lying(change).session(session.id)).verify();
    return problems.map(({ seq, problem }) => `${seq}: ${problem}`);
  };
  assert.deepEqual(await problemWith({ hash: "0".repeat(64) }), [
    "2: the head does not match the last record",
  ]);
  assert.deepEqual(await problemWith({ seq: 5 }), ["3: the log ends here; its head says 5"]);
});

test(
  "the shared part of a fork is verified with it once its parent is deleted",
  { skip: noFile() },
  async () => {
    const { place, id, fork } = await filled();
    await place.engine.delete(id);
    const { whole } = await after(
      place,
      fork,
      "UPDATE records SET content = upper(content) WHERE log = 1 AND seq = 2",
    );
    assert.deepEqual([whole.firstBad?.session, whole.firstBad?.seq], [fork, 2]);
    await place[Symbol.asyncDispose]();
  },
);

test("verify changes nothing, and reports wrong arguments", async () => {
  await using place: Place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  // The bytes may be of a database that others use too.
  const figures = async () => ({ ...(await place.store.stats()), bytes: null });
  const before = await figures();
  await session.verify();
  await place.engine.verify();
  assert.deepEqual(await figures(), before);
  await assert.rejects(session.verify({ haed: 1 } as never), {
    code: "invalid",
    hint: 'did you mean "head"?',
  });
});
