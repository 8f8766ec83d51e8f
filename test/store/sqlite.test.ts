/**
 * The SQLite driver against the conformance suite, and what only it is asked: settings, locks, shared
 * commits.
 */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { conformance, draftOf } from "../../src/store/conformance/conformance.ts";
import type { Outcome, Part, Store } from "../../src/store/port.ts";
import { busyTimeoutMs } from "../../src/store/sqlite/connection.ts";
import { sqliteStore, type SqliteOptions } from "../../src/store/sqlite/store.ts";
import { makeSessionId, makeWorkspaceId, type SessionId } from "../../src/core/ids.ts";
import { digest } from "../core/digest.ts";
import { newPath } from "../path.ts";
import { beforeEachRun } from "./sqlite/statement.ts";

const { sleep, defer } = realWorld();
const workspace = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });

/** A store in a file of its own, and more connections to it. */
async function inFile() {
  const { path, remove } = newPath();
  const stores: Store[] = [];
  const open = async (): Promise<Store> => {
    const store = await sqliteStore({ path, world: realWorld(), workspace });
    stores.push(store);
    return store;
  };
  const dispose = async (): Promise<void> => {
    for (const store of stores) await store.close();
    remove();
  };
  return { store: await open(), open, [Symbol.asyncDispose]: dispose };
}

conformance({
  name: "sqlite",
  open: async (given) => {
    const { path, remove } = newPath();
    const start = () => sqliteStore({ path, world: { ...given, sleep, defer }, workspace });
    return { store: await start(), reopen: start, done: async () => remove() };
  },
});

const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: count, random: Uint8Array.from({ length: 10 }, () => 7) });

/** The first append of a session. */
const opening = (count: number, more: Partial<Part> = {}): Part => ({
  session: idOf(count),
  expect: "absent",
  drafts: [draftOf({ body: { count } }, digest)],
  index: { status: "open", agent: null, name: null, objective: null, priority: 5, labels: {} },
  ...more,
});

const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

/** Every connection that is made while `work` runs, as the driver sees it. */
async function connectionsMadeBy(work: () => Promise<unknown>): Promise<DatabaseSync[]> {
  const seen = new Set<DatabaseSync>();
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...args) {
    seen.add(this);
    return prepare.apply(this, args);
  };
  try {
    await work();
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
  return [...seen];
}

test("the files of a new store are its owner's alone; those that are there stay as they are", async () => {
  const { path, remove } = newPath();
  let count = 1;
  const modes = (): string[] =>
    ["", "-wal", "-shm"].map((end) => (statSync(`${path}${end}`).mode & 0o777).toString(8));
  const open = async (): Promise<Store> => {
    const store = await sqliteStore({ path, world: realWorld(), workspace });
    await store.append([opening(count++)]);
    return store;
  };
  const first = await open();
  assert.deepEqual(modes(), ["600", "600", "600"]);
  await first.close();
  chmodSync(path, 0o640);
  const second = await open();
  assert.deepEqual(modes(), ["640", "640", "640"]);
  await second.close();
  remove();
});

test("the connection has the settings that durability rests on", async () => {
  const { path, remove } = newPath();
  for (const [durability, synchronous] of [
    ["disk", 2],
    ["process", 1],
  ] as const) {
    let store: Store | undefined;
    const [database] = await connectionsMadeBy(async () => {
      store = await sqliteStore({ path, world: realWorld(), workspace, durability });
    });
    const names = [
      "synchronous",
      "journal_mode",
      "secure_delete",
      "page_size",
      "auto_vacuum",
      "busy_timeout",
    ];
    assert.deepEqual(
      names.map((name) => pragma(database!, name)),
      [synchronous, "wal", 1, 8_192, 2, 20],
    );
    assert.deepEqual(
      [pragma(database!, "application_id"), pragma(database!, "user_version")],
      [0x534b4e31, 7],
    );
    assert.equal((await store?.stats())?.durability, durability);
    await store?.close();
  }
  remove();
});

test("durability is full unless another level is named", async () => {
  const { path, remove } = newPath();
  const store = await sqliteStore({ path, world: realWorld(), workspace });
  assert.equal((await store.stats()).durability, "disk");
  await store.close();
  remove();
});

test("two connections to one file see one another's records, and one of them is too late", async () => {
  await using place = await inFile();
  const [one, two] = [place.store, await place.open()];
  assert.equal(two.workspace, one.workspace);
  await one.append([opening(1)]);
  assert.equal((await two.head(idOf(1)))?.seq, 1);
  const next = (): Part => ({ session: idOf(1), expect: { seq: 1 }, drafts: [draftOf({}, digest)] });
  const outcomes = await Promise.all([one.append([next()]), two.append([next()])]);
  assert.deepEqual(outcomes.map(({ kind }) => kind).toSorted(), ["conflict", "ok"]);
  for (const store of [one, two]) {
    const records = await store.read(idOf(1), { fromSeq: 1, toSeq: 9, limit: 9, contents: true });
    assert.deepEqual(
      records.map(({ seq }) => seq),
      [1, 2],
    );
  }
});

test("appends of one event-loop turn share a commit, and a conflict fails only its own", async () => {
  await using place = await inFile();
  await place.store.append([opening(0)]);
  let commits = 0;
  const stop = beforeEachRun((sql) => void (commits += Number(sql === "COMMIT")));
  const parts = Array.from({ length: 100 }, (_, place) => opening(place === 50 ? 0 : place + 1));
  const outcomes = await Promise.all(parts.map((part) => place.store.append([part])));
  stop();
  assert.ok(commits >= 1 && commits <= 2, `${commits} commits`);
  const kinds = outcomes.map(({ kind }) => kind);
  assert.deepEqual(
    kinds,
    parts.map((_, place) => (place === 50 ? "conflict" : "ok")),
  );
  assert.equal((await place.store.stats()).records, 100);
});

test("a part that cannot be written fails alone, and leaves nothing behind", async () => {
  await using place = await inFile();
  const parts = Array.from({ length: 20 }, (_, place) => opening(place));
  // Forking from what is not there is refused in the middle of the transaction.
  parts[7] = opening(7, { parent: { session: idOf(99), seq: 3 } });
  const outcomes = await Promise.allSettled(parts.map((part) => place.store.append([part])));
  const failed = outcomes.flatMap((outcome, place) => (outcome.status === "rejected" ? [place] : []));
  assert.deepEqual(failed, [7]);
  assert.equal(await place.store.head(idOf(7)), undefined);
  const { rows } = await place.store.list({}, { limit: 50 });
  assert.equal(rows.length, 19);
});

/** Holds the write lock of a file until it is told. */
function lock(path: string): () => void {
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  return () => {
    other.exec("ROLLBACK");
    other.close();
  };
}

test("a locked store is waited for without holding up the process", async () => {
  const { path, remove } = newPath();
  const waits: PromiseWithResolvers<void>[] = [];
  const heard = new EventEmitter();
  const sleepByHand = (): Promise<void> => {
    const wait = Promise.withResolvers<void>();
    waits.push(wait);
    heard.emit("wait");
    return wait.promise;
  };
  const store = await sqliteStore({ path, world: { ...realWorld(), sleep: sleepByHand }, workspace });
  const unlock = lock(path);
  const answer = store.append([opening(1)]);
  // Between two attempts the store waits on a timer, and the process does other work.
  for (let attempt = 1; attempt <= 5; attempt++) {
    if (waits.length < attempt) await once(heard, "wait");
    assert.equal(await store.head(idOf(1)), undefined);
    if (attempt === 5) unlock();
    waits[attempt - 1]?.resolve();
  }
  assert.equal((await answer).kind, "ok");
  assert.equal(waits.length, 5);
  // SQLite blocks the process for this long in one attempt.
  assert.ok(busyTimeoutMs <= 20);
  await store.close();
  remove();
});

test("a store that stays locked is unavailable, and nothing is written", async () => {
  const { path, remove } = newPath();
  const options: SqliteOptions = { path, world: realWorld(), workspace, lockWaitMs: 60 };
  const store = await sqliteStore(options);
  const unlock = lock(path);
  const locked = { code: "unavailable", message: /locked by another program/, hint: /wait|end/ };
  await assert.rejects(store.append([opening(1)]), locked);
  unlock();
  assert.equal(await store.head(idOf(1)), undefined);
  assert.equal((await store.append([opening(1)])).kind, "ok");
  await store.close();
  remove();
});

const opens = (path: string, more: Partial<SqliteOptions> = {}): Promise<Store> =>
  sqliteStore({ path, world: realWorld(), workspace, lockWaitMs: 60, ...more });

test("a file that is not a Skein store is refused and left unchanged", async () => {
  const { path, remove } = newPath();
  writeFileSync(`${path}.txt`, "not a database at all, but long enough to be looked at\n".repeat(20));
  const other = new DatabaseSync(`${path}.other`);
  other.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  other.close();
  for (const [file, message] of [
    [`${path}.txt`, /is not a Skein store/],
    [`${path}.other`, /is an SQLite file, but not a Skein store/],
  ] as const) {
    const before = readFileSync(file);
    await assert.rejects(opens(file), { code: "invalid", message, hint: /the file is unchanged/ });
    assert.ok(before.equals(readFileSync(file)));
  }
  mkdirSync(`${path}.folder`);
  await assert.rejects(opens(`${path}.folder`), {
    code: "invalid",
    message: /is a directory/,
    hint: /skein\.db/,
  });
  await assert.rejects(opens(`${path}.no/where/skein.db`), { code: "unavailable", hint: /directory/ });
  await assert.rejects(opens(path, { create: false }), { code: "not-found", hint: /check the path/ });
  assert.equal(existsSync(path), false);
  remove();
});

test("a store of a newer layout is refused and left as it is", async () => {
  const { path, remove } = newPath();
  await (await opens(path)).close();
  const raw = new DatabaseSync(path);
  raw.exec("PRAGMA user_version = 8");
  raw.close();
  const before = readFileSync(path);
  await assert.rejects(opens(path), {
    code: "refused",
    message: /layout 8 is not supported; .* up to 7/,
    hint: /update Skein/,
  });
  assert.ok(before.equals(readFileSync(path)));
  remove();
});

test("a file is one tenant's, and is refused to others", async () => {
  const { path, remove } = newPath();
  const store = await opens(path, { tenant: "one" });
  await store.append([opening(1)]);
  await store.close();
  for (const tenant of [undefined, "two"]) {
    const other = opens(path, tenant === undefined ? {} : { tenant });
    await assert.rejects(other, {
      code: "refused",
      message: /belongs to the tenant "one"/,
      hint: /one file per tenant/,
    });
  }
  const again = await opens(path, { tenant: "one" });
  assert.equal((await again.head(idOf(1)))?.seq, 1);
  await again.close();
  remove();
});

test("an empty file becomes a store, and two processes that make it at once make one", async () => {
  const { path, remove } = newPath();
  writeFileSync(path, "");
  const stores = await Promise.all([opens(path), opens(path)]);
  const ids = new Set(stores.map((store) => store.workspace));
  assert.equal(ids.size, 1);
  for (const store of stores) await store.close();
  remove();
});

test("invalid appends are refused before the database is queried", async () => {
  await using place = await inFile();
  const many = Array.from({ length: limit.appendLogsMax + 1 }, (_, place) => opening(place));
  const records = Array.from({ length: limit.appendRecordsMax + 1 }, () => draftOf({}, digest));
  const wrong: readonly (readonly Part[])[] = [
    many,
    [opening(1, { drafts: records })],
    [opening(1), opening(1)],
  ];
  for (const parts of wrong) await assert.rejects(place.store.append(parts), { code: "invalid" });
  assert.equal((await place.store.stats()).records, 0);
});

test("after it was closed everything is unavailable, and closing again is nothing", async () => {
  await using place = await inFile();
  const store = await place.open();
  await store.close();
  await store.close();
  const calls: readonly (() => Promise<unknown>)[] = [
    () => store.append([opening(1)]),
    () => store.head(idOf(1)),
    () => store.list({}, { limit: 1 }),
    () => store.stats(),
  ];
  for (const call of calls) await assert.rejects(call(), { code: "unavailable" });
});

test("calls made before closing are answered", async () => {
  const { path, remove } = newPath();
  const store = await opens(path);
  const answers: Promise<Outcome>[] = Array.from({ length: 30 }, (_, place) =>
    store.append([opening(place)]),
  );
  await store.close();
  for (const answer of answers) assert.equal((await answer).kind, "ok");
  const again = await opens(path);
  assert.equal((await again.stats()).records, 30);
  await again.close();
  remove();
});
