/** SQLite data that can be rebuilt from the logs: the session index, snapshots, items and search. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";
import type { ResultPage, Projection, SessionFilter, SessionRow, Snapshot } from "../port.ts";
import { erasures } from "./erase.ts";
import { seen, type Logs } from "./log.ts";
import { projectionPosition, withoutErasures } from "../feed-position.ts";
import { cursorOf, parseCursor, type ListPosition } from "../sql/list-cursor.ts";
import { activeLagMs } from "./schema.ts";
import type { Segments } from "./segments.ts";
import { trimEndOf } from "../../core/text/trim.ts";
import { stuck } from "../paging.ts";

/** A label on fewer sessions than this is the best start; otherwise recency is. */
const rareLabelMax = 2_000;

type ListArray = [
  id: number,
  indexedAt: number,
  session: SessionId,
  openedAt: number,
  status: SessionStatus,
  agent: string | null,
  priority: number,
  forkSeq: number,
  copy: number,
  outbox: number,
  full: number,
];

const isBefore = (a: ListPosition, b: ListPosition): boolean =>
  a.at < b.at || (a.at === b.at && a.session < b.session);

export interface Lister {
  /** A page of the session index, the most recently active first. */
  list(
    filter: SessionFilter,
    page: { readonly limit: number; readonly cursor?: string },
  ): ResultPage<SessionRow>;
}

export function makeLister(database: DatabaseSync, tenant: string): Lister {
  const last = database.prepare(
    `SELECT r.seq, r.at FROM logs l JOIN records r ON r.log = l.id AND r.seq <= ${seen}
     WHERE l.id = ? ORDER BY r.seq DESC LIMIT 1`,
  );
  const title = database.prepare("SELECT name, objective FROM titles WHERE log = ?");
  const labels = database.prepare("SELECT key, value FROM labels WHERE log = ?");
  const parentOf = database.prepare(
    "SELECT p.session FROM logs l JOIN logs p ON p.id = l.parent WHERE l.id = ?",
  );
  for (const statement of [last, title, labels, parentOf]) statement.setReturnArrays(true);

  const statements = new Map<string, StatementSync>();
  const prepared = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statement.setReturnArrays(true);
    if (statements.size > 100) statements.clear();
    statements.set(sql, statement);
    return statement;
  };

  /** Rows with their exact times, in index order, which lags behind by less than `activeLagMs`. */
  function* candidates(filter: SessionFilter, end: ListPosition | null, first: number): Generator<ListRow> {
    let from: ListPosition | null = end;
    let own = false;
    let lastId: number | null = null;
    for (;;) {
      const { sql, values } = selection(database, tenant, filter, from, own);
      const chunk = from === end ? first : limit.listMax;
      const rows = prepared(`${sql} LIMIT ?`).all(...values, chunk) as unknown as ListArray[];
      for (const row of rows) {
        // Another process may have deleted the session since the row was read.
        const head = last.get(row[0]) as unknown as [number, number] | undefined;
        if (head !== undefined) yield { row, headSeq: head[0], at: head[1], session: row[2] };
      }
      const next = rows.at(-1);
      if (next === undefined || rows.length < chunk) return;
      if (next[0] === lastId) throw stuck("list", lastId);
      lastId = next[0];
      from = { at: next[1], session: next[2] };
      own = true;
    }
  }

  function list(
    filter: SessionFilter,
    page: { readonly limit: number; readonly cursor?: string },
  ): ResultPage<SessionRow> {
    const count = Math.min(page.limit, limit.listMax);
    const end = page.cursor === undefined ? null : parseCursor(page.cursor);
    const { activeSince = 0, activeBefore = Infinity } = filter;
    let found: ListRow[] = [];
    for (const candidate of candidates(filter, end, count + 1)) {
      // Once the page is full, only rows that the index placed too low can still belong to it.
      const lowest = found[count];
      if (lowest !== undefined && candidate.row[1] + activeLagMs <= lowest.at) break;
      if (end !== null && !isBefore(candidate, end)) continue;
      if (candidate.at < activeSince || candidate.at >= activeBefore) continue;
      if (lowest !== undefined && isBefore(candidate, lowest)) continue;
      found.push(candidate);
      if (found.length > count) {
        found = found.toSorted((a, b) => (isBefore(a, b) ? 1 : -1)).slice(0, count + 1);
      }
    }
    const shown = found.toSorted((a, b) => (isBefore(a, b) ? 1 : -1)).slice(0, count);
    const bottom = shown.at(-1);
    const more = found.length > count && bottom !== undefined;
    return { rows: shown.map(sessionRow), cursor: more ? cursorOf(bottom) : null };
  }

  function sessionRow({ row, headSeq, at }: ListRow): SessionRow {
    const [id, , session, openedAt, status, agent, priority, forkSeq, copy, outbox, full] = row;
    const [name, objective] = (title.get(id) as unknown as [string | null, string | null] | undefined) ?? [
      null,
      null,
    ];
    const parent = parentOf.get(id) as unknown as [SessionId] | undefined;
    return {
      session,
      headSeq,
      openedAt,
      activeAt: at,
      status,
      agent,
      priority,
      name,
      objective,
      parent: parent === undefined ? null : { session: parent[0], seq: forkSeq },
      labels: Object.fromEntries(labels.all(id) as unknown as [string, string][]),
      ...(outbox > 0 ? { outbox } : {}),
      ...(full === 1 ? { full: true } : {}),
      ...(copy === 1 ? { copy: true } : {}),
    };
  }

  return { list };
}

interface ListRow extends ListPosition {
  readonly row: ListArray;
  readonly headSeq: number;
  readonly session: SessionId;
}

/** A few named sessions are found by their ids; a walk by recency would read all others too. */
const byName = "logs l INDEXED BY logs_session";

/**
 * The query for the next rows of the index. `own`: `from` is a position of the index itself, not of the list.
 */
function selection(
  database: DatabaseSync,
  tenant: string,
  filter: SessionFilter,
  from: ListPosition | null,
  own: boolean,
): { readonly sql: string; readonly values: readonly (string | number)[] } {
  const where = ["l.tenant = ?", "l.listed = 1", "l.status IS NOT NULL"];
  const values: (string | number)[] = [tenant];
  const add = (sql: string, ...more: (string | number)[]) => {
    where.push(sql);
    values.push(...more);
  };
  if (filter.agent !== undefined) add("l.agent = ?", filter.agent);
  if (filter.status !== undefined) {
    add(`l.status IN (${filter.status.map(() => "?").join(", ")})`, ...filter.status);
  }
  let rare = false;
  for (const [key, value] of Object.entries(filter.labels ?? {})) {
    rare ||= isRare(database, key, value);
    const found = "SELECT log FROM labels WHERE key = ? AND value = ?";
    add(rare ? `l.id IN (${found})` : `EXISTS (${found} AND log = l.id)`, key, value);
  }
  if (filter.text !== undefined) {
    const like = `%${filter.text.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
    const named = String.raw`(name LIKE ? ESCAPE '\' OR objective LIKE ? ESCAPE '\')`;
    add(`EXISTS (SELECT 1 FROM titles WHERE log = l.id AND ${named})`, like, like);
  }
  if (filter.activeSince !== undefined) add("l.active_at > ?", filter.activeSince - activeLagMs);
  if (filter.activeBefore !== undefined) add("l.active_at < ?", filter.activeBefore);
  if (from !== null && own) add("(l.active_at, l.session) < (?, ?)", from.at, from.session);
  if (from !== null && !own) add("l.active_at <= ?", from.at);
  if (filter.outbox === true) add("l.outbox > 0");
  if (filter.watches === true) add("l.id IN (SELECT log FROM schedule WHERE watches = 1)");
  if (filter.sessions !== undefined)
    add("l.session IN (SELECT value FROM json_each(?))", JSON.stringify(filter.sessions));
  // Few sessions have a rare label: each is found by its id. By the index the planner would walk all of them.
  const few = filter.outbox === true ? "logs l INDEXED BY logs_outbox" : "logs l NOT INDEXED";
  const named = filter.sessions === undefined ? "logs l INDEXED BY logs_recent" : byName;
  const table = rare || filter.outbox === true ? few : named;
  const columns =
    "l.id, l.active_at, l.session, l.opened_at, l.status, l.agent, l.priority, l.fork_seq, l.copy, " +
    "l.outbox, l.inbox_full";
  const order = "ORDER BY l.active_at DESC, l.session DESC";
  return { sql: `SELECT ${columns} FROM ${table} WHERE ${where.join(" AND ")} ${order}`, values };
}

function isRare(database: DatabaseSync, key: string, value: string): boolean {
  const probe = database.prepare(
    "SELECT count(*) AS count FROM (SELECT 1 FROM labels WHERE key = ? AND value = ? LIMIT ?)",
  );
  return Number(probe.get(key, value, rareLabelMax)?.["count"]) < rareLabelMax;
}

/** Existing forks of a log, and their fork points. */
export function forksOf(database: DatabaseSync, log: number) {
  const rows = database
    .prepare("SELECT session, fork_seq FROM logs WHERE parent = ? AND dropped = 0 ORDER BY id")
    .all(log);
  return rows.map((row) => ({ session: row["session"] as SessionId, seq: Number(row["fork_seq"]) }));
}

export function openedFrom(database: DatabaseSync, tenant: string, session: SessionId): readonly SessionId[] {
  const rows = database
    .prepare("SELECT session FROM logs WHERE origin = ? AND tenant = ? AND dropped = 0 ORDER BY id")
    .all(session, tenant);
  return rows.map((row) => row["session"] as SessionId);
}

export function endingWith(
  database: DatabaseSync,
  tenant: string,
  ending: string,
  count: number,
): SessionId[] {
  const rows = database
    .prepare(
      "SELECT session FROM logs WHERE tenant = ? AND listed = 1 AND substr(session, -length(?)) = ? LIMIT ?",
    )
    .all(tenant, ending, ending, count);
  return rows.map((row) => row["session"] as SessionId);
}

export function everyLog(
  database: DatabaseSync,
  tenant: string,
  after: string | null,
  count: number,
): ResultPage<LogId> {
  // By number: a corrupt id may be invalid text, which JavaScript would alter.
  const rows = database
    .prepare("SELECT id, session FROM logs WHERE tenant = ? AND dropped = 0 AND id > ? ORDER BY id LIMIT ?")
    .all(tenant, Number(after ?? 0), count);
  const last = rows.length < count ? undefined : rows.at(-1);
  return {
    rows: rows.map((row) => row["session"] as LogId),
    cursor: last === undefined ? null : String(last["id"]),
  };
}

export interface Snapshots {
  put(session: LogId, snapshot: Snapshot): void;
  latest(session: LogId, seq: number): Snapshot | undefined;
}

export function makeSnapshots(database: DatabaseSync, logs: Logs): Snapshots {
  const insert = database.prepare(
    "INSERT OR REPLACE INTO snapshots (log, seq, form, text) VALUES (?, ?, ?, ?)",
  );
  const latest = database.prepare(
    "SELECT seq, form, text FROM snapshots WHERE log = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
  );
  latest.setReturnArrays(true);
  return {
    /** A snapshot belongs to the log that holds the position, so that all sharers find it. */
    put(session, { seq, form, text }) {
      const line = logs.find(session);
      const owner = line && logs.stretches(line, seq, seq)[0];
      if (owner !== undefined) insert.run(owner.log, seq, form, text);
    },
    latest(session, seq) {
      let line = logs.find(session) ?? null;
      let upTo = seq;
      for (let walked = 1; line !== null; walked++) {
        const row = latest.get(line.id, upTo) as unknown as [number, number, string] | undefined;
        if (row !== undefined) return { seq: row[0], form: row[1], text: row[2] };
        upTo = Math.min(upTo, line.forkSeq);
        line = logs.baseOf(line, walked);
      }
      return undefined;
    },
  };
}

export interface Projector {
  projected(): string | null;
  project(step: Projection): boolean;
  search(
    text: string,
    options: {
      readonly limit: number;
      readonly session?: LogId;
      readonly logs?: readonly LogId[];
    },
  ): { session: LogId; seq: number }[];
}

export function makeProjector(database: DatabaseSync, logs: Logs, segments: Segments): Projector {
  const where = database.prepare("SELECT value FROM meta WHERE key = 'projected'");
  const move = database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('projected', ?)");
  const position = database.prepare("SELECT position FROM records WHERE log = ? AND seq = ?");
  const addText = database.prepare("INSERT OR REPLACE INTO search (rowid, text) VALUES (?, ?)");
  // See sweep: FTS5 may leave row ids behind that exceed a number.
  addText.setReadBigInts(true);
  const reset = database.prepare("INSERT OR REPLACE INTO last_row (id) VALUES (1)");
  const clearItems = database.prepare("DELETE FROM item_rows WHERE log = ?");
  const addItem = database.prepare(
    "INSERT INTO item_rows (log, kind, key, seq, at, status, value, because) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const projected = () =>
    projectionPosition((where.get()?.["value"] as string | undefined) ?? null, erasures(database), "0");
  return {
    projected,
    project(step) {
      if (projected() !== step.from) return false;
      for (const { session, seq, text } of step.texts) {
        const line = logs.find(session);
        const row = line && position.get(line.id, seq);
        const place =
          line && (row === undefined ? segments.positionOf(line.id, seq) : Number(row["position"]));
        if (place !== undefined) addText.run(place, text);
      }
      reset.run();
      for (const { session, rows } of step.items) {
        const line = logs.find(session);
        if (line === undefined) continue;
        clearItems.run(line.id);
        for (const { kind, key, seq, at, status, value, because } of rows) {
          addItem.run(line.id, kind, key, seq, at, status, value, because);
        }
      }
      move.run(withoutErasures(step.to));
      return true;
    },
    search(text, { limit: count, session, logs: wanted }) {
      const match = matchOf(text);
      const only = session === undefined ? undefined : logs.find(session);
      if (match === null || (session !== undefined && only === undefined)) return [];
      const rows = database
        .prepare(
          `SELECT l.session, ifnull(r.seq, p.seq + s.rowid - p.position) AS seq
           FROM search s LEFT JOIN records r ON r.position = s.rowid
           LEFT JOIN packed_places p ON r.position IS NULL AND s.rowid < p.position + p.count
             AND p.position = (SELECT max(position) FROM packed_places WHERE position <= s.rowid)
           JOIN logs l ON l.id = ifnull(r.log, p.log)
           WHERE search MATCH ? AND l.dropped = 0 AND (r.position IS NULL OR r.content IS NOT NULL)
           ${only ? "AND l.id = ?" : ""}
           ${wanted ? "AND l.session IN (SELECT value FROM json_each(?))" : ""}
           ORDER BY s.rowid DESC LIMIT ?`,
        )
        .all(
          match,
          ...(only ? [only.id] : []),
          ...(wanted ? [JSON.stringify(wanted)] : []),
          Math.min(count, limit.searchMax),
        );
      return rows.map((row) => ({ session: row["session"] as LogId, seq: Number(row["seq"]) }));
    },
  };
}

/** Every word must occur. Quoting turns any input into words, so that no text is a syntax error. */
function matchOf(text: string): string | null {
  const words = text.split(/[\s\0]+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length === 0) return null;
  return words
    .map((word) => {
      const bare = trimEndOf(word.replaceAll('"', " "), "*");
      return `"${bare}"${word.endsWith("*") ? "*" : ""}`;
    })
    .join(" ");
}
