/**
 * The record and its hash chain: format `skein1`, stored for ever. docs/log-format.md says the same for
 * outsiders.
 *
 * A record is a header, a body and a content. Header fields, in this order, joined by one line feed (U+000A),
 * absent ones empty, numbers in decimal without leading zeros:
 *
 *   format session seq at type v actor turn cause key bodyHash contentHash contentBytes
 *
 *   bodyHash     SHA-256 of the body's UTF-8 bytes, hexadecimal in lower case
 *   contentHash  SHA-256 of salt (16 bytes) and content's UTF-8 bytes; empty when the record has no content
 *   contentBytes length of the content in bytes; empty when the record has no content
 *   hash         SHA-256 of the hash before (32 bytes) and the header; 32 zero bytes stand before the first
 *                record of a log, the parent's hash at the fork point before a fork's first
 *
 * Body and content are JSON texts exactly as first written. When a content is erased, so is its salt; its
 * hash and its length stay, so the chain still holds. The tenant is not part of it.
 */
import type { LogId } from "./ids.ts";

const format = "skein1";

/** The hash before the first record of a log. */
export const genesisHash = "0".repeat(64);

/**
 * SHA-256 over the bytes that `prefixHex` spells and the UTF-8 bytes of `text`; in hexadecimal, lower case.
 */
export type Digest = (prefixHex: string, text: string) => string;

/** One record as every store keeps and returns it. Hashes, keys and salts are hexadecimal. */
export interface StoredRecord {
  readonly session: LogId;
  readonly seq: number;
  /** Milliseconds since 1970; never less than that of the previous record. */
  readonly at: number;
  readonly type: string;
  readonly v: number;
  readonly actor: string;
  readonly turn: number | null;
  readonly cause: number | null;
  readonly key: string | null;
  readonly body: string;
  readonly contentHash: string | null;
  readonly contentBytes: number | null;
  readonly hash: string;
  /** Null without a content, if it is erased, or if the reader did not request contents. */
  readonly salt: string | null;
  readonly content: string | null;
}

type HeaderFields = Omit<StoredRecord, "hash" | "salt" | "content" | "body">;

export function canonicalHeader(fields: HeaderFields, bodyHash: string): string {
  return (
    `${format}\n${fields.session}\n${fields.seq}\n${fields.at}\n${fields.type}\n${fields.v}\n` +
    `${fields.actor}\n${fields.turn ?? ""}\n${fields.cause ?? ""}\n${fields.key ?? ""}\n${bodyHash}\n` +
    `${fields.contentHash ?? ""}\n${fields.contentBytes ?? ""}`
  );
}

/** The hash of `{}`, the body of every record that has only a content. */
const emptyBodyHash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

export const bodyHashOf = (digest: Digest, body: string): string =>
  body === "{}" ? emptyBodyHash : digest("", body);
export const contentHashOf = (digest: Digest, salt: string, content: string): string => digest(salt, content);

/** The hash of a record, given the hash of the previous one. */
export const link = (digest: Digest, before: string, fields: HeaderFields, bodyHash: string): string =>
  digest(before, canonicalHeader(fields, bodyHash));

/**
 * The flaw of a record that was read back, or null. `before` is the hash of the previous record. A content is
 * checked if present; the hash in the header vouches for an erased one.
 */
export function flaw(
  digest: Digest,
  before: string,
  record: StoredRecord,
  contentBytes: number | null,
): string | null {
  if (link(digest, before, record, bodyHashOf(digest, record.body)) !== record.hash) {
    return "the header or body does not match the chain";
  }
  if (record.content === null) return record.salt === null ? null : "a salt without content";
  if (record.contentHash === null || record.salt === null) return "the header does not declare the content";
  if (contentBytes !== record.contentBytes) return "the content's length differs from the header";
  if (contentHashOf(digest, record.salt, record.content) !== record.contentHash) {
    return "the content does not match its hash";
  }
  return null;
}

/** The characters a header field may have. Anything else never reaches a store. */
export const headerField = /^[A-Za-z0-9 _.:@/-]{1,200}$/;
