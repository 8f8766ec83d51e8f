/** Work: a worker with the sources it watches by, loaded when somebody asks for one. */
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";
import type { Context } from "./engine-context.ts";
import { sources } from "./work/sources.ts";
import { Worker, type WorkOptions } from "./work/worker.ts";

export async function startWork(context: Context, options: WorkOptions): Promise<Worker> {
  const { concurrency = 1 } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > limit.concurrencyMax) {
    throw new SkeinError("invalid", `work: concurrency is ${concurrency}`, {
      hint: `from 1 to ${limit.concurrencyMax}`,
    });
  }
  return new Worker(context, options, sources);
}
