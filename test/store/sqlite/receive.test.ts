/** Logs received in SQLite: what the conformance suite cannot see from outside, row by row. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { makeWorkspaceId } from "../../../src/core/ids.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { makeIds, makeWorld, opened, partOf, readAll } from "../../../src/store/conformance/bench.ts";
import { alone, end, made } from "../../../src/store/conformance/receive.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { newPath } from "../../path.ts";

const workspace = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });

/** A store in a file, and a second connection to it for SQL. */
async function inFile() {
  const { path, remove } = newPath();
  const { sleep, defer } = realWorld();
  const { world, setClock } = makeWorld();
  const open = () => sqliteStore({ path, world: { ...world, sleep, defer }, workspace });
  const store = await open();
  const sql = new DatabaseSync(path);
  const dispose = async (): Promise<void> => {
    sql.close();
    await store.close();
    remove();
  };
  const bench = { store, world, setClock, newId: makeIds(), reopen: open };
  return { bench, store, sql, [Symbol.asyncDispose]: dispose };
}

test("a received fork counts one deeper than its base, and the limit holds for it", async () => {
  await using place = await inFile();
  const { bench, store, sql } = place;
  const root = made(bench, 2);
  await store.receive(alone(root.session));
  await store.put(root.session, root.records);
  sql.prepare("UPDATE logs SET depth = ? WHERE session = ?").run(limit.forkDepthMax - 1, root.session);
  const first = made(bench, 1, root.records, bench.newId());
  const parent = { session: root.session, seq: 2 };
  await store.receive({ session: first.session, parent, base: root.session });
  await store.put(first.session, first.records);
  const depth = sql.prepare("SELECT depth FROM logs WHERE session = ?").get(first.session);
  assert.equal(depth?.["depth"], limit.forkDepthMax);
  const deeper = { session: bench.newId(), parent: { session: first.session, seq: 3 }, base: first.session };
  await assert.rejects(store.receive(deeper), { code: "refused", message: /nested at most/ });
});

test("more of a session that arrives ends its lease", async () => {
  await using place = await inFile();
  const { bench, store, sql } = place;
  const session = await opened(bench, 2);
  await store.append([partOf(bench, session, { seq: 2 }, { lease: { holder: "one", leaseMs: 60_000 } })]);
  assert.equal((await store.head(session))?.lease?.holder, "one");
  const more = made(bench, 2, await readAll(store, session));
  await store.receive(alone(session));
  await store.put(session, more.records);
  await store.finish([end(more, "own")]);
  const head = await store.head(session);
  assert.deepEqual([head?.seq, head?.lease, head?.epoch], [5, null, 0]);
  assert.deepEqual(sql.prepare("SELECT * FROM leases").all(), []);
});

test("a received fork without own records adds nothing to the feed", async () => {
  await using place = await inFile();
  const { bench, store, sql } = place;
  const root = made(bench, 2);
  await store.receive(alone(root.session));
  await store.put(root.session, root.records);
  await store.finish([end(root, "own")]);
  const rows = (): unknown => sql.prepare("SELECT count(*) AS n FROM arrivals").get()?.["n"];
  const before = [await store.feedEnd(), rows()];
  const fork = { session: bench.newId(), records: root.records };
  await store.receive({ ...fork, parent: { session: root.session, seq: 2 }, base: root.session });
  await store.finish([end(fork, "own")]);
  assert.deepEqual([await store.feedEnd(), rows()], before);
});

test("a discarded log leaves no row, unless another log names it", async () => {
  await using place = await inFile();
  const { bench, store, sql } = place;
  const rows = (): unknown => sql.prepare("SELECT count(*) AS n FROM logs WHERE listed = 0").get()?.["n"];
  const before = rows();
  const log = made(bench, 3);
  await store.receive(alone(log.session));
  await store.put(log.session, log.records);
  await store.discard(log.session);
  assert.equal(rows(), before);
});

test("a failure of SQLite is not reported as a key that is used", async () => {
  await using place = await inFile();
  const { bench, store, sql } = place;
  const log = made(bench, 1);
  await store.receive(alone(log.session));
  // An overflow in a trigger fails an insert, and is not a constraint.
  sql.exec(`CREATE TRIGGER broken BEFORE INSERT ON records BEGIN
    SELECT abs(-9223372036854775807 - 1); END`);
  await assert.rejects(store.put(log.session, log.records), (error: Error & { code?: string }) => {
    assert.notEqual(error.code, "conflict");
    assert.doesNotMatch(error.message, /key/);
    return true;
  });
  sql.exec("DROP TRIGGER broken");
  await store.put(log.session, log.records);
  await store.finish([end(log, "own")]);
  assert.equal((await store.head(log.session))?.seq, 1);
});
