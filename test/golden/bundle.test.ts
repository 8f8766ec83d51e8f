/** Golden bundles: what an earlier version wrote every later one reads, and a reader of another hand too. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SessionId } from "../../src/core/ids.ts";
import { bundleOf, inPieces } from "../runtime/bundled.ts";
import { all } from "../runtime/place.ts";
import { livedIn, statusIn, twoInFiles, twoInMemory } from "../runtime/two-stores.ts";
import { readBundle } from "./bundle-reader.ts";

const folder = join(import.meta.dirname, "bundle-1");
const bytesOf = (name: string): Buffer => readFileSync(join(folder, name));

interface Head {
  readonly id: SessionId;
  readonly seq: number;
  readonly hash: string;
}
const expected = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")) as {
  readonly publicKey: string;
  readonly root: Head;
  readonly fork: Head;
  readonly leaf: Head;
};

for (const [name, make] of [
  ["memory", twoInMemory],
  ["files", twoInFiles],
] as const) {
  test(`golden bundles of format 1 are taken in as they were, in ${name}`, async () => {
    await using homes = await make();
    const { b } = homes;
    const { root, fork, leaf, publicKey } = expected;
    const copy = await b.engine.import(inPieces(bytesOf("copy.skein"), 999));
    assert.deepEqual([copy.session, copy.as, copy.signedBy], [fork.id, "copy", null]);
    const family = await b.engine.import(inPieces(bytesOf("family.skein")));
    assert.deepEqual([family.session, family.signedBy], [root.id, publicKey]);
    const moved = await b.engine.import(inPieces(bytesOf("move.skein")));
    assert.deepEqual([moved.session, moved.as], [fork.id, "own"]);
    assert.equal(await statusIn(b, fork.id), "open");
    for (const { id, seq, hash } of [root, fork, leaf]) {
      const report = await (await b.engine.session(id)).verify({ head: { seq, hash } });
      assert.equal(report.ok, true, JSON.stringify(report.problems));
    }
    await (await b.engine.session(fork.id)).append("goes on");
    assert.equal((await b.engine.verify()).ok, true);
  });
}

test("the reader of another hand finds in golden and new bundles what is there", async () => {
  const golden = readdirSync(folder).filter((name) => name.endsWith(".skein"));
  assert.equal(golden.length, 3);
  for (const name of golden) assert.ok(readBundle(bytesOf(name)).logs.length > 1, name);
  assert.equal(readBundle(bytesOf("family.skein")).signedBy, expected.publicKey);
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

test("the reader of another hand sees what is damaged", () => {
  const bytes = bytesOf("family.skein");
  let seen = 0;
  for (let place = 0; place < bytes.length; place += 37) {
    const damaged = Buffer.from(bytes);
    damaged[place] = (damaged[place] ?? 0) ^ 4;
    assert.throws(() => readBundle(damaged), `byte ${place}`);
    seen++;
  }
  assert.ok(seen > 50);
});
