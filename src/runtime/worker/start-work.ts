/** Starts a worker with its trigger sources, loaded on demand. */
import { SkeinError } from "../../core/error.ts";
import { checkLimit } from "../../core/trigger/schedule.ts";
import type { Deps } from "../deps.ts";
import { checkHolder } from "../log/redact.ts";
import { sources } from "../trigger/sources.ts";
import { SessionWorker, type WorkOptions } from "./worker.ts";

export function startWork(deps: Deps, options: WorkOptions): SessionWorker {
  checkHolder(deps.world, options.name ?? "");
  for (const one of options.limits ?? []) checkLimit(one, "work: limits");
  if (deps.models === undefined) {
    throw new SkeinError("unavailable", "work: no models are configured", {
      hint: "pass the option models to openEngine",
    });
  }
  const count = ++deps.shared.workersStarted;
  const name = options.name ?? (count === 1 ? deps.holder : `${deps.holder}+${count}`);
  return new SessionWorker(deps, { ...options, name }, sources);
}
