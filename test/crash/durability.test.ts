/** Acknowledged means durable: the settings that it rests on, and the order of syncing and saying so. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { openEngine, type OpenEngineOptions } from "../../src/index.ts";
import type { Durability } from "../../src/entry/store.ts";
import { isSaying, isSync, makeRig, withoutStrace, type Call } from "./strace.ts";

const skip = await withoutStrace();
const rig = await makeRig();
after(() => rig[Symbol.asyncDispose]());

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "skein-durability-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens an engine and reads a setting of SQLite on the very connection that it writes with. */
async function settingsOf(t: TestContext, options: OpenEngineOptions): Promise<Record<string, unknown>> {
  const exec = t.mock.method(DatabaseSync.prototype, "exec");
  await using engine = await openEngine(options);
  const session = await engine.open({ objective: "be read back" });
  await session.append("one record");
  const connections = new Set(exec.mock.calls.map((call) => call.this as DatabaseSync));
  assert.equal(connections.size, 1);
  const [database] = [...connections];
  const read = (name: string) => Object.values(database?.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  const settings = Object.fromEntries(["journal_mode", "synchronous"].map((name) => [name, read(name)]));
  assert.equal((await engine.stats()).durability, options.durability ?? "disk");
  exec.mock.restore();
  return settings;
}

const full = { journal_mode: "wal", synchronous: 2 };
const normal = { journal_mode: "wal", synchronous: 1 };

test("by default SQLite syncs at every commit", async (t) => {
  assert.deepEqual(await settingsOf(t, { store: join(directoryOf(t), "skein.db") }), full);
});

test("the weaker durability must be named, and holds for that opening only", async (t) => {
  const store = join(directoryOf(t), "skein.db");
  assert.deepEqual(await settingsOf(t, { store, durability: "process" }), normal);
  assert.deepEqual(await settingsOf(t, { store, durability: "disk" }), full);
  assert.deepEqual(await settingsOf(t, { store }), full);
});

test("no other durability is accepted", async (t) => {
  const store = join(directoryOf(t), "skein.db");
  for (const name of ["off", "none", "FULL", ""]) {
    const options = { store, durability: name as Durability };
    await assert.rejects(openEngine(options), { code: "invalid", hint: '"disk" or "process"' });
  }
});

/**
 * For each acknowledged write, how often the -wal file was synced between its beginning and its
 * acknowledgement.
 */
function syncsOf(calls: readonly Call[]): number[] {
  const counts: number[] = [];
  let syncs = 0;
  for (const call of calls) {
    if (isSaying(call, "try ")) syncs = 0;
    else if (isSync(call) && call.file.endsWith("-wal")) syncs++;
    else if (isSaying(call, "ok ")) counts.push(syncs);
  }
  return counts;
}

const steps = { count: 12, verbs: ["input", "records", "fork", "clear"] } as const;

test("every append is synced before it is acknowledged", { skip }, async () => {
  const order = { do: "write", path: rig.path(), writer: "w1", seed: 1, steps } as const;
  const { calls } = await rig.trace(order, { calls: "write,fsync,fdatasync" });
  const counts = syncsOf(calls);
  assert.equal(counts.length, steps.count);
  assert.ok(
    counts.every((count) => count >= 1),
    `syncs before each acknowledgement: ${counts.join(", ")}`,
  );
});

test("with durability for the process only no append waits for the disk", { skip }, async () => {
  const order = {
    do: "write",
    path: rig.path(),
    writer: "w1",
    seed: 1,
    steps,
    durability: "process",
  } as const;
  const { calls } = await rig.trace(order, { calls: "write,fsync,fdatasync" });
  assert.deepEqual(
    syncsOf(calls),
    Array.from({ length: steps.count }, () => 0),
  );
});
