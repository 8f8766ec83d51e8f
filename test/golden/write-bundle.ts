/**
 * Writes the golden bundles of format 2: `node test/golden/write-bundle.ts`. They are made once. A program
 * that would write them otherwise must still read these.
 */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleOf } from "../runtime/transfer/bundled.ts";
import { livedIn, twoInMemory } from "../runtime/two-stores.ts";

/** A key that signs nothing but this. */
const seed = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 7)]);
const privateKey = createPrivateKey({ key: seed, format: "der", type: "pkcs8" });
const publicKey = String(createPublicKey(privateKey).export({ format: "jwk" }).x);
const signer = {
  publicKey,
  sign: (text: string) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
};

await using homes = twoInMemory();
const { a } = homes;
const { root, fork } = await livedIn(a);
const leaf = await fork.fork({ atSeq: 2 });
await leaf.append("a fork within what it shares");
await root.record("fact", "iban", "an account number");
await root.erase({ ranges: [[(await root.head()).seq, (await root.head()).seq]] });
const bundles = {
  "copy.skein": await bundleOf(a, fork.id),
  "family.skein": await bundleOf(a, root.id, { withForks: true, sign: signer }),
  "move.skein": await bundleOf(a, fork.id, { move: true }),
};
const expected = {
  publicKey,
  root: { id: root.id, ...(await root.head()) },
  fork: { id: fork.id, ...(await fork.head()) },
  leaf: { id: leaf.id, ...(await leaf.head()) },
};
const folder = join(import.meta.dirname, "bundle-2");
mkdirSync(folder, { recursive: true });
for (const [name, bytes] of Object.entries(bundles)) writeFileSync(join(folder, name), bytes);
writeFileSync(join(folder, "expected.json"), `${JSON.stringify(expected, null, 2)}\n`);
