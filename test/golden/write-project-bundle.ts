/**
 * Writes the golden bundle of format 3: `node test/golden/write-project-bundle.ts`. It is made once. A
 * program that would write it otherwise must still read this one.
 */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { all } from "../runtime/place.ts";
import { twoInMemory } from "../runtime/two-stores.ts";

/** A key that signs nothing but this. */
const seed = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 9)]);
const privateKey = createPrivateKey({ key: seed, format: "der", type: "pkcs8" });
const publicKey = String(createPublicKey(privateKey).export({ format: "jwk" }).x);
const signer = {
  publicKey,
  sign: (text: string) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
};

await using homes = twoInMemory();
const { engine } = homes.a;
const { project } = await engine.openProject({
  objective: "Move the shop to the new payment provider",
  name: "payments",
  constraints: ["never store card numbers"],
});
const first = await engine.open({ objective: "Write the adapter", project });
await first.append("x".repeat(70_000));
const fork = await first.fork({ objective: "Otherwise" });
await fork.record("fact", "rate", 4.1);
const next = await first.rollover();
await engine.recordInProject(project, { kind: "decision", key: "provider", value: "acme" });
await engine.noteInProject(project, { text: "jane@example.com called" });
await engine.eraseProject(project, { match: "jane@example.com" });
const folder = join(import.meta.dirname, "bundle-3");
mkdirSync(folder, { recursive: true });
const bytes = Buffer.concat(await all(engine.exportProject(project, { sign: signer })));
writeFileSync(join(folder, "project.skein"), bytes);
const { head } = await engine.project(project);
const sessions = [first.id, fork.id, next.id];
const expected = { publicKey, project, head, sessions };
writeFileSync(join(folder, "expected.json"), `${JSON.stringify(expected, null, 2)}\n`);
