/** Secrets that the bindings of a session name, learned before the session is written to. */
import type { LogId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";
import { learnNamed } from "./redact.ts";
import type { World } from "../world.ts";

/** Sessions that are known to have been learned from; past that they are read again. */
const learnedMax = 1_000;

/** Learns once from each session that has bindings, before this process first writes to it. */
export function makeLearner(place: {
  readonly store: Store;
  readonly world: World;
}): (session: LogId, state: State) => Promise<void> {
  const learned = new Set<LogId>();
  return async (session, state) => {
    if (learned.has(session)) return;
    if (learned.size === learnedMax) learned.clear();
    learned.add(session);
    await learnBound(place, session, state);
  };
}

/** What a session's bindings name is secret from the first change that this process makes to it. */
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
