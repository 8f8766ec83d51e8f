/** Lives simulated lives in a thread of its own, and tells what came of them. */
import { parentPort, workerData } from "node:worker_threads";
import { simulate } from "./simulation.ts";
import { addCounts, tellProblems } from "./tell.ts";

export interface Given {
  readonly fromSeed: number;
  readonly lives: number;
}

export interface Told {
  /** How often what happened, in all of them. */
  readonly counts: ReadonlyMap<string, number>;
  readonly problems: readonly string[];
}

const { fromSeed, lives } = workerData as Given;
const counts = new Map<string, number>();
const problems: string[] = [];
for (let seed = fromSeed; seed < fromSeed + lives; seed++) {
  const report = await simulate(seed);
  addCounts(counts, report.counts);
  problems.push(...tellProblems(report));
}
parentPort?.postMessage({ counts, problems } satisfies Told);
