/** Moves threads of other checkpointers into Skein. */
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  WRITES_IDX_MAP,
  type BaseCheckpointSaver,
  type ChannelVersions,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { SkeinSaver } from "./saver.ts";

/** Options of `importThreads`. */
export interface ImportThreadsOptions {
  /** Only this thread; by default all. */
  readonly threadId?: string;
}

/** What `importThreads` did. */
export interface ImportThreadsResult {
  readonly threads: number;
  /** Checkpoints that were written. */
  readonly checkpoints: number;
  /** Checkpoints that were there before. */
  readonly existing: number;
}

/**
 * Copies checkpoints and their pending writes from any checkpointer, such as a `SqliteSaver` or a
 * `PostgresSaver`, with their ids and parents. The oldest come first, so that what a checkpoint shares with
 * its parent is not stored again. Repeat it after a crash: checkpoints that are there stay.
 */
export async function importThreads(
  from: BaseCheckpointSaver,
  to: SkeinSaver,
  { threadId }: ImportThreadsOptions = {},
): Promise<ImportThreadsResult> {
  const config: RunnableConfig = { configurable: threadId === undefined ? {} : { thread_id: threadId } };
  // Only the places at first: whole threads may not fit into memory.
  const found: RunnableConfig[] = [];
  for await (const tuple of from.list(config)) found.push({ configurable: { ...placeOf(tuple.config) } });
  found.sort((one, other) => (placeOf(one).checkpoint_id < placeOf(other).checkpoint_id ? -1 : 1));
  const threads = new Set<string>();
  let [checkpoints, existing] = [0, 0];
  for (const place of found) {
    const tuple = await from.getTuple(place);
    // Deleted since.
    if (tuple === undefined) continue;
    threads.add(placeOf(tuple.config).thread_id);
    if (await isThere(to, tuple)) existing += 1;
    else {
      await copy(tuple, to);
      checkpoints += 1;
    }
  }
  return { threads: threads.size, checkpoints, existing };
}

interface CheckpointPlace {
  readonly thread_id: string;
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
}

function placeOf({ configurable = {} }: RunnableConfig): CheckpointPlace {
  const { thread_id, checkpoint_ns, checkpoint_id } = configurable as Partial<CheckpointPlace>;
  return {
    thread_id: thread_id ?? "",
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_id: checkpoint_id ?? "",
  };
}

/** Whether all of a checkpoint was copied: its writes come before it. */
const isThere = async (to: SkeinSaver, { config }: CheckpointTuple): Promise<boolean> =>
  (await to.getTuple({ configurable: { ...placeOf(config) } })) !== undefined;

async function copy(tuple: CheckpointTuple, to: SkeinSaver): Promise<void> {
  const { checkpoint, metadata, parentConfig, pendingWrites = [] } = tuple;
  const { thread_id, checkpoint_ns, checkpoint_id } = placeOf(tuple.config);
  const own = { configurable: { thread_id, checkpoint_ns, checkpoint_id } };
  for (const [task, writes] of writesByTask(pendingWrites)) await to.putWrites(own, writes, task);
  const parent = parentConfig === undefined ? undefined : placeOf(parentConfig).checkpoint_id;
  const at = {
    configurable: { thread_id, checkpoint_ns, ...(parent === undefined ? {} : { checkpoint_id: parent }) },
  };
  // All channels: an equal one costs nothing.
  const versions: ChannelVersions = {};
  for (const name of Object.keys(checkpoint.channel_values))
    versions[name] = checkpoint.channel_versions[name] ?? 1;
  await to.put(at, checkpoint, metadata ?? { source: "loop", step: -1, parents: {} }, versions);
}

/** The writes of each task in their order; those with an index of their own do not count. */
function writesByTask(pending: NonNullable<CheckpointTuple["pendingWrites"]>): Map<string, PendingWrite[]> {
  const found = new Map<string, PendingWrite[]>();
  for (const [task, channel, value] of pending) {
    const writes = found.get(task) ?? [];
    found.set(task, writes);
    // Ordinary writes are numbered by their place: they come first.
    if (channel in WRITES_IDX_MAP) writes.push([channel, value]);
    else writes.splice(writes.filter(([name]) => !(name in WRITES_IDX_MAP)).length, 0, [channel, value]);
  }
  return found;
}
