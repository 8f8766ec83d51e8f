/** Reads and verifies a bundle, written from docs/bundle-format.md alone. Imports nothing of Skein. */
import { createHash, createPublicKey, verify } from "node:crypto";
import { zstdDecompressSync } from "node:zlib";

export interface ReadLog {
  readonly session: string;
  readonly kind: string;
  readonly toSeq: number;
  readonly hash: string;
  readonly records: readonly Line[];
}

export interface ReadBundle {
  /** The session, or in version 3 the project. */
  readonly session: string;
  readonly project: string | null;
  readonly move: string | null;
  readonly logs: readonly ReadLog[];
  readonly blobs: ReadonlyMap<string, Buffer>;
  readonly signedBy: string | null;
}

type Json = Readonly<Record<string, unknown>>;
interface Line extends Json {
  readonly session: string;
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly body: string;
  readonly hash: string;
  readonly content: string | null;
  readonly salt: string | null;
  readonly contentHash: string | null;
  readonly contentBytes: number | null;
}
interface Entry {
  readonly session: string;
  readonly parent: { readonly session: string; readonly seq: number } | null;
  readonly base: string | null;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly hash: string;
  readonly kind: string;
}

function must(right: boolean, what: string): asserts right {
  if (!right) throw new Error(what);
}

const sha256 = (...parts: readonly (Uint8Array | string)[]): string => {
  const sum = createHash("sha256");
  for (const part of parts) sum.update(part);
  return sum.digest("hex");
};

export function readBundle(file: Buffer): ReadBundle {
  const line = file.toString("latin1", 0, 15);
  must(/^skein-bundle [123]\n$/.test(line), "not a bundle of version 1, 2 or 3");
  const version = Number(line[13]);
  const frames = framesOf(file, line.length);
  const [first, last] = [frames[0], frames.at(-1)];
  must(first?.kind === "M" && last?.kind === "T", "no manifest or no trailer");
  const manifest = JSON.parse(first.payload.toString()) as Json & {
    logs: Entry[];
    session?: string;
    project?: string;
  };
  const trailer = JSON.parse(last.payload.toString()) as Json;
  must(manifest["version"] === version, "two versions");
  if (version > 1) must(spelled(trailer) === last.payload.toString(), "the trailer is spelled otherwise");
  must(trailer["sha256"] === sha256(file.subarray(0, last.start)), "the digest is wrong");
  const { blobs, lines } = innerOf(frames.slice(1, -1));
  must(trailer["records"] === lines.length && trailer["blobs"] === blobs.size, "the counts are wrong");
  const logs = logsOf(manifest.logs, lines);
  const subject = (version === 3 ? manifest.project : manifest.session) ?? "";
  const main = logs.find(({ session }) => session === subject);
  must(main?.kind === (version === 3 ? "project" : "session"), "what was exported is not there");
  const projects = logs.filter(({ kind }) => kind === "project");
  must(version === 3 ? logs[0] === main && projects.length === 1 : projects.length === 0, "a project");
  must(version < 3 || (manifest.session === undefined && manifest["move"] === null), "a session or a move");
  const move = (manifest["move"] ?? null) as string | null;
  if (move !== null) {
    const end = main.records.at(-1);
    must(end?.type === "session.moved", "it was not moved");
    must((JSON.parse(end.body) as Json)["move"] === move, "it was moved otherwise");
  }
  checkErased(manifest.logs, logs);
  const text =
    version === 1 ? headsText(manifest.logs, move) : wholeText(version, { subject, move, trailer });
  const project = version === 3 ? subject : null;
  return { session: subject, project, move, logs, blobs, signedBy: signerOf(trailer, text) };
}

function spelled({ records, blobs, lost, sha256, signature }: Json): string {
  const key = signature as { publicKey: string; signature: string } | null;
  const signed = key === null ? null : { publicKey: key.publicKey, signature: key.signature };
  return JSON.stringify({ records, blobs, lost, sha256, signature: signed });
}

/** Every content that is missing is named by a content.erased of a log that shares its position. */
function checkErased(entries: readonly Entry[], logs: readonly ReadLog[]): void {
  const named = new Set<string>();
  for (const { session, records } of logs) {
    for (const { type, body } of records) {
      if (type !== "content.erased") continue;
      for (const [from, to] of (JSON.parse(body) as { ranges: [number, number][] }).ranges) {
        for (let seq = from; seq <= to; seq++) {
          let owner = entries.find((entry) => entry.session === session);
          while (owner !== undefined && seq < owner.fromSeq) {
            const { base }: Entry = owner;
            owner = entries.find((entry) => entry.session === base);
          }
          if (owner !== undefined) named.add(`${owner.session} ${seq}`);
        }
      }
    }
  }
  for (const { session, records } of logs) {
    for (const { seq, content, contentHash } of records) {
      const isThere = contentHash === null || content !== null;
      must(isThere || named.has(`${session} ${seq}`), `the content of ${seq} is missing`);
    }
  }
}

interface Frame {
  readonly kind: string;
  readonly flags: number;
  readonly payload: Buffer;
  readonly start: number;
}

function framesOf(file: Buffer, from: number): Frame[] {
  const frames: Frame[] = [];
  for (let start = from; start < file.length;) {
    must(start + 12 <= file.length, "it breaks off");
    const kind = file.toString("latin1", start, start + 1);
    const flags = file[start + 1] ?? 0;
    const [size, stored] = [file.readUInt32BE(start + 4), file.readUInt32BE(start + 8)];
    must("MLBT".includes(kind) && file.readUInt16BE(start + 2) === 0, "no such frame");
    must(size <= 8_388_608 && stored <= size && start + 12 + stored <= file.length, "a wrong length");
    const bytes = file.subarray(start + 12, start + 12 + stored);
    const payload = (flags & 1) === 0 ? bytes : zstdDecompressSync(bytes, { maxOutputLength: size });
    must(payload.length === size, "not as long as it says");
    frames.push({ kind, flags, payload, start });
    start += 12 + stored;
  }
  return frames;
}

function innerOf(frames: readonly Frame[]): { blobs: Map<string, Buffer>; lines: Line[] } {
  const blobs = new Map<string, Buffer>();
  const lines: Line[] = [];
  let chunks: Buffer[] = [];
  for (const { kind, flags, payload } of frames) {
    must(kind === "L" || kind === "B", "a frame where it cannot be");
    if (kind === "L") {
      must(chunks.length === 0, "a blob breaks off");
      for (const text of payload.toString().split("\n").slice(0, -1)) lines.push(JSON.parse(text) as Line);
      continue;
    }
    chunks.push(payload.subarray(32));
    if ((flags & 2) === 0) continue;
    const [hash, bytes] = [payload.toString("hex", 0, 32), Buffer.concat(chunks)];
    must(sha256(bytes) === hash && !blobs.has(hash), "a blob is wrong, or there twice");
    blobs.set(hash, bytes);
    chunks = [];
  }
  return { blobs, lines };
}

function logsOf(entries: readonly Entry[], lines: readonly Line[]): ReadLog[] {
  const logs = new Map<string, ReadLog>();
  let from = 0;
  for (const { session, parent, base, fromSeq, toSeq, hash, kind } of entries) {
    const records = lines.slice(from, from + toSeq - fromSeq + 1);
    from += records.length;
    const point = logs.get(base ?? "")?.records.find(({ seq }) => seq === parent?.seq);
    must((parent === null) === (point === undefined), "nothing to stand on");
    let before = point?.hash ?? "0".repeat(64);
    let at = 0;
    for (const [place, record] of records.entries()) {
      must(record.session === session && record.seq === fromSeq + place && record.at >= at, "out of order");
      must(hashOf(before, record) === record.hash, `record ${record.seq} is not chained`);
      [before, at] = [record.hash, record.at];
    }
    const opens = kind === "project" ? "project.opened" : "session.opened";
    const begins = parent === null ? opens : "session.forked";
    must(records[0]?.type === begins && before === hash && !logs.has(session), "a log that cannot be");
    logs.set(session, { session, kind, toSeq, hash, records });
  }
  must(from === lines.length, "more records than the manifest says");
  return [...logs.values()];
}

function hashOf(before: string, record: Line): string {
  const { content, salt, contentHash, contentBytes } = record;
  if (content !== null) {
    must(contentBytes === Buffer.byteLength(content), "a content of another length");
    must(contentHash === sha256(Buffer.from(salt ?? "", "hex"), content), "a content is wrong");
  }
  const names = ["session", "seq", "at", "type", "v", "actor", "turn", "cause", "key"];
  const fields = names.map((name) => record[name]);
  const all = ["skein1", ...fields, sha256(record.body), contentHash, contentBytes];
  const spelled = all.map((field) =>
    field === null || field === undefined ? "" : `${field as string | number}`,
  );
  const header = spelled.join("\n");
  return sha256(Buffer.from(before, "hex"), header);
}

function headsText(logs: readonly Entry[], move: string | null): string {
  const heads = logs.map(({ session, toSeq, hash }) => `${session} ${toSeq} ${hash}\n`).join("");
  return `skein-heads 1\n${heads}move ${move ?? ""}\n`;
}

function wholeText(
  version: number,
  { subject, move, trailer }: { subject: string; move: string | null; trailer: Json },
): string {
  const lost = (trailer["lost"] as string[]).map((hash) => `lost ${hash}\n`).join("");
  const named = `${version === 3 ? "project" : "session"} ${subject}`;
  const lines = [`skein-bundle ${version}`, named, `move ${move ?? ""}`];
  return `${lines.join("\n")}\nsha256 ${trailer["sha256"] as string}\n${lost}`;
}

function signerOf(trailer: Json, text: string): string | null {
  const signature = (trailer["signature"] ?? null) as { publicKey: string; signature: string } | null;
  if (signature === null) return null;
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x: signature.publicKey },
    format: "jwk",
  });
  const bytes = Buffer.from(signature.signature, "base64url");
  must(bytes.toString("base64url") === signature.signature, "the signature is spelled otherwise");
  must(verify(null, Buffer.from(text), key, bytes), "the signature is wrong");
  return signature.publicKey;
}
