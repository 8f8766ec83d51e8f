/** Keeps the public names deliberate: what each subpath exports is what surface.json lists. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { docOf, holesIn, makeModules, publicNames } from "./closure.ts";
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

/** A page has the client without the root; its errors are the same class. */
const inTwo = ["SkeinError"];

test("the root has at most 60 names, and one name is one thing in one subpath", () => {
  const names = publicNames(makeModules());
  const atRoot = names.filter(({ subpath }) => subpath === ".").map(({ exported }) => exported);
  assert.ok(atRoot.length <= 60, `the root exports ${atRoot.length} names`);
  const homes = Map.groupBy(names, ({ exported }) => exported);
  const doubled = [...homes].filter(([name, found]) => found.length > 1 && !inTwo.includes(name));
  assert.deepEqual(
    doubled.map(([name, found]) => `${name}: ${found.map(({ subpath }) => subpath).join(", ")}`),
    [],
  );
  const renamed = names.filter(({ name, exported }) => name !== exported);
  assert.deepEqual(renamed, [], "a public type has the name of its declaration");
});

test("every type that a public name takes or returns has a public name", () => {
  const modules = makeModules();
  const names = publicNames(modules);
  assert.ok(names.length > 200, "the rule saw no names");
  const holes = holesIn(modules, names);
  assert.ok(holes.length === 0, `\n${holes.join("\n")}\nname them in a file of src/entry, then UPDATE=1`);
});

test("every public name has a doc comment, functions and classes of the root an example", () => {
  const modules = makeModules();
  const names = publicNames(modules);
  const silent = names.filter((one) => docOf(modules, one) === null);
  assert.deepEqual(
    silent.map(({ file, name }) => `${file}: ${name} has no doc comment`),
    [],
  );
  const called = names.filter(({ subpath, file, name }) => {
    const [{ type } = { type: "" }] = modules.load(file).declared.get(name) ?? [];
    return subpath === "." && /^(Function|Class)Declaration$/.test(type);
  });
  assert.ok(called.length >= 8, "the rule saw no functions and classes");
  assert.deepEqual(
    called.flatMap((one) =>
      docOf(modules, one)?.includes("@example") ? [] : [`${one.name} has no @example`],
    ),
    [],
  );
});

test("a type without a public name is reported, unless callers cannot reach it", () => {
  const files: Readonly<Record<string, string>> = {
    "src/index.ts": `export type { Engine } from "./engine.ts"; export { open } from "./engine.ts";`,
    "src/engine.ts": `
      import type { Deps, Hidden, Options, Result, Row } from "./types.ts";
      interface Local { readonly row: Row }
      export class Engine {
        #deps: Deps;
        constructor(deps: Deps) { this.#deps = deps; }
        /** @internal */
        peek(): Hidden { return this.#deps.hidden; }
        list(): Promise<Local[]> { return Promise.resolve([]); }
        static of(): Deps { throw new Error(); }
      }
      export function open(options: Options = {}): Result<string> { const deps: Deps = {}; return deps; }`,
    "src/types.ts": `
      export interface Deps {} export interface Hidden {} export interface Options {}
      export interface Row {} export type Result<T> = T | readonly T[];`,
  };
  const modules = makeModules((path) => files[path] ?? "");
  const names = publicNames(modules, [{ subpath: ".", file: "src/index.ts" }]);
  const holes = holesIn(modules, names).map((hole) => hole.split(" ")[0]);
  assert.deepEqual(new Set(holes), new Set(["Options", "Result", "Row"]));
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
