/** Signed bundles: whoever carries one can change nothing in it, and can leave nothing out of it. */
import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, randomInt, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { frameKinds, type BundleTrailer, type FrameKind } from "../../../src/core/bundle/format.ts";
import type { StoredRecord } from "../../../src/core/chain.ts";
import { SkeinError } from "../../../src/core/error.ts";
import type { Signer } from "../../../src/runtime/transfer/bundle.ts";
import { readFrames } from "../../../src/runtime/transfer/bundle-frame.ts";
import { bundleOf, inPieces } from "./bundled.ts";
import { all } from "../place.ts";
import { livedIn, twoInFiles, twoInMemory, type Home } from "../two-stores.ts";

interface Piece {
  readonly kind: FrameKind;
  readonly flags: number;
  readonly payload: Buffer;
}

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: String(publicKey.export({ format: "jwk" }).x),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
  };
}

const piecesOf = async (bytes: Uint8Array): Promise<Piece[]> =>
  (await all(readFrames(inPieces(bytes)))).map(({ kind, flags, payload }) => ({
    kind,
    flags: flags & 2,
    payload: Buffer.from(payload),
  }));

function frameOf({ kind, flags, payload }: Piece): Buffer {
  const header = Buffer.alloc(12);
  header.write(kind, 0, "latin1");
  header[1] = flags;
  header.writeUInt32BE(payload.length, 4);
  header.writeUInt32BE(payload.length, 8);
  return Buffer.concat([header, payload]);
}

const trailerIn = (pieces: readonly Piece[]): BundleTrailer =>
  JSON.parse(String(pieces.find(({ kind }) => kind === frameKinds.trailer)?.payload)) as BundleTrailer;

/** A bundle of these pieces. Its trailer is right about bytes and counts: that takes no key. */
function joined(pieces: readonly Piece[], version: number, change: Partial<BundleTrailer> = {}): Buffer {
  const inner = pieces.filter(({ kind }) => kind !== frameKinds.trailer);
  const before = Buffer.concat([Buffer.from(`skein-bundle ${version}\n`), ...inner.map(frameOf)]);
  const { lost, signature } = trailerIn(pieces);
  const lines = inner.filter(({ kind }) => kind === frameKinds.records).map(({ payload }) => String(payload));
  const counts = {
    records: lines.join("").split("\n").length - 1,
    blobs: inner.filter(({ kind, flags }) => kind === frameKinds.blob && flags === 2).length,
  };
  const sha256 = createHash("sha256").update(before).digest("hex");
  const payload = Buffer.from(JSON.stringify({ ...counts, lost, sha256, signature, ...change }));
  return Buffer.concat([before, frameOf({ kind: frameKinds.trailer, flags: 0, payload })]);
}

async function assertRefused({ engine, store }: Home, bytes: Uint8Array, what: string): Promise<void> {
  const before = await store.stats();
  const isRefused = (error: unknown): boolean =>
    error instanceof SkeinError && /^(invalid|refused|conflict)$/.test(error.code);
  await assert.rejects(engine.import(inPieces(bytes)), isRefused, what);
  const { bytes: _, ...after } = await store.stats();
  const { bytes: __, ...unchanged } = before;
  assert.deepEqual(after, unchanged, `${what} left something behind`);
  assert.deepEqual((await store.logs(null, 10)).rows, [], `${what} is seen`);
}

const linesOf = ({ payload }: Piece): StoredRecord[] =>
  String(payload)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as StoredRecord);

/** The pieces without the contents that `strips` names. */
const stripped = (pieces: readonly Piece[], strips: (record: StoredRecord) => boolean): Piece[] =>
  pieces.map((piece) => {
    if (piece.kind !== frameKinds.records) return piece;
    const records = linesOf(piece).map((record) =>
      strips(record) ? { ...record, content: null, salt: null } : record,
    );
    return { ...piece, payload: Buffer.from(records.map((one) => `${JSON.stringify(one)}\n`).join("")) };
  });

const isSaid = ({ type }: StoredRecord): boolean => type === "item.recorded";

test("a bundle whose contents were stripped is refused, signed or not, in either version", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root } = await livedIn(a);
  const plain = await piecesOf(await bundleOf(a, root.id));
  await assertRefused(b, joined(stripped(plain, isSaid), 2), "unsigned");
  const signed = await piecesOf(await bundleOf(a, root.id, { sign: newSigner() }));
  await assertRefused(b, joined(stripped(signed, isSaid), 2), "signed");
  const golden = readFileSync(join(import.meta.dirname, "../../golden/bundle-1/family.skein"));
  const first = await piecesOf(golden);
  assert.notEqual(trailerIn(first).signature, null);
  await assertRefused(b, joined(stripped(first, isSaid), 1), "signed by the heads only");
  const report = await b.engine.import(inPieces(joined(first, 1)));
  assert.equal(report.signedBy, trailerIn(first).signature?.publicKey);
});

test("erased contents may be missing: from the log, its forks and their shared part", async () => {
  await using homes = await twoInFiles();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  await root.erase({ ranges: [[3, 3]] });
  await root.record("fact", "later", "own content");
  const last = (await root.head()).seq;
  await root.erase({ ranges: [[last, last]] });
  const sign = newSigner();
  for (const [id, options] of [
    [fork.id, {}],
    [root.id, { withForks: true }],
  ] as const) {
    const bytes = await bundleOf(a, id, { ...options, sign });
    assert.equal((await b.engine.import(inPieces(bytes))).signedBy, sign.publicKey);
  }
  assert.equal((await b.engine.verify()).ok, true);
});

test("a copy whose shared contents were erased here is not exported as if it were whole", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  await b.engine.import(inPieces(await bundleOf(a, fork.id)));
  const again = await (await b.engine.session(fork.id)).fork({ atSeq: 3 });
  await again.record("fact", "own", 1);
  const move = await bundleOf(a, root.id, { move: true });
  await b.engine.import(inPieces(move));
  await (await b.engine.session(root.id)).erase({ ranges: [[3, 3]] });
  await assert.rejects(bundleOf(b, fork.id), { code: "refused", message: /record 3 of .* is missing/ });
  await bundleOf(b, again.id);
});

/** What somebody without the key could do to a frame, or to the order of frames. */
const changes: Readonly<Record<string, (pieces: readonly Piece[], at: number, other: number) => Piece[]>> = {
  drop: (pieces, at) => pieces.toSpliced(at, 1),
  duplicate: (pieces, at) => pieces.toSpliced(at, 0, pieces[at]!),
  move: (pieces, at, other) => pieces.toSpliced(at, 1).toSpliced(other, 0, pieces[at]!),
  alter: (pieces, at, other) => {
    const { payload, ...rest } = pieces[at]!;
    const bytes = Buffer.from(payload);
    const place = (other * 7_919) % Math.max(1, bytes.length);
    bytes[place] = (bytes[place] ?? 0) ^ (1 << (other % 8));
    return pieces.toSpliced(at, 1, { ...rest, payload: bytes });
  },
  empty: (pieces, at) => pieces.toSpliced(at, 1, { ...pieces[at]!, payload: Buffer.alloc(0) }),
  strip: (pieces, _at, other) => stripped(pieces, ({ seq, content }) => content !== null && seq >= other % 5),
};

test("a signed bundle with any frame dropped, altered, doubled or moved is refused", async () => {
  await using homes = await twoInFiles();
  const { a, b } = homes;
  const { root } = await livedIn(a);
  const whole = await bundleOf(a, root.id, { withForks: true, sign: newSigner() });
  const pieces = await piecesOf(whole);
  const original = joined(pieces, 2);
  const seed = randomInt(2 ** 31);
  process.stdout.write(`signed-bundle: seed ${seed}\n`);
  const last = pieces.length - 1;
  const anywhere = fc.nat({ max: last });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(changes)),
      anywhere,
      anywhere,
      fc.boolean(),
      async (name, at, other, mends) => {
        const changed = changes[name]!(pieces, at, other);
        const isTrailer = !changed.some(({ kind }) => kind === frameKinds.trailer);
        const rough = Buffer.concat([Buffer.from("skein-bundle 2\n"), ...changed.map(frameOf)]);
        const bytes = mends && !isTrailer && !(name === "alter" && at === last) ? mended(changed) : rough;
        if (bytes.equals(original)) return;
        await assertRefused(b, bytes, `${name} ${at} ${other}${mends ? ", mended" : ""}`);
      },
    ),
    { seed, numRuns: 150 },
  );
  await b.engine.import(inPieces(whole));
});

/** With digest and counts made right again, if its trailer can still be read. */
function mended(pieces: readonly Piece[]): Buffer {
  try {
    return joined(pieces, 2);
  } catch {
    return Buffer.concat([Buffer.from("skein-bundle 2\n"), ...pieces.map(frameOf)]);
  }
}

test("a trailer is signed to the last character: lost blobs, spelling, extra fields", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root } = await livedIn(a);
  const signer = newSigner();
  const pieces = await piecesOf(await bundleOf(a, root.id, { sign: signer }));
  const image = pieces.findLastIndex(({ kind }) => kind === frameKinds.blob);
  const lost = [pieces[image]!.payload.toString("hex", 0, 32)];
  await assertRefused(b, joined(pieces.toSpliced(image, 1), 2, { lost }), "an image that is said to be lost");
  await assertRefused(b, joined(pieces, 2, { note: "hello" }), "a field more");
  const { signature } = trailerIn(pieces);
  assert.ok(signature !== null);
  const flipped = { ...signature, signature: `${signature.signature.slice(0, -1)}x` };
  await assertRefused(b, joined(pieces, 2, { signature: flipped }), "another spelling of the signature");
  const unsigned = await b.engine.import(inPieces(joined(pieces, 2, { signature: null })));
  assert.equal(unsigned.signedBy, null);
});
