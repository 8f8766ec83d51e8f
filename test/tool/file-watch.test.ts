/** File versions on disk: what a look tells, what a crash leaves, and what is put back or left alone. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { promisify } from "node:util";
import { z } from "zod";
import type { FileVersion, TreeChange } from "../../src/core/tool/file-version.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { defineTool } from "../../src/tool/define.ts";
import { restoreFiles } from "../../src/tool/file-restore.ts";
import { Shelf } from "../../src/tool/file-shelf.ts";
import { everyTree, outermost, sightOf } from "../../src/tool/file-tree.ts";
import { watchFiles } from "../../src/tool/file-watch.ts";
import type { StoredBinding, FileBlobs, FileTree, WatchedCalls } from "../../src/tool/port.ts";
import { sliced } from "../slice.ts";
import { openFolder } from "./calling.ts";
import { checkUnreadable } from "./unreadable.ts";

const world = realWorld();

function blobsInMemory(): FileBlobs {
  const kept = new Map<string, Uint8Array>();
  return {
    put: async (bytes) => {
      const hash = world.hashBytes(bytes);
      kept.set(hash, Buffer.from(bytes));
      return hash;
    },
    get: async (blob) => kept.get(blob),
  };
}

const anything = defineTool({
  name: "anything",
  description: "May change any file.",
  input: z.object({}),
  run: () => "done",
});
const calls = [{ tool: anything, input: {} }];
const bound = (path: string, name = "work"): StoredBinding => ({
  kind: "directory",
  path,
  name,
  mode: "write",
});
const textOf = (text: string, mode = 0o644): FileVersion => ({
  kind: "file",
  mode,
  blob: world.hashBytes(Buffer.from(text)),
  bytes: text.length,
});
const changesOf = async (watched: WatchedCalls | undefined): Promise<readonly TreeChange[]> =>
  watched === undefined ? [] : watched.record(async (all) => all);
const session = (): string => `ses_${Buffer.from(world.random(8)).toString("hex")}`;

suite("changes between two scans", () => {
  test("a file that keeps its size has changed all the same", async () => {
    await using folder = await openFolder();
    const file = join(folder.path, "a");
    await writeFile(file, "one");
    await using watch = watchFiles([{ name: "work", root: folder.path }], {
      now: world.now,
      session: undefined,
    });
    const watched = await watch.begin(calls, { blobs: blobsInMemory() });
    await writeFile(file, "two");
    const [first] = await changesOf(watched);
    assert.deepEqual(first, {
      name: "work",
      files: [{ path: "a", before: textOf("one"), after: textOf("two") }],
    });
    assert.deepEqual(await changesOf(watched), []);
  });

  test("a change during the first scan is found, though its time is the same", async () => {
    await using folder = await openFolder();
    await using copies = await openFolder();
    await writeFile(join(folder.path, "a"), "new");
    await writeFile(join(copies.path, "0-1"), "old");
    const sight = await sightOf(join(folder.path, "a"));
    assert.ok(sight !== undefined);
    const tree = { name: "work", root: folder.path };
    const shelf = (isDoubtful: boolean) =>
      new Shelf(tree, {
        directory: copies.path,
        prefix: "0-",
        now: world.now,
        entries: [["a", { ...sight, copy: "1", isDoubtful }]],
      });
    const look = { seen: new Map([["a", sight]]), hidden: new Set<string>() };
    assert.deepEqual(await shelf(false).advance(look, blobsInMemory()), []);
    assert.deepEqual(await shelf(true).advance(look, blobsInMemory()), [
      { path: "a", before: textOf("old"), after: textOf("new") },
    ]);
  });

  test("changes by others before the calls are not attributed to them", async () => {
    await using folder = await openFolder();
    await using watch = watchFiles([{ name: "work", root: folder.path }], {
      now: world.now,
      session: undefined,
    });
    const blobs = blobsInMemory();
    await (await watch.begin(calls, { blobs }))?.over();
    await writeFile(join(folder.path, "mine"), "m");
    assert.deepEqual(await changesOf(await watch.begin(calls, { blobs })), []);
  });

  test("a tree that is too large is reported as not stored", async () => {
    await using folder = await openFolder();
    await writeFile(join(folder.path, "large"), "");
    await truncate(join(folder.path, "large"), 300_000_000);
    await using watch = watchFiles([{ name: "work", root: folder.path }], {
      now: world.now,
      session: undefined,
    });
    const watched = await watch.begin(calls, { blobs: blobsInMemory() });
    await writeFile(join(folder.path, "a"), "one");
    const unkept = "what changed is not known: there are more than 268435456 bytes below work";
    assert.deepEqual(await changesOf(watched), [{ name: "work", files: [], unkept }]);
    assert.deepEqual(await changesOf(watched), [], "once for calls that run together");
  });

  test("an open database is passed over, and is not taken for new when it is closed", async () => {
    await using folder = await openFolder();
    const database = new DatabaseSync(join(folder.path, "x.db"));
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
    await using watch = watchFiles([{ name: "work", root: folder.path }], {
      now: world.now,
      session: undefined,
    });
    const blobs = blobsInMemory();
    const watched = await watch.begin(calls, { blobs });
    database.exec("INSERT INTO t VALUES (1)");
    assert.deepEqual(await changesOf(watched), []);
    database.close();
    assert.deepEqual(await changesOf(watched), []);
    await rm(join(folder.path, "x.db"));
    const [last] = await changesOf(watched);
    assert.deepEqual(
      last?.files.map(({ path, after }) => [path, after]),
      [["x.db", null]],
    );
  });

  test("a shell's directory counts, and what lies within another is part of it", async () => {
    await using folder = await openFolder();
    await mkdir(join(folder.path, "inner"));
    await writeFile(join(folder.path, "alone"), "");
    const all = await everyTree([
      bound(join(folder.path, "inner"), "inner"),
      bound(folder.path, "outer"),
      { kind: "shell", name: "shell", mode: "read", path: folder.path },
      { kind: "shell", name: "anywhere", mode: "read" },
      { kind: "file", name: "alone", mode: "write", path: join(folder.path, "alone") },
      { kind: "directory", name: "looked-at", mode: "read", path: folder.path },
    ]);
    assert.deepEqual(
      all.map(({ name }) => name),
      ["inner", "outer", "alone", "shell"],
    );
    assert.deepEqual(outermost(all), [{ name: "outer", root: folder.path }]);
  });
});

test("the next process finds the files that calls had changed when the process died", async () => {
  await using folder = await openFolder();
  await writeFile(join(folder.path, "a"), "one");
  await writeFile(join(folder.path, "b"), "same");
  const trees: readonly FileTree[] = [{ name: "work", root: folder.path }];
  const options = { now: world.now, session: session() };
  const died = watchFiles(trees, options);
  await died.begin(calls, { blobs: blobsInMemory() });
  await writeFile(join(folder.path, "a"), "two");
  await rm(join(folder.path, "b"));
  {
    await using next = watchFiles(trees, options);
    const found = [
      { path: "a", before: textOf("one"), after: textOf("two") },
      { path: "b", before: textOf("same"), after: null },
    ];
    assert.deepEqual(await next.left(blobsInMemory()), [{ name: "work", files: found }]);
    await (await next.begin(calls, { blobs: blobsInMemory() }))?.over();
  }
  await using last = watchFiles(trees, options);
  assert.deepEqual(await last.left(blobsInMemory()), []);
});

suite("untouched files", () => {
  const blobs = blobsInMemory();
  const version = async (text: string): Promise<FileVersion> => {
    await blobs.put(Buffer.from(text));
    return textOf(text);
  };

  test("a path that leads out, or through a link that another program made", async () => {
    await using folder = await openFolder();
    await using outside = await openFolder();
    const tree = { name: "work", root: folder.path };
    await writeFile(join(outside.path, "a"), "after");
    await symlink(outside.path, join(folder.path, "d"));
    const [expect, to] = [await version("after"), await version("before")];
    const put = (path: string) => restoreFiles(world, [{ tree, path, expect, to }], blobs);
    for (const path of ["../a", "d/../../a", "/etc/a", "a//b", "."])
      assert.deepEqual(
        (await put(path)).map(({ why }) => why),
        ["the path is outside of the binding"],
        path,
      );
    assert.deepEqual(
      (await put("d/a")).map(({ why }) => why),
      ["another program removed it"],
    );
    const made = { tree, path: "d/a", expect: null, to };
    assert.deepEqual(await restoreFiles(world, [made], blobs), [
      { path: join(folder.path, "d/a"), why: "another program replaced its directory" },
    ]);
    assert.equal(await readFile(join(outside.path, "a"), "utf8"), "after");
  });

  test("everything, when one path is in the way; a retry finishes what a crash left", async () => {
    await using folder = await openFolder();
    const tree = { name: "work", root: folder.path };
    const [after, before] = [await version("after"), await version("before")];
    const put = { tree, expect: after, to: before };
    const puts = ["a", "b", "d/c"].map((path) => ({ ...put, path }));
    await mkdir(join(folder.path, "d"));
    for (const { path } of puts) await writeFile(join(folder.path, path), "after");
    await writeFile(join(folder.path, "b"), "foreign");
    assert.deepEqual(await restoreFiles(world, puts, blobs), [
      { path: join(folder.path, "b"), why: "another program changed it" },
    ]);
    assert.equal(await readFile(join(folder.path, "a"), "utf8"), "after");
    // As a crash leaves it: one is back, and what was to come lies beside.
    await writeFile(join(folder.path, "b"), "before");
    await mkdir(join(folder.path, ".put-back.skein-tmp"));
    await writeFile(join(folder.path, ".put-back.skein-tmp", "0"), "half");
    assert.deepEqual(await restoreFiles(world, puts, blobs), []);
    for (const { path } of puts) assert.equal(await readFile(join(folder.path, path), "utf8"), "before");
    await assert.rejects(lstat(join(folder.path, ".put-back.skein-tmp")));
  });

  test("a directory of the session that holds another program's files", async () => {
    await using folder = await openFolder();
    const tree = { name: "work", root: folder.path };
    await mkdir(join(folder.path, "d"), { mode: 0o755 });
    await writeFile(join(folder.path, "d/foreign"), "");
    const made = { tree, path: "d", expect: { kind: "directory", mode: 0o755 } as const };
    assert.deepEqual(await restoreFiles(world, [{ ...made, to: null }], blobs), []);
    assert.ok((await lstat(join(folder.path, "d"))).isDirectory());
    assert.deepEqual(
      (await restoreFiles(world, [{ ...made, to: await version("was a file") }], blobs)).map(
        ({ why }) => why,
      ),
      ["d/foreign lies below it, and is not the session's"],
    );
  });
});

test("an unreadable file is reported, and is never restored", async () => {
  if (process.getuid?.() !== 0) return checkUnreadable();
  // The one who may read everything runs it as somebody who may not.
  await using folder = await openFolder();
  await chmod(folder.path, 0o777);
  const script = join(import.meta.dirname, "unreadable.ts");
  const nobody = { uid: 65_534, gid: 65_534, env: { TMPDIR: folder.path }, cwd: "/" };
  const { stdout } = await promisify(execFile)(process.execPath, [script], nobody);
  assert.equal(stdout, "told\n");
});

const folders = sliced(20, 100);

test(`${folders} folders of a hundred files are looked at in reasonable time`, async () => {
  await using folder = await openFolder();
  const blobs = blobsInMemory();
  for (let part = 0; part < folders; part++) {
    const below = join(folder.path, `d${part}`);
    await mkdir(below);
    await Promise.all(Array.from({ length: 100 }, (_, n) => writeFile(join(below, `${n}`), `${part} ${n}`)));
  }
  const tree = { name: "work", root: folder.path };
  await using watch = watchFiles([tree], { now: world.now, session: session() });
  const begun = performance.now();
  const watched = await watch.begin(calls, { blobs });
  await rename(join(folder.path, "d7"), join(folder.path, "moved"));
  await rm(join(folder.path, "d8"), { recursive: true });
  const [changed] = await changesOf(watched);
  await watched?.over();
  assert.equal(changed?.files.length, 303);
  const puts = changed.files.map(({ path, before, after }) => ({ tree, path, expect: after, to: before }));
  assert.deepEqual(await restoreFiles(world, puts, blobs), []);
  assert.equal(await readFile(join(folder.path, "d8/99"), "utf8"), "8 99");
  await assert.rejects(lstat(join(folder.path, "moved")));
  const seconds = (performance.now() - begun) / 1_000;
  assert.ok(seconds < 30, `it took ${seconds} s`);
});
