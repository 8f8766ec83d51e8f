/** Bundles: what goes out comes in as it was, or not at all. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import type { StoredRecord } from "../../../src/core/chain.ts";
import type { SessionId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import type { Signer } from "../../../src/runtime/transfer/bundle.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { cases, stride } from "../../kind.ts";
import { bundleOf, inPieces } from "./bundled.ts";
import { histories } from "../../core/history.ts";
import { keep } from "../kept-history.ts";
import { madeWorld } from "../made-world.ts";
import { all } from "../place.ts";
import { lifeOf, livedIn, mortal, statusIn, twoInFiles, twoInMemory } from "../two-stores.ts";
import type { Home, Homes } from "../two-stores.ts";

const recordsOf = (session: Session): Promise<StoredRecord[]> => all(session.records());

async function blobIn({ store }: Home, hash: string): Promise<Buffer> {
  const chunks = await store.blob(hash);
  assert.ok(chunks, `blob ${hash} is not there`);
  return Buffer.concat(await all(chunks));
}

/** What two stores hold of a session is the same. */
async function assertSame(a: Home, b: Home, id: SessionId): Promise<void> {
  const [here, there] = [await a.engine.session(id), await b.engine.session(id)];
  const records = await recordsOf(here);
  assert.deepEqual(await recordsOf(there), records);
  const [left, right] = [await here.fold(), await there.fold()];
  assert.deepEqual(right, left);
  assert.deepEqual(await there.items(), await here.items());
  for (const hash of records.flatMap(({ content }) => content?.match(/(?<=")[0-9a-f]{64}(?=")/g) ?? [])) {
    if ((await a.store.blob(hash)) === undefined) continue;
    assert.ok((await blobIn(a, hash)).equals(await blobIn(b, hash)));
  }
  assert.equal((await there.verify()).ok, true);
}

for (const [name, make] of [
  ["memory", twoInMemory],
  ["files", twoInFiles],
] as const) {
  test(`in ${name}: a copy is what it was, is read-only, and can be forked`, async () => {
    await using homes: Homes = await make();
    const { a, b } = homes;
    const { root, fork } = await livedIn(a);
    const bytes = await bundleOf(a, fork.id);
    const report = await b.engine.import(inPieces(bytes, 1_000));
    const { records, blobs, review, ...rest } = report;
    assert.deepEqual(rest, {
      session: fork.id,
      project: null,
      as: "copy",
      sessions: [fork.id],
      already: false,
      signedBy: null,
      trusted: false,
      suspended: false,
      warning: null,
    });
    assert.deepEqual(
      review.map(({ session }) => session),
      [fork.id],
    );
    assert.deepEqual([records, blobs], [(await fork.head()).seq, 2]);
    await assertSame(a, b, fork.id);
    const copy = await b.engine.session(fork.id);
    await assert.rejects(copy.append("no"), { code: "refused", hint: /fork it/ });
    await assert.rejects(copy.close(), { code: "refused" });
    await assert.rejects(b.engine.session(root.id), { code: "not-found" });
    const own = await copy.fork({ objective: "Go on here" });
    await own.append("yes");
    assert.equal((await own.verify()).ok, true);
    const { rows } = await b.engine.sessions();
    const copies = new Map(rows.map(({ session, copy: isCopy }) => [session, isCopy]));
    assert.deepEqual([copies.size, copies.get(own.id), copies.get(fork.id)], [2, undefined, true]);
    assert.deepEqual((await b.engine.import(inPieces(bytes))).already, true);
    await fork.append("later");
    const more = await b.engine.import(inPieces(await bundleOf(a, fork.id)));
    assert.deepEqual([more.records, more.as], [1, "copy"]);
    await assertSame(a, b, fork.id);
    assert.equal((await b.engine.import(inPieces(bytes))).already, true);
    assert.deepEqual((await a.engine.import(inPieces(bytes))).already, true);
    assert.equal((await a.engine.import(inPieces(bytes))).as, "own");
  });

  test(`in ${name}: a session with its forks is one bundle`, async () => {
    await using homes: Homes = await make();
    const { a, b } = homes;
    const { root, fork } = await livedIn(a);
    const leaf = await fork.fork({ atSeq: 2 });
    await leaf.append("a fork within what it shares");
    const report = await b.engine.import(inPieces(await bundleOf(a, root.id, { withForks: true })));
    assert.deepEqual(new Set(report.sessions), new Set([root.id, fork.id, leaf.id]));
    for (const id of report.sessions) await assertSame(a, b, id);
    assert.deepEqual(await b.store.forks(fork.id), [{ session: leaf.id, seq: 2 }]);
    assert.equal((await b.engine.verify()).ok, true);
  });

  test(`in ${name}: a session that moves with a bundle is taken over, once`, async () => {
    await using homes: Homes = await make();
    const { a, b } = homes;
    const { fork } = await livedIn(a);
    const bytes = await bundleOf(a, fork.id, { move: true });
    assert.equal(await statusIn(a, fork.id), "moved");
    await assert.rejects(fork.append("too late"), { code: "refused" });
    const again = await bundleOf(a, fork.id, { move: true });
    assert.equal(again.equals(bytes), true, "a lost bundle can be made again");
    const report = await b.engine.import(inPieces(bytes));
    assert.deepEqual([report.as, report.already, report.suspended], ["own", false, true]);
    assert.match(report.warning ?? "", /^the bundle is consumed, .* a second live session/);
    const there = await b.engine.session(fork.id);
    await there.activate();
    await there.append("goes on");
    const before = await recordsOf(there);
    const twice = await b.engine.import(inPieces(again));
    assert.deepEqual([twice.already, twice.as, twice.warning], [true, "own", null]);
    assert.deepEqual(await recordsOf(there), before);
    await there.migrate({ to: a.store });
    assert.equal((await b.engine.import(inPieces(bytes))).already, true);
    assert.deepEqual([await statusIn(a, fork.id), await statusIn(b, fork.id)], ["open", "moved"]);
    assert.equal((await a.engine.verify()).ok, true);
  });

  test(`in ${name}: a session that was deleted does not come back, but a fork of it may`, async () => {
    await using homes: Homes = await make();
    const { a, b } = homes;
    const { root, fork } = await livedIn(a);
    const [whole, part] = [await bundleOf(a, root.id), await bundleOf(a, fork.id)];
    await b.engine.import(inPieces(whole));
    await b.engine.delete(root.id);
    await assert.rejects(b.engine.import(inPieces(whole)), { code: "refused", message: /deleted here/ });
    await b.engine.import(inPieces(part));
    await assertSame(a, b, fork.id);
    await assert.rejects(b.engine.session(root.id), { code: "not-found" });
  });
}

test("export then import is identity, whatever the session went through", async () => {
  await fc.assert(
    fc.asyncProperty(histories(40), async (life) => {
      await using homes = twoInMemory();
      const { a, b } = homes;
      const id = await keep(a.store, a.world, life);
      const report = await b.engine.import(inPieces(await bundleOf(a, id), 777));
      assert.equal(report.records, life.records.length);
      await assertSame(a, b, id);
      assert.deepEqual(await bundleOf(b, id).then((bytes) => bytes.length > 0), true);
    }),
    cases(40),
  );
});

test("a bundle that is meant for one workspace is taken over nowhere else", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  const bytes = await bundleOf(a, fork.id, { move: true, to: a.store.workspace });
  await assert.rejects(b.engine.import(inPieces(bytes)), {
    code: "refused",
    message: /another store/,
  });
  assert.equal(await statusIn(b, fork.id), null);
  assert.equal((await a.engine.import(inPieces(bytes))).as, "own");
  assert.equal(await statusIn(a, fork.id), "suspended");
  const rightful = await bundleOf(a, root.id, { move: true, to: b.store.workspace });
  const { as, warning } = await b.engine.import(inPieces(rightful));
  assert.deepEqual([as, warning], ["own", null]);
  await assert.rejects(bundleOf(a, root.id, { move: true }), { code: "refused", message: /moved already/ });
  await assert.rejects(bundleOf(a, fork.id, { to: b.store.workspace }), { code: "invalid" });
  await assert.rejects(bundleOf(a, fork.id, { move: true, to: "elsewhere" }), { code: "invalid" });
  await assert.rejects(bundleOf(a, fork.id, { move: true, withForks: true }), { code: "invalid" });
});

test("a bundle is taken back where it was made, once, with a warning", async () => {
  await using homes = await twoInFiles();
  const { a } = homes;
  const { root } = await livedIn(a);
  const bytes = await bundleOf(a, root.id, { move: true });
  const back = await a.engine.import(inPieces(bytes));
  assert.deepEqual([back.as, back.already, back.records], ["own", false, 0]);
  assert.match(back.warning ?? "", /^the bundle is consumed, .* a second live session/);
  await root.append("home again");
  const before = await recordsOf(root);
  const twice = await a.engine.import(inPieces(bytes));
  assert.deepEqual([twice.already, twice.warning], [true, null]);
  await bundleOf(a, root.id, { move: true });
  await a.engine.import(inPieces(bytes));
  assert.equal(await statusIn(a, root.id), "moved", "a bundle that was used up does not undo a later move");
  assert.deepEqual((await recordsOf(root)).slice(0, before.length), before);
});

test("a session that diverged in two stores is refused, and both stay unchanged", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root } = await livedIn(a);
  const bytes = await bundleOf(a, root.id, { move: true });
  await b.engine.import(inPieces(bytes));
  await a.engine.import(inPieces(bytes));
  const there = await b.engine.session(root.id);
  await there.append("there");
  await root.append("here");
  const before = await recordsOf(root);
  for (const move of [false, true]) {
    const other = await bundleOf(b, root.id, { move });
    await assert.rejects(a.engine.import(inPieces(other)), { code: "conflict" });
  }
  assert.deepEqual(await recordsOf(root), before);
  await root.append("goes on");
});

test("an import that dies at any step shows nothing, and is finished by doing it again", async () => {
  await using homes = twoInMemory();
  const { a } = homes;
  const { fork } = await livedIn(a);
  const bytes = await bundleOf(a, fork.id, { move: true });
  for (const when of ["before", "after"] as const) {
    let steps = 1 - stride();
    for (let died = true; died;) {
      await using others = twoInMemory();
      const { b } = others;
      const life = lifeOf((steps += stride()));
      const dying = new Engine({ store: mortal(b.store, life, when), world: madeWorld("mortal") });
      await dying.import(inPieces(bytes)).catch((error: unknown) => assert.ok(life.dead, String(error)));
      died = life.dead;
      const where = `${when} step ${steps}`;
      const seen = await statusIn(b, fork.id);
      assert.ok(seen === null || seen === "moved" || seen === "suspended", `${where}: ${seen}`);
      if (seen === null) assert.deepEqual((await b.engine.sessions()).rows, [], where);
      const report = await b.engine.import(inPieces(bytes));
      assert.deepEqual([report.as, await statusIn(b, fork.id)], ["own", "suspended"], where);
      const there = await recordsOf(await b.engine.session(fork.id));
      assert.deepEqual(there.slice(0, -2), await recordsOf(fork), where);
      const last = there.slice(-2).map(({ type }) => type);
      assert.deepEqual(last, ["session.arrived", "session.suspended"], where);
      assert.equal((await b.engine.verify()).ok, true, where);
    }
    assert.ok(steps > 10 && steps < 300, `${steps} steps were seen`);
  }
});

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: String(publicKey.export({ format: "jwk" }).x),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
  };
}

test("a signed bundle names its signer, and only trusted keys are accepted on request", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { fork } = await livedIn(a);
  const [ours, theirs] = [newSigner(), newSigner()];
  const signed = await bundleOf(a, fork.id, { sign: ours });
  const plain = await bundleOf(a, fork.id);
  const signedBy = [theirs.publicKey];
  await assert.rejects(b.engine.import(inPieces(signed), { signedBy }), { code: "refused" });
  await assert.rejects(b.engine.import(inPieces(plain), { signedBy }), { code: "refused" });
  const forged = await bundleOf(a, fork.id, { sign: { ...theirs, publicKey: ours.publicKey } });
  await assert.rejects(b.engine.import(inPieces(forged)), { code: "invalid", message: /signature/ });
  assert.equal(await statusIn(b, fork.id), null);
  const report = await b.engine.import(inPieces(signed), { signedBy: [ours.publicKey] });
  assert.equal(report.signedBy, ours.publicKey);
});

test("the longest record fits a frame", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const session = await a.engine.open({ objective: "o" });
  await session.append({ type: "x.long", content: "\u0001".repeat(limit.contentInlineBytesMax / 6 - 10) });
  await session.append({ type: "x.blob", content: "é".repeat(limit.contentBytesMax / 2 - 10) });
  await b.engine.import(inPieces(await bundleOf(a, session.id)));
  await assertSame(a, b, session.id);
});
