/** Offsets, cursors and parameters of a read. Pure. An offset is the position of the last event before it. */
import { SkeinError } from "../../core/error.ts";

/** What a GET asks for. */
export interface ReadRequest {
  /** Events after this position; `now`: none of those that exist. */
  readonly afterSeq: number | "now";
  readonly live: "long-poll" | "sse" | null;
  readonly cursor: string | null;
}

const digits = 16;

export const offsetOf = (seq: number): string => String(seq).padStart(digits, "0");

/** The position of an offset: a number of 16 digits, or `-1` for the beginning. */
export function seqOfOffset(offset: string): number {
  if (offset === "-1") return 0;
  const seq = /^\d{16}$/.test(offset) ? Number(offset) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw invalid("offset: expected an offset of this stream, -1 or now");
}

/** The parameters of a read, each at most once. */
export function readParameters(query: URLSearchParams) {
  const [offset, live, cursor] = ["offset", "live", "cursor"].map((name) => {
    const values = query.getAll(name);
    if (values.length > 1 || values[0] === "") throw invalid(`${name}: expected one value`);
    return values[0] ?? null;
  });
  if (live !== null && live !== undefined && live !== "long-poll" && live !== "sse")
    throw invalid('live: expected "long-poll" or "sse"');
  if (live && !offset) throw invalid("offset: missing; a live read needs one");
  const mode: ReadRequest["live"] = live ?? null;
  return { offset: offset ?? null, live: mode, cursor: cursor ?? null };
}

export function readRequest(query: URLSearchParams): ReadRequest {
  const { offset, live, cursor } = readParameters(query);
  return { afterSeq: offset === "now" ? offset : seqOfOffset(offset ?? "-1"), live, cursor };
}

const epochMs = Date.UTC(2024, 9, 9);
const intervalMs = 20_000;

/** The number of the current interval of 20 s, and always more than the client's: caches never loop. */
export function cursorAt(nowMs: number, given: string | null): string {
  const current = Math.floor((nowMs - epochMs) / intervalMs);
  const known = given !== null && /^\d{1,15}$/.test(given) ? Number(given) : -1;
  return String(Math.max(current, known + 1));
}

const invalid = (what: string): SkeinError => new SkeinError("invalid", `streams: ${what}`);
