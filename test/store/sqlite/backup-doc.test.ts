/** The backup that docs/operating.md shows is readable by its owner alone. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";

test("the documented backup has mode 0600, whatever the umask was", (t) => {
  const doc = readFileSync(new URL("../../../docs/operating.md", import.meta.url), "utf8");
  const block = doc.split("```ts\n").find((part) => part.includes('backup(store, "backup.db")'));
  assert.ok(block !== undefined);
  const directory = mkdtempSync(join(tmpdir(), "skein-backup-"));
  t.after(() => rmSync(directory, { recursive: true }));
  new DatabaseSync(join(directory, "skein.db")).exec("PRAGMA journal_mode=WAL; CREATE TABLE t (n)");
  writeFileSync(join(directory, "backup.mjs"), `process.umask(0o022);\n${block.split("```")[0]}`);
  execFileSync(process.execPath, ["backup.mjs"], { cwd: directory });
  for (const name of ["backup.db", "compact.db"])
    assert.equal((statSync(join(directory, name)).mode & 0o777).toString(8), "600", name);
});
