/** The names of the store, in a directory bound for writing: no tool reads, lists, finds or creates one. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import type { StoredBinding } from "../../src/tool/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { callTool, failure, openFolder } from "./calling.ts";

const world = realWorld();
const names = ["skein.db", "skein.db-wal", "skein.db-journal", "skein.db-suspect", "skein.db.token"];

async function openPlace(more: readonly StoredBinding[] = []) {
  const folder = await openFolder();
  const bound: StoredBinding[] = [
    { kind: "directory", name: "w", mode: "write", path: folder.path },
    ...more,
  ];
  const source = makeToolSource({ world, hidden: [join(folder.path, "skein.db")] });
  const box = await source.open(bound, { signal: new AbortController().signal });
  return {
    ...folder,
    source,
    bound,
    box,
    run: (name: string, input: object) => callTool(box.tools, name, input),
  };
}

test("a name of the store is refused, whether it exists or not", async () => {
  await using place = await openPlace();
  const reserved = [...names, "skein.db-new", "skein.db-folder/inner.txt", "./skein.db.token"];
  for (const path of reserved) {
    const refused = /^refused: .* is a file of the store/;
    assert.match(await failure(place.run("write_file", { path, text: "x" })), refused, path);
    assert.match(await failure(place.run("read_file", { path })), refused, path);
    const edit = { path, find: "a", replace: "b" };
    assert.match(await failure(place.run("edit_file", edit)), refused, path);
  }
  assert.deepEqual(await readdir(place.path), []);
  assert.match((await place.run("write_file", { path: "sub/skein.db", text: "mine" })).text, /created/);
});

test("listing and searching leave them out, by whatever path they begin", async () => {
  await using place = await openPlace();
  for (const name of [...names, "notes.txt"]) await writeFile(join(place.path, name), "skein_4711_token\n");
  await mkdir(join(place.path, "deep"));
  await symlink("..", join(place.path, "deep", "up"));
  for (const path of [".", "deep/up"]) {
    assert.doesNotMatch((await place.run("list_files", { path })).text, /skein\.db/, path);
    assert.doesNotMatch((await place.run("find_files", { pattern: "*", path })).text, /skein\.db/, path);
    const grep = await place.run("grep_files", { pattern: "skein_4711", path });
    assert.match(grep.text, /notes\.txt:1:/, path);
    assert.doesNotMatch(grep.text, /skein\.db/, path);
  }
  // One file that is searched by name would tell by match or no match what it holds.
  for (const path of ["skein.db.token", "deep/up/skein.db.token"]) {
    for (const pattern of ["skein_4711", "other"])
      assert.match(await failure(place.run("grep_files", { pattern, path })), /is a file of the store/);
    assert.match(await failure(place.run("read_file", { path })), /is a file of the store/);
  }
});

test("a bound file that is one of them is refused too", async () => {
  await using folder = await openFolder();
  const path = join(folder.path, "skein.db.token");
  await writeFile(path, "token");
  const source = makeToolSource({ world, hidden: [join(folder.path, "skein.db")] });
  const bound: StoredBinding[] = [{ kind: "file", name: "t", mode: "write", path }];
  await using box = await source.open(bound, { signal: new AbortController().signal });
  assert.match(await failure(callTool(box.tools, "read_file", { path: "t" })), /is a file of the store/);
});

test("they are neither restored nor copied", async () => {
  await using place = await openPlace();
  for (const name of ["skein.db.token", "notes.txt"]) await writeFile(join(place.path, name), "text");
  const files = await place.source.files?.(place.bound);
  const [tree] = files?.trees ?? [];
  assert.ok(files !== undefined && tree !== undefined);
  const blobs = { put: async () => "", get: async () => new Uint8Array() };
  const put = {
    tree,
    path: "skein.db-journal",
    expect: null,
    to: { kind: "file", mode: 0o600, blob: "b" },
  } as const;
  const conflicts = await files.restore([put], blobs);
  assert.deepEqual(conflicts, [
    { path: join(place.path, "skein.db-journal"), why: "it is a name of the store" },
  ]);
  const to = `${place.path}-copy`;
  assert.deepEqual(await files.copy(tree, to, [], blobs), []);
  assert.deepEqual(await readdir(to), ["notes.txt"]);
  assert.equal(await readFile(join(to, "notes.txt"), "utf8"), "text");
});
