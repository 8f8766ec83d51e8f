/** Keeps the rooms of src/runtime apart: who imports whom, without a cycle; each says what it is for. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cyclesOf, roomRule, rooms } from "./rooms.ts";
import { assertKept, assertTells, readSources, root } from "./source.ts";

test("rooms of the runtime import only as the table allows", () => {
  assertKept(readSources("src/runtime"), roomRule);
});

test("no room reaches itself through others", () => {
  assert.deepEqual(cyclesOf(rooms), []);
  assert.deepEqual(cyclesOf({ a: { may: { b: "" } }, b: { may: { c: "" } }, c: { may: { a: "" } } }), [
    "a → b → c → a",
  ]);
});

test("every line of the table is used: a room that needs another no more loses it", () => {
  const used = new Set<string>();
  for (const { path, text } of readSources("src/runtime")) {
    const from = path.split("/")[2] ?? "";
    for (const [, to] of text.matchAll(/from "\.\.\/([a-z]+)\/|import\("\.\.\/([a-z]+)\//g))
      used.add(`${from} ${to}`);
    for (const [, to] of text.matchAll(/import\("\.\.\/([a-z]+)\//g)) used.add(`${from} ${to}`);
  }
  const unused = Object.entries(rooms).flatMap(([room, { may }]) =>
    Object.keys(may)
      .filter((other) => !used.has(`${room} ${other}`))
      .map((other) => `${room} → ${other}`),
  );
  assert.deepEqual(unused, []);
});

test("tests of the runtime lie in the room that they test", () => {
  const files = globSync("test/runtime/**/*.test.ts", { cwd: root });
  assert.ok(files.length > 90, `${files.length} files`);
  assert.deepEqual(
    files.filter((file) => !((file.split("/").at(-2) ?? "") in rooms)),
    [],
  );
});

test("the table is read rightly", () => {
  const says = /may not import|lies in no room/;
  const log = "src/runtime/log/a.ts";
  const good =
    'import "../read/content.ts"; import "./b.ts"; import "../deps.ts"; import "../../core/ids.ts";';
  for (const bad of ['import "../turn/lease.ts";', 'export const a = () => import("../engine/engine.ts");']) {
    assertTells(roomRule, { path: log, good, bad, says });
  }
  const floor = "src/runtime/deps.ts";
  const types = 'import type { Writer } from "./log/writer.ts";';
  assertTells(roomRule, {
    path: floor,
    good: types,
    bad: 'import { makeWriter } from "./log/writer.ts";',
    says,
  });
  const elsewhere = { path: log, badPath: "src/runtime/attic/a.ts", good: "", bad: "", says };
  assertTells(roomRule, elsewhere);
});

/** The folder's README, or the header of the file of its name. */
function headerOf(folder: string): string | undefined {
  const readme = join(root, folder, "README.md");
  if (existsSync(readme)) return readFileSync(readme, "utf8").trimEnd();
  const [file] = globSync(`${folder.split("/").at(-1) ?? ""}.{ts,tsx}`, { cwd: join(root, folder) });
  return file && /^\/\*\*.*?\*\//s.exec(readFileSync(join(root, folder, file), "utf8"))?.[0];
}

test("every folder of the sources says its one job, in a README or a header of at most 20 lines", () => {
  const folders = globSync("src/*/**/", { cwd: root })
    .map((path) => path.replace(/\/$/, ""))
    .filter((path) => globSync("*.{ts,tsx}", { cwd: join(root, path) }).length > 0);
  assert.ok(folders.length > 90, `${folders.length} folders`);
  const linesOf = (folder: string): number => headerOf(folder)?.split("\n").length ?? Infinity;
  assert.deepEqual(
    folders.filter((folder) => linesOf(folder) > 20),
    [],
  );
});

test("ARCHITECTURE.md names every layer of the sources, and stays short", () => {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const [, table = ""] = /^## Layers\n(.*?)^## /ms.exec(text) ?? [];
  const named = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const folders = globSync("src/*/", { cwd: root }).map((path) => path.split("/")[1]);
  assert.equal(named.length, folders.length);
  assert.deepEqual(new Set(named), new Set(folders));
  assert.ok(text.split("\n").length <= 301);
});
