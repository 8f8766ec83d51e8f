/** The write path of SQLite: what shares a transaction, and who is answered when one fails. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { sqliteBusy, type SqliteConnection } from "../../../src/store/sqlite/connection.ts";
import { makeWriter } from "../../../src/store/sqlite/writer.ts";

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const locked = (): Error =>
  Object.assign(new Error("locked"), { code: "ERR_SQLITE_ERROR", errcode: sqliteBusy });

/** A writer on a connection that writes down what it is told, and fails when it is told to. */
function watched({ pages = [0, 0] as readonly [number, number] } = {}) {
  const log: string[] = [];
  const fails = new Map<string, (Error | null)[]>();
  const deferred: (() => void)[] = [];
  const slept: number[] = [];
  let [now, isTransaction, poison] = [0, false, null as SkeinError | null];
  const does = (what: string): void => {
    log.push(what);
    const error = fails.get(what)?.shift();
    if (error instanceof Error) throw error;
    if (what === "BEGIN IMMEDIATE") isTransaction = true;
    if (what === "COMMIT" || what === "ROLLBACK") isTransaction = false;
  };
  const statement = (sql: string) => ({
    run: () => does(sql),
    get: () => {
      does(sql);
      return [0, ...pages];
    },
    setReturnArrays: () => undefined,
  });
  const connection = {
    database: {
      prepare: statement,
      exec: does,
      get isTransaction() {
        return isTransaction;
      },
    },
    guard: <T>(work: () => T): T => work(),
    poison: () => poison,
    lookForFile: () => does("look for the file"),
  } as unknown as SqliteConnection;
  const world = {
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms);
      now += ms;
    },
    defer: (work: () => void) => void deferred.push(work),
  };
  const writer = makeWriter(connection, {
    world: world as never,
    lockWaitMs: 3,
    path: "skein.db",
    onBegin: () => does("begun"),
    onRollback: () => does("undone"),
  });
  writer.onCommit(() => does("told"));
  return {
    writer,
    log,
    slept,
    does,
    failAt: (what: string, ...errors: (Error | null)[]) => void fails.set(what, errors),
    poisonBy: (error: SkeinError) => (poison = error),
    pass: (ms: number) => (now += ms),
    deferred,
    /** Runs all that was put off. */
    async settle() {
      for (let work = deferred.shift(); work !== undefined; work = deferred.shift()) {
        work();
        await turn();
      }
    },
  };
}

const outcome = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: unknown) => (error as Error).message);

test("jobs of one turn share a transaction, and resolve after its commit", async () => {
  const { writer, log, does, deferred, settle } = watched();
  let idle = false;
  const jobs = ["one", "two"].map((name) => writer.run(() => does(name)));
  void writer.idle().then(() => (idle = true));
  assert.deepEqual([log, deferred.length], [[], 1]);
  await turn();
  assert.equal(idle, false);
  await settle();
  await Promise.all(jobs);
  assert.deepEqual(log, ["BEGIN IMMEDIATE", "begun", "one", "two", "COMMIT", "told"]);
  await turn();
  assert.equal(idle, true);
  await writer.idle();
  const third = writer.run(() => 3);
  await settle();
  assert.equal(await third, 3);
});

test("a batch has at most 512 jobs, and the rest comes in the next transaction", async () => {
  const { writer, log, settle } = watched();
  const jobs = Array.from({ length: 513 }, (_, number) => writer.run(() => number));
  await settle();
  assert.deepEqual(await Promise.all(jobs), [...jobs.keys()]);
  assert.equal(log.filter((what) => what === "COMMIT").length, 2);
});

test("a job that fails is undone alone: the others run again without it", async () => {
  const { writer, log, does, failAt, settle } = watched();
  failAt("two", new Error("refused"));
  const jobs = ["one", "two", "three"].map((name) => outcome(writer.run(() => does(name))));
  await settle();
  assert.deepEqual(await Promise.all(jobs), [undefined, "refused", undefined]);
  const again = ["BEGIN IMMEDIATE", "begun", "one", "three", "COMMIT", "told"];
  assert.deepEqual(log, ["BEGIN IMMEDIATE", "begun", "one", "two", "undone", "ROLLBACK", ...again]);
  failAt("four", new Error("refused"));
  log.length = 0;
  const last = outcome(writer.run(() => does("four")));
  await settle();
  assert.equal(await last, "refused");
  assert.deepEqual(log, ["BEGIN IMMEDIATE", "begun", "four", "undone", "ROLLBACK"]);
});

test("a job alone may do without a transaction, and goes the usual way if it cannot", async () => {
  const { writer, log, does, failAt, settle } = watched();
  const ran = async (alone: () => unknown, lost?: () => unknown) => {
    log.length = 0;
    const job = outcome(
      writer.run<unknown>(() => "in a transaction", { alone, ...(lost === undefined ? {} : { lost }) }),
    );
    await settle();
    return job;
  };
  assert.equal(await ran(() => "alone"), "alone");
  assert.deepEqual(log, ["told"]);
  assert.equal(await ran(() => null), "in a transaction");
  failAt("try", locked(), new Error("broken"), new Error("broken"));
  assert.equal(await ran(() => does("try")), "in a transaction");
  assert.deepEqual(log, ["try", "BEGIN IMMEDIATE", "begun", "COMMIT", "told"]);
  assert.equal(
    await ran(
      () => does("try"),
      () => "lost",
    ),
    "broken",
  );
  assert.deepEqual(log, ["try", "undone"]);
  const both = [1, 2].map((number) => writer.run(() => number, { alone: () => 0 }));
  await settle();
  assert.deepEqual(await Promise.all(both), [1, 2]);
});

test("a lock that another program holds is awaited until the timeout", async () => {
  const { writer, log, failAt, settle } = watched();
  failAt("BEGIN IMMEDIATE", locked(), locked());
  const job = writer.run(() => "done");
  await settle();
  assert.equal(await job, "done");
  failAt("BEGIN IMMEDIATE", ...Array.from({ length: 9 }, locked));
  log.length = 0;
  const never = outcome(writer.run(() => assert.fail("without the lock")));
  await settle();
  assert.match(String(await never), /locked by another program/);
  assert.ok(log.every((what) => what === "BEGIN IMMEDIATE"));
  failAt("BEGIN IMMEDIATE", new Error("broken"));
  const broken = outcome(writer.run(() => assert.fail("without the lock")));
  await settle();
  assert.equal(await broken, "broken");
  const after = writer.run(() => "after");
  await settle();
  assert.equal(await after, "after");
});

test("a failed commit is certain, unless the store is poisoned: then it may be unknown", async () => {
  const { writer, failAt, poisonBy, settle, log } = watched();
  const lost = (cause: unknown): string => `lost: ${(cause as Error).message}`;
  const two = () => [writer.run(() => "a", { lost }), writer.run(() => "b")].map(outcome);
  failAt("COMMIT", new Error("full"));
  const full = two();
  await settle();
  assert.deepEqual(await Promise.all(full), ["full", "full"]);
  assert.deepEqual(log.slice(-2), ["undone", "ROLLBACK"]);
  const torn = two();
  poisonBy(new SkeinError("unavailable", "poisoned"));
  await settle();
  assert.deepEqual(await Promise.all(torn), ["poisoned", "poisoned"]);
  assert.equal(await outcome(writer.run(() => "c")), "poisoned");
});

test("an I/O error at the commit leaves a job lost, and one in a job stops the batch", async () => {
  const poisoned = new SkeinError("unavailable", "poisoned");
  const atCommit = watched();
  atCommit.failAt("COMMIT", new Error("I/O"));
  atCommit.failAt("undone", null);
  const lost = (cause: unknown): string => `lost: ${(cause as Error).message}`;
  const jobs = [
    atCommit.writer.run(() => void atCommit.poisonBy(poisoned), { lost: lost as never }),
    atCommit.writer.run(() => "b"),
  ].map(outcome);
  await atCommit.settle();
  assert.deepEqual(await Promise.all(jobs), ["lost: I/O", "I/O"]);
  const inJob = watched();
  const failing = [
    inJob.writer.run(() => {
      inJob.poisonBy(poisoned);
      throw new Error("I/O");
    }),
    inJob.writer.run(() => "b"),
  ].map(outcome);
  await inJob.settle();
  assert.deepEqual(await Promise.all(failing), ["I/O", "poisoned"]);
  assert.deepEqual(inJob.log, ["BEGIN IMMEDIATE", "begun", "undone", "ROLLBACK"]);
});

test("after 64 jobs the file is looked for, and a long -wal file moved to the main one", async () => {
  const progress = "PRAGMA wal_checkpoint(NOOP)";
  const moving = "PRAGMA wal_checkpoint(PASSIVE)";
  const looks = async (pages: readonly [number, number], weights: readonly number[], alone = false) => {
    const { writer, log, settle } = watched({ pages });
    for (const weight of weights) {
      const job = writer.run(() => 1, { weight, ...(alone ? { alone: () => 1 } : {}) });
      await settle();
      await job;
    }
    return log.filter((what) => /look|PRAGMA/.test(what));
  };
  assert.deepEqual(await looks([1_000, 0], [63]), []);
  assert.deepEqual(await looks([999, 0], [32, 32]), ["look for the file", progress]);
  assert.deepEqual(await looks([1_000, 999], [64]), ["look for the file", progress, moving]);
  assert.deepEqual(await looks([1_000, 1_000], [64]), ["look for the file", progress]);
  assert.deepEqual(await looks([0, 0], [64, 63]), ["look for the file", progress]);
  const single = Array.from({ length: 64 }, () => 1);
  assert.deepEqual(await looks([0, 0], single, true), ["look for the file", progress]);
  assert.deepEqual(await looks([0, 0], single.slice(1)), []);
});

test("work in steps pauses after a while, so that others get the lock", async () => {
  const { writer, slept, pass, settle } = watched();
  pass(100);
  let left = 12;
  const steps = writer.steps(() => {
    pass(1);
    return --left > 0;
  });
  for (let count = 0; count < 20; count++) {
    await settle();
    await turn();
  }
  await steps;
  assert.equal(left, 0);
  // After the first step, then after each 5 ms of work.
  assert.deepEqual(slept, [5, 5, 5]);
});
