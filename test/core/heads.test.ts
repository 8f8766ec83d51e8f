/** The Merkle tree of heads, against one that is built another way. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { chainRoot, firstRoot, merkleOf, sortHeads, type ListedHead } from "../../src/core/govern/heads.ts";
import { digest } from "./digest.ts";

const sha = (...parts: readonly Buffer[]): Buffer =>
  createHash("sha256").update(Buffer.concat(parts)).digest();

/** As RFC 6962 has it: split at the largest power of two below the length. */
function tree(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return sha();
  if (leaves.length === 1) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha(Buffer.from([1]), tree(leaves.slice(0, split)), tree(leaves.slice(split)));
}

const heads = (count: number): ListedHead[] =>
  Array.from({ length: count }, (_, at) => ({
    log: `ses_${String(at).padStart(26, "0")}`,
    seq: at + 1,
    hash: digest("", String(at)),
  }));

test("the Merkle root is that of RFC 6962 for any number of heads", () => {
  for (let count = 0; count <= 70; count++) {
    const list = heads(count);
    const leaves = list.map(({ log, seq, hash }) =>
      sha(Buffer.from([0]), Buffer.from(`${log} ${seq} ${hash}`)),
    );
    assert.equal(merkleOf(digest, list), tree(leaves).toString("hex"), String(count));
    assert.equal(merkleOf(digest, sortHeads(list.toReversed())), merkleOf(digest, list));
  }
});

test("a root covers its list and all lists before", () => {
  const [one, two] = [merkleOf(digest, heads(3)), merkleOf(digest, heads(4))];
  const root = chainRoot(digest, chainRoot(digest, firstRoot, one), two);
  assert.notEqual(root, chainRoot(digest, chainRoot(digest, firstRoot, two), two));
  const bytes = sha(Buffer.from([2]), Buffer.from(firstRoot, "hex"), Buffer.from(one, "hex"));
  assert.equal(chainRoot(digest, firstRoot, one), bytes.toString("hex"));
});
