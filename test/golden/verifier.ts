/**
 * A verifier of exports, written from docs/log-format.md alone: it imports nothing of Skein. It takes the
 * text of an export and says what is wrong with it; no problems means that the whole chain holds.
 */
import { createHash } from "node:crypto";

export interface Verdict {
  readonly records: number;
  readonly contents: number;
  readonly erased: number;
  /** Position and hash of the last record, to be held against a noted one. */
  readonly head: { readonly seq: number; readonly hash: string };
  readonly problems: readonly string[];
}

interface Line {
  readonly [field: string]: string | number | null;
}

const sha256 = (...parts: readonly (string | Buffer)[]): string =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");
const fromHex = (hex: string): Buffer => Buffer.from(hex, "hex");
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** Each field: what it must look like where it is not null. */
const shapes: Readonly<Record<string, (value: unknown) => boolean>> = {
  session: (value) => /^(ses|prj|wsp)_[0-9a-hjkmnp-tv-z]{26}$/.test(String(value)),
  seq: (value) => isCount(value) && value !== 0,
  at: isCount,
  type: (value) => /^[A-Za-z0-9 _.:@/-]{1,200}$/.test(String(value)),
  v: isCount,
  actor: (value) => /^[A-Za-z0-9 _.:@/-]{1,200}$/.test(String(value)),
  turn: isCount,
  cause: isCount,
  key: (value) => /^[0-9a-f]{32}$/.test(String(value)),
  body: (value) => typeof value === "string",
  contentHash: (value) => /^[0-9a-f]{64}$/.test(String(value)),
  contentBytes: isCount,
  hash: (value) => /^[0-9a-f]{64}$/.test(String(value)),
  salt: (value) => /^[0-9a-f]{32}$/.test(String(value)),
  content: (value) => typeof value === "string",
};
const mayBeNull = ["turn", "cause", "key", "contentHash", "contentBytes", "salt", "content"];
const inHeader = ["session", "seq", "at", "type", "v", "actor", "turn", "cause", "key"];

export function verifyExport(text: string): Verdict {
  const problems: string[] = [];
  let before = { seq: 0, at: 0, hash: "00".repeat(32), session: "" };
  const count = { records: 0, contents: 0, erased: 0 };
  for (const line of text.split("\n").filter((one) => one !== "")) {
    count.records++;
    const bad = (problem: string): void => void problems.push(`record ${before.seq + 1}: ${problem}`);
    let record: Line;
    try {
      record = JSON.parse(line) as Line;
    } catch {
      bad("not JSON");
      continue;
    }
    for (const [name, fits] of Object.entries(shapes)) {
      const value = record[name];
      if (value === null ? !mayBeNull.includes(name) : !fits(value)) bad(`${name} is not what it must be`);
    }
    if (record["seq"] !== before.seq + 1) bad(`its seq is ${record["seq"]}`);
    if (Number(record["at"]) < before.at) bad("it is older than the record before");
    const body = String(record["body"]);
    const fields = ["skein1", ...inHeader.map((name) => record[name] ?? ""), sha256(body)];
    const header = [...fields, record["contentHash"] ?? "", record["contentBytes"] ?? ""].join("\n");
    const isLinked = sha256(fromHex(before.hash), header) === record["hash"];
    if (!isLinked) bad("it does not match the chain");
    const isFork = isLinked && before.session !== "" && record["session"] !== before.session;
    if (isFork && !goesOn(record, before)) bad("another session begins here, and is no fork");
    const said = contentOf(record);
    if (typeof said === "string") bad(said);
    else if (record["content"] !== null) count.contents++;
    else if (record["contentHash"] !== null) count.erased++;
    const next = { seq: before.seq + 1, at: Number(record["at"]), hash: String(record["hash"]) };
    before = { ...next, session: String(record["session"]) };
  }
  return { ...count, head: { seq: before.seq, hash: before.hash }, problems };
}

/** What is wrong with the content; null when nothing is. */
function contentOf({ content, salt, contentHash, contentBytes }: Line): string | null {
  if (content === null || content === undefined) return salt === null ? null : "a salt without content";
  if (typeof salt !== "string" || typeof contentHash !== "string") return "a content without salt and hash";
  if (Buffer.byteLength(String(content)) !== contentBytes) return "the content has another length";
  const isRight = sha256(fromHex(salt), String(content)) === contentHash;
  return isRight ? null : "the content does not match its hash";
}

function goesOn({ type, body }: Line, before: { readonly seq: number; readonly hash: string }): boolean {
  if (type !== "session.forked") return false;
  const { parentSeq, parentHash } = JSON.parse(String(body)) as Line;
  return parentSeq === before.seq && parentHash === before.hash;
}
