/** Finds the test files nearest to a source file: by name, by folder, by how many imports lie between. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Test files by how near they are, at most `most`. */
export function nearTests(tree: string, file: string, most: number): string[] {
  const steps = importersOf(tree, file);
  const folder = nameOf(file).split("/").slice(0, 2).join("/");
  const nearness = (test: string): number =>
    [`${nameOf(file)}.test.ts`, nameOf(file), `${folder}/`].findIndex((one) => test.startsWith(one));
  const order = (place: number): number => (place < 0 ? 3 : place);
  return [...steps.keys()]
    .filter((one) => one.endsWith(".test.ts") && !isSlow(one))
    .toSorted((one, other) => order(nearness(one)) - order(nearness(other)))
    .slice(0, most);
}

/** The file and all that imports it, by how many steps away. */
export function importersOf(tree: string, file: string): ReadonlyMap<string, number> {
  const importers = importersIn(tree);
  const steps = new Map([[file, 0]]);
  for (const [reached, step] of steps)
    for (const one of importers.get(reached) ?? []) if (!steps.has(one)) steps.set(one, step + 1);
  return steps;
}

/**
 * Tests that mutants are screened with in one process: pure ones that import the file, or else what imports
 * it; and those named after the file, or near it in its folder, unless they start an engine.
 */
export function quickTests(tree: string, file: string): string[] {
  const steps = importersOf(tree, file);
  const engines = importersOf(tree, "src/runtime/engine/engine.ts");
  const near = nearTests(tree, file, 50).filter((test) => !test.includes("hostile"));
  const pure = near.filter((test) => /^test\/(core\/|runtime\/govern\/rules)/.test(test));
  const least = Math.min(2, ...pure.map((test) => steps.get(test) ?? 0));
  const isOwn = (test: string): boolean =>
    test.startsWith(nameOf(file)) || (test.startsWith("test/store/") && (steps.get(test) ?? 0) <= 2);
  return near.filter(
    (test) => (pure.includes(test) && steps.get(test) === least) || (isOwn(test) && !engines.has(test)),
  );
}

/** Where the tests of a source file are, without the ending. */
export const nameOf = (file: string): string => file.replace(/^src\//, "test/").replace(/\.ts$/, "");

/** Tests in these folders are asked, unless they kill processes, need minutes or a server of PostgreSQL. */
const isSlow = (test: string): boolean =>
  !/^test\/(core|store|runtime|server|tool)\//.test(test) ||
  /kill|load\.test|heartbeat|large\.test|postgres|live-|sandbox/.test(test);

const known = new Map<string, ReadonlyMap<string, readonly string[]>>();

/** By file: the files that import it, other than for types. */
function importersIn(tree: string): ReadonlyMap<string, readonly string[]> {
  const found = known.get(tree);
  if (found !== undefined) return found;
  const importers = new Map<string, string[]>();
  for (const file of globSync("{src,test}/**/*.ts", { cwd: tree }))
    for (const imported of importsOf(file, readFileSync(join(tree, file), "utf8")))
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
  known.set(tree, importers);
  return importers;
}

export const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(/^(?:import|export) (?!type)[^;]*? from "(\.[^"]+)"/gm)].map(([, path = ""]) =>
    join(file, "..", path),
  );
