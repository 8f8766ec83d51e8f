/** One case of a crash test of turns: processes that die at named points, another that goes on, an audit. */
import { join } from "node:path";
import { startChild, type Child, type Ended } from "./child.ts";
import { auditTurns, type TurnAudit } from "./turn-audit.ts";
import { clear, engineAt, finish, prepare, type Place, type PrepareOptions } from "./turn-place.ts";
import type { TurnOrder } from "./turn-runner.ts";

const command: readonly string[] = [process.execPath, join(import.meta.dirname, "turn-runner.ts")];

/** Starts it, waits until it is loaded, and gives it its order. */
export async function startRunner(order: TurnOrder, cache: string): Promise<Child> {
  const child = startChild(command, { cache });
  await child.ready;
  child.process.stdin?.write(`${JSON.stringify(order)}\n`);
  return child;
}

/** Runs the program once and lets it end by itself, so that those to come start from what is compiled. */
export async function warmRunner(cache: string): Promise<void> {
  const { code, stderr } = await (await startRunner({ do: "warm" }, cache)).ended;
  if (code !== 0) throw new Error(`the runner does not start: ${stderr}`);
}

export interface Case extends PrepareOptions {
  readonly cache: string;
  /** Where one process after the other dies. */
  readonly points: readonly string[];
}

export interface CaseReport extends TurnAudit {
  /** How often the session stood still because of an unknown outcome after the last death. */
  readonly unknowns: number;
  /** Points that whoever finished it passed. */
  readonly passed: readonly string[];
}

/** Kills process after process, then finishes here: this process is another one. */
export async function killedAt({ points, cache, ...options }: Case): Promise<CaseReport> {
  const place = await prepare(options);
  const problems: string[] = [];
  for (const [number, point] of points.entries()) {
    const at = { point, signal: "SIGKILL" } as const;
    const child = await startRunner({ do: "run", place, holder: `runner ${number + 1}`, at }, cache);
    problems.push(...survival(point, await child.ended, child));
  }
  const report = await finished(place);
  const all = [...problems, ...report.problems];
  // What went wrong stays there to be looked at.
  if (all.length === 0) await clear(place);
  return { ...report, problems: all.map((text) => `${place.directory}: ${text}`) };
}

/** It must have died at its point, or the case tried nothing. */
function survival(point: string, { signal, stderr }: Ended, { lines }: Child): string[] {
  if (signal === "SIGKILL" && lines.at(-1) === `at ${point}`) return [];
  return [`nobody died at "${point}": ${lines.slice(-3).join("; ")} ${stderr}`];
}

export async function finished(place: Place): Promise<CaseReport> {
  const passed: string[] = [];
  const { unknowns } = await finishHere(place, passed).catch((error: unknown) => {
    throw new Error(`${place.directory}: nobody can go on`, { cause: error });
  });
  return { ...(await auditTurns(place)), unknowns, passed };
}

async function finishHere(place: Place, passed: string[]): Promise<{ readonly unknowns: number }> {
  const reached = (name: string): void => void passed.push(name);
  await using engine = await engineAt(place, { holder: "the test", reached });
  return await finish(engine, place);
}

/** At most so many at once: each waits a second for a lease, and starting a process takes a processor. */
export function makePool(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
