/** Rebuild: everything derived is forgotten and made again from the logs. */
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { Progress } from "./engine.ts";
import { catchUp } from "./projection.ts";
import { indexEntryOf } from "./session-index.ts";
import type { Context } from "./session.ts";

export interface RebuildReport {
  readonly sessions: number;
  readonly records: number;
  readonly snapshots: number;
}

export async function rebuild(
  { store, states }: Context,
  sessions: AsyncIterable<SessionId>,
  progress: Progress | undefined,
): Promise<RebuildReport> {
  // The list is taken first: the index that it comes from is about to be forgotten.
  const all: SessionId[] = [];
  for await (const session of sessions) all.push(session);
  await store.clearDerived();
  let records = 0;
  for (const [place, session] of all.entries()) {
    const head = await store.head(session);
    if (head === undefined) continue;
    records += head.seq - (head.parent?.seq ?? 0);
    // Folding from the start writes the snapshots on the way; forks find those of their parents.
    const state = await states.at(session, head.seq);
    await store.index(session, await indexEntryOf(store, session, state));
    if (place % limit.listMax === 0) await states.settled();
    progress?.({ records, sessions: place + 1 });
  }
  await states.settled();
  await catchUp(store, states);
  return { sessions: all.length, records, snapshots: (await store.stats()).snapshots };
}
