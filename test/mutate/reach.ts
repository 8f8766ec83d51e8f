/**
 * Finds which test files run which parts of which source files, by V8's coverage of each test file. A
 * measurement is cached. It is made again when the text of the test file or of a file under test changed.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../repo/source.ts";
import { nameOf } from "./near.ts";
import { runOnce } from "./test-run.ts";

type Range = readonly [start: number, end: number];

/** What a test file does when nothing is planted. */
export interface Reach {
  readonly test: string;
  readonly ok: boolean;
  readonly ms: number;
  /** By source file: the ranges that were run. */
  readonly ran: Readonly<Record<string, readonly Range[]>>;
  /** By source file: the digest of the text that the ranges refer to. */
  readonly digests: Readonly<Record<string, string>>;
}

const cache = join(root, "node_modules", ".cache", "skein-mutate");

export interface ReachOptions {
  /** A copy of the tree, in which the tests run. */
  readonly tree: string;
  /** The files under test: a cached measurement must be of their current text. */
  readonly files: readonly string[];
  readonly fresh: boolean;
  /** A folder for temporary files. */
  readonly scratch: string;
}

export async function reachOf(test: string, options: ReachOptions): Promise<Reach> {
  const { tree, files, fresh, scratch } = options;
  const digestOf = (file: string): string => digest(readFileSync(join(tree, file)));
  const isCurrent = ({ digests }: Partial<Reach>): boolean =>
    digests !== undefined && files.every((file) => [undefined, digestOf(file)].includes(digests[file]));
  const path = join(cache, `${test.replaceAll("/", "+")}.${digestOf(test)}.json`);
  if (!fresh && existsSync(path)) {
    const known = JSON.parse(readFileSync(path, "utf8")) as Reach;
    if (isCurrent(known)) return known;
  }
  const folder = join(scratch, `reach-${test.replaceAll("/", "+")}`);
  const { ok, ms } = await runOnce(tree, test, { timeoutMs: 60_000, scratch, coverage: folder });
  const ran = ranIn(folder, tree);
  const digests = Object.fromEntries(Object.keys(ran).map((file) => [file, digestOf(file)]));
  const reach = { test, ok, ms, ran, digests };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  // A failure may come from load: it is tried again in the next run.
  if (ok) writeFileSync(path, JSON.stringify(reach));
  return reach;
}

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 12);

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }[];
  }[];
}

function ranIn(folder: string, tree: string): Record<string, Range[]> {
  const ran: Record<string, Range[]> = {};
  for (const file of globSync(`${folder}/*.json`)) {
    const { result } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly result: readonly ScriptCoverage[];
    };
    for (const { url, functions } of result) {
      if (!url.startsWith("file:") || !fileURLToPath(url).startsWith(join(tree, "src/"))) continue;
      (ran[fileURLToPath(url).slice(tree.length + 1)] ??= []).push(...runRanges(functions));
    }
  }
  return ran;
}

/** The parts of a file that ran. Ranges are nested: the innermost one around a place says whether it ran. */
export function runRanges(functions: ScriptCoverage["functions"]): Range[] {
  const ranges = functions.flatMap((one) => one.ranges);
  const outermostFirst = ranges.toSorted(
    (one, other) => other.endOffset - other.startOffset - (one.endOffset - one.startOffset),
  );
  const ran = new Uint8Array(Math.max(0, ...ranges.map(({ endOffset }) => endOffset)));
  for (const { startOffset, endOffset, count } of outermostFirst)
    ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const found: Range[] = [];
  for (let start = ran.indexOf(1); start >= 0;) {
    const idle = ran.indexOf(0, start);
    const end = idle < 0 ? ran.length : idle;
    found.push([start, end]);
    start = ran.indexOf(1, end);
  }
  return found;
}

/** The passing tests that run a place of a file, the nearest and fastest first. */
export function testsFor(reaches: readonly Reach[], file: string, at: number): Reach[] {
  const runs = ({ ran }: Reach): boolean => (ran[file] ?? []).some(([start, end]) => start <= at && at < end);
  const name = nameOf(file);
  const distance = ({ test, ms }: Reach): number =>
    ms + (test.startsWith(name) ? 0 : test.startsWith(name.replace(/\/[^/]*$/, "/")) ? 10_000 : 20_000);
  return reaches
    .filter((reach) => reach.ok && runs(reach))
    .toSorted((one, other) => distance(one) - distance(other));
}
