/** Rebuild: everything derived is forgotten and made again from the logs. */
import { isWorkspaceId, type LogId } from "../core/ids.ts";
import { catchUp, type Progress } from "./projection.ts";
import { indexEntryOf } from "./session-index.ts";
import type { Context } from "./session.ts";

export interface RebuildReport {
  readonly sessions: number;
  readonly records: number;
  readonly snapshots: number;
}

export async function rebuild(
  { store, states }: Context,
  logs: AsyncIterable<LogId>,
  progress: Progress | undefined,
): Promise<RebuildReport> {
  await store.clearDerived();
  let records = 0;
  let sessions = 0;
  for await (const session of logs) {
    const head = await store.head(session);
    if (head === undefined || isWorkspaceId(session)) continue;
    records += head.seq - (head.parent?.seq ?? 0);
    // Folding from the start writes the snapshots on the way; forks find those of their parents.
    let state = await states.at(session, head.seq);
    while (!(await store.index(session, await indexEntryOf(store, session, state), state.seq))) {
      const moved = await store.head(session);
      if (moved === undefined) break;
      state = await states.at(session, moved.seq);
    }
    await states.settled();
    sessions += 1;
    progress?.({ records, sessions });
  }
  await catchUp(store, states);
  return { sessions, records, snapshots: (await store.stats()).snapshots };
}
