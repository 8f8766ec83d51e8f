/** Starts a worker with its trigger sources, loaded on demand. */
import { SkeinError } from "../../core/error.ts";
import { checkLists, checkTexts } from "../../core/option-check.ts";
import { limit } from "../../core/limit.ts";
import { checkLimit } from "../../core/trigger/schedule.ts";
import type { Deps } from "../deps.ts";
import { checkHolder } from "../log/redact.ts";
import { sources } from "../trigger/sources.ts";
import { SessionWorker, type WorkOptions } from "./worker.ts";

export function startWork(deps: Deps, options: WorkOptions): SessionWorker {
  const { concurrency = 1, limits = [] } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > limit.concurrencyMax) {
    throw new SkeinError(
      "invalid",
      `work: concurrency: expected 1 to ${limit.concurrencyMax}, got ${concurrency}`,
      {
        hint: "the number of sessions that run at once",
      },
    );
  }
  checkLists("work", { limits });
  checkTexts("work", { name: options.name });
  checkHolder(deps.world, options.name ?? "");
  for (const one of limits) checkLimit(one, "work: limits");
  if (deps.models === undefined) {
    throw new SkeinError("unavailable", "work: no models are configured", {
      hint: "pass the option models to openEngine",
    });
  }
  const count = ++deps.shared.workersStarted;
  const name = options.name ?? (count === 1 ? deps.holder : `${deps.holder}+${count}`);
  return new SessionWorker(deps, { ...options, name }, sources);
}
