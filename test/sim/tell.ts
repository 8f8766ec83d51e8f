/** How simulated lives are told of. */
import type { SimReport } from "./simulation.ts";

export const tellProblems = ({ seed, problems }: SimReport): string[] =>
  problems.map(({ fault, text }) => `seed ${seed}: ${fault}: ${text}`);

export function addCounts(sum: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [kind, count] of more) sum.set(kind, (sum.get(kind) ?? 0) + count);
}
