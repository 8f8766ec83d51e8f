/** The chain: known vectors, computed here by code of its own; and every flaw that a record can have. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  bodyHashOf,
  canonicalHeader,
  contentHashOf,
  flaw,
  genesisHash,
  headerField,
  link,
  type StoredRecord,
} from "../../src/core/chain.ts";
import { makeSessionId, makeWorkspaceId } from "../../src/core/ids.ts";
import { digest } from "./digest.ts";

const session = makeSessionId({ nowMs: 1_700_000_000_000, random: new Uint8Array(10) });
const sha256 = (...parts: readonly (string | Buffer)[]): string =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");

/** A record with all its hashes right, written down the long way. */
function recordAfter(before: string, fields: Partial<StoredRecord> = {}): StoredRecord {
  const content = fields.content === undefined ? '{"text":"grüße 😀"}' : fields.content;
  const salt = content === null ? null : "00112233445566778899aabbccddeeff";
  const whole = {
    session,
    seq: 1,
    at: 1_700_000_000_123,
    type: "input.received",
    v: 1,
    actor: "user:prn_1",
    turn: 3,
    cause: 7,
    key: "0f".repeat(16),
    body: '{"from":"user"}',
    hash: "",
    content,
    salt,
    contentBytes: content === null ? null : Buffer.byteLength(content),
    contentHash: content === null || salt === null ? null : sha256(Buffer.from(salt, "hex"), content),
    ...fields,
  };
  const { seq, at, type, v, actor, turn, cause, key, body, contentHash, contentBytes } = whole;
  const header = [
    "skein1",
    whole.session,
    seq,
    at,
    type,
    v,
    actor,
    turn ?? "",
    cause ?? "",
    key ?? "",
    sha256(body),
    contentHash ?? "",
    contentBytes ?? "",
  ];
  return { ...whole, hash: sha256(Buffer.from(before, "hex"), header.join("\n")) };
}

const bytesOf = (record: StoredRecord): number | null =>
  record.content === null ? null : Buffer.byteLength(record.content);
const check = (before: string, record: StoredRecord): string | null =>
  flaw(digest, before, record, bytesOf(record));

test("the hash of a body is that of its text, also of the empty one, which is known", () => {
  for (const body of ["{}", '{"from":"user"}']) assert.equal(bodyHashOf(digest, body), sha256(body));
});

test("the canonical header is thirteen fields joined by line feeds, absent ones empty", () => {
  const record = recordAfter(genesisHash);
  assert.deepEqual(canonicalHeader(record, "bh").split("\n"), [
    "skein1",
    session,
    "1",
    "1700000000123",
    "input.received",
    "1",
    "user:prn_1",
    "3",
    "7",
    "0f".repeat(16),
    "bh",
    record.contentHash,
    "23",
  ]);
  const bare = { ...record, turn: null, cause: null, key: null, contentHash: null, contentBytes: null };
  assert.equal(
    canonicalHeader(bare, "bh"),
    `skein1\n${session}\n1\n1700000000123\ninput.received\n1\nuser:prn_1\n\n\n\nbh\n\n`,
  );
});

test("hashes are plain SHA-256", () => {
  const record = recordAfter(genesisHash);
  assert.equal(genesisHash, "00".repeat(32));
  assert.equal(bodyHashOf(digest, record.body), sha256(record.body));
  assert.equal(contentHashOf(digest, record.salt ?? "", record.content ?? ""), record.contentHash);
  assert.equal(link(digest, genesisHash, record, sha256(record.body)), record.hash);
  // Fixed for ever: a change here means that no log written before can be verified any more.
  assert.equal(record.hash, "cbed8b6e9dfc1d229f50e757f9d940f0c849fd4af3a367cd5af2fc6e3a92247d");
  assert.notEqual(link(digest, record.hash, record, sha256(record.body)), record.hash);
});

test("a record as it was written has no flaw, with and without content, and with its content erased", () => {
  const first = recordAfter(genesisHash);
  assert.equal(check(genesisHash, first), null);
  assert.equal(check(first.hash, recordAfter(first.hash, { seq: 2, content: null })), null);
  assert.equal(check(genesisHash, { ...first, content: null, salt: null }), null);
});

test("a change of any field is a flaw", () => {
  const record = recordAfter(genesisHash);
  const other = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });
  const changed: readonly Partial<StoredRecord>[] = [
    { session: other },
    { seq: 2 },
    { at: record.at + 1 },
    { type: "x.other" },
    { v: 2 },
    { actor: "system" },
    { turn: null },
    { turn: 4 },
    { cause: null },
    { key: null },
    { key: "00".repeat(16) },
    { body: '{"from": "user"}' },
    { contentHash: "00".repeat(32) },
    { contentHash: null },
    { contentBytes: 22 },
    { contentBytes: null },
    { hash: "11".repeat(32) },
  ];
  for (const change of changed) {
    const wrong = check(genesisHash, { ...record, ...change });
    assert.equal(wrong, "the header or body does not match the chain", JSON.stringify(change));
  }
  assert.equal(check("11".repeat(32), record), "the header or body does not match the chain");
});

test("a change of the content or its salt is a flaw", () => {
  const record = recordAfter(genesisHash);
  const sameLength = (record.content ?? "").replace("text", "next");
  const flaws: readonly (readonly [Partial<StoredRecord>, string])[] = [
    [{ content: sameLength }, "the content does not match its hash"],
    [{ salt: "00".repeat(16) }, "the content does not match its hash"],
    [{ content: "{}" }, "the content's length differs from the header"],
    [{ salt: null }, "the header does not declare the content"],
    [{ content: null }, "a salt without content"],
  ];
  for (const [change, wrong] of flaws) assert.equal(check(genesisHash, { ...record, ...change }), wrong);
  const none = recordAfter(genesisHash, { content: null });
  const added = { ...none, content: "{}", salt: "00".repeat(16) };
  assert.equal(check(genesisHash, added), "the header does not declare the content");
});

test("header fields are ASCII without line feeds, and of limited length", () => {
  for (const good of ["user:prn_1", "agent:pay roll@2", "tool:a/b.c-d", "x".repeat(200)])
    assert.match(good, headerField);
  for (const bad of ["", "a\nb", "a\n", "ü", "a\0", "a|b", "x".repeat(201)])
    assert.doesNotMatch(bad, headerField);
});

test("two records with different headers never have the same canonical header", () => {
  const field = fc.stringMatching(/^[A-Za-z0-9 _.:@/-]{1,8}$/);
  const maybe = fc.option(fc.nat());
  const header = fc.record({
    seq: fc.nat(),
    at: fc.nat(),
    type: field,
    v: fc.nat(),
    actor: field,
    turn: maybe,
    cause: maybe,
    key: fc.option(field),
    contentHash: fc.option(field),
    contentBytes: maybe,
  });
  fc.assert(
    fc.property(header, header, field, field, (a, b, bodyA, bodyB) => {
      const same = canonicalHeader({ session, ...a }, bodyA) === canonicalHeader({ session, ...b }, bodyB);
      assert.equal(same, JSON.stringify([a, bodyA]) === JSON.stringify([b, bodyB]));
      assert.equal(canonicalHeader({ session, ...a }, bodyA).split("\n").length, 13);
    }),
  );
});
