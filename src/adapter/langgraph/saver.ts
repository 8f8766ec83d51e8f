/**
 * LangGraph's checkpoints in Skein: a thread is a session, a `put` is one append, a `putWrites` is one.
 *
 * Calls need no idempotency keys: a repeated `put` replaces a checkpoint by an equal one, and of a task's
 * repeated writes the first stays. A rewind or fork of the session in Skein changes nothing here: going back
 * to a checkpoint is LangGraph's own, by `checkpoint_id`.
 */
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  getCheckpointId,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { makeCache } from "../../core/cache.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { isGone, makeDrawers, type Drawer, type Drawers } from "../drawer.ts";
import {
  Thread,
  type ChannelEntry,
  type ChannelPointer,
  type CheckpointEntry,
  type CheckpointRecord,
  type WritesRecord,
} from "./thread.ts";
import { charsOf, commonCount, dump, dumpList, load, type Serializer } from "./value.ts";

/** Options of `SkeinSaver` and `SkeinStore`. */
export interface SkeinSaverOptions {
  /** How values are serialized; by default LangGraph's own serializer. */
  readonly serde?: Serializer;
  /**
   * Redacts secrets, so that values that hold one do not come back equal. By default values come back as they
   * were given, and those with a secret that the engine knows are refused.
   */
  readonly redact?: boolean;
}

/** Threads whose index is held in memory, at least. */
const threadsCached = 100;
/** A list is stored whole again when it came in so many parts, and they are as long as the whole was. */
const partsMax = 32;

/**
 * A checkpointer that keeps threads in Skein.
 */
export class SkeinSaver extends BaseCheckpointSaver {
  readonly #drawers: Drawers;
  readonly #isVerbatim: boolean;
  readonly #threads = makeCache<string, Promise<Thread>>(threadsCached);

  constructor(engine: Engine, options: SkeinSaverOptions = {}) {
    super(options.serde);
    this.#isVerbatim = options.redact !== true;
    this.#drawers = makeDrawers(engine, {
      adapter: "langgraph",
      kind: "thread",
      nouns: ["checkpoint", "writes"],
      objective: (thread) => `LangGraph thread ${thread.toWellFormed().replaceAll("\0", "").slice(0, 200)}`,
      redact: options.redact,
    });
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const threadId = config.configurable?.["thread_id"] as unknown;
    if (threadId === undefined) return undefined;
    const ns = textOf(config, "checkpoint_ns") ?? "";
    const id = getCheckpointId(config);
    return this.#reading(checkThread("getTuple", threadId), async (thread) => {
      const entry = thread.checkpoint(ns, id === "" ? undefined : id);
      return entry === undefined ? undefined : this.#tuple(thread, entry);
    });
  }

  override async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { before, filter = {} } = options;
    let left = options.limit ?? Infinity;
    const ns = textOf(config, "checkpoint_ns");
    const id = getCheckpointId(config);
    const beforeId = before?.configurable?.["checkpoint_id"] as string | undefined;
    const found: { readonly thread: Thread; readonly entry: CheckpointEntry }[] = [];
    for await (const thread of this.#listed(config)) {
      for (const entry of thread.checkpoints(ns)) {
        if (id !== "" && entry.id !== id) continue;
        if (beforeId === undefined || beforeId === "" || entry.id < beforeId) found.push({ thread, entry });
      }
    }
    found.sort((one, other) => (one.entry.id < other.entry.id ? 1 : one.entry.id > other.entry.id ? -1 : 0));
    for (const { thread, entry } of found) {
      if (left <= 0) return;
      const metadata = await this.#metadata(thread, entry);
      if (!Object.entries(filter).every(([key, value]) => metadata[key] === value)) continue;
      left -= 1;
      yield await this.#tuple(thread, entry);
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const threadId = checkThread("put", config.configurable?.["thread_id"]);
    const ns = textOf(config, "checkpoint_ns") ?? "";
    const parent = textOf(config, "checkpoint_id");
    const { channel_values: values, ...rest } = checkpoint;
    const { id } = checkpoint;
    const [dumped, facts] = await Promise.all([dump(this.serde, rest), dump(this.serde, metadata)]);
    await this.#writing(threadId, async (thread) => {
      if (parent !== undefined && thread.checkpoint(ns, parent) === undefined) await thread.refresh();
      const given = { ns, parent, values, versions: checkpoint.channel_versions, newVersions };
      const { channels, lists } = await this.#channels(thread, {
        ...given,
        isFork: metadata.source === "fork",
      });
      const record: CheckpointRecord = {
        ns,
        id,
        ...(parent === undefined ? {} : { parent }),
        checkpoint: dumped,
        metadata: facts,
        channels,
      };
      const body = summaryOf(record, metadata, thread.branchFor(ns, parent));
      const { firstSeq, headSeq: seq } = await thread.append({ noun: "checkpoint", body, value: record });
      for (const [place, items] of lists) thread.noteList({ firstSeq, seq, place }, items);
    });
    return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const threadId = checkThread("putWrites", config.configurable?.["thread_id"]);
    const id = textOf(config, "checkpoint_id");
    if (id === undefined) throw missing("putWrites", "checkpoint_id");
    const ns = textOf(config, "checkpoint_ns") ?? "";
    const dumped = await Promise.all(writes.map(([, value]) => dump(this.serde, value)));
    const value: WritesRecord = {
      ns,
      id,
      task: taskId,
      writes: writes.flatMap(([channel], place) => {
        const typed = dumped[place];
        return typed === undefined ? [] : [[WRITES_IDX_MAP[channel] ?? place, channel, typed] as const];
      }),
    };
    if (value.writes.length === 0) return;
    const body = { ...plainId("checkpoint", id), ...plainId("task", taskId), writes: value.writes.length };
    await this.#writing(threadId, (thread) => thread.append({ noun: "writes", body, value }));
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#drawers.delete(checkThread("deleteThread", threadId));
    this.#threads.delete(threadId);
  }

  /** Runs on the thread with all that was written by now; undefined when there is none. */
  async #reading<T>(threadId: string, work: (thread: Thread) => Promise<T>): Promise<T | undefined> {
    for (let tries = 0; ; tries++) {
      const thread = await (this.#threads.get(threadId) ?? this.#find(threadId));
      if (thread === undefined) return undefined;
      try {
        await thread.refresh();
        return await work(thread);
      } catch (error) {
        // Deleted, by another process too: it may have begun anew.
        this.#threads.delete(threadId);
        if (!isGone(error) || tries > 0) throw error;
      }
    }
  }

  async #find(threadId: string): Promise<Thread | undefined> {
    const drawer = await this.#drawers.find(threadId);
    if (drawer === null) return undefined;
    const thread = this.#makeThread(drawer);
    this.#threads.set(threadId, Promise.resolve(thread));
    return thread;
  }

  async #writing<T>(threadId: string, work: (thread: Thread) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await work(await (this.#threads.get(threadId) ?? this.#open(threadId)));
      } catch (error) {
        if (!isGone(error)) throw error;
        this.#threads.delete(threadId);
        if (tries > 0) throw error;
      }
    }
  }

  #open(threadId: string): Promise<Thread> {
    const opening = this.#drawers.open(threadId).then((drawer) => this.#makeThread(drawer));
    this.#threads.set(threadId, opening);
    opening.catch(() => this.#threads.delete(threadId));
    return opening;
  }

  #makeThread(drawer: Drawer): Thread {
    return new Thread(drawer, { isVerbatim: this.#isVerbatim });
  }

  async *#listed(config: RunnableConfig): AsyncGenerator<Thread> {
    const threadId = config.configurable?.["thread_id"] as unknown;
    const ids: string[] = [];
    if (threadId !== undefined) ids.push(checkThread("list", threadId));
    else for await (const { outer } of this.#drawers.list()) ids.push(outer);
    for (const id of ids) {
      const thread = await this.#reading(id, (one) => Promise.resolve(one));
      if (thread !== undefined) yield thread;
    }
  }

  async #metadata(thread: Thread, entry: CheckpointEntry): Promise<Readonly<Record<string, unknown>>> {
    const { metadata } = await thread.readCheckpoint(entry);
    return (await load(this.serde, metadata)) as Record<string, unknown>;
  }

  async #tuple(thread: Thread, entry: CheckpointEntry): Promise<CheckpointTuple> {
    const { ns, id, parent } = entry;
    const record = await thread.readCheckpoint(entry);
    const rest = (await load(this.serde, record.checkpoint)) as Checkpoint;
    const values: [string, unknown][] = [];
    for (const [name, pointer] of entry.channels) values.push([name, await this.#value(thread, pointer)]);
    const checkpoint: Checkpoint = { ...rest, channel_values: Object.fromEntries(values) };
    if (checkpoint.v < 4 && parent !== undefined)
      await this.#addPendingSends(thread, checkpoint, { ns, parent });
    const metadata = (await load(this.serde, record.metadata)) as CheckpointMetadata;
    const pendingWrites: [string, string, unknown][] = [];
    for (const { task, channel, value } of await thread.readWrites(ns, id))
      pendingWrites.push([task, channel, await load(this.serde, value)]);
    const configOf = (checkpointId: string): RunnableConfig => ({
      configurable: { thread_id: thread.drawer.outer, checkpoint_ns: ns, checkpoint_id: checkpointId },
    });
    const tuple = { config: configOf(id), checkpoint, metadata, pendingWrites };
    return parent === undefined ? tuple : { ...tuple, parentConfig: configOf(parent) };
  }

  async #value(thread: Thread, pointer: ChannelPointer): Promise<unknown> {
    const stored = await thread.readValue(pointer);
    if ("whole" in stored) return load(this.serde, stored.whole);
    return Promise.all(stored.items.map((text) => load(this.serde, ["json", text])));
  }

  /** Checkpoints of old versions had what their parent sent in a separate channel. */
  async #addPendingSends(
    thread: Thread,
    checkpoint: Checkpoint,
    { ns, parent }: { readonly ns: string; readonly parent: string },
  ): Promise<void> {
    const sends = (await thread.readWrites(ns, parent)).filter(({ channel }) => channel === TASKS);
    sends.sort((one, other) =>
      one.task === other.task ? one.index - other.index : one.task < other.task ? -1 : 1,
    );
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = await Promise.all(sends.map(({ value }) => load(this.serde, value)));
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  /** Which channels a checkpoint has, each with its value or with the place where it was written. */
  async #channels(thread: Thread, given: GivenChannels) {
    const { ns, parent, values, versions, newVersions } = given;
    const before = parent === undefined ? undefined : thread.checkpoint(ns, parent);
    const channels: ChannelEntry[] = [];
    const lists = new Map<number, readonly string[]>();
    for (const [name, value] of Object.entries(values)) {
      const version = versions[name] ?? null;
      const pointer = before?.channels.get(name);
      const hasChanged = Object.hasOwn(newVersions, name);
      if (!hasChanged && pointer !== undefined && pointer.version === version) {
        channels.push({ name, version, at: [pointer.firstSeq, pointer.seq, pointer.place] });
        continue;
      }
      const items = await dumpList(this.serde, value);
      const whole = items === null ? await dump(this.serde, value) : null;
      const dumped = items === null ? { whole: whole ?? (["json", "null"] as const) } : { items };
      const known = hasChanged ? [pointer] : [pointer, ...sameVersion(thread, ns, name, version)];
      const equal = await equalPlace(thread, known, dumped);
      if (equal !== undefined) channels.push({ name, version, at: [equal.firstSeq, equal.seq, equal.place] });
      // A channel that did not change and was never stored is left out, but a copy is complete.
      else if (hasChanged || pointer !== undefined || given.isFork) {
        if (items !== null) lists.set(channels.length, items);
        channels.push({
          name,
          version,
          value: items === null ? dumped : await listValue(thread, pointer, items),
        });
      }
    }
    return { channels, lists };
  }
}

interface GivenChannels {
  readonly ns: string;
  readonly parent: string | undefined;
  readonly values: Readonly<Record<string, unknown>>;
  readonly versions: ChannelVersions;
  readonly newVersions: ChannelVersions;
  readonly isFork: boolean;
}

type SerializedValue = Awaited<ReturnType<Thread["readValue"]>>;

/** Where other checkpoints have a channel at this version: a copy does not name the one it is of. */
function sameVersion(thread: Thread, ns: string, name: string, version: unknown): ChannelPointer[] {
  const found = new Map<string, ChannelPointer>();
  for (const { channels } of thread.checkpoints(ns)) {
    const pointer = channels.get(name);
    if (pointer?.version === version && pointer !== undefined)
      found.set(`${pointer.seq}:${pointer.place}`, pointer);
  }
  return [...found.values()];
}

/** The first of these places that holds an equal value. */
async function equalPlace(
  thread: Thread,
  places: readonly (ChannelPointer | undefined)[],
  value: SerializedValue,
): Promise<ChannelPointer | undefined> {
  for (const place of places) {
    if (place === undefined) continue;
    const stored = await thread.readValue(place);
    if ("items" in stored && "items" in value) {
      const { length } = stored.items;
      if (length === value.items.length && commonCount(stored.items, value.items) === length) return place;
    } else if ("whole" in stored && "whole" in value) {
      if (stored.whole.every((part, at) => part === value.whole[at])) return place;
    }
  }
  return undefined;
}

/** A list as the difference from the parent's, or whole. */
async function listValue(thread: Thread, base: ChannelPointer | undefined, items: readonly string[]) {
  const chain = base === undefined ? undefined : thread.chainOf(base);
  if (base === undefined || chain === undefined) return { items };
  if (chain.depth >= partsMax && chain.tailChars >= chain.wholeChars) return { items };
  const stored = await thread.readValue(base);
  const keep = "items" in stored ? commonCount(stored.items, items) : 0;
  const tail = items.slice(keep);
  // A place takes some room itself.
  if (keep === 0 || charsOf(items) - charsOf(tail) < 64) return { items };
  return { items: tail, keep, base: [base.firstSeq, base.seq, base.place] as const };
}

/** What the log shows of a checkpoint; the branch first, because a narrow line cuts the end. */
function summaryOf({ ns, id, parent }: CheckpointRecord, metadata: CheckpointMetadata, branch: number) {
  const { step, source } = metadata;
  return {
    branch,
    ...(Number.isSafeInteger(step) ? { step } : {}),
    ...(/^[a-z]{1,20}$/.test(source) ? { source } : {}),
    ...plainId("id", id),
    ...(parent === undefined ? {} : plainId("parent", parent)),
    ...(ns === "" ? {} : { subgraph: true }),
  };
}

/** Bodies are never erased: only ids of LangGraph's own form go there. */
const plainId = (field: string, id: string): Readonly<Record<string, string>> =>
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? { [field]: id } : {};

/** A text of `configurable`; undefined when it is absent or null. */
function textOf(config: RunnableConfig, name: string): string | undefined {
  const value = config.configurable?.[name] as unknown;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw new TypeError(`SkeinSaver: configurable.${name}: expected a string, got ${typeof value}`);
}

function checkThread(call: string, threadId: unknown): string {
  if (typeof threadId === "string") return threadId;
  if (threadId === undefined || threadId === null) throw missing(call, "thread_id");
  throw new TypeError(
    `SkeinSaver.${call}: configurable.thread_id: expected a string, got ${typeof threadId}`,
  );
}

const missing = (call: string, name: string): Error =>
  new Error(`SkeinSaver.${call}: configurable.${name} is missing: pass { configurable: { ${name}: "…" } }`);
