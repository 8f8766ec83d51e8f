/** Records on their way into PostgreSQL: linked to those before them, and as the arrays of one statement. */
import { link, type Digest } from "../../core/chain.ts";
import type { Draft, Part } from "../port.ts";
import { arrayOf } from "./literal.ts";
import type { Value } from "./connection.ts";

/** Where a log ends, or begins. */
export interface End {
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
}

/** The drafts of a part, with their places in the chain. */
export interface Linked extends End {
  readonly part: Part;
  readonly firstSeq: number;
  readonly hashes: readonly string[];
  /** Of contents. */
  readonly bytes: number;
}

/** Links the drafts of a part to the record that stands before them. `seq`, `hash`, `at` are the new end. */
export function linked(digest: Digest, part: Part, end: End, nowMs: number): Linked {
  const { session, drafts } = part;
  const at = Math.max(nowMs, end.at);
  const hashes: string[] = [];
  let before = end.hash;
  let bytes = 0;
  for (const [place, draft] of drafts.entries()) {
    const { type, v, actor, turn, cause, key, bodyHash, content } = draft;
    const seq = end.seq + 1 + place;
    const contentHash = content?.hash ?? null;
    const contentBytes = content?.bytes ?? null;
    const fields = { session, seq, at, type, v, actor, turn, cause, key, contentHash, contentBytes };
    before = link(digest, before, fields, bodyHash);
    hashes.push(before);
    bytes += contentBytes ?? 0;
  }
  const seq = end.seq + drafts.length;
  return { part, firstSeq: end.seq + 1, hashes, bytes, seq, hash: before, at };
}

/** The columns of a record that come from its draft; `hash` is last. */
export const draftColumns =
  "type, v, actor, turn, cause, key, body, content_hash, content_bytes, salt, content, hash";

/** As arrays, in the order of `draftColumns`, from the given number on. */
export const draftArrays = (from: number): string =>
  ["text", "integer", "text", "integer", "bigint", "text", "text", "text", "integer", "text", "text", "text"]
    .map((type, place) => `$${from + place}::${type}[]`)
    .join(", ");

/** The same as they are stored, of rows of the arrays under the name `d`. */
export const draftValues =
  "d.type, d.v, d.actor, d.turn, d.cause, decode(d.key, 'hex'), d.body, decode(d.content_hash, 'hex'), " +
  "d.content_bytes, decode(d.salt, 'hex'), d.content, decode(d.hash, 'hex')";

/** The arrays themselves. */
export function draftParameters(rows: readonly { readonly draft: Draft; readonly hash: string }[]): Value[] {
  const drafts = rows.map(({ draft }) => draft);
  return [
    arrayOf(drafts.map(({ type }) => type)),
    arrayOf(drafts.map(({ v }) => v)),
    arrayOf(drafts.map(({ actor }) => actor)),
    arrayOf(drafts.map(({ turn }) => turn)),
    arrayOf(drafts.map(({ cause }) => cause)),
    arrayOf(drafts.map(({ key }) => key)),
    arrayOf(drafts.map(({ body }) => body)),
    arrayOf(drafts.map(({ content }) => content?.hash ?? null)),
    arrayOf(drafts.map(({ content }) => content?.bytes ?? null)),
    arrayOf(drafts.map(({ content }) => content?.salt ?? null)),
    arrayOf(drafts.map(({ content }) => content?.text ?? null)),
    arrayOf(rows.map(({ hash }) => hash)),
  ];
}

export const draftRows = (
  parts: readonly Linked[],
): readonly { readonly draft: Draft; readonly hash: string }[] =>
  parts.flatMap(({ part, hashes }) =>
    part.drafts.map((draft, place) => ({ draft, hash: hashes[place] ?? "" })),
  );
