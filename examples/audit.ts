/**
 * An audit: the head of a log is noted somewhere else, and later the log is held against it. A changed bit
 * is found by the chain alone; a tail that was cut off cleanly is found because the head had been noted.
 *
 *   npx node --conditions=skein-source examples/audit.ts
 */
import { copyFileSync, mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openEngine } from "skein";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
const path = join(folder.path, "skein.db");
const { id, noted } = await work(path);
console.log(`noted: position ${noted.seq}, hash ${noted.hash.slice(0, 16)}…`);
await audit("untouched", path);

// Flip one bit of an approved amount: "4" is 0x34, "5" is 0x35.
await audit("one bit changed", tampered("UPDATE records SET content = replace(content, '4000', '5000')"));

// Cut off the last record. The rest is a valid log, only shorter.
await audit("tail cut off", tampered("DELETE FROM records WHERE seq = 3"));

async function work(store: string) {
  await using engine = await openEngine({ store });
  const session = await engine.open({ objective: "Approve the expenses of November" });
  await session.record("decision", "travel", 4000, { because: "within the policy" });
  await session.record("decision", "dinner", "refused", { because: "no receipt" });
  // Position and hash of the last record stand for all before it. Keep them out of the store owner's reach.
  return { id: session.id, noted: await session.head() };
}

async function audit(what: string, store: string): Promise<void> {
  await using engine = await openEngine({ store, create: false });
  const { ok, records, firstBad } = await (await engine.session(id)).verify({ head: noted });
  console.log(
    `${what}: ${ok ? `ok, ${records} records` : `position ${firstBad?.seq}: ${firstBad?.problem}`}`,
  );
}

/** A copy of the closed store, changed behind Skein's back. */
function tampered(sql: string): string {
  const copy = join(folder.path, `${sql.length}.db`);
  copyFileSync(path, copy);
  const database = new DatabaseSync(copy);
  database.exec(sql);
  database.close();
  return copy;
}
