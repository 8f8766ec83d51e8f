/** Request headers of named streams. Pure. An offset is the position of the last data before it. */
import type { IncomingHttpHeaders } from "node:http";
import { SkeinError } from "../../core/error.ts";
import type { Producer } from "./named-state.ts";

const digits = 16;

export const offsetOf = (seq: number): string => `${String(seq).padStart(digits, "0")}_${"0".repeat(digits)}`;

/** The position of an offset; null: of `now`. */
export function seqOfOffset(offset: string): number | null {
  if (offset === "-1") return 0;
  if (offset === "now") return null;
  const [, seq] = /^(\d{16})_\d{16}$/.exec(offset) ?? [];
  if (seq !== undefined && Number.isSafeInteger(Number(seq))) return Number(seq);
  throw invalid("offset: expected an offset of this stream, -1 or now");
}

/** What a PUT asks for, as its headers have it. */
export interface CreateHeaders {
  readonly contentType: string | null;
  readonly ttlSeconds: number | null;
  readonly expiresAtMs: number | null;
  readonly isClosed: boolean;
  readonly fork: { readonly name: string; readonly seq: number | null; readonly more: number } | null;
}

export function readCreateHeaders(headers: IncomingHttpHeaders): CreateHeaders {
  const ttl = one(headers, "stream-ttl");
  const expires = one(headers, "stream-expires-at");
  if (ttl !== null && expires !== null) throw invalid("Stream-TTL: not allowed with Stream-Expires-At");
  return {
    contentType: contentTypeIn(headers),
    ttlSeconds: ttl === null ? null : integer("Stream-TTL", ttl),
    expiresAtMs: expires === null ? null : timeOf(expires),
    isClosed: isClosing(headers),
    fork: forkIn(headers),
  };
}

function forkIn(headers: IncomingHttpHeaders): CreateHeaders["fork"] {
  const from = one(headers, "stream-forked-from");
  const offset = one(headers, "stream-fork-offset");
  const sub = one(headers, "stream-fork-sub-offset");
  if (from === null) {
    if (offset === null && sub === null) return null;
    throw invalid("Stream-Fork-Offset: expected Stream-Forked-From with it");
  }
  const more = sub === null ? 0 : integer("Stream-Fork-Sub-Offset", sub);
  return { name: nameOfPath(from), seq: offset === null ? null : seqOfOffset(offset), more };
}

/** The stream of a path or URL: what follows `/v1/stream/`. */
function nameOfPath(path: string): string {
  const [plain = ""] = path.split(/[?#]/);
  const at = plain.indexOf("/v1/stream/");
  if (at !== -1) return decodeName(plain.slice(at + "/v1/stream/".length));
  throw invalid("Stream-Forked-From: expected the path of a stream, /v1/stream/NAME");
}

/** The name in a path. It may hold slashes. */
export function decodeName(part: string): string {
  try {
    const name = decodeURIComponent(part);
    if (name !== "" && name.length <= 1_000 && name.isWellFormed() && !name.includes("\0")) return name;
  } catch {
    // The same error as for a name that is too long.
  }
  throw invalid("the name is not a valid part of a URL");
}

export const isClosing = (headers: IncomingHttpHeaders): boolean =>
  one(headers, "stream-closed")?.toLowerCase() === "true";

/** The media type of the body; null: none is given. */
export function contentTypeIn(headers: IncomingHttpHeaders): string | null {
  const type = headers["content-type"]?.trim() ?? "";
  if (type === "") return null;
  if (/^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}([ \t]{0,9};[\x20-\x7e]{0,200})?$/.test(type)) return type;
  throw invalid("Content-Type: expected a media type");
}

export function producerIn(headers: IncomingHttpHeaders): Producer | null {
  const id = headers["producer-id"];
  const epoch = headers["producer-epoch"];
  const seq = headers["producer-seq"];
  if (id === undefined && epoch === undefined && seq === undefined) return null;
  if (typeof id !== "string" || id === "" || id.length > 200)
    throw invalid("Producer-Id: expected 1 to 200 characters, with Producer-Epoch and Producer-Seq");
  return {
    id,
    epoch: integer("Producer-Epoch", String(epoch ?? "")),
    seq: integer("Producer-Seq", String(seq ?? "")),
  };
}

export function streamSeqIn(headers: IncomingHttpHeaders): string | null {
  const seq = one(headers, "stream-seq");
  if (seq === null || (seq !== "" && seq.length <= 200)) return seq;
  throw invalid("Stream-Seq: expected 1 to 200 characters");
}

function one(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : String(value).trim();
}

function integer(name: string, text: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  throw invalid(`${name}: expected an integer from 0`);
}

function timeOf(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw invalid("Stream-Expires-At: expected a time such as 2026-01-31T12:00:00Z");
}

const invalid = (what: string): SkeinError => new SkeinError("invalid", `streams: ${what}`);
