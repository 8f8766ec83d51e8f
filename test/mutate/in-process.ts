/**
 * Screens the mutants of a pure file in one process: a test file costs milliseconds there, and half a second
 * in a process of its own. Each mutant gets fresh instances of the file and of all that imports it. A mutant
 * that never ends is killed from outside, and the rest goes on in the next process.
 */
import { fork, type ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutant.ts";
import { importersOf } from "./near.ts";

/** What the process is told. */
export interface Screening {
  readonly tree: string;
  readonly file: string;
  readonly text: string;
  /** The file and all that imports it: they are loaded anew for each mutant. */
  readonly affected: readonly string[];
  readonly tests: readonly string[];
  readonly mutants: readonly Pick<Mutant, "start" | "end" | "to">[];
}

/**
 * What it answers: which tests pass with nothing planted, then the outcome of each mutant; in between, each
 * test that passed, so that silence means one that hangs.
 */
export type Screened =
  | { readonly ready: readonly string[] }
  | { readonly passed: string }
  | { readonly at: number; readonly caught: boolean };

const silenceMs = 90_000;
/** A process keeps every instance of a module: after so many mutants another one goes on. */
const mutantsMax = 60;

/** The mutants that a test of these catches. */
export async function screen(
  tree: string,
  mutants: readonly Mutant[],
  tests: readonly string[],
): Promise<ReadonlySet<Mutant>> {
  const caught = new Set<Mutant>();
  const file = mutants[0]?.file;
  if (file === undefined || tests.length === 0) return caught;
  const text = readFileSync(join(tree, file), "utf8");
  const affected = [...importersOf(tree, file).keys()];
  for (let from = 0; from < mutants.length;) {
    const part = mutants.slice(from, from + mutantsMax);
    const outcomes = await screenPart({ tree, file, text, affected, tests, mutants: part });
    if (outcomes.length === 0) return caught;
    part.forEach((mutant, at) => outcomes[at] === true && caught.add(mutant));
    from += outcomes.length;
  }
  return caught;
}

const running = new Set<ChildProcess>();
export const killScreens = (): void => running.forEach((child) => child.kill("SIGKILL"));

/** One outcome for each mutant that was judged: the last may be one that never ended. */
async function screenPart(screening: Screening): Promise<boolean[]> {
  const temporary = join(screening.tree, "tmp");
  mkdirSync(temporary, { recursive: true });
  const child = fork(join(import.meta.dirname, "in-process-child.ts"), {
    cwd: screening.tree,
    env: { ...process.env, TMPDIR: temporary },
    execArgv: ["--conditions=skein-source", "--max-old-space-size=2000"],
    stdio: "ignore",
  });
  running.add(child);
  const outcomes: boolean[] = [];
  let isReady = false;
  await new Promise<void>((resolve) => {
    const hangs = (): void => {
      if (isReady) outcomes.push(true);
      child.kill("SIGKILL");
    };
    let timer = setTimeout(hangs, silenceMs);
    child.on("message", (message: Screened) => {
      clearTimeout(timer);
      timer = setTimeout(hangs, silenceMs);
      if ("ready" in message) isReady = true;
      if ("at" in message) outcomes[message.at] = message.caught;
      if (outcomes.length === screening.mutants.length) child.kill("SIGKILL");
    });
    child.on("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.send(screening);
  });
  running.delete(child);
  return outcomes;
}
