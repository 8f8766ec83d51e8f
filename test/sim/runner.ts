/** A process that runs sessions: it looks around now and then and runs whatever is not at rest. */
import { SkeinError } from "../../src/core/error.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Store } from "../../src/store/port.ts";
import type { Random } from "../crash/random.ts";
import type { Outside } from "./outside.ts";
import type { SimProcess } from "./process.ts";
import type { Witness } from "./witness.ts";

export const leaseMs = 2_000;

/** What a run may end with on a bad day. */
export const expected: readonly string[] = ["conflict", "fenced", "unavailable", "unknown", "refused"];

export function startRunner(place: {
  readonly process: SimProcess;
  readonly store: Store;
  readonly outside: Outside;
  readonly random: Random;
  readonly witness: Witness;
  readonly trace: (line: string) => void;
  /** Whether there is anything to do; a runner that comes in vain only takes and gives back the lease. */
  readonly isAtRest: (session: SessionId) => Promise<boolean>;
}): void {
  const { process, store, outside, random, witness, trace, isAtRest } = place;
  const { world, name } = process;
  const engine = new Engine({
    store,
    world,
    holder: name,
    leaseMs,
    models: async () => outside.models(process),
    tools: async () => outside.tools(process),
  });
  const busy = new Set<SessionId>();

  async function attend(session: SessionId): Promise<void> {
    if ((await isAtRest(session)) && !random.chance(0.02)) return;
    const lease = (await store.head(session))?.lease ?? null;
    const taken = lease !== null && lease.untilMs > world.now();
    if (taken && !random.chance(0.03)) return;
    const ran = await (await engine.session(session)).run();
    trace(`${name} leaves ${session.slice(-4)} ${ran.status} ${ran.by ?? ""}`);
    if (!random.chance(0.1)) return;
    // It may end at any append of it: whether it was done is not known then.
    witness.note("rollover unknown");
    await (await engine.session(ran.session ?? session)).rollover();
    witness.note("rollover by a runner");
  }

  async function look(): Promise<void> {
    for (;;) {
      await world.sleep(100 + random.below(900));
      for (const session of witness.sessions) {
        if (busy.has(session)) continue;
        busy.add(session);
        attend(session)
          .catch((error: unknown) => tell(error, session))
          .finally(() => busy.delete(session))
          .catch(() => undefined);
      }
    }
  }

  function tell(error: unknown, session: SessionId): void {
    const code = error instanceof SkeinError ? error.code : "broken";
    trace(`${name} gives up ${session.slice(-4)}: ${code}`);
    witness.note(`run ${code}`);
    if (!expected.includes(code)) witness.blame("broken", `a run ended with ${String(error)}`);
  }

  void look();
}
