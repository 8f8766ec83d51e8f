/** Logs in SQLite: their rows, shared prefixes, and heads. */
import { missingLog } from "../sql/damage.ts";
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import type { Head } from "../port.ts";

/** The immutable facts of a log. */
export interface LogLine {
  readonly id: number;
  /** The log that holds the record at `forkSeq`; null without a shared prefix. */
  readonly base: number | null;
  readonly forkSeq: number;
}

/** A stretch of a log in the store: these positions are rows of that log. */
export interface Stretch {
  readonly log: number;
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** A log, visible or not: `dropped` as in the schema. */
export interface AnyLine extends LogLine {
  readonly dropped: number;
  readonly copy: boolean;
  /** Null, unless more of it is being received than is visible. */
  readonly untilSeq: number | null;
  readonly depth: number;
}

export interface HeadRow {
  readonly id: number;
  readonly seq: number;
  readonly hash: string;
  readonly at: number;
  readonly epoch: number;
  readonly depth: number;
  readonly activeAt: number;
  /** A copy, or being received: not writable. */
  readonly closed: boolean;
}

export interface Logs {
  /** The log, unless it does not exist or was deleted. */
  find(session: LogId): LogLine | undefined;
  /** The log, also if it was deleted, is a prefix, or is being received. */
  findAny(session: LogId): AnyLine | undefined;
  /** The base of this log, on a walk up a lineage of so many steps. */
  baseOf(line: LogLine, walked: number): LogLine | null;
  headRow(id: number): HeadRow | undefined;
  head(session: LogId): Head | undefined;
  /** The stretches that hold `fromSeq` to `toSeq`, in order. */
  stretches(line: LogLine, fromSeq: number, toSeq: number): readonly Stretch[];
  sessionOf(id: number): LogId;
  /** Drops what a rolled-back transaction may have cached. */
  forget(): void;
}

/** Steps up a lineage after which all further ancestors are fetched at once. */
const walkedMax = 8;

/** Entries of each cache; beyond that it starts again. */
const cacheMax = 20_000;

/** In SQL, for the log `l`: the last visible position. */
export const seen = "ifnull(l.until_seq, 9007199254740991)";

/** Hexadecimal, without a copy of the bytes. */
export const hexOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");

export function makeLogs(database: DatabaseSync, tenant: string): Logs {
  const byName = database.prepare(
    "SELECT id, base, fork_seq FROM logs WHERE tenant = ? AND session = ? AND dropped = 0",
  );
  const byId = database.prepare("SELECT id, base, fork_seq, session FROM logs WHERE id = ?");
  // A lineage may be thousands deep; a statement per level would be noticeable.
  const upward = database.prepare(
    `WITH RECURSIVE up (id, base, fork_seq, session) AS (
       SELECT id, base, fork_seq, session FROM logs WHERE id = ?
       UNION SELECT l.id, l.base, l.fork_seq, l.session FROM logs l JOIN up ON l.id = up.base
     ) SELECT id, base, fork_seq, session FROM up`,
  );
  const headById = database.prepare(
    `SELECT r.seq, r.hash, r.at, l.epoch, l.depth, l.active_at, l.copy OR l.until_seq IS NOT NULL
     FROM logs l JOIN records r ON r.log = l.id AND r.seq <= ${seen}
     WHERE l.id = ? AND l.dropped = 0 ORDER BY r.seq DESC LIMIT 1`,
  );
  const anyByName = database.prepare(
    `SELECT id, base, fork_seq, dropped, copy, until_seq, depth FROM logs WHERE tenant = ? AND session = ?`,
  );
  const fullHead = database.prepare(
    `SELECT r.seq, r.hash, r.at, l.epoch, e.holder, e.until_ms, p.session, l.fork_seq, l.copy
     FROM logs l JOIN records r ON r.log = l.id AND r.seq <= ${seen}
     LEFT JOIN leases e ON e.log = l.id LEFT JOIN logs p ON p.id = l.parent
     WHERE l.id = ? AND l.dropped = 0 ORDER BY r.seq DESC LIMIT 1`,
  );
  for (const statement of [byName, byId, upward, headById, fullHead, anyByName])
    statement.setReturnArrays(true);
  const names = new Map<LogId, LogLine>();
  const lines = new Map<number, LogLine & { readonly session: LogId }>();

  function lineOf(id: number, walked = 0): LogLine & { readonly session: LogId } {
    const known = lines.get(id);
    if (known !== undefined) return known;
    if (lines.size >= cacheMax) lines.clear();
    const statement = walked > walkedMax ? upward : byId;
    for (const row of statement.all(id) as unknown as [number, number | null, number, LogId][]) {
      lines.set(row[0], { id: row[0], base: row[1], forkSeq: row[2], session: row[3] });
    }
    const line = lines.get(id);
    if (line === undefined) throw missingLog(id);
    return line;
  }

  function baseOf(line: LogLine, walked: number): LogLine | null {
    if (line.base === null) return null;
    const base = lineOf(line.base, walked);
    // A base holds the record at the fork point, so it begins before it. Otherwise the lineage is a cycle.
    if (base.forkSeq < line.forkSeq) return base;
    throw new SkeinError("corrupt", `log ${line.id} shares no record with its parent log ${base.id}`);
  }

  function find(session: LogId): LogLine | undefined {
    const known = names.get(session);
    if (known !== undefined) return known;
    const row = byName.get(tenant, session) as unknown as [number, number | null, number] | undefined;
    if (row === undefined) return undefined;
    const line = { id: row[0], base: row[1], forkSeq: row[2] };
    if (names.size >= cacheMax) names.clear();
    names.set(session, line);
    return line;
  }

  return {
    find,
    findAny(session) {
      const row = anyByName.get(tenant, session) as unknown as AnyArray | undefined;
      if (row === undefined) return undefined;
      const [id, base, forkSeq, dropped, copy, untilSeq, depth] = row;
      return { id, base, forkSeq, dropped, copy: copy === 1, untilSeq, depth };
    },
    baseOf,
    headRow(id) {
      const row = headById.get(id) as unknown as HeadRowArray | undefined;
      if (row === undefined) return undefined;
      const [seq, hash, at, epoch, depth, activeAt, closed] = row;
      return { id, seq, hash: hexOf(hash), at, epoch, depth, activeAt, closed: closed === 1 };
    },
    head(session) {
      const line = find(session);
      if (line === undefined) return undefined;
      const row = fullHead.get(line.id) as unknown as HeadArray | undefined;
      if (row === undefined) return undefined;
      const [seq, hash, at, epoch, holder, untilMs, parent, forkSeq, copy] = row;
      const lease = epoch === 0 || holder === null || untilMs === null ? null : { holder, untilMs };
      return {
        session,
        seq,
        hash: hexOf(hash),
        at,
        epoch,
        lease,
        parent: parent && { session: parent, seq: forkSeq },
        ...(copy === 1 ? { copy: true } : {}),
      };
    },
    stretches(line, fromSeq, toSeq) {
      const found: Stretch[] = [];
      let upTo = toSeq;
      let at: LogLine = line;
      for (let walked = 1; upTo >= fromSeq; walked++) {
        const ownFrom = Math.max(fromSeq, at.forkSeq + 1);
        if (upTo >= ownFrom) found.push({ log: at.id, fromSeq: ownFrom, toSeq: upTo });
        upTo = Math.min(upTo, at.forkSeq);
        if (upTo < fromSeq) break;
        const base = baseOf(at, walked);
        if (base === null) break;
        at = base;
      }
      return found.toReversed();
    },
    sessionOf: (id) => lineOf(id).session,
    forget() {
      names.clear();
      lines.clear();
    },
  };
}

type HeadRowArray = [
  seq: number,
  hash: Uint8Array,
  at: number,
  epoch: number,
  depth: number,
  activeAt: number,
  closed: number,
];

type AnyArray = [
  id: number,
  base: number | null,
  forkSeq: number,
  dropped: number,
  copy: number,
  untilSeq: number | null,
  depth: number,
];

type HeadArray = [
  seq: number,
  hash: Uint8Array,
  at: number,
  epoch: number,
  holder: string | null,
  untilMs: number | null,
  parent: SessionId | null,
  forkSeq: number,
  copy: number,
];
