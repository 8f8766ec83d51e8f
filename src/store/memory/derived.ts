/**
 * The derived data of the memory driver: index, snapshots, search, schedule. Every call scans all logs;
 * nothing is stored besides them. complete-store.ts uses it for drivers that store only logs.
 */
import { SkeinError } from "../../core/error.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import { isSessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { originOf } from "../../core/branch/origin.ts";
import { wordsOf } from "../../core/text/words.ts";
import { projectionPosition, withoutErasures } from "../feed-position.ts";
import type {
  IndexEntry,
  IndexStore,
  Projection,
  ResultPage,
  ScheduleStore,
  SearchStore,
  SessionFilter,
  SessionRow,
  Snapshot,
  SnapshotStore,
  Store,
  StoreWorld,
} from "../port.ts";
import type { Log, Logs } from "./log.ts";
import { headSeqOf, indexOf, livingLog, setIndex } from "./log.ts";
import { schedules } from "./schedule.ts";
import { findWords } from "./search.ts";
import { logWords } from "./log-words.ts";

export interface DerivedState {
  readonly world: StoreWorld;
  readonly logs: Logs;
  projectedTo: string | null;
  /** The number of erasures. */
  erasures: number;
}

type DerivedPart = IndexStore &
  SnapshotStore &
  SearchStore &
  Omit<ScheduleStore, "now" | "readClock"> &
  Pick<Store, "clearDerived">;

export function makeDerived(state: DerivedState): DerivedPart {
  const { world, logs } = state;
  const log = livingLog.bind(null, logs);
  return {
    logs: async (after, count) => everyLog(logs, after, count),
    list: async (filter, page) => list(logs, filter, page),
    endingWith: async (ending, count) => endingWith(logs, ending, count),
    forks: async (session) => forks(logs, session),
    openedFrom: async (session) => openedFrom(logs, session),
    index: async (session, entry, atSeq) => correctIndex(log(session), entry, atSeq, world.now()),
    putSnapshot: async (session, snapshot) => void log(session)?.snapshots.set(snapshot.seq, { ...snapshot }),
    async snapshot(session, seq) {
      const found = log(session);
      return found && nearestSnapshot(found, seq);
    },
    projected: async () => placeOf(state),
    project: async (step) => project(state, step),
    search: async (text, options) => findWords(logs.journal, text, options),
    ...logWords(state),
    async query() {
      throw new SkeinError("refused", "a store in memory has no SQL queries", {
        hint: "use a store in a file or PostgreSQL",
      });
    },
    clearDerived: async () => clearDerived(state),
    renew: async (session, epoch, leaseMs) => renew(world.now(), log(session), epoch, leaseMs),
    ...schedules(
      () => logs.all.values(),
      () => world.now(),
    ),
  };
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

type ListCursor = Pick<SessionRow, "session" | "activeAt">;

/** A cursor is the position of the last returned row: new rows before it shift nothing. */
function parseCursor(cursor: string): ListCursor {
  const [activeAt = "", session = ""] = cursor.split(" ");
  if (!/^\d+$/.test(activeAt) || !isSessionId(session)) {
    throw new SkeinError("invalid", "cursor: expected a cursor that this list returned", { field: "cursor" });
  }
  return { activeAt: Number(activeAt), session };
}

function inOrder(a: ListCursor, b: ListCursor): number {
  if (a.activeAt !== b.activeAt) return b.activeAt - a.activeAt;
  if (a.session === b.session) return 0;
  return a.session < b.session ? 1 : -1;
}

/** One row, or none: deleted logs, the workspace's log, and those with a cleared index have none. */
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
    (filter.sessions === undefined || filter.sessions.includes(row.session)) &&
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

/** A session deleted in the meantime needs no correction. */
function correctIndex(log: Log | undefined, entry: IndexEntry, atSeq: number, now: number): boolean {
  if (log === undefined || headSeqOf(log) !== atSeq) return false;
  setIndex(log, entry, now);
  return true;
}

/** A log's own snapshot of its shared prefix may be older than those of its ancestors. */
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

/** Rejects a step that was read before an erasure. */
const placeOf = ({ projectedTo, erasures }: DerivedState): string | null =>
  projectionPosition(projectedTo, erasures, "0");

function project(state: DerivedState, step: Projection): boolean {
  if (step.from !== placeOf(state)) return false;
  state.projectedTo = withoutErasures(step.to);
  for (const { session, seq, text } of step.texts)
    livingLog(state.logs, session)?.words.set(seq, wordsOf(text));
  return true;
}

function clearDerived(state: DerivedState): void {
  for (const log of state.logs.all.values()) {
    log.snapshots.clear();
    log.words.clear();
    log.wordSteps = [];
    log.vectors.clear();
  }
  state.projectedTo = null;
}

/** Deleted logs may still exist for their forks. */
function everyLog(logs: Logs, after: string | null, count: number): ResultPage<LogId> {
  const living = [...logs.all.keys()].filter((id) => livingLog(logs, id) !== undefined);
  const rows = living
    .filter((id) => after === null || id > after)
    .toSorted()
    .slice(0, count);
  return { rows, cursor: rows.length < count ? null : (rows.at(-1) ?? null) };
}
