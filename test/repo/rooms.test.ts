/** Keeps the rooms of src/runtime apart: who imports whom, without a cycle; each says what it is for. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cyclesOf, roomRule, rooms } from "./rooms.ts";
import { assertKept, assertTells, readSources, root } from "./source.ts";

test("rooms of the runtime import only what the table allows", () => {
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

test("every folder of the layered sources says its one job in a README of at most 20 lines", () => {
  const folders = globSync("src/{runtime,store,server,cli,core,platform}/**/", { cwd: root })
    .map((path) => path.replace(/\/$/, ""))
    .filter((path) => globSync("*.ts", { cwd: join(root, path) }).length > 0);
  assert.ok(folders.length > 40, `${folders.length} folders`);
  const wrong = folders.filter((folder) => {
    const file = join(root, folder, "README.md");
    return !existsSync(file) || readFileSync(file, "utf8").trimEnd().split("\n").length > 20;
  });
  assert.deepEqual(wrong, []);
});
