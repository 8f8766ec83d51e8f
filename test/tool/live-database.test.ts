/** A store below a bound directory: no tool may open it as a plain file, or the locks on it are gone. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openEngine } from "../../src/index.ts";
import type { Models } from "../../src/entry/model.ts";
import { isLiveDatabase } from "../../src/tool/live-database.ts";
import { scripted, use } from "../runtime/turn/scripted.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-live-"));
after(() => rmSync(folder, { recursive: true }));
const store = join(folder, "skein.db");

/** What another process finds in the store, which it opens and closes. */
const seenElsewhere = (id: string): number => {
  const main = join(import.meta.dirname, "../../src/cli/main.ts");
  const args = [main, "log", id, "--json", "--store", store];
  return execFileSync(process.execPath, args, { encoding: "utf8" }).trim().split("\n").length;
};

test("what a session writes is seen by others, whatever its tools have looked at", async () => {
  writeFileSync(join(folder, "notes.txt"), "hello");
  const calls = [
    use("shell", { command: "echo hi > made.txt" }, "a"),
    use("read_file", { path: "skein.db" }, "b"),
    use("read_file", { path: "skein.db-wal" }, "c"),
    use("grep_files", { pattern: "SQLite" }, "d"),
    use("write_file", { path: "skein.db", text: "gone" }, "e"),
    use("read_file", { path: "notes.txt" }, "f"),
  ];
  const models: Models = scripted([calls, "Done.", "Again."]).models;
  await using engine = await openEngine({ store, models, env: {} });
  const bind = [
    { kind: "directory", path: folder, mode: "write" },
    { kind: "shell", path: folder },
  ] as const;
  const session = await engine.open({ objective: "Look around", bind });
  for await (const _ of session.ask("Go"));
  seenElsewhere(session.id);
  for await (const _ of session.ask("And again"));
  const { seq } = await session.head();
  assert.equal(seenElsewhere(session.id), seq);
  const outcomes: Record<string, unknown> = {};
  for await (const { body, content } of session.events({ types: ["tool.settled"] })) {
    const { call, status } = body as { call: string; status: string };
    outcomes[call] = status;
    if (call === "a")
      assert.deepEqual((content as { detail: unknown }).detail, {
        changed: ["made.txt"],
        exit: 0,
      });
  }
  assert.deepEqual(outcomes, { a: "ok", b: "error", c: "error", d: "ok", e: "error", f: "ok" });
  assert.equal(await isLiveDatabase(store), true);
  assert.equal((await engine.verify()).ok, true);
});

test("a database that is not open is an ordinary file", async () => {
  assert.equal(await isLiveDatabase(store), false);
  assert.equal(await isLiveDatabase(join(folder, "notes.txt")), false);
});
