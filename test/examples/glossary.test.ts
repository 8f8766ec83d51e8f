/** Keeps GLOSSARY.md complete: every verb of the library and the command line has its line in the table. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Drive } from "../../src/runtime/turn/drive.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { SessionLease } from "../../src/runtime/turn/lease.ts";
import { Session } from "../../src/runtime/engine/session.ts";
import { root } from "../repo/source.ts";

const table =
  readFileSync(join(root, "GLOSSARY.md"), "utf8").split("## The verbs")[1]?.split("\n## ")[0] ?? "";
const rows = [...table.matchAll(/^\| (.+) \| .+ \| (.+) \| (.+) \|$/gm)];
const cells = (column: number) => rows.map((row) => row[column] ?? "").join(", ");

test("every call of the library is in the glossary", () => {
  const told = new Set([...cells(2).matchAll(/`\w*\.(\w+)`/g)].map((match) => match[1]));
  for (const kind of [Engine, Session, SessionLease, Drive]) {
    const calls = Object.getOwnPropertyNames(kind.prototype).filter((name) => name !== "constructor");
    assert.ok(calls.length > 0, `${kind.name} has no calls`);
    assert.deepEqual(
      calls.filter((name) => !told.has(name)),
      [],
    );
  }
});

test("every verb of the command line is in the glossary", () => {
  const told = new Set([...cells(3).matchAll(/`(\w+)`/g)].map((match) => match[1]));
  const verbs = globSync("src/cli/verb/*.ts", { cwd: root }).map((path) => basename(path, ".ts"));
  assert.deepEqual(
    verbs.filter((verb) => !told.has(verb)),
    [],
  );
});
