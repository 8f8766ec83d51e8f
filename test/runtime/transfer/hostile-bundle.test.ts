/** Bundles that are damaged, or made to harm: each is refused clearly, and leaves nothing behind. */
// Process of its own: it measures the memory of its process.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { bodyHashOf, contentHashOf, link, type StoredRecord } from "../../../src/core/chain.ts";
import {
  bundleLine,
  frameKinds,
  type BundleManifest,
  type BundleTrailer,
  type FrameKind,
} from "../../../src/core/bundle/format.ts";
import { SkeinError } from "../../../src/core/error.ts";
import { limit } from "../../../src/core/limit.ts";
import { makeFrameWriter, readFrames } from "../../../src/runtime/transfer/bundle-frame.ts";
import { digest } from "../../core/digest.ts";
import { bundleOf, inPieces } from "./bundled.ts";
import { all, inFile } from "../place.ts";
import { livedIn, twoInFiles, twoInMemory, type Home } from "../two-stores.ts";
import { sliced } from "../../slice.ts";

interface Piece {
  readonly kind: FrameKind;
  readonly flags: number;
  readonly payload: Uint8Array;
}

const piecesOf = async (bytes: Uint8Array): Promise<Piece[]> =>
  (await all(readFrames(inPieces(bytes)))).map(({ kind, flags, payload }) => ({
    kind,
    flags: flags & 2,
    payload,
  }));

/** A bundle of these pieces, with a trailer that is right about the bytes. */
function joined(pieces: readonly Piece[], trailer: Partial<BundleTrailer> = {}): Buffer {
  const frames = makeFrameWriter();
  const out: Uint8Array[] = [frames.begin()];
  for (const { kind, flags, payload } of pieces) {
    if (kind !== frameKinds.trailer) out.push(...frames.frame(kind, payload, flags));
    else {
      const told = JSON.parse(Buffer.from(payload).toString()) as BundleTrailer;
      const whole = { ...told, sha256: frames.digest(), ...trailer };
      out.push(...frames.frame(kind, Buffer.from(JSON.stringify(whole))));
    }
  }
  return Buffer.concat(out);
}

const linesOf = ({ payload }: Piece): StoredRecord[] =>
  Buffer.from(payload)
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as StoredRecord);

const recordsPiece = (records: readonly object[]): Piece => ({
  kind: frameKinds.records,
  flags: 0,
  payload: Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join("")),
});

/** The pieces with their records changed, all in one frame a log. */
const withRecords = (
  pieces: readonly Piece[],
  change: (records: StoredRecord[]) => readonly object[],
): Piece[] =>
  pieces.map((piece) => (piece.kind === frameKinds.records ? recordsPiece(change(linesOf(piece))) : piece));

const withManifest = (pieces: readonly Piece[], change: (manifest: BundleManifest) => object): Piece[] =>
  pieces.map((piece) =>
    piece.kind === frameKinds.manifest
      ? {
          ...piece,
          payload: Buffer.from(
            JSON.stringify(
              change(JSON.parse(Buffer.from(piece.payload).toString()) as Parameters<typeof change>[0]),
            ),
          ),
        }
      : piece,
  );

/** Records that are chained anew after a change, as somebody would who knows the format. */
function rechained(records: readonly StoredRecord[], before: string): StoredRecord[] {
  let last = before;
  return records.map((record) => {
    const content = record.content;
    const contentHash = content === null ? null : contentHashOf(digest, record.salt ?? "", content);
    const contentBytes = content === null ? null : Buffer.byteLength(content);
    const fields = { ...record, contentHash, contentBytes };
    last = link(digest, last, fields, bodyHashOf(digest, record.body));
    return { ...fields, hash: last };
  });
}

async function assertRefused(home: Home, bytes: Uint8Array, what: string, message?: RegExp): Promise<void> {
  const before = await home.store.stats();
  await assert.rejects(
    home.engine.import(inPieces(bytes)),
    (error: unknown) => {
      assert.ok(error instanceof SkeinError, `${what}: ${String(error)}`);
      assert.match(error.code, /^(invalid|refused|conflict)$/, what);
      if (message !== undefined) assert.match(error.message, message, what);
      return true;
    },
    what,
  );
  const { bytes: _, ...after } = await home.store.stats();
  const { bytes: __, ...unchanged } = before;
  assert.deepEqual(after, unchanged, `${what} left something behind`);
  assert.deepEqual((await home.store.logs(null, 10)).rows, [], `${what} is seen`);
  assert.deepEqual(await home.store.check(), [], what);
}

/** A session alone, which has one log, and one with an ancestor. */
async function given(a: Home): Promise<{ readonly alone: Piece[]; readonly forked: Piece[] }> {
  const { root, fork } = await livedIn(a);
  return {
    alone: await piecesOf(await bundleOf(a, root.id)),
    forked: await piecesOf(await bundleOf(a, fork.id)),
  };
}

test("the pieces of a bundle, joined again, are a bundle", async () => {
  await using homes = twoInMemory();
  const { alone, forked } = await given(homes.a);
  for (const pieces of [alone, forked]) await homes.b.engine.import(inPieces(joined(pieces)));
  assert.equal((await homes.b.engine.verify()).ok, true);
});

test("a bundle that breaks off anywhere, or has one bit wrong, is refused", async () => {
  await using homes = await twoInFiles();
  const { a, b } = homes;
  const bytes = await bundleOf(a, (await livedIn(a)).fork.id);
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: bytes.length - 1 }), fc.nat({ max: 7 }), async (place, bit) => {
      await assertRefused(b, bytes.subarray(0, place), `cut at ${place}`);
      const flipped = Buffer.from(bytes);
      flipped[place] = (flipped[place] ?? 0) ^ (1 << bit);
      await assertRefused(b, flipped, `bit ${bit} of ${place}`);
    }),
    {
      numRuns: sliced(20, 60),
      examples: [
        [0, 0],
        [13, 0],
        [15, 0],
        [17, 1],
        [bytes.length - 1, 0],
        // The flags of the trailer, whose header is the one thing that no digest covers.
        [bytes.lastIndexOf('{"records') - 11, 5],
      ],
    },
  );
  await b.engine.import(inPieces(bytes));
});

test("a file that is not a bundle, and a bundle of a newer version, are refused", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const bytes = await bundleOf(a, (await livedIn(a)).fork.id);
  await assertRefused(b, new Uint8Array(0), "nothing", /not a Skein bundle/);
  await assertRefused(b, Buffer.from("SQLite format 3\0 and so on"), "another file", /not a Skein bundle/);
  await assertRefused(b, Buffer.from("x".repeat(100_000)), "no line", /not a Skein bundle/);
  const newer = Buffer.concat([Buffer.from("skein-bundle 4\n"), bytes.subarray(15)]);
  await assertRefused(b, newer, "newer", /version 4 is too new; this Skein reads up to 3/);
  await assertRefused(b, Buffer.concat([bytes, Buffer.from([0])]), "a byte more");
  await assertRefused(b, Buffer.concat([bytes, bytes.subarray(15)]), "twice");
});

/** A frame whose header says what it likes. */
function frameOf(
  kind: string,
  flags: number,
  size: number,
  stored: Uint8Array,
  storedSize = stored.length,
): Buffer {
  const header = Buffer.alloc(12);
  header.write(kind, 0, "latin1");
  header[1] = flags;
  header.writeUInt32BE(size, 4);
  header.writeUInt32BE(storedSize, 8);
  return Buffer.concat([header, stored]);
}

test("frames that claim or unpack to more than they may are refused without taking the memory", async () => {
  await using homes = twoInMemory();
  const { b } = homes;
  const line = Buffer.from(bundleLine);
  const bomb = zstdCompressSync(Buffer.alloc(200_000_000));
  const before = process.memoryUsage().rss;
  const claims: Readonly<Record<string, Buffer>> = {
    "a bomb that says so": frameOf("M", 1, 200_000_000, bomb),
    "a bomb that says less": frameOf("M", 1, 1_000, bomb),
    "a bomb that says nothing": frameOf("M", 1, 0, bomb),
    "a frame of 4 GiB": frameOf("M", 0, 0xffff_ffff, Buffer.from("{}"), 0xffff_ffff),
    "a frame that is longer than unpacked": frameOf("M", 0, 1, Buffer.from("{}")),
    "a frame of no kind": frameOf("X", 0, 2, Buffer.from("{}")),
    "a frame past the limit": frameOf("M", 0, limit.bundleFrameBytesMax + 1, Buffer.alloc(16)),
    "no packed bytes": frameOf("M", 1, 2, Buffer.from("{}")),
  };
  for (const [what, frame] of Object.entries(claims)) {
    await assertRefused(b, Buffer.concat([line, frame]), what);
  }
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 150_000_000, `${grown} bytes more`);
});

test("replaced records are refused, however the rest is made to fit", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { alone } = await given(a);
  const first =
    <T extends object>(change: (record: StoredRecord) => T) =>
    (records: StoredRecord[]) =>
      records.map((record, place) => (place === 1 ? change(record) : record));
  const changes: Readonly<Record<string, (records: StoredRecord[]) => readonly object[]>> = {
    "another text of the same length": first((record) => ({
      ...record,
      content: record.content?.replace(/\d(?=\}\})/, (digit) => String((Number(digit) + 1) % 10)) ?? null,
    })),
    "another text": first((record) => ({ ...record, content: '{"blocks":[]}' })),
    "another body": first((record) => ({ ...record, body: "{}" })),
    "another actor": first((record) => ({ ...record, actor: "system" })),
    "an actor of two lines": first((record) => ({ ...record, actor: "system\nx" })),
    "a type that is a path": first((record) => ({ ...record, type: "../../etc" })),
    "a salt that is none": first((record) => ({ ...record, salt: "zz" })),
    "no number": first((record) => ({ ...record, seq: "2" })),
    "a field less": first(({ at: _, ...record }) => record),
    "a record less": (records) => records.filter((_, place) => place !== 1),
    "a record twice": (records) => [...records.slice(0, 2), ...records.slice(1)],
    "two exchanged": ([one, two, ...rest]) => [two!, one!, ...rest],
    "of another session": (records) =>
      records.map((record) => ({ ...record, session: "ses_01hf7yat00zzzzzzzzzzzzzzzz" })),
    "of the workspace": (records) => records.map((record) => ({ ...record, session: a.store.workspace })),
    "chained anew": (records) =>
      rechained(first((record) => ({ ...record, actor: "system" }))(records), "0".repeat(64)),
    "time goes back": (records) =>
      rechained(first((record) => ({ ...record, at: 1 }))(records), "0".repeat(64)),
    "no record": () => [{}],
    nothing: () => [],
  };
  for (const [what, change] of Object.entries(changes)) {
    await assertRefused(b, joined(withRecords(alone, change)), what);
  }
});

test("logs that are right by their hashes and cannot be read are refused", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { alone } = await given(a);
  const [manifest] = alone;
  assert.ok(manifest);
  const deep = `${"[".repeat(500)}${"]".repeat(500)}`;
  const makers: Readonly<Record<string, (records: StoredRecord[]) => StoredRecord[]>> = {
    "a body of another shape": ([one, two]) => [one!, { ...two!, body: '{"input":"first"}' }],
    "a body that is a number": ([one, two]) => [one!, { ...two!, body: "7" }],
    "a content that is no JSON": ([one, two]) => [one!, { ...two!, content: "{" }],
    "a content too deep": ([one, two]) => [one!, { ...two!, content: deep }],
    "a key twice": ([one, two]) => {
      const keyed = { ...two!, key: "0".repeat(32) };
      return [one!, keyed, { ...keyed, seq: 3 }];
    },
    "a rewind to nowhere": ([one, two]) => [
      one!,
      {
        ...two!,
        type: "session.rewound",
        body: '{"toSeq":9,"inputs":{"ranges":[],"fromSeq":1},"requeued":false}',
        content: null,
        salt: null,
      },
    ],
    "a blob that is not there": ([one, two]) => [
      one!,
      { ...two!, content: `{"$blob":{"sha256":"${"1".repeat(64)}","bytes":3}}` },
    ],
    "a blob of another length": ([one, two]) => [
      one!,
      { ...two!, content: two!.content!.replace(/"bytes":\d+/, '"bytes":3') },
    ],
    "a blob that is none": ([one, two]) => [
      one!,
      { ...two!, content: '{"$blob":{"sha256":"../x","bytes":3}}' },
    ],
    "no beginning": ([one]) => [{ ...one!, type: "x.other" }],
  };
  for (const [what, make] of Object.entries(makers)) {
    const lines = alone.filter(({ kind }) => kind === frameKinds.records).flatMap(linesOf);
    const records = rechained(make(lines), "0".repeat(64));
    const last = records.at(-1)!;
    const [head, ...rest] = withManifest(alone, (told) => ({
      ...told,
      logs: [{ ...told.logs[0], toSeq: last.seq, hash: last.hash }],
    }));
    const isReferred = ({ payload }: Piece): boolean =>
      records.some(({ content }) => content?.includes(Buffer.from(payload).toString("hex", 0, 32)));
    const trailer = rest.at(-1)!;
    const others = rest.filter((piece) => piece.kind === frameKinds.blob && isReferred(piece));
    const blobs = others.filter(({ flags }) => flags === 2).length;
    const bytes = joined([head!, ...others, recordsPiece(records), trailer], {
      records: records.length,
      blobs,
    });
    await assertRefused(b, bytes, what, /^(?!.*no record refers)/);
  }
});

test("manifests with contradictions are refused", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { alone, forked } = await given(a);
  const changes: Readonly<Record<string, (manifest: BundleManifest) => object>> = {
    "a path for an id": (told) => ({ ...told, session: "../../etc/passwd" }),
    "another session": (told) => ({ ...told, session: "ses_01hf7yat00zzzzzzzzzzzzzzzz" }),
    "no logs": (told) => ({ ...told, logs: [] }),
    "a log twice": (told) => ({ ...told, logs: [...told.logs, ...told.logs] }),
    "a log in the air": (told) => ({ ...told, logs: told.logs.slice(1) }),
    "the other way round": (told) => ({ ...told, logs: told.logs.toReversed() }),
    "ten thousand million records": (told) => ({
      ...told,
      logs: told.logs.map((log) => ({ ...log, toSeq: 10_000_000_000 })),
    }),
    "a move that was none": (told) => ({ ...told, move: "mov_1" }),
    "another head": (told) => ({ ...told, logs: told.logs.map((log) => ({ ...log, hash: "0".repeat(64) })) }),
    "another version": (told) => ({ ...told, version: 1 }),
    "a version of the future": (told) => ({ ...told, version: 3 }),
    "a parent of its own": (told) => ({
      ...told,
      logs: told.logs.map((log) => ({ ...log, parent: { session: log.session, seq: 1 }, base: log.session })),
    }),
    "not an object": () => [],
  };
  for (const [what, change] of Object.entries(changes)) {
    await assertRefused(b, joined(withManifest(forked, change)), what);
    await assertRefused(b, joined(alone.slice(1)), "no manifest");
  }
  await assertRefused(b, joined([forked[0]!, ...forked]), "two manifests");
  const elsewhere = withManifest(forked, (told) => ({
    ...told,
    logs: told.logs.map((log) =>
      log.parent === null
        ? log
        : { ...log, parent: { session: "ses_01hf7yat00zzzzzzzzzzzzzzzz", seq: log.parent.seq } },
    ),
  }));
  await assertRefused(b, joined(elsewhere), "a parent that the record does not name");
});

test("a bundle whose bytes are not those of its digest is refused, however little differs", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { alone } = await given(a);
  const told = JSON.parse(Buffer.from(alone.at(-1)!.payload).toString()) as BundleTrailer;
  const changed = withManifest(alone, (manifest) => ({ ...manifest, program: "0.0.0" }));
  await assertRefused(b, joined(changed, { sha256: told.sha256 }), "another program", /digest/);
});

test("a longer history of a session that lives here does not take it away", async () => {
  await using homes = await twoInFiles();
  const { a } = homes;
  const { root } = await livedIn(a);
  const pieces = await piecesOf(await bundleOf(a, root.id));
  const lines = pieces.filter(({ kind }) => kind === frameKinds.records).flatMap(linesOf);
  const last = lines.at(-1)!;
  // Whoever has a copy can go on with it and chain it rightly: hashes alone do not say who may.
  const forged = rechained([{ ...last, seq: last.seq + 1, key: null, at: last.at + 1 }], last.hash);
  const longer = withManifest(pieces, (told) => ({
    ...told,
    logs: [{ ...told.logs[0], toSeq: last.seq + 1, hash: forged[0]!.hash }],
  }));
  const trailer = longer.pop()!;
  const bytes = joined([...longer, recordsPiece(forged), trailer], { records: lines.length + 1 });
  await assert.rejects(a.engine.import(inPieces(bytes)), { code: "conflict", message: /exists here/ });
  assert.equal((await root.head()).seq, last.seq);
  await root.append("goes on");
  assert.equal((await root.verify()).ok, true);
});

test("wrong, truncated and too many blobs leave nothing behind", async () => {
  await using homes = await twoInFiles();
  const { a, b } = homes;
  const { alone } = await given(a);
  const isBlob = ({ kind }: Piece): boolean => kind === frameKinds.blob;
  const flip = (piece: Piece): Piece => ({
    ...piece,
    payload: piece.payload.map((byte, at) => (at === 40 ? byte ^ 1 : byte)),
  });
  const place = alone.findIndex(isBlob);
  await assertRefused(b, joined(alone.map((piece) => (isBlob(piece) ? flip(piece) : piece))), "other bytes");
  await assertRefused(b, joined(alone.filter((piece) => !isBlob(piece))), "no blobs");
  await assertRefused(b, joined(alone.toSpliced(place, 1)), "a blob less");
  const cut = alone.map((piece) => (isBlob(piece) ? { ...piece, flags: 0 } : piece));
  await assertRefused(b, joined(cut), "blobs without an end");
  await assertRefused(b, joined(alone, { blobs: 7 }), "another count");
  const nameless = { kind: frameKinds.blob, flags: 2, payload: Buffer.alloc(5) };
  await assertRefused(b, joined(alone.toSpliced(1, 0, nameless)), "a chunk of no blob");
  const stranger = {
    kind: frameKinds.blob,
    flags: 2,
    payload: Buffer.concat([Buffer.from(digest("", "more"), "hex"), Buffer.from("more")]),
  };
  const blobs = alone.filter(({ flags }) => flags === 2).length + 1;
  const more = (at: number, what: RegExp, piece: Piece = stranger): Promise<void> =>
    assertRefused(b, joined(alone.toSpliced(at, 0, piece), { blobs }), String(what), what);
  await more(1, /no record refers to blob/);
  await more(alone.length - 1, /follows the last record/);
  const whole = alone.find(({ kind, flags }) => kind === frameKinds.blob && flags === 2);
  await more(place + 1, /occurs twice|is truncated/, whole);
  await b.engine.import(inPieces(joined(alone)));
});

test("a small bundle that unpacks to a large blob is refused early, and the file shrinks again", async () => {
  await using homes = twoInMemory();
  await using place = await inFile();
  const { alone } = await given(homes.a);
  const [manifest] = alone;
  const name = Buffer.from(digest("", "x"), "hex");
  const chunk = Buffer.concat([name, Buffer.alloc(limit.bundleFrameBytesMax - name.length)]);
  const frame = frameOf("B", 1, chunk.length, zstdCompressSync(chunk));
  const bytes = Buffer.concat([
    Buffer.from(bundleLine),
    frameOf("M", 0, manifest!.payload.length, manifest!.payload),
    ...Array.from({ length: 100 }, () => frame),
  ]);
  const before = (await place.store.stats()).bytes ?? 0;
  let read = 0;
  const source = async function* () {
    for await (const piece of inPieces(bytes, 256)) {
      read += piece.length;
      yield piece;
    }
  };
  await assert.rejects(place.engine.import(source()), {
    code: "invalid",
    message: /compression ratio/,
  });
  assert.ok(read < manifest!.payload.length + 12 * frame.length, `${read} bytes were read`);
  await place.store.close();
  const after = statSync(place.path).size;
  assert.ok(after < before + 1_000_000, `${before} bytes before, ${after} after`);
});

test("a blob that packs very well is packed only so far that it can be read again", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const blob = await a.engine.putBlob(new Uint8Array(80_000_000));
  const session = await a.engine.open({ objective: "zeros" });
  await session.input([{ type: "image", blob, mediaType: "image/png" }]);
  const bytes = await bundleOf(a, session.id);
  assert.ok(bytes.length < 2_000_000, `${bytes.length} bytes`);
  assert.equal((await b.engine.import(inPieces(bytes))).blobs, 1);
});
