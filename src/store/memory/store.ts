/**
 * The memory driver: everything in plain JavaScript, gone when it is closed. It is for tests and for trying
 * things out, and it is the reference that other drivers are compared with: plain before fast.
 *
 * Every method does its work in one go, without waiting in between, so no two calls see each other halfway.
 * Items of the durable tier are not kept: they are read through `query` only, and there is no SQL here.
 */
import { SkeinError } from "../../core/error.ts";
import { schedules } from "./schedule.ts";
import type { LogId, SessionId, WorkspaceId } from "../../core/ids.ts";
import { isSessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { originOf } from "../../core/branch/origin.ts";
import { wordsOf } from "../../core/text/words.ts";
import { version } from "../../core/version.ts";
import type {
  IndexEntry,
  Outcome,
  Packed,
  ResultPage,
  Part,
  Projection,
  SessionFilter,
  SessionRow,
} from "../port.ts";
import type { Snapshot, Store, StoreStats, StoreWorld } from "../port.ts";
import {
  feedOfProjections,
  makePositionedFeed,
  projectionPosition,
  withoutErasures,
} from "../feed-position.ts";
import { piecesOf } from "../blob-pieces.ts";
import { missingBlob } from "../judge.ts";
import { entriesToErase, eraseEntries, refuseTooMany } from "./erase.ts";
import type { Log, Logs } from "./log.ts";
import { appendParts, feedSource, headOf, headSeqOf, indexOf, livingLog, newLogs, setIndex } from "./log.ts";
import { readLog, seqAtOf, sweepLogs } from "./log.ts";
import { closedFor, discard, finish, put, readReceived, receive } from "./receive.ts";
import type { Receptions } from "./receive.ts";
import { findWords } from "./search.ts";
import { withProgress } from "../paging.ts";

export function memoryStore(options: { readonly world: StoreWorld; readonly workspace: WorkspaceId }): Store {
  const { world, workspace } = options;
  const [logs, receptions]: [Logs, Receptions] = [newLogs(), new Map()];
  const state: State = {
    world,
    logs,
    receptions,
    blobs: new Map(),
    watchers: new Set(),
    told: true,
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
  const schedule = schedules(
    () => logs.all.values(),
    () => world.now(),
  );
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
    renew: open((session, epoch, leaseMs) => renew(world.now(), log(session), epoch, leaseMs)),
    logs: open((after, count) => everyLog(logs, after, count)),
    list: open((filter, page) => list(logs, filter, page)),
    ...openedSchedule(schedule, open),
    endingWith: open((ending, count) => endingWith(logs, ending, count)),
    forks: open((session) => forks(logs, session)),
    openedFrom: open((session) => openedFrom(logs, session)),
    index: open((session, entry, atSeq) => correctIndex(log(session), entry, atSeq, world.now())),
    putSnapshot: open((session, snapshot) => void log(session)?.snapshots.set(snapshot.seq, { ...snapshot })),
    snapshot: open((session, seq) => mapped(log(session), (found) => nearestSnapshot(found, seq))),
    putBlob: open((hash, chunks) => putBlob(state.blobs, hash, chunks)),
    dropBlob: open((hash) => freeBlobs(state, [hash])),
    blob: open((hash) => mapped(state.blobs.get(hash), chunksOf)),
    projected: open(() => placeOf(state)),
    project: open((step) => project(state, step)),
    search: open((text, options) => findWords(logs.journal, text, options)),
    query: open(() => {
      throw new SkeinError("unavailable", "the memory store has no SQL", {
        hint: "open the engine on a file to ask it questions in SQL",
      });
    }),
    clearDerived: open(() => clearDerived(state)),
    sweep: open(() => freeBlobs(state, sweepLogs(logs))),
    pack: open((session, toSeq, signal) => pack(log(session), signal?.aborted === true ? 0 : toSeq)),
    packedTo: open((session) => log(session)?.packedTo ?? 0),
    scrub: open(() => undefined), // what is gone from memory is gone
    check: open(() => []), // there is no level below that of the records
    stats: open(() => stats(state)),
    bytes: open(() => null),
    close: async () => {
      closed = true;
      for (const changed of state.watchers) changed();
      state.watchers.clear();
    },
  });
}

type Open = <A extends readonly unknown[], R>(work: (...args: A) => R) => (...args: A) => Promise<Awaited<R>>;

const openedSchedule = (schedule: ReturnType<typeof schedules>, open: Open) => ({
  due: open(schedule.due),
  nextDue: open(schedule.nextDue),
  leased: open(schedule.leased),
  scheduled: open(schedule.scheduled),
  beat: open(schedule.beat),
  workers: open(schedule.workers),
  announce: open(schedule.announce),
  servers: open(schedule.servers),
});

interface State {
  readonly world: StoreWorld;
  readonly logs: Logs;
  readonly receptions: Receptions;
  readonly blobs: Map<string, readonly Uint8Array[]>;
  readonly watchers: Set<() => void>;
  /** Whether the watchers know, or are about to. */
  told: boolean;
  projectedTo: string | null;
  /** How often something was erased. */
  erasures: number;
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

/** Those of the blobs that no record refers to. */
function freeBlobs(state: State, hashes: readonly string[]): void {
  if (hashes.length === 0) return;
  const { journal } = state.logs;
  const received = [...state.receptions.values()].flatMap(({ records }) => records);
  const referred = new Set([...journal, ...received].flatMap(({ blobs }) => blobs));
  for (const hash of hashes) if (!referred.has(hash)) state.blobs.delete(hash);
}

function tell(state: State): void {
  if (!state.told) return;
  state.told = false;
  state.world.defer(() => {
    state.told = true;
    for (const changed of state.watchers) changed();
  });
}

/** Wrapped, so that one function given twice is two watchers. */
function watch(state: State, changed: () => void): () => void {
  const watcher = (): void => changed();
  state.watchers.add(watcher);
  return () => void state.watchers.delete(watcher);
}

function renew(now: number, log: Log | undefined, epoch: number, leaseMs: number): boolean {
  if (!log?.lease || log.epoch !== epoch) return false;
  log.lease = { holder: log.lease.holder, untilMs: now + leaseMs };
  return true;
}

function list(
  logs: Logs,
  filter: SessionFilter,
  page: { readonly limit: number; readonly cursor?: string },
): ResultPage<SessionRow> {
  const after = page.cursor === undefined ? undefined : parseCursor(page.cursor);
  const rows = [...logs.all.values()]
    .filter(({ index }) => filter.watches !== true || index?.watches === true)
    .flatMap(rowOf)
    .filter((row) => passes(row, filter) && (!after || inOrder(after, row) < 0))
    .toSorted(inOrder);
  const count = Math.max(1, Math.min(page.limit, limit.listMax));
  const last = rows.length > count ? rows[count - 1] : undefined;
  return { rows: rows.slice(0, count), cursor: last ? `${last.activeAt} ${last.session}` : null };
}

type Place = Pick<SessionRow, "session" | "activeAt">;

/** A cursor is the place of the last row given out: rows that come in before it push nothing along. */
function parseCursor(cursor: string): Place {
  const [activeAt = "", session = ""] = cursor.split(" ");
  if (!/^\d+$/.test(activeAt) || !isSessionId(session)) {
    throw new SkeinError("invalid", "not a cursor of this list", { field: "cursor" });
  }
  return { activeAt: Number(activeAt), session };
}

function inOrder(a: Place, b: Place): number {
  if (a.activeAt !== b.activeAt) return b.activeAt - a.activeAt;
  if (a.session === b.session) return 0;
  return a.session < b.session ? 1 : -1;
}

/** One row, or none: deleted logs, the workspace's, and those whose index was cleared have none. */
function rowOf(log: Log): SessionRow[] {
  const { id: session, index, parent } = log;
  const [first, last] = [log.records[0], log.records.at(-1)];
  if (log.dropped || !index || !first || !last || !isSessionId(session)) return [];
  const { seq: headSeq, at: activeAt } = last;
  const { status, agent, name, objective, priority, labels, outbox, full } = indexOf(index);
  const sent = { ...(outbox === undefined ? {} : { outbox }), ...(full === true ? { full } : {}) };
  const shown = { status, agent, name, objective, priority, labels, ...sent };
  const row = { ...shown, session, headSeq, openedAt: first.at, activeAt, parent };
  return [log.copy ? { ...row, copy: true } : row];
}

function passes(row: SessionRow, filter: SessionFilter): boolean {
  const text = filter.text === undefined ? undefined : asciiLower(filter.text);
  return (
    (filter.agent === undefined || row.agent === filter.agent) &&
    (filter.status === undefined || filter.status.includes(row.status)) &&
    (filter.activeSince === undefined || row.activeAt >= filter.activeSince) &&
    (filter.activeBefore === undefined || row.activeAt < filter.activeBefore) &&
    (filter.outbox !== true || (row.outbox ?? 0) > 0) &&
    Object.entries(filter.labels ?? {}).every(([key, value]) => row.labels[key] === value) &&
    (text === undefined || shownText(row).some((shown) => asciiLower(shown).includes(text)))
  );
}

const shownText = (row: SessionRow): readonly string[] =>
  [row.name, row.objective].filter((shown) => shown !== null);

const asciiLower = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

function endingWith(logs: Logs, ending: string, count: number): readonly SessionId[] {
  const living = [...logs.all.values()].filter((log) => !log.dropped).map((log) => log.id);
  return living
    .filter((id) => isSessionId(id))
    .filter((id) => id.endsWith(ending))
    .slice(0, count);
}

function forks(logs: Logs, session: SessionId): readonly { session: SessionId; seq: number }[] {
  if (!livingLog(logs, session)) return [];
  return [...logs.all.values()].flatMap(({ id, parent, dropped }) =>
    parent?.session === session && !dropped && isSessionId(id) ? [{ session: id, seq: parent.seq }] : [],
  );
}

function openedFrom(logs: Logs, session: SessionId): readonly SessionId[] {
  return [...logs.all.values()].flatMap(({ id, parent, dropped, records }) => {
    if (parent !== null || dropped || !isSessionId(id)) return [];
    const [first] = records;
    return first !== undefined && originOf(first)?.session === session ? [id] : [];
  });
}

/** A session that was deleted in the meantime needs no correction. */
function correctIndex(log: Log | undefined, entry: IndexEntry, atSeq: number, now: number): boolean {
  if (log === undefined || headSeqOf(log) !== atSeq) return false;
  setIndex(log, entry, now);
  return true;
}

/** What a log keeps of the prefix that it shares may be older than what its ancestors keep of it. */
function nearestSnapshot(log: Log, seq: number): Snapshot | undefined {
  let best: Snapshot | undefined;
  let lastSeq = Math.min(seq, headSeqOf(log));
  for (let owner: Log | null = log; owner; owner = owner.base) {
    for (const snapshot of owner.snapshots.values()) {
      if (snapshot.seq <= lastSeq && snapshot.seq > (best?.seq ?? 0)) best = snapshot;
    }
    if (best && best.seq >= owner.firstSeq) return best;
    lastSeq = Math.min(lastSeq, owner.firstSeq - 1);
  }
  return best;
}

/** The bytes are copied, for the giver may use its buffer again, and kept only once all of them are there. */
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

function pack(log: Log | undefined, toSeq: number): Packed {
  const from = log?.packedTo ?? 0;
  const to = log === undefined ? 0 : Math.max(from, Math.min(toSeq, headSeqOf(log) - 1));
  const records = log?.records.slice(from + 1 - log.firstSeq, to + 1 - log.firstSeq) ?? [];
  const bytes = records.reduce((sum, { body, contentBytes }) => sum + body.length + (contentBytes ?? 0), 0);
  if (log !== undefined) log.packedTo = to;
  return { records: records.length, bytesBefore: bytes, bytesAfter: bytes };
}

/** A step that was read before something was erased is not taken after it. */
const placeOf = ({ projectedTo, erasures }: State): string | null =>
  projectionPosition(projectedTo, erasures, "0");

function project(state: State, step: Projection): boolean {
  if (step.from !== placeOf(state)) return false;
  state.projectedTo = withoutErasures(step.to);
  for (const { session, seq, text } of step.texts)
    livingLog(state.logs, session)?.words.set(seq, wordsOf(text));
  return true;
}

function clearDerived(state: State): void {
  for (const log of state.logs.all.values()) {
    log.snapshots.clear();
    log.words.clear();
  }
  state.projectedTo = null;
}

/** Deleted logs may still lie here for their forks. */
function everyLog(logs: Logs, after: string | null, count: number): ResultPage<LogId> {
  const living = [...logs.all.keys()].filter((id) => livingLog(logs, id) !== undefined);
  const rows = living
    .filter((id) => after === null || id > after)
    .toSorted()
    .slice(0, count);
  return { rows, cursor: rows.length < count ? null : (rows.at(-1) ?? null) };
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
