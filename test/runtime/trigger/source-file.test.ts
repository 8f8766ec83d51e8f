/** Triggers on files: they fire for what is in the files, once for each settled state. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { limit } from "../../../src/core/limit.ts";
import type { TriggerSpec } from "../../../src/core/trigger/trigger.ts";
import { openEngine, type SkeinError } from "../../../src/index.ts";
import { firedOf, lastCause, makeFolder, pause, until, type Engine, type Session } from "./watched.ts";
import { kind } from "../../kind.ts";

const open = (): Promise<Engine> => openEngine({ store: kind().place() });
const hash = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** The digest of a tree of plain files, computed from scratch. */
function digestOf(root: string, counts: (path: string) => boolean = () => true): string {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name));
  const listing = files
    .map((path) => [relative(root, path), hash(readFileSync(path))] as const)
    .filter(([path]) => counts(path))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash(JSON.stringify(listing));
}

async function watching(engine: Engine, root: string, given: Partial<TriggerSpec> = {}): Promise<Session> {
  const session = await engine.open({
    objective: "Watch",
    model: "offline/offline",
    bind: [{ kind: "directory", path: root }],
  });
  await session.trigger("seen", { kind: "file", path: root, debounceMs: 20, ...given } as TriggerSpec);
  return session;
}

test("a change wakes the sleeping session, with a list of the changes", async () => {
  using folder = makeFolder();
  writeFileSync(folder.at("a.md"), "one");
  writeFileSync(folder.at("gone.md"), "old");
  await using engine = await open();
  const session = await watching(engine, folder.path);
  await session.sleep();
  await using _ = await engine.work();
  await pause(100);
  writeFileSync(folder.at("a.md"), "two");
  writeFileSync(folder.at("new.md"), "new");
  rmSync(folder.at("gone.md"));
  await until(async () => (await session.fold()).standing.lastTurn === 1);
  const [fired, ...more] = await firedOf(session);
  assert.deepEqual(more, []);
  assert.equal(fired?.digest, digestOf(folder.path));
  assert.equal(
    fired?.text,
    `Trigger "seen" fired: 3 files changed below ${folder.path}/\n` +
      "added: new.md\nchanged: a.md\nremoved: gone.md",
  );
});

test("a touch, and a change undone at once, do not fire; undone later it fires twice", async () => {
  using folder = makeFolder();
  writeFileSync(folder.at("a"), "A");
  await using engine = await open();
  const session = await watching(engine, folder.path, { debounceMs: 60 });
  await using _ = await engine.work();
  const first = await lastCause(session, "seen");
  await pause(100);
  utimesSync(folder.at("a"), 1, 1);
  writeFileSync(folder.at("a"), "B");
  writeFileSync(folder.at("a"), "A");
  await pause(250);
  assert.deepEqual(await firedOf(session), []);
  writeFileSync(folder.at("a"), "B");
  await until(async () => (await firedOf(session)).length === 1);
  writeFileSync(folder.at("a"), "A");
  await until(async () => (await firedOf(session)).length === 2);
  assert.equal(await lastCause(session, "seen"), first);
});

test("changes without a worker are found, once by two workers, and named if listed", async () => {
  using folder = makeFolder();
  writeFileSync(folder.at("a"), "A");
  await using engine = await open();
  const session = await watching(engine, folder.path);
  const works = async (count: number): Promise<void> => {
    await using _ = await engine.work({ name: `one ${count}` });
    await using __ = await engine.work({ name: `two ${count}` });
    await until(async () => (await firedOf(session)).length === count);
    await until(async () => (await session.fold()).standing.lastTurn === count);
    await pause(80);
  };
  writeFileSync(folder.at("a"), "B");
  await works(1);
  writeFileSync(folder.at("b"), "C");
  await works(2);
  assert.deepEqual(
    (await firedOf(session)).map(({ text }) => text),
    [
      `Trigger "seen" fired: the files changed: below ${folder.path}/`,
      `Trigger "seen" fired: 1 file changed below ${folder.path}/\nadded: b`,
    ],
  );
});

/** Pseudorandom, the same each time. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** One of the things that happen to files. Each leaves the tree other than it was. */
function change(root: string, pick: (below: number) => number, number: number): void {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .toSorted();
  const one = files[pick(files.length)] ?? join(root, "first");
  const folder = join(root, `d${pick(3)}`, `e${pick(2)}`);
  mkdirSync(folder, { recursive: true });
  const kind = files.length > 20 ? 3 : pick(6);
  if (kind === 0) writeFileSync(join(folder, `new${number}`), `new ${number}`);
  else if (kind === 1) appendFileSync(one, `more ${number}`);
  else if (kind === 2) {
    // An editor's atomic save.
    writeFileSync(`${one}.tmp`, `saved ${number}`);
    renameSync(`${one}.tmp`, one);
  } else if (kind === 3 && files.length > 5) rmSync(one);
  else if (kind === 4 && files.length > 0) renameSync(one, join(folder, `moved${number}`));
  else if (kind === 5) {
    const target = join(root, `f${pick(3)}`);
    rmSync(target, { recursive: true, force: true });
    renameSync(folder, target);
    writeFileSync(join(target, "in"), `${number}`);
  } else writeFileSync(one, `whole ${number}`);
}

test("of 1,000 changes each settled state fires once, and the last one is how the tree is", async () => {
  using folder = makeFolder();
  await using engine = await open();
  const session = await watching(engine, folder.path);
  await using _ = await engine.work({ name: "one", concurrency: 1 });
  await using __ = await engine.work({ name: "two", concurrency: 1 });
  const pick = chance(7);
  const settled: string[] = [];
  const real = new Set<string>();
  for (let made = 0; made < 1_000;) {
    // Now and then a long burst. While it goes on others get their turn, and look at what is half done.
    const burst = settled.length % 10 === 9 ? 150 : 1 + pick(24);
    for (let count = 0; count < burst && made < 1_000; count++) {
      change(folder.path, pick, made++);
      real.add(digestOf(folder.path));
      await setImmediate();
    }
    const digest = digestOf(folder.path);
    if (digest !== settled.at(-1)) settled.push(digest);
    await until(async () => (await lastCause(session, "seen")) === digest, `change ${made}`);
  }
  await pause(100);
  const fired = (await firedOf(session)).map(({ digest }) => digest);
  assert.ok(settled.length > 30);
  // What stood for a while within a burst may have fired, too; but nothing that never was.
  assert.deepEqual(
    fired.filter((digest) => !real.has(digest)),
    [],
  );
  assert.deepEqual(
    fired.filter((digest) => settled.includes(digest)),
    settled,
  );
  assert.equal(new Set(fired).size, fired.length);
  assert.equal(fired.at(-1), digestOf(folder.path));
});

test("globs, skipped files, links and databases", async () => {
  using folder = makeFolder();
  using elsewhere = makeFolder();
  mkdirSync(folder.at("node_modules/x"), { recursive: true });
  mkdirSync(folder.at("src/deep"), { recursive: true });
  writeFileSync(elsewhere.at("secret"), "1");
  symlinkSync(elsewhere.path, folder.at("out"));
  await using engine = await open();
  const all = await watching(engine, folder.path);
  const some = await watching(engine, folder.path, { glob: "src/**/*.ts" });
  const asked = await watching(engine, folder.path, { glob: "node_modules/*/package.json" });
  await using _ = await engine.work();
  using database = new DatabaseSync(folder.at("live.db"));
  database.exec("PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  writeFileSync(elsewhere.at("secret"), "2");
  await pause(200);
  const counts = async (): Promise<number[]> =>
    Promise.all([all, some, asked].map(async (one) => (await firedOf(one)).length));
  assert.deepEqual(await counts(), [0, 0, 0]);
  writeFileSync(folder.at("node_modules/x/package.json"), "{}");
  await until(async () => (await counts())[2] === 1);
  writeFileSync(folder.at("src/deep/a.ts"), "1");
  await until(async () => (await counts())[1] === 1);
  await until(async () => (await counts())[0] === 1);
  writeFileSync(folder.at("src/a.md"), "1");
  await until(async () => (await counts())[0] === 2);
  database.exec("INSERT INTO t VALUES (2)");
  await pause(100);
  assert.deepEqual(await counts(), [2, 1, 1]);
});

test("a single file, saved, removed and made again; others beside it do not count", async () => {
  using folder = makeFolder();
  writeFileSync(folder.at("rates.json"), "1");
  await using engine = await open();
  const session = await engine.open({
    objective: "Watch",
    model: "offline/offline",
    bind: [{ kind: "file", path: folder.at("rates.json") }],
    wake: [{ kind: "file", path: folder.at("rates.json"), debounceMs: 20 }],
  });
  await using _ = await engine.work();
  writeFileSync(folder.at("other.json"), "1");
  const step = async (count: number, work: () => void): Promise<void> => {
    work();
    await until(async () => (await firedOf(session)).length === count);
  };
  await step(1, () => {
    writeFileSync(folder.at("x"), "2");
    renameSync(folder.at("x"), folder.at("rates.json"));
  });
  await step(2, () => rmSync(folder.at("rates.json")));
  await step(3, () => writeFileSync(folder.at("rates.json"), "3"));
  await pause(80);
  assert.equal((await firedOf(session)).length, 3);
});

test("a missing directory is reported once, and watched again when it is back", async () => {
  using folder = makeFolder();
  mkdirSync(folder.at("in"));
  writeFileSync(folder.at("in/a"), "1");
  await using engine = await open();
  const session = await watching(engine, folder.path, { path: folder.at("in") });
  const told: string[] = [];
  await using _ = await engine.work({
    onEvent: (one) => {
      if (one.type === "trouble") told.push(one.text);
    },
  });
  await pause(50);
  renameSync(folder.at("in"), folder.at("away"));
  await until(async () => told.length === 1);
  assert.deepEqual(told, [`${folder.at("in")} does not exist, or cannot be read`]);
  await pause(200);
  mkdirSync(folder.at("in"));
  writeFileSync(folder.at("in/a"), "2");
  await until(async () => (await firedOf(session)).length === 1);
  // A change in it is announced again.
  writeFileSync(folder.at("in/b"), "3");
  await until(async () => (await firedOf(session)).length === 2);
  assert.equal(told.length, 1);
});

test("a bound resource: a directory, and a database that is written to while it is open", async () => {
  using folder = makeFolder();
  mkdirSync(folder.at("notes"));
  using database = new DatabaseSync(folder.at("a.db"));
  database.exec("PRAGMA journal_mode=WAL; CREATE TABLE t (x)");
  await using engine = await open();
  const session = await engine.open({
    objective: "Watch",
    model: "offline/offline",
    bind: [
      { kind: "directory", name: "notes", path: folder.at("notes") },
      { kind: "database", name: "rows", path: folder.at("a.db") },
      { kind: "shell", name: "shell" },
    ],
    wake: [
      { kind: "resource", binding: "notes", name: "notes", debounceMs: 20 },
      { kind: "resource", binding: "rows", name: "rows", debounceMs: 20 },
    ],
  });
  await using _ = await engine.work();
  database.prepare("SELECT * FROM t").all();
  await pause(100);
  assert.deepEqual(await firedOf(session), []);
  database.exec("INSERT INTO t VALUES (1)");
  await until(async () => (await firedOf(session)).length === 1);
  writeFileSync(folder.at("notes/a"), "1");
  await until(async () => (await firedOf(session)).length === 2);
  assert.deepEqual(
    (await firedOf(session)).map(({ text }) => text.split("\n")[0]),
    [
      `Trigger "rows" fired: the database ${folder.at("a.db")} was written.`,
      `Trigger "notes" fired: 1 file changed below ${folder.at("notes")}/`,
    ],
  );
  await assert.rejects(
    session.trigger("no", { kind: "resource", binding: "shell" }),
    ({ code, message }: SkeinError) => code === "invalid" && message.includes('"shell" cannot be watched'),
  );
});

test("a path that cannot be watched is refused when the trigger is set, with the path", async () => {
  using folder = makeFolder();
  using elsewhere = makeFolder();
  writeFileSync(folder.at("a"), "1");
  symlinkSync(elsewhere.path, folder.at("out"));
  mkdirSync(folder.at("large"));
  writeFileSync(folder.at("large/x"), "");
  truncateSync(folder.at("large/x"), limit.watchedBytesMax + 1);
  new DatabaseSync(folder.at("plain.db")).exec("CREATE TABLE t (x)");
  await using engine = await open();
  const session = await engine.open({ objective: "Watch", bind: [{ kind: "directory", path: folder.path }] });
  const cases: readonly (readonly [TriggerSpec, string, RegExp])[] = [
    [{ kind: "file", path: elsewhere.path }, "invalid", /^trigger "t": .* is outside the bound directories$/],
    [
      { kind: "file", path: folder.at("out") },
      "invalid",
      /^trigger "t": .* is outside the bound directories$/,
    ],
    [
      { kind: "file", path: folder.at("../x") },
      "invalid",
      /^trigger "t": .* is outside the bound directories$/,
    ],
    [{ kind: "file", path: folder.at("none") }, "not-found", /^trigger "t": .*none does not exist$/],
    [{ kind: "file", path: folder.path, glob: "../*" }, "invalid", /^trigger "t": glob: .* is outside/],
    [{ kind: "file", path: folder.path, glob: "/etc/*" }, "invalid", /^trigger "t": glob: .* is outside/],
    [{ kind: "file", path: folder.at("a"), glob: "*" }, "invalid", /^trigger "t": glob: .* is a file/],
    [{ kind: "file", path: folder.at("large") }, "invalid", /^trigger "t": x has more than 67108864 bytes/],
    [
      { kind: "file", path: folder.at("plain.db") },
      "invalid",
      /^trigger "t": .* cannot be watched as a file$/,
    ],
    [{ kind: "resource", binding: "b" }, "not-found", /^trigger "t": no resource is bound as "b"$/],
  ];
  for (const [spec, code, message] of cases) {
    await assert.rejects(session.trigger("t", spec), (error: SkeinError) => {
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  }
});
