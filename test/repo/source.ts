/** Source files as the repository's rules see them: a path, a text and a syntax tree. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";

export const root = join(import.meta.dirname, "..", "..");

/** A node of the ESTree syntax tree; which fields it has depends on its type. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  readonly comments: readonly { readonly value: string; readonly start: number }[];
}

/** A node with the node that holds it and the name of the field that it is held in. */
export interface Place {
  readonly node: Node;
  readonly parent: Node;
  readonly field: string;
}

/** One breach of a rule, printed as `path:line: message`. */
export type Finding = string;
export type Rule = (source: Source) => Finding[];

export function parseSource(path: string, text: string): Source {
  const { program, comments, errors } = parseSync(path, text);
  assert.deepEqual(errors, [], `${path} is not TypeScript`);
  return { path, text, program: program as unknown as Node, comments };
}

/** Every TypeScript file under the folders; a folder that does not exist yet has none. */
export function readSources(...folders: readonly string[]): Source[] {
  return folders
    .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }))
    .toSorted()
    .map(readSource);
}

const read = new Map<string, Source>();

/** The rules share a process and look at the same trees. Those of the tests are too many to keep. */
function readSource(path: string): Source {
  const source = read.get(path) ?? parseSource(path, readFileSync(join(root, path), "utf8"));
  if (path.startsWith("src/")) read.set(path, source);
  return source;
}

/** The subpaths that package.json exports, and the source behind each. */
export function entryPoints(): { readonly subpath: string; readonly file: string }[] {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  };
  return Object.entries(exports).flatMap(([subpath, target]) => {
    const file = typeof target === "string" ? undefined : target["skein-source"];
    return file === undefined ? [] : [{ subpath, file: file.replace("./", "") }];
  });
}

/** Every node below `parent`, outermost first. A stack: nested generators cost more than the rules do. */
export function* placesIn(parent: Node): Generator<Place> {
  const waiting = childrenOf(parent).toReversed();
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    yield place;
    waiting.push(...childrenOf(place.node).toReversed());
  }
}

function childrenOf(parent: Node): Place[] {
  const places: Place[] = [];
  for (const [field, value] of Object.entries(parent))
    for (const node of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isNode(node)) places.push({ node, parent, field });
  return places;
}

export function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string"
  );
}

/** The name that an identifier or a string literal spells. */
export function nameOf(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  const name = value.type === "Identifier" ? value["name"] : value["value"];
  return typeof name === "string" ? name : undefined;
}

export function lineAt(source: Source, position: number): number {
  return source.text.slice(0, position).split("\n").length;
}

export function finding(source: Source, position: number, message: string): Finding {
  return `${source.path}:${lineAt(source, position)}: ${message}`;
}

/** Fails with one line a breach, or if there was nothing to look at. */
export function assertKept(sources: readonly Source[], ...rules: readonly Rule[]): void {
  assert.ok(sources.length > 0, "the rule saw no files");
  const findings = sources.flatMap((source) => rules.flatMap((rule) => rule(source)));
  assert.ok(findings.length === 0, `\n${findings.join("\n")}\n`);
}

/** Shows that a rule keeps silent on a good text and speaks on a bad one. */
export function assertTells(
  rule: Rule,
  example: {
    readonly path: string;
    readonly good: string;
    readonly bad: string;
    readonly badPath?: string;
    readonly says: RegExp;
  },
): void {
  assert.deepEqual(rule(parseSource(example.path, example.good)), []);
  const told = rule(parseSource(example.badPath ?? example.path, example.bad));
  assert.equal(told.length, 1, `expected one finding, got: ${JSON.stringify(told)}`);
  assert.match(told[0]!, example.says);
}
