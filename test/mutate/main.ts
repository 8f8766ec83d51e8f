/**
 * Mutation testing: `npm run mutate -- [files…] [--sample N] [--seed S] [--tests N] [--limit S] [--jobs N]
 * [--fresh]`.
 * Works in copies of the tree, so files may be edited meanwhile. Pure tests screen the mutants in one
 * process (in-process.ts). What survives is planted by itself, and the tests that reach it are run, the
 * nearest first, until one fails: at most `--tests` of them, and for `--limit` seconds. Prints the survivors.
 * Without files it takes the guarded ones (guarded.ts), and exits with 1 if too few are caught.
 */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeRandom, randomSeed } from "../crash/random.ts";
import { parseSource, root } from "../repo/source.ts";
import { equivalent } from "./equivalent.ts";
import { caughtShareMin, guarded } from "./guarded.ts";
import { mutantsOf, type Mutant } from "./mutant.ts";
import { killScreens, screen } from "./in-process.ts";
import { nearTests, quickTests } from "./near.ts";
import { reachOf, testsFor, type Reach } from "./reach.ts";
import { makeScratch } from "./scratch.ts";
import { killRuns, runOnce } from "./test-run.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "20" },
    seed: { type: "string" },
    tests: { type: "string", default: "15" },
    limit: { type: "string", default: "120" },
    jobs: { type: "string", default: "2" },
    fresh: { type: "boolean", default: false },
  },
});
const number = (name: "sample" | "tests" | "limit" | "jobs"): number => {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value > 0) return value;
  console.error(`mutate: --${name}: expected a whole number from 1, got ${values[name]}`);
  process.exit(2);
};
const [sample, testsMax, jobs] = [number("sample"), number("tests"), number("jobs")];
const limitMs = number("limit") * 1000;
/** How many of the nearest tests are measured, of which `--tests` are run for one mutant. */
const measuredMax = Math.max(120, testsMax);
const seed = values.seed === undefined ? randomSeed() : Number(values.seed);
const files = positionals.length > 0 ? positionals : Object.values(guarded).flat();

interface Result {
  readonly mutant: Mutant;
  readonly outcome: "caught" | "survived" | "unreached" | "equivalent";
  /** How many tests it survived. */
  readonly tests: number;
}

console.log(`seed ${seed}, at most ${sample} mutants of each of ${files.length} files`);
const scratch = makeScratch(() => {
  killScreens();
  killRuns();
});
const [tree, ...otherTrees] = Array.from({ length: jobs }, (_, number) => copyTree(`tree-${number}`));
if (tree === undefined) throw new Error("no copy of the tree");
const results: Result[] = [];
const waiting: Mutant[] = [];
for (const file of files) waiting.push(...(await screened(tree, file)));
const reaches = waiting.length === 0 ? [] : await measured(tree);
await Promise.all([tree, ...otherTrees].map(judgeIn));
const shares = files.map(report);
if (positionals.length === 0 && shares.some((share) => share < caughtShareMin)) process.exitCode = 1;

/** The mutants of a file that the quick tests do not catch, but for those that are equivalent. */
async function screened(copy: string, file: string): Promise<Mutant[]> {
  const mutants = sampled(file);
  const caught = await screen(copy, mutants, quickTests(copy, file));
  results.push(...[...caught].map((mutant) => ({ mutant, outcome: "caught", tests: 0 }) as const));
  const text = readFileSync(join(copy, file), "utf8").split("\n");
  return mutants.filter((mutant) => {
    const isEquivalent = !caught.has(mutant) && isKnown(mutant, text[mutant.line - 1]?.trim() ?? "");
    if (isEquivalent) results.push({ mutant, outcome: "equivalent", tests: 0 });
    return !caught.has(mutant) && !isEquivalent;
  });
}

function isKnown({ file, from, to }: Mutant, line: string): boolean {
  return equivalent.some(
    (one) => one.file === file && line.startsWith(one.line) && one.from === from && one.to === to,
  );
}

/** What each test file reaches, and how long it takes. */
async function measured(copy: string): Promise<readonly Reach[]> {
  const near = waiting.flatMap(({ file }) => nearTests(copy, file, measuredMax));
  const tests = new Set(near).values();
  const found: Reach[] = [];
  const options = { tree: copy, files, fresh: values.fresh, scratch };
  const measure = async (): Promise<void> => {
    for (const test of tests) found.push(await reachOf(test, options));
  };
  await Promise.all(Array.from({ length: jobs }, measure));
  const failing = found.filter(({ ok }) => !ok).map(({ test }) => test);
  if (failing.length > 0)
    console.log(`left out, since they fail with nothing planted: ${failing.join(", ")}`);
  return found;
}

function sampled(file: string): Mutant[] {
  const random = makeRandom(seed);
  const all = mutantsOf(parseSource(file, readFileSync(join(tree ?? root, file), "utf8")));
  const chosen = all.map((mutant) => ({ mutant, rank: random.next() }));
  return chosen
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, sample)
    .map(({ mutant }) => mutant);
}

async function judgeIn(copy: string): Promise<void> {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const result = await judge(copy, mutant);
    results.push(result);
    if (result.outcome === "survived" || result.outcome === "unreached") console.log(lineOf(result));
  }
}

function copyTree(name: string): string {
  const copy = join(scratch, name);
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const file of listed.trim().split("\n"))
    if (/^(src|test|bin|examples|docs)\/|^[^/]*$/.test(file)) cpSync(join(root, file), join(copy, file));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

async function judge(copy: string, mutant: Mutant): Promise<Result> {
  const { file, start, end, to } = mutant;
  const text = readFileSync(join(copy, file), "utf8");
  const tests = testsFor(reaches, file, start).slice(0, testsMax);
  if (tests.length === 0) return { mutant, outcome: "unreached", tests: 0 };
  writeFileSync(join(copy, file), text.slice(0, start) + to + text.slice(end));
  const until = performance.now() + limitMs;
  let survived = 0;
  try {
    for (const one of tests) {
      if (await isCaughtBy(copy, one)) return { mutant, outcome: "caught", tests: survived };
      survived++;
      if (performance.now() > until) break;
    }
    return { mutant, outcome: "survived", tests: survived };
  } finally {
    writeFileSync(join(copy, file), text);
  }
}

/** A failure counts when it repeats: one alone may come from load. */
async function isCaughtBy(copy: string, { test, ms }: Reach): Promise<boolean> {
  const options = { timeoutMs: 10_000 + 5 * ms, scratch };
  const { ok, timedOut } = await runOnce(copy, test, options);
  return timedOut || (!ok && !(await runOnce(copy, test, options)).ok);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, 70);
}

function lineOf({ mutant, outcome, tests }: Result): string {
  const { file, line, from, to } = mutant;
  const by = outcome === "survived" ? `survived ${tests} tests` : "no test reaches it";
  return `${file}:${line}: ${oneLine(from)} → ${oneLine(to) || "nothing"}: ${by}`;
}

/** Prints the counts of a file; resolves to the share that was caught. */
function report(file: string): number {
  const own = results.filter(({ mutant }) => mutant.file === file);
  const count = (outcome: Result["outcome"]): number => own.filter((one) => one.outcome === outcome).length;
  const judged = own.length - count("equivalent");
  const share = judged === 0 ? 1 : count("caught") / judged;
  const [survived, unreached] = [count("survived"), count("unreached")];
  const rest = `${survived} survived, ${unreached} not reached, ${count("equivalent")} equivalent`;
  console.log(
    `${(share * 100).toFixed(0).padStart(3)} %  ${file}: ${count("caught")} of ${judged} caught, ${rest}`,
  );
  return share;
}
