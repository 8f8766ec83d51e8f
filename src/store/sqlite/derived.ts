/** What SQLite keeps besides the logs and can make again: the session index, snapshots, items and search. */
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Status } from "../../core/lifecycle.ts";
import type { Page, Projection, SessionFilter, SessionRow, Snapshot } from "../port.ts";
import type { Logs } from "./log.ts";

/** A label on fewer sessions than this is the best place to start from; on more, recency is. */
const rareLabelMax = 2_000;

const listColumns = `l.session, l.head, l.opened_at, l.at, l.status, l.agent, l.priority, l.fork_seq, t.name, t.objective,
  (SELECT session FROM logs p WHERE p.id = l.parent),
  (SELECT json_group_object(key, value) FROM labels WHERE log = l.id)`;

type ListArray = [
  session: SessionId,
  headSeq: number,
  openedAt: number,
  activeAt: number,
  status: Status,
  agent: string | null,
  priority: number,
  forkSeq: number,
  name: string | null,
  objective: string | null,
  parent: SessionId | null,
  labels: string,
];

/** A page of the session index, the most recently active first. */
export function list(
  database: DatabaseSync,
  tenant: string,
  filter: SessionFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Page<SessionRow> {
  const count = Math.min(page.limit, limit.listMax);
  const { where, values, from } = conditions(database, tenant, filter, page.cursor);
  const statement = database.prepare(
    `SELECT ${listColumns} FROM ${from} LEFT JOIN titles t ON t.log = l.id
     WHERE ${where.join(" AND ")} ORDER BY l.at DESC, l.session DESC LIMIT ?`,
  );
  statement.setReturnArrays(true);
  const rows = (statement.all(...values, count + 1) as unknown as ListArray[]).map(sessionRow);
  const shown = rows.slice(0, count);
  const last = shown.at(-1);
  return { rows: shown, cursor: rows.length > count && last ? `${last.activeAt}.${last.session}` : null };
}

function conditions(
  database: DatabaseSync,
  tenant: string,
  filter: SessionFilter,
  cursor: string | undefined,
) {
  const where = ["l.tenant = ?", "l.listed = 1"];
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
    add(String.raw`(t.name LIKE ? ESCAPE '\' OR t.objective LIKE ? ESCAPE '\')`, like, like);
  }
  if (filter.activeSince !== undefined) add("l.at >= ?", filter.activeSince);
  if (filter.activeBefore !== undefined) add("l.at < ?", filter.activeBefore);
  if (cursor !== undefined) add("(l.at, l.session) < (?, ?)", ...parseCursor(cursor));
  return { where, values, from: rare ? "logs l NOT INDEXED" : "logs l INDEXED BY logs_recent" };
}

function isRare(database: DatabaseSync, key: string, value: string): boolean {
  const probe = database.prepare(
    "SELECT count(*) AS count FROM (SELECT 1 FROM labels WHERE key = ? AND value = ? LIMIT ?)",
  );
  return Number(probe.get(key, value, rareLabelMax)?.["count"]) < rareLabelMax;
}

function parseCursor(cursor: string): [number, string] {
  const match = /^([0-9]{1,16})\.(ses_[0-9a-z]{26})$/.exec(cursor);
  if (match === null) {
    throw new SkeinError("invalid", `not a cursor of this list: ${JSON.stringify(cursor)}`, {
      hint: "cursors are opaque; give back one that the list gave out",
    });
  }
  return [Number(match[1]), match[2] ?? ""];
}

function sessionRow(row: ListArray): SessionRow {
  const [
    session,
    headSeq,
    openedAt,
    activeAt,
    status,
    agent,
    priority,
    forkSeq,
    name,
    objective,
    parent,
    labels,
  ] = row;
  return {
    ...{ session, headSeq, openedAt, activeAt, status, agent, priority, name, objective },
    parent: parent && { session: parent, seq: forkSeq },
    labels: JSON.parse(labels) as Record<string, string>,
  };
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

export interface Snapshots {
  put(log: number, snapshot: Snapshot): void;
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
    put: (log, { seq, form, text }) => void insert.run(log, seq, form, text),
    latest(session, seq) {
      let line = logs.find(session);
      for (
        let upTo = seq;
        line !== undefined;
        upTo = Math.min(upTo, line.forkSeq), line = logs.line(line.base)
      ) {
        const row = latest.get(line.id, upTo) as unknown as [number, number, string] | undefined;
        if (row !== undefined) return { seq: row[0], form: row[1], text: row[2] };
        if (line.base === null) return undefined;
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
    options: { readonly limit: number; readonly session?: LogId },
  ): { session: LogId; seq: number }[];
}

export function makeProjector(database: DatabaseSync, logs: Logs): Projector {
  const where = database.prepare("SELECT value FROM meta WHERE key = 'projected'");
  const move = database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('projected', ?)");
  const position = database.prepare("SELECT position FROM records WHERE log = ? AND seq = ?");
  const addText = database.prepare("INSERT OR REPLACE INTO search (rowid, text) VALUES (?, ?)");
  // See sweep: FTS5 may leave row ids behind that do not fit a number.
  addText.setReadBigInts(true);
  const reset = database.prepare("INSERT OR REPLACE INTO last_row (id) VALUES (1)");
  const clearItems = database.prepare("DELETE FROM item_rows WHERE log = ?");
  const addItem = database.prepare(
    "INSERT INTO item_rows (log, kind, key, seq, at, status, value, because) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const projected = () => (where.get()?.["value"] as string | undefined) ?? null;
  return {
    projected,
    project(step) {
      if ((projected() ?? "0") !== step.from) return false;
      for (const { session, seq, text } of step.texts) {
        const line = logs.find(session);
        const row = line && position.get(line.id, seq);
        if (row !== undefined) addText.run(Number(row["position"]), text);
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
      move.run(step.to);
      return true;
    },
    search(text, { limit: count, session }) {
      const match = matchOf(text);
      const only = session === undefined ? undefined : logs.find(session);
      if (match === null || (session !== undefined && only === undefined)) return [];
      const rows = database
        .prepare(
          `SELECT l.session, r.seq FROM search s JOIN records r ON r.position = s.rowid JOIN logs l ON l.id = r.log
           WHERE search MATCH ? AND l.dropped = 0 AND r.content IS NOT NULL ${only ? "AND r.log = ?" : ""}
           ORDER BY s.rowid DESC LIMIT ?`,
        )
        .all(match, ...(only ? [only.id] : []), Math.min(count, limit.searchMax));
      return rows.map((row) => ({ session: row["session"] as LogId, seq: Number(row["seq"]) }));
    },
  };
}

/** Every word must occur. Quoting makes words of whatever was typed, so that no text is a syntax error. */
function matchOf(text: string): string | null {
  const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length === 0) return null;
  return words
    .map((word) => {
      const bare = word.replaceAll('"', " ").replace(/\*+$/, "");
      return `"${bare}"${word.endsWith("*") ? "*" : ""}`;
    })
    .join(" ");
}
