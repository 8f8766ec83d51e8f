/** Rebuild: deletes everything derived and makes it again from the logs. */
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, type LogId, type SessionId } from "../../core/ids.ts";
import { catchUp, type IndexProgress } from "../read/projection.ts";
import { indexEntryOf } from "../log/session-index.ts";
import type { Deps } from "../deps.ts";

/** The result of `engine.rebuild`. */
export interface RebuildReport {
  readonly sessions: number;
  readonly records: number;
  readonly snapshots: number;
  /** Sessions whose log cannot be read: they stay as they were, and `verify` reports the damage. */
  readonly unreadable: readonly LogId[];
}

export async function rebuild(
  deps: Deps,
  logs: AsyncIterable<LogId>,
  progress: IndexProgress | undefined,
): Promise<RebuildReport> {
  const { store, states } = deps;
  await store.clearDerived();
  deps.shared.vectors.clear();
  const unreadable: LogId[] = [];
  let records = 0;
  let sessions = 0;
  for await (const session of logs) {
    const head = await store.head(session);
    if (head === undefined || isSharedLogId(session)) continue;
    try {
      await rebuildSession(deps, session, head.seq);
      records += head.seq - (head.parent?.seq ?? 0);
      sessions++;
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "corrupt") throw error;
      unreadable.push(session);
    }
    await states.settled();
    progress?.({ records, sessions });
  }
  await catchUp(store, states);
  return { sessions, records, snapshots: (await store.stats()).snapshots, unreadable };
}

/** Folding from the start writes the snapshots on the way; forks find those of their parents. */
async function rebuildSession({ store, states }: Deps, session: SessionId, headSeq: number): Promise<void> {
  let state = await states.at(session, headSeq);
  while (!(await store.index(session, await indexEntryOf(store, session, state), state.seq))) {
    const moved = await store.head(session);
    if (moved === undefined) return;
    state = await states.at(session, moved.seq);
  }
}
