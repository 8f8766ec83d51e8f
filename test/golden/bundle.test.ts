/** Golden bundles: what an earlier version wrote every later one reads, and a reader of another hand too. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SessionId } from "../../src/core/ids.ts";
import { bundleOf, inPieces } from "../runtime/transfer/bundled.ts";
import { all } from "../runtime/place.ts";
import { livedIn, statusIn, twoInFiles, twoInMemory } from "../runtime/two-stores.ts";
import { readBundle } from "./bundle-reader.ts";

type Format = "bundle-1" | "bundle-2";
const formats: readonly Format[] = ["bundle-1", "bundle-2"];
const folderOf = (format: Format): string => join(import.meta.dirname, format);
const bytesOf = (format: Format, name: string): Buffer => readFileSync(join(folderOf(format), name));

interface Head {
  readonly id: SessionId;
  readonly seq: number;
  readonly hash: string;
}
interface Expected {
  readonly publicKey: string;
  readonly root: Head;
  readonly fork: Head;
  readonly leaf: Head;
}
const expectedOf = (format: Format): Expected =>
  JSON.parse(readFileSync(join(folderOf(format), "expected.json"), "utf8")) as Expected;

for (const [name, make, format] of [
  ["memory", twoInMemory, "bundle-1"],
  ["files", twoInFiles, "bundle-1"],
  ["memory", twoInMemory, "bundle-2"],
  ["files", twoInFiles, "bundle-2"],
] as const) {
  test(`golden bundles of ${format} are taken in as they were, in ${name}`, async () => {
    await using homes = await make();
    const { b } = homes;
    const { root, fork, leaf, publicKey } = expectedOf(format);
    const bytes = (file: string): Buffer => bytesOf(format, file);
    const copy = await b.engine.import(inPieces(bytes("copy.skein"), 999));
    assert.deepEqual([copy.session, copy.as, copy.signedBy], [fork.id, "copy", null]);
    const family = await b.engine.import(inPieces(bytes("family.skein")));
    assert.deepEqual([family.session, family.signedBy], [root.id, publicKey]);
    const moved = await b.engine.import(inPieces(bytes("move.skein")));
    assert.deepEqual([moved.session, moved.as], [fork.id, "own"]);
    assert.deepEqual([await statusIn(b, fork.id), moved.suspended], ["suspended", true]);
    for (const { id, seq, hash } of [root, fork, leaf]) {
      const report = await (await b.engine.session(id)).verify({ head: { seq, hash } });
      assert.equal(report.ok, true, JSON.stringify(report.problems));
    }
    await (await b.engine.session(fork.id)).append("goes on");
    assert.equal((await b.engine.verify()).ok, true);
  });
}

test("an independent reader reads golden and new bundles", async () => {
  for (const format of formats) {
    const golden = readdirSync(folderOf(format)).filter((name) => name.endsWith(".skein"));
    assert.equal(golden.length, 3);
    for (const name of golden) assert.ok(readBundle(bytesOf(format, name)).logs.length > 1, name);
    assert.equal(readBundle(bytesOf(format, "family.skein")).signedBy, expectedOf(format).publicKey);
  }
  await using homes = twoInMemory();
  const { a } = homes;
  const { root, fork } = await livedIn(a);
  const read = readBundle(await bundleOf(a, fork.id));
  assert.deepEqual(
    read.logs.map(({ session, kind }) => [session, kind]),
    [
      [root.id, "prefix"],
      [fork.id, "session"],
    ],
  );
  assert.deepEqual(
    read.logs.flatMap(({ records }) => records),
    await all(fork.records()),
  );
  assert.equal(read.blobs.size, 2);
});

test("an independent reader finds damage", () => {
  const bytes = bytesOf("bundle-2", "family.skein");
  let seen = 0;
  for (let place = 0; place < bytes.length; place += 37) {
    const damaged = Buffer.from(bytes);
    damaged[place] = (damaged[place] ?? 0) ^ 4;
    assert.throws(() => readBundle(damaged), `byte ${place}`);
    seen++;
  }
  assert.ok(seen > 50);
});

test("the golden bundle of a project is taken in as it was, and read by another hand", async () => {
  const bytes = readFileSync(join(import.meta.dirname, "bundle-3", "project.skein"));
  const expected = JSON.parse(
    readFileSync(join(import.meta.dirname, "bundle-3", "expected.json"), "utf8"),
  ) as { publicKey: string; project: string; head: { seq: number; hash: string }; sessions: string[] };
  const read = readBundle(bytes);
  assert.deepEqual([read.project, read.signedBy], [expected.project, expected.publicKey]);
  await using homes = twoInMemory();
  const { b } = homes;
  const report = await b.engine.import(inPieces(bytes, 999), { signedBy: [expected.publicKey] });
  assert.deepEqual(
    [report.project, report.session, report.trusted],
    [expected.project, expected.sessions[0], true],
  );
  assert.deepEqual(new Set(report.sessions), new Set(expected.sessions));
  const view = await b.engine.project(expected.project);
  assert.deepEqual(view.head, expected.head);
  assert.deepEqual([view.name, view.sessions, view.journal[0]?.text], ["payments", expected.sessions, null]);
  assert.equal((await b.engine.verifyProject(expected.project)).ok, true);
});
