/** Records to insert into PostgreSQL: linked to the previous ones, and as the arrays of one statement. */
import { link, type Digest, type StoredRecord } from "../../../core/chain.ts";
import type { Part } from "../../port.ts";
import { arrayOf, isPlain, joined, splitting } from "../connection/array-literal.ts";
import type { Value } from "../connection/connection.ts";

/** The end of a log, or its start. */
export interface End {
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
}

/** The drafts of a part, linked into the chain. */
export interface LinkedPart extends End {
  readonly part: Part;
  readonly firstSeq: number;
  readonly hashes: readonly string[];
  /** Of contents. */
  readonly bytes: number;
}

/** Links the drafts of a part to the previous record. `seq`, `hash`, `at` are the new end. */
export function linked(digest: Digest, part: Part, end: End, nowMs: number): LinkedPart {
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

/** A record to write, without its position. */
export type RecordFields = Omit<StoredRecord, "session" | "seq" | "at">;

/** Texts are joined, which is far faster, unless one of them holds the separator. */
type Form = "joined" | "arrays";

export const formOf = (rows: readonly RecordFields[]): Form =>
  rows.every(({ body, content }) => isPlain(body) && (content === null || isPlain(content)))
    ? "joined"
    : "arrays";

/** A statement in either form. */
export const inForms = (statement: (form: Form) => string): Readonly<Record<Form, string>> => ({
  joined: statement("joined"),
  arrays: statement("arrays"),
});

/** The columns of `RecordFields`; `hash` is last. */
export const fieldColumns =
  "type, v, actor, turn, cause, key, body, content_hash, content_bytes, salt, content, hash";
const fieldTypes = [
  ...(["text", "integer", "text", "integer", "bigint", "text", "text", "text", "integer"] as const),
  ...(["text", "text", "text"] as const),
];

/** As arrays, in the order of `fieldColumns`, from the given number on. */
export const fieldArrays = (from: number, form: Form): string =>
  fieldTypes
    .map((type, place) =>
      type === "text" && form === "joined" ? splitting(from + place) : `$${from + place}::${type}[]`,
    )
    .join(", ");

/** The stored form of the same, for rows of the arrays under the name `d`. */
export const fieldValues =
  "d.type, d.v, d.actor, d.turn, d.cause, decode(d.key, 'hex'), d.body, decode(d.content_hash, 'hex'), " +
  "d.content_bytes, decode(d.salt, 'hex'), d.content, decode(d.hash, 'hex')";

/** The parameters of `fieldArrays`. */
export function fieldParameters(rows: readonly RecordFields[], form: Form): Value[] {
  const texts = form === "joined" ? joined : arrayOf;
  return [
    texts(rows.map(({ type }) => type)),
    arrayOf(rows.map(({ v }) => v)),
    texts(rows.map(({ actor }) => actor)),
    arrayOf(rows.map(({ turn }) => turn)),
    arrayOf(rows.map(({ cause }) => cause)),
    texts(rows.map(({ key }) => key)),
    texts(rows.map(({ body }) => body)),
    texts(rows.map(({ contentHash }) => contentHash)),
    arrayOf(rows.map(({ contentBytes }) => contentBytes)),
    texts(rows.map(({ salt }) => salt)),
    texts(rows.map(({ content }) => content)),
    texts(rows.map(({ hash }) => hash)),
  ];
}

export const fieldsOf = (parts: readonly LinkedPart[]): readonly RecordFields[] =>
  parts.flatMap(({ part, hashes }) =>
    part.drafts.map((draft, place) => ({
      ...draft,
      contentHash: draft.content?.hash ?? null,
      contentBytes: draft.content?.bytes ?? null,
      salt: draft.content?.salt ?? null,
      content: draft.content?.text ?? null,
      hash: hashes[place] ?? "",
    })),
  );
