/** Secrets that the bindings of a session name, registered before the session is written to. */
import { makeCache } from "../../core/cache.ts";
import type { LogId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";
import { learnNamed } from "./redact.ts";
import type { World } from "../world.ts";

/** The number of sessions whose bindings are known to be registered; those of others are read again. */
const learnedCount = 500;

/** Registers the secrets of each session with bindings once, before this process first writes to it. */
export function makeLearner(place: {
  readonly store: Store;
  readonly world: World;
}): (session: LogId, state: State) => Promise<void> {
  const learned = makeCache<LogId, true>(learnedCount);
  return async (session, state) => {
    if (learned.get(session) === true) return;
    learned.set(session, true);
    await learnBound(place, session, state);
  };
}

/** Secrets that a session's bindings name are secret from this process's first change to it. */
async function learnBound(
  { store, world }: { readonly store: Store; readonly world: World },
  session: LogId,
  { standing }: State,
): Promise<void> {
  for (const { seq } of standing.bindings.values()) {
    const content = (await readContent(store, session, seq)) as { secrets?: unknown } | undefined;
    learnNamed(world, content?.secrets);
  }
}
