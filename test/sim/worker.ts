/** A process that works: the engine's own worker picks what is due, runs it, and does what time brings. */
import { SkeinError } from "../../src/core/error.ts";
import type { RunLimit } from "../../src/core/trigger/schedule.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Store } from "../../src/store/port.ts";
import type { WorkerEvent } from "../../src/runtime/worker/worker.ts";
import type { Outside } from "./outside.ts";
import type { SimProcess } from "./process.ts";
import { expected, leaseMs } from "./runner.ts";
import type { Witness } from "./witness.ts";

/** Loading them takes real time, of which there is none later. */
await Promise.all([
  import("../../src/runtime/worker/start-work.ts"),
  import("../../src/runtime/trigger/templates.ts"),
]);

export interface SimWorker {
  /** Stops as if it were asked to; resolves when it has. */
  stop(): Promise<void>;
}

export function startWorker(place: {
  readonly process: SimProcess;
  readonly store: Store;
  readonly outside: Outside;
  readonly witness: Witness;
  readonly trace: (line: string) => void;
  readonly concurrency: number;
  readonly limits: readonly RunLimit[];
}): SimWorker {
  const { process, store, outside, witness, trace, concurrency, limits } = place;
  const { world, name } = process;
  const engine = new Engine({
    store,
    world,
    holder: name,
    leaseMs,
    models: async () => outside.models(process),
    tools: async () => outside.tools(process),
  });

  function tell(told: WorkerEvent): void {
    witness.note(`worker ${told.type}`);
    if (told.type === "trouble") return trace(`${name} has trouble: ${told.text}`);
    trace(`${name} ${told.type} ${short(told.session)}${more(told)}`);
    if (told.type !== "failed") return;
    const { error } = told;
    const code = error instanceof SkeinError ? error.code : "broken";
    witness.note(`run ${code}`);
    if (!expected.includes(code)) witness.blame("broken", `a run ended with ${String(error)}`);
  }

  const working = engine.work({ concurrency, limits, leaseMs, onEvent: tell });
  working.catch((error: unknown) => witness.blame("broken", `work: ${String(error)}`));
  return { stop: async () => (await working).stop() };
}

const short = (session: SessionId): string => session.slice(-4);

function more(told: WorkerEvent): string {
  if (told.type === "began") return ` by ${told.by}`;
  if (told.type === "ended") return ` ${told.ran.status} ${told.ran.by ?? ""} ${told.outcome}`;
  if (told.type === "yielded") return ` to ${short(told.to)}`;
  if (told.type !== "failed") return "";
  const { error, againMs } = told;
  return ` ${error instanceof SkeinError ? error.code : "broken"}, again ${againMs ?? "never"}`;
}
