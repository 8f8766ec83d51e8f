/** Sources in use: a file that changes while it is read is read again, a locked database is said to be. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { findTranscripts, readTranscript, SourceFolder } from "../../src/transcripts/transcripts.ts";
import { piOne } from "./golden.ts";
import { opencodeDatabase } from "./packed.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-changing-"));
after(() => rmSync(folder, { recursive: true }));

test("a file that its tool rewrites while it is read is read again", async () => {
  const path = join(folder, "2025_44444444.jsonl");
  const filler = `${JSON.stringify({ type: "custom", data: "x".repeat(1_000) })}\n`;
  writeFileSync(path, piOne + filler.repeat(3_000));
  await using source = new SourceFolder(path);
  const [found] = await findTranscripts("pi", source);
  let reads = 0;
  const session = await readTranscript(source, found!, {
    progress: () => {
      reads += 1;
      // After the first megabyte the file is shorter than it was.
      if (reads === 1) truncateSync(path, Buffer.byteLength(piOne));
    },
  });
  const entries = [];
  for await (const entry of session.entries()) entries.push(entry.kind);
  assert.deepEqual(entries, ["input", "answer"]);
  assert.equal(session.plan.report.damagedCount, 0);
});

test("a file that grows while it is read is read up to its size at the start", async () => {
  const path = join(folder, "2025_55555555.jsonl");
  writeFileSync(path, piOne);
  await using source = new SourceFolder(path);
  const [found] = await findTranscripts("pi", source);
  const session = await readTranscript(source, found!, {
    progress: () =>
      writeFileSync(path, '{"type":"message","message":{"role":"user","content":"late"}}\n', { flag: "a" }),
  });
  assert.equal(session.plan.entries.length, 2);
});

test("a database in a transaction is reported as locked, and read after it ends", async () => {
  const path = join(folder, "opencode.db");
  writeFileSync(path, opencodeDatabase(folder));
  const writer = new DatabaseSync(path);
  writer.exec(
    "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; INSERT INTO message VALUES ('m', 's', 1, '{}')",
  );
  await using busy = new SourceFolder(path);
  await assert.rejects(findTranscripts("opencode", busy), {
    code: "unavailable",
    message: /the database is locked/,
  });
  writer.exec("ROLLBACK");
  writer.close();
  await using free = new SourceFolder(path);
  assert.equal((await findTranscripts("opencode", free)).length, 1);
});
