/**
 * The memory driver: plain JavaScript, lost when it is closed. It is for tests and experiments, and it is the
 * reference for other drivers: simple before fast.
 *
 * Every method works synchronously, so no two calls see each other halfway. It stores no items of the durable
 * tier: they are read only through `query`, and this driver has no SQL.
 */
import { SkeinError } from "../../core/error.ts";
import type { LogId, WorkspaceId } from "../../core/ids.ts";
import { isSessionId } from "../../core/ids.ts";
import { version } from "../../core/version.ts";
import { piecesOf } from "../blob-pieces.ts";
import { feedOfProjections, makePositionedFeed } from "../feed-position.ts";
import { missingBlob } from "../judge.ts";
import { withProgress } from "../paging.ts";
import type { Outcome, PackResult, Part, Store, StoreStats, StoreWorld } from "../port.ts";
import { makeDerived, type DerivedState } from "./derived.ts";
import { entriesToErase, eraseEntries, refuseTooMany } from "./erase.ts";
import type { Log, Logs } from "./log.ts";
import { appendParts, feedSource, headOf, headSeqOf, livingLog, newLogs } from "./log.ts";
import { readLog, seqAtOf, sweepLogs } from "./log.ts";
import { closedFor, discard, finish, put, readReceived, receive } from "./receive.ts";
import type { Receptions } from "./receive.ts";

export function memoryStore(options: { readonly world: StoreWorld; readonly workspace: WorkspaceId }): Store {
  const { world, workspace } = options;
  const [logs, receptions]: [Logs, Receptions] = [newLogs(), new Map()];
  const state: State = {
    world,
    logs,
    receptions,
    blobs: new Map(),
    watchers: new Set(),
    notified: true,
    projectedTo: null,
    erasures: 0,
  };
  let closed = false;
  const log = livingLog.bind(null, logs);
  const open =
    <A extends readonly unknown[], R>(work: (...args: A) => R) =>
    async (...args: A): Promise<Awaited<R>> => {
      if (closed) throw new SkeinError("unavailable", "the store is closed");
      return await work(...args);
    };
  const positioned = makePositionedFeed(feedSource(logs));
  return withProgress({
    workspace,
    program: version,
    now: () => world.now(),
    readClock: async () => world.now(),
    append: open((parts) => append(state, parts)),
    head: open((session) => mapped(log(session), headOf)),
    read: open((session, range) =>
      range.received === true
        ? readReceived(logs, receptions, session, range)
        : (mapped(log(session), (found) => readLog(found, range)) ?? []),
    ),
    keyed: open((session, key) => log(session)?.seqOfKey.get(key)),
    seqAt: open((session, at) => mapped(log(session), (found) => seqAtOf(found, at)) ?? 1),
    feed: open((after, count) => feedOfProjections(positioned.feed, after, count)),
    feedEnd: open(() => positioned.feedEnd()),
    watch: (changed) => watch(state, changed),
    receive: open((reception) => receive(logs, receptions, reception)),
    put: open((session, records) => {
      const blobs = records.flatMap((record) => record.blobs);
      checkBlobs(state, blobs);
      put(logs, receptions, { session, records, digest: world.digest });
    }),
    finish: open((list) => {
      finish(logs, receptions, list);
      tell(state);
    }),
    discard: open((session) => freeBlobs(state, discard(receptions, session))),
    ...openAll(makeDerived(state), open),
    putBlob: open((hash, chunks) => putBlob(state.blobs, hash, chunks)),
    dropBlob: open((hash) => freeBlobs(state, [hash])),
    blob: open((hash) => mapped(state.blobs.get(hash), chunksOf)),
    sweep: open(() => freeBlobs(state, sweepLogs(logs))),
    pack: open((session, toSeq, signal) => pack(log(session), signal?.aborted === true ? 0 : toSeq)),
    packedTo: open((session) => log(session)?.packedTo ?? 0),
    scrub: open(() => undefined), // nothing to do: erased memory is gone
    check: open(() => []), // nothing lies below the records
    stats: open(() => stats(state)),
    bytes: open(() => null),
    close: async () => {
      closed = true;
      for (const changed of state.watchers) changed();
      state.watchers.clear();
    },
  });
}

type OpenGuard = <A extends readonly unknown[], R>(
  work: (...args: A) => R,
) => (...args: A) => Promise<Awaited<R>>;

/** The same functions, which reject once the store is closed. */
const openAll = <T extends object>(functions: T, open: OpenGuard): T =>
  Object.fromEntries(
    Object.entries(functions as Record<string, Work>).map(([name, work]) => [name, open(work)]),
  ) as T;

type Work = (...args: readonly unknown[]) => unknown;

interface State extends DerivedState {
  readonly receptions: Receptions;
  readonly blobs: Map<string, readonly Uint8Array[]>;
  readonly watchers: Set<() => void>;
  /** Whether the watchers are notified, or about to be. */
  notified: boolean;
}

const mapped = <T, R>(value: T | undefined, map: (value: T) => R): R | undefined =>
  value === undefined ? undefined : map(value);

function append(state: State, parts: readonly Part[]): Outcome {
  checkBlobs(
    state,
    parts.flatMap(({ drafts }) => drafts.flatMap(({ blobs }) => blobs)),
  );
  const { logs, world } = state;
  const doomed = entriesToErase(logs, parts);
  const beforeWrite = (): void => refuseTooMany(doomed);
  const closed = (session: LogId) => closedFor(logs, state.receptions, session);
  const outcome = appendParts(logs, { digest: world.digest, now: world.now(), closed, beforeWrite }, parts);
  if (outcome.kind !== "ok") return outcome;
  freeBlobs(state, eraseEntries(logs, doomed));
  if (doomed.length > 0) state.erasures += 1;
  tell(state);
  return outcome;
}

function checkBlobs(state: State, wanted: readonly string[]): void {
  const missing = wanted.find((hash) => !state.blobs.has(hash));
  if (missing !== undefined) throw missingBlob(missing);
}

/** Frees those blobs that no record refers to. */
function freeBlobs(state: State, hashes: readonly string[]): void {
  if (hashes.length === 0) return;
  const { journal } = state.logs;
  const received = [...state.receptions.values()].flatMap(({ records }) => records);
  const referred = new Set([...journal, ...received].flatMap(({ blobs }) => blobs));
  for (const hash of hashes) if (!referred.has(hash)) state.blobs.delete(hash);
}

function tell(state: State): void {
  if (!state.notified) return;
  state.notified = false;
  state.world.defer(() => {
    state.notified = true;
    for (const changed of state.watchers) changed();
  });
}

/** Wrapped, so that the same function given twice is two watchers. */
function watch(state: State, changed: () => void): () => void {
  const watcher = (): void => changed();
  state.watchers.add(watcher);
  return () => void state.watchers.delete(watcher);
}

/** Copies the bytes, because the caller may reuse its buffer, and stores them once they are complete. */
async function putBlob(
  blobs: State["blobs"],
  hash: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  if (blobs.has(hash)) return;
  const kept: Uint8Array[] = [];
  for await (const piece of piecesOf(chunks)) kept.push(piece);
  blobs.set(hash, kept);
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk.slice();
}

function pack(log: Log | undefined, toSeq: number): PackResult {
  const from = log?.packedTo ?? 0;
  const to = log === undefined ? 0 : Math.max(from, Math.min(toSeq, headSeqOf(log) - 1));
  const records = log?.records.slice(from + 1 - log.firstSeq, to + 1 - log.firstSeq) ?? [];
  const bytes = records.reduce((sum, { body, contentBytes }) => sum + body.length + (contentBytes ?? 0), 0);
  if (log !== undefined) log.packedTo = to;
  return { records: records.length, bytesBefore: bytes, bytesAfter: bytes };
}

function stats({ logs, blobs }: State): StoreStats {
  const all = [...logs.all.values()];
  const snapshots = all.flatMap((log) => [...log.snapshots.values()]);
  const sum = <T>(items: readonly T[], size: (item: T) => number): number =>
    items.reduce((total, item) => total + size(item), 0);
  return {
    driver: "memory",
    version: "1",
    durability: "none",
    bytes: null,
    sessions: all.filter((log) => !log.dropped && isSessionId(log.id)).length,
    records: sum(all, (log) => log.records.length),
    contentBytes: sum(logs.journal, ({ record }) =>
      record.content === null ? 0 : (record.contentBytes ?? 0),
    ),
    snapshots: snapshots.length,
    snapshotBytes: sum(snapshots, ({ text }) => Buffer.byteLength(text)),
    segments: 0,
    segmentBytes: 0,
    unscrubbed: false,
    blobs: blobs.size,
    blobBytes: sum([...blobs.values()].flat(), (chunk) => chunk.byteLength),
  };
}
