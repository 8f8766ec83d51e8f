/**
 * Disks that fail: fsync with EIO, no space left, and the process killed at exactly one call. Needs strace.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { openEngine, SkeinError, type Session } from "../../src/index.ts";
import { audit } from "./audit.ts";
import { eachOf, isSaying, isSync, makeRig, syncCalls, withoutStrace, type Traced } from "./strace.ts";
import type { VerbName } from "./verb.ts";
import { freshSeed } from "./random.ts";
import { slicedEvery } from "../slice.ts";

const run = promisify(execFile);
const skip = await withoutStrace();
const rig = await makeRig();
const seed = freshSeed();
after(() => rig[Symbol.asyncDispose]());

const mixed: readonly VerbName[] = ["input", "records", "fact", "fork", "rewind", "clear", "keyed", "label"];
const orderOf = (path: string, count = 10, verbs = mixed) =>
  ({ do: "write", path, writer: "w1", seed: 7, steps: { count, verbs } }) as const;

/** What a failed process left behind: everything acknowledged is there, and the store works again. */
async function assertWhole(path: string, { ledger }: Traced, context: string): Promise<void> {
  if (!existsSync(path)) {
    assert.equal(ledger.entries.size, 0, `${context}: there is no store, and yet somebody wrote to it`);
    return;
  }
  const { problems } = await audit(path, ledger, { faults: true });
  assert.deepEqual(problems, [], context);
  assert.equal(existsSync(`${path}-suspect`), false, `${context}: the marker outlived a good open`);
}

const failures = ({ lines }: Traced): readonly string[] => lines.filter((line) => /^(no|failed) /.test(line));
const acknowledgements = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => line.startsWith("ok "));

/** Somebody was told, and after that there is no acknowledgement any more. */
function assertSilent(traced: Traced, context: string): void {
  const [first = ""] = failures(traced);
  assert.notEqual(first, "", `${context}: nobody was told`);
  assert.deepEqual(acknowledgements(traced.lines.slice(traced.lines.indexOf(first))), [], context);
}

/** Each failure has one of these codes, and says what to do. */
function assertTold(traced: Traced, codes: readonly string[], context: string): void {
  for (const line of failures(traced)) {
    const [, code = "", reason = ""] = /^(?:no \S+|failed) (\S+) (.*)$/.exec(line) ?? [];
    assert.ok(codes.includes(code), `${context}: ${line}`);
    const [message, hint] = JSON.parse(reason) as [string, string | null];
    assert.ok(message.length > 0 && hint !== null && hint.length > 0, `${context}: ${line}`);
  }
}

interface CallCounts {
  /** Until the store is open, until the last acknowledgement, in all. */
  readonly opening: number;
  readonly working: number;
  readonly all: number;
}

const plainRuns = new Map<string, Promise<CallCounts>>();

/** Counts the calls of a run without faults. */
function plainRun(names: string): Promise<CallCounts> {
  const counted = plainRuns.get(names) ?? countCalls(names);
  plainRuns.set(names, counted);
  return counted;
}

async function countCalls(names: string): Promise<CallCounts> {
  const { calls } = await rig.trace(orderOf(rig.path()), { calls: `${names},write` });
  const count = (until: number) =>
    calls.slice(0, until).filter(({ name }) => names.split(",").includes(name)).length;
  return {
    opening: count(calls.findIndex((call) => isSaying(call, "opened"))),
    working: count(calls.findLastIndex((call) => isSaying(call, "ok "))),
    all: count(calls.length),
  };
}

const range = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.max(0, Math.ceil((to - from + 1) / step)) }, (_, place) => from + place * step);

test("when fsync fails nothing more is acknowledged, and the next open verifies", { skip }, async () => {
  const { opening, working, all } = await plainRun(syncCalls);
  assert.ok(opening > 2 && working >= opening + 10 && all > working, `${opening}, ${working}, ${all}`);
  await eachOf(slicedEvery(range(1, all), 8, seed), async (n) => {
    const path = rig.path();
    const inject = `${syncCalls}:error=EIO:when=${n}`;
    const traced = await rig.trace(orderOf(path), { calls: syncCalls, inject });
    const hit = traced.calls.find(({ injected }) => injected);
    assert.ok(hit !== undefined, `there was no sync ${n}`);
    const context = `sync ${n} of ${all}, of ${hit.file}`;
    // SQLite passes over a directory that cannot be synced, and so does everybody who builds on it.
    const isFile = !statSync(hit.file, { throwIfNoEntry: false })?.isDirectory();
    if (n <= working && isFile) assertSilent(traced, context);
    assertTold(traced, n <= opening ? ["unavailable"] : ["unavailable", "unknown"], context);
    const isWork = n > opening && n <= working;
    if (isWork) assert.ok(existsSync(`${path}-suspect`), `${context}: nothing marks the store as suspect`);
    await assertWhole(path, traced, context);
  });
});

test("data in doubt after a failed fsync is written anew before the store is trusted", { skip }, async () => {
  const { opening } = await plainRun(syncCalls);
  const path = rig.path();
  const inject = `${syncCalls}:error=EIO:when=${opening + 5}`;
  const traced = await rig.trace({ ...orderOf(path), leave: true }, { calls: syncCalls, inject });
  assert.equal(traced.signal, "SIGKILL");
  // The kernel may count pages as clean that never reached the disk, so what is read from them proves
  // nothing.
  assert.ok(statSync(`${path}-wal`).size > 0);
  const engine = await openEngine({ store: path });
  assert.equal(statSync(`${path}-wal`).size, 0, "the -wal file was trusted as it was found");
  assert.equal(existsSync(`${path}-suspect`), false);
  await engine.close();
  await assertWhole(path, traced, "after EIO and a kill");
});

test(
  "a checkpoint that cannot be synced loses nothing, and ends all work on the store",
  { skip },
  async () => {
    const order = (path: string) => orderOf(path, 100, ["large"]);
    const plain = await rig.trace(order(rig.path()), { calls: `${syncCalls},write` });
    const opened = plain.calls.findIndex((call) => isSaying(call, "opened"));
    const last = plain.calls.findLastIndex((call) => isSaying(call, "ok "));
    const at = plain.calls.findIndex(
      (call, place) => place > opened && place < last && isSync(call) && call.file.endsWith(".db"),
    );
    assert.notEqual(at, -1, "there was no checkpoint among the writes");
    const n = plain.calls.slice(0, at + 1).filter(isSync).length;
    await eachOf([n - 1, n], async (one) => {
      const path = rig.path();
      const inject = `${syncCalls}:error=EIO:when=${one}`;
      const traced = await rig.trace(order(path), { calls: syncCalls, inject });
      const hit = traced.calls.find(({ injected }) => injected);
      assert.ok(hit !== undefined, `there was no sync ${one}`);
      const context = `sync ${one}, of ${hit.file}`;
      assertSilent(traced, context);
      assertTold(traced, ["unavailable"], context);
      assert.ok(existsSync(`${path}-suspect`), `${context}: nothing marks the store as suspect`);
      await assertWhole(path, traced, context);
    });
  },
);

test("when the disk is full nothing is acknowledged that was not written", { skip }, async () => {
  const { opening, working } = await plainRun("pwrite64");
  assert.ok(working > opening + 30, `${opening}, ${working}`);
  // How many writes there are varies a little with the clock, so the last ones are left out.
  const last = Math.floor(working * 0.85);
  await eachOf(slicedEvery(range(1, last, Math.ceil(last / 13)), 3, seed), async (n) => {
    const path = rig.path();
    const inject = `pwrite64:error=ENOSPC:when=${n}+`;
    const traced = await rig.trace(orderOf(path), { calls: "pwrite64", inject });
    const context = `no space from write ${n} of ${working} on`;
    assertSilent(traced, context);
    assertTold(traced, ["unavailable"], context);
    if (n > opening) assert.match(failures(traced)[0] ?? "", /the disk is full.*free some space/);
    await assertWhole(path, traced, context);
  });
});

test("a write that found no space leaves the store usable", { skip }, async () => {
  const { opening, working } = await plainRun("pwrite64");
  const last = Math.floor(working * 0.85);
  const wanted = range(opening + 3, last, Math.ceil((last - opening) / 8));
  await eachOf(slicedEvery(wanted, 3, seed), async (n) => {
    const path = rig.path();
    const inject = `pwrite64:error=ENOSPC:when=${n}`;
    const traced = await rig.trace(orderOf(path), { calls: "pwrite64", inject });
    const context = `no space for write ${n} only`;
    assert.equal(failures(traced).length, 1, context);
    assertTold(traced, ["unavailable"], context);
    assert.ok(acknowledgements(traced.lines).length >= 8, context);
    await assertWhole(path, traced, context);
  });
});

for (const names of [syncCalls, "pwrite64"]) {
  test(`killed at any ${names} the process leaves a whole store`, { skip }, async () => {
    const { all } = await plainRun(names);
    await eachOf(slicedEvery(range(1, all, Math.ceil(all / 14)), 3, seed), async (n) => {
      const path = rig.path();
      const traced = await rig.trace(orderOf(path), {
        calls: names,
        inject: `${names}:signal=KILL:when=${n}`,
      });
      assert.equal(traced.signal, "SIGKILL", `${names} ${n} of ${all}`);
      await assertWhole(path, traced, `killed at ${names} ${n} of ${all}`);
    });
  });
}

/** A disk of its own, so small that it is soon full; null where it cannot be had. */
async function mountSmallDisk(): Promise<{ readonly directory: string; end(): Promise<void> } | null> {
  const directory = mkdtempSync(join(tmpdir(), "skein-full-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=4m", "skein-full", directory]);
  } catch {
    rmSync(directory, { recursive: true });
    return null;
  }
  return {
    directory,
    async end() {
      await run("umount", [directory]);
      rmSync(directory, { recursive: true });
    },
  };
}

/** Appends until it is refused; gives how often it was not, and why it was. */
async function fill(session: Session): Promise<{ readonly count: number; readonly error: SkeinError }> {
  const text = "fill ".repeat(4_000);
  for (let count = 0; count < 1_000; count++) {
    try {
      await session.append(text);
    } catch (error) {
      assert.ok(error instanceof SkeinError);
      return { count, error };
    }
  }
  return assert.fail("the disk does not get full");
}

test("a store on a full disk reports it, and works again once there is space", async (t) => {
  const disk = await mountSmallDisk();
  if (disk === null) return t.skip("a small disk can be mounted only as root");
  try {
    const ballast = join(disk.directory, "ballast");
    writeFileSync(ballast, Buffer.alloc(1_500_000));
    const engine = await openEngine({ store: join(disk.directory, "skein.db") });
    const session = await engine.open({ objective: "fill the disk" });
    const { count, error } = await fill(session);
    assert.ok(count > 10, `refused after ${count}`);
    assert.deepEqual([error.code, error.hint], ["unavailable", "free some space; nothing was written"]);
    assert.match(error.message, /^the disk is full: /);
    assert.equal(
      (await session.head()).seq,
      1 + count,
      "reading goes on, and nothing is there that was refused",
    );
    rmSync(ballast);
    const again = await fill(session);
    assert.ok(again.count > 10, `refused after ${again.count} more`);
    assert.equal((await engine.verify()).ok, true);
    await engine.close();
    const reopened = await openEngine({ store: join(disk.directory, "skein.db") });
    assert.equal((await (await reopened.session(session.id)).head()).seq, 1 + count + again.count);
    assert.equal((await reopened.verify()).ok, true);
    await reopened.close();
  } finally {
    await disk.end();
  }
});
