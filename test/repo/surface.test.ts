/** Keeps the public names deliberate: what each subpath exports is what surface.json lists. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Node, Source } from "./source.ts";
import { entryPoints, isNode, nameOf, parseSource, root } from "./source.ts";

test("every subpath exports exactly the names in surface.json (UPDATE=1 rewrites it)", () => {
  const path = join(import.meta.dirname, "surface.json");
  const surface = Object.fromEntries(
    entryPoints().map(({ subpath, file }) => {
      assert.ok(
        existsSync(join(root, file)),
        `package.json exports "${subpath}", but ${file} does not exist`,
      );
      return [subpath, exportedNames(parseSource(file, readFileSync(join(root, file), "utf8")))];
    }),
  );
  assert.ok(Object.values(surface).flat().length > 0, "the rule saw no exports");
  if (process.env["UPDATE"] === "1") writeFileSync(path, `${JSON.stringify(surface, null, 2)}\n`);
  assert.deepEqual(surface, JSON.parse(readFileSync(path, "utf8")));
});

test("exported names are read from every form of export", () => {
  const text = `
    export { fork, type Fork, merge as join } from "./core/fork.ts";
    export type { Lease } from "./runtime/lease.ts";
    export const limit = 1, seq = 2;
    export function open() {}
    export class Engine {}
    export interface Options {}
    const hidden = 1;`;
  const names = ["Engine", "fork", "join", "limit", "open", "seq", "type Fork", "type Lease", "type Options"];
  assert.deepEqual(exportedNames(parseSource("src/index.ts", text)), names);
});

/** Star exports are forbidden (tidy.ts), so the file alone says what it exports. */
function exportedNames(source: Source): string[] {
  const body = source.program["body"] as Node[];
  return body
    .filter((node) => node.type === "ExportNamedDeclaration")
    .flatMap((node) => [...specifierNames(node), ...declaredNames(node["declaration"])])
    .toSorted();
}

function specifierNames(node: Node): string[] {
  return (node["specifiers"] as Node[]).map((specifier) => {
    const isType = node["exportKind"] === "type" || specifier["exportKind"] === "type";
    return `${isType ? "type " : ""}${nameOf(specifier["exported"])}`;
  });
}

function declaredNames(declaration: unknown): string[] {
  if (!isNode(declaration)) return [];
  if (declaration.type === "VariableDeclaration") {
    return (declaration["declarations"] as Node[]).map(({ id }) => nameOf(id) ?? "");
  }
  const isType = /^TS(TypeAlias|Interface)Declaration$/.test(declaration.type);
  return [`${isType ? "type " : ""}${nameOf(declaration["id"])}`];
}
