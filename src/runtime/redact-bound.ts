/** Secrets that the bindings of a session name, learned before the session is written to. */
import type { LogId } from "../core/ids.ts";
import type { State } from "../core/state.ts";
import type { Store } from "../store/port.ts";
import { readContent } from "./content.ts";
import { learnNamed } from "./redact.ts";
import type { World } from "./world.ts";

/** What a session's bindings name is secret from the first change that this process makes to it. */
export async function learnBound(
  { store, world }: { readonly store: Store; readonly world: World },
  session: LogId,
  { standing }: State,
): Promise<void> {
  for (const { seq } of standing.bindings.values()) {
    const content = (await readContent(store, session, seq)) as { secrets?: unknown } | undefined;
    learnNamed(world, content?.secrets);
  }
}
