/** One case of a crash test of turns: processes that die at named points, another that goes on, an audit. */
import { join } from "node:path";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { startChild, type Child, type Ended } from "./child.ts";
import { auditTurns, type TurnAudit } from "./turn-audit.ts";
import { clear, engineAt, finish, lastingLeaseMs, type Place } from "./turn-place.ts";
import type { TurnOrder } from "./turn-runner.ts";

const command: readonly string[] = [process.execPath, join(import.meta.dirname, "turn-runner.ts")];

const living = new Set<Child>();
let isOver = false;

/** Ends what a test that failed has left behind. Nobody is started after this. */
export async function endRunners(): Promise<void> {
  isOver = true;
  const left = [...living];
  for (const child of left) child.process.kill("SIGKILL");
  await Promise.all(left.map(({ ended }) => ended));
}

/** Starts it, waits until it is loaded, and gives it its order. */
export async function startRunner(order: TurnOrder, cache: string): Promise<Child> {
  if (isOver) throw new Error("the tests are over");
  const child = startChild(command, { cache });
  living.add(child);
  const leave = (): void => void living.delete(child);
  child.ended.then(leave, leave);
  await child.ready;
  child.process.stdin?.write(`${JSON.stringify(order)}\n`);
  return child;
}

/** Runs the program once and lets it end by itself, so that those to come start from what is compiled. */
export async function warmRunner(cache: string): Promise<void> {
  const { code, stderr } = await (await startRunner({ do: "warm" }, cache)).ended;
  if (code !== 0) throw new Error(`the runner does not start: ${stderr}`);
}

/** What became of one session. */
export interface CaseReport extends TurnAudit {
  readonly name: string;
  /** How often it stood still because of an unknown outcome after the last death. */
  readonly unknowns: number;
  /** Points that whoever finished it passed. */
  readonly passed: readonly string[];
}

/** A process runs the sessions and dies when all of them are at the point. Gives what is wrong with that. */
export async function killAt(point: string, places: readonly Place[], cache: string): Promise<string[]> {
  const at = { point, signal: "SIGKILL" } as const;
  const child = await startRunner({ do: "run", places, holder: "the dead", at }, cache);
  return survival(point, await child.ended, child);
}

/** Goes on with all of them here, for this is another process, and audits them. */
export async function finishAll(places: readonly Place[], deaths: readonly string[] = []) {
  const reports = await Promise.all(places.map(finished));
  const directory = places[0]?.directory ?? "";
  const told = reports.map((report) => ({
    ...report,
    problems: [...deaths, ...report.problems].map((text) => `${report.name} in ${directory}: ${text}`),
  }));
  // What went wrong stays there to be looked at.
  if (told.every(({ problems }) => problems.length === 0)) await clear(directory);
  return told;
}

/** It must have died at its point, or the case tried nothing. */
function survival(point: string, { signal, stderr }: Ended, { lines }: Child): string[] {
  if (signal === "SIGKILL" && lines.at(-1)?.endsWith(` at ${point}`) === true) return [];
  return [`nobody died at "${point}": ${lines.slice(-3).join("; ")} ${stderr}`];
}

/** Goes on with one of them, and audits it. */
export async function finished(place: Place): Promise<CaseReport> {
  const passed: string[] = [];
  const reached = (name: string): void => void passed.push(name);
  await using engine = await engineAt(place, { holder: "the test", reached, leaseMs: lastingLeaseMs });
  const unknowns = await goOn(engine, place);
  return { ...(await auditTurns(engine, place)), name: place.name, unknowns, passed };
}

/** Goes on with one of them, and gives its last position. */
export async function finishedAt(place: Place): Promise<number> {
  await using engine = await engineAt(place, { holder: "the test", leaseMs: lastingLeaseMs });
  await goOn(engine, place);
  return (await (await engine.session(place.session)).head()).seq;
}

const goOn = (engine: Engine, place: Place): Promise<number> =>
  finish(engine, place).catch((error: unknown) => {
    throw new Error(`nobody can go on with ${place.name} in ${place.directory}`, { cause: error });
  });

/** Resolves when the process has said this line of each of the sessions. */
export function saidOfAll(child: Child, places: readonly Place[], what: string): Promise<void> {
  const missing = new Set(places.map(({ name }) => `${name} ${what}`));
  const all = Promise.withResolvers<void>();
  child.listen((line) => {
    missing.delete(line);
    if (missing.size === 0) all.resolve();
  });
  const early = ({ stderr }: Ended): void =>
    all.reject(new Error(`it ended before it said ${[...missing].join(", ")}: ${stderr}`));
  child.ended.then(early, all.reject);
  return all.promise;
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
