/**
 * Receiving whole logs in SQLite. Received records go directly into `records`, under an invisible log, or
 * beyond the visible part of an existing one; finishing then changes only a few rows.
 */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { genesisHash } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, type LogId, type SessionId } from "../../core/ids.ts";
import { originOf } from "../../core/branch/origin.ts";
import {
  changesVisible,
  checkFinished,
  checkNext,
  depthFlaw,
  missingOrigin,
  missingBlob,
  notReceived,
  otherRecord,
  presenceOf,
  usedKey,
  type LastRecord,
} from "../judge.ts";
import { state } from "../sql/log-state.ts";
import type { FinishRequest, ReceivedLog, ReceivedRecord, Reception, Store } from "../port.ts";
import { recordColumns, type Appender, type DriverParts } from "./append.ts";
import { isConstraint } from "./connection.ts";
import { hexOf, type AnyLine } from "./log.ts";
import { deleteAbove, shrink } from "./blobs.ts";
import type { SqliteWriter } from "./writer.ts";

/** The methods of the port, through the one write path. */
export const receptions = (
  database: DatabaseSync,
  writer: SqliteWriter,
  receiver: Receiver,
): Pick<Store, "receive" | "put" | "finish" | "discard"> => ({
  receive: (reception) => writer.run(() => receiver.receive(reception)),
  put: (session, records) => writer.run(() => receiver.put(session, records), { weight: records.length }),
  finish: (list) => writer.run(() => receiver.finish(list)),
  async discard(session) {
    while (await writer.run(() => receiver.discardSome(session)));
    await shrink(database, writer);
  },
});

/** Each runs in one transaction of the writer. */
export interface Receiver {
  receive(reception: Reception): ReceivedLog;
  put(session: LogId, records: readonly ReceivedRecord[]): void;
  finish(logs: readonly FinishRequest[]): void;
  /** One step; false if nothing of it is left. */
  discardSome(session: LogId): boolean;
}

/** As `dropped` in the schema. */
const { seen, deleted, prefix, receiving } = state;

export function makeReceiver(
  database: DatabaseSync,
  tenant: string,
  context: DriverParts & { readonly appender: Appender },
): Receiver {
  const { world, logs, names, appender, reader, segments } = context;
  const sql = prepared(database);

  const forget = (): void => {
    logs.forget();
    appender.forget();
  };

  function receive({ session, parent, base }: Reception): ReceivedLog {
    const line = logs.findAny(session);
    if (line === undefined || isBare(line)) begin({ session, parent, base }, line);
    const found = logs.findAny(session);
    if (found === undefined) throw new Error("invariant: the log was just made");
    return { ...lastOf(session, found), there: thereOf(line) };
  }

  const thereOf = (line: AnyLine | undefined): ReceivedLog["there"] =>
    line === undefined || line.dropped === receiving || isBare(line)
      ? presenceOf(null)
      : presenceOf({ seen: line.dropped === seen, copy: line.copy });

  /** Only a name, which a fork has for its parent. */
  const isBare = (line: AnyLine): boolean =>
    (line.dropped === deleted || line.dropped === prefix) && lastOwn(line.id) === undefined;

  function begin({ session, parent, base }: Reception, bare: AnyLine | undefined): void {
    const from = base === null ? undefined : logs.findAny(base);
    const seq = parent?.seq ?? 0;
    if (parent !== null && (from === undefined || reader.point(from.id, seq) === undefined)) {
      throw missingOrigin(seq, base);
    }
    const tooDeep = depthFlaw(from?.depth ?? 0);
    if (tooDeep !== null) throw tooDeep;
    const depth = from === undefined ? 0 : from.depth + 1;
    const parentId = parent === null ? null : idOf(parent.session);
    const place = [parentId, from?.id ?? null, seq, depth, world.now()] as const;
    if (bare === undefined) sql.insertLog.run(tenant, session, receiving, ...place, world.now());
    else sql.fillLog.run(...place, bare.id);
    forget();
  }

  /** The number of a log that may be only a name. */
  function idOf(session: SessionId): number {
    const line = logs.findAny(session);
    if (line !== undefined) return line.id;
    const now = world.now();
    const row = sql.insertLog.run(tenant, session, prefix, null, null, 0, 0, now, now);
    return Number(row.lastInsertRowid);
  }

  function lastOf(session: LogId, line: AnyLine): LastRecord {
    const own = lastOwn(line.id);
    if (own !== undefined) return own;
    if (line.base === null) return { seq: 0, hash: genesisHash };
    const shared = reader.point(line.base, line.forkSeq);
    if (shared !== undefined) return { seq: line.forkSeq, hash: shared.hash };
    throw new SkeinError("corrupt", `${session}: shared record ${line.forkSeq} is missing`);
  }

  function lastOwn(log: number): LastRecord | undefined {
    const row = sql.last.get(log) as unknown as [number, Uint8Array] | undefined;
    if (row !== undefined) return { seq: row[0], hash: hexOf(row[1]) };
    const packed = segments.last(log);
    return packed && { seq: packed.seq, hash: packed.hash };
  }

  function put(session: LogId, records: readonly ReceivedRecord[]): void {
    const line = logs.findAny(session);
    if (line === undefined) throw notReceived(session);
    let last = lastOf(session, line);
    const first = last.seq;
    for (const record of records) {
      if (record.seq > last.seq) last = insertNext(session, line, last, record);
      else checkSame(session, line, record);
    }
    if (last.seq === first) return;
    sql.touch.run(world.now(), line.id, receiving);
    if (line.dropped !== receiving && line.untilSeq === null) {
      sql.setUntil.run(first, line.id);
      forget();
    }
  }

  function checkSame(session: LogId, line: AnyLine, { seq, hash }: ReceivedRecord): void {
    if (reader.point(line.id, seq)?.hash === hash) return;
    throw otherRecord(session, seq);
  }

  function insertNext(session: LogId, line: AnyLine, last: LastRecord, record: ReceivedRecord): LastRecord {
    const { seq, body, content, key, contentHash, hash, salt } = record;
    checkNext(world.digest, session, last, record);
    const keyBytes = key === null ? null : Buffer.from(key, "hex");
    const row = [
      line.id,
      seq,
      record.at,
      names.id(record.type),
      record.v,
      names.id(record.actor),
      record.turn,
      record.cause,
      keyBytes,
      body,
      contentHash === null ? null : Buffer.from(contentHash, "hex"),
      record.contentBytes,
      Buffer.from(hash, "hex"),
      salt === null ? null : Buffer.from(salt, "hex"),
      content,
    ];
    const position = insertRow(session, row, keyBytes);
    for (const blob of record.blobs) {
      if (sql.addRef.run(position, tenant, Buffer.from(blob, "hex")).changes === 1) continue;
      throw missingBlob(blob);
    }
    return record;
  }

  function insertRow(session: LogId, row: readonly SQLInputValue[], key: Uint8Array | null) {
    if (key !== null && segments.keyed(Number(row[0]), key) !== undefined) throw usedKey(session);
    try {
      return sql.insertRecord.run(...row).lastInsertRowid;
    } catch (error) {
      if (!isConstraint(error)) throw error;
      // Its position is free, so the conflict is the key.
      throw usedKey(session, error);
    }
  }

  function finish(list: readonly FinishRequest[]): void {
    for (const one of list) finishOne(one, checkEnd(one));
    forget();
  }

  function checkEnd(one: FinishRequest): AnyLine {
    const { session, seq } = one;
    const line = logs.findAny(session);
    const open = line !== undefined && (line.dropped === receiving || line.untilSeq !== null);
    const end = line === undefined ? undefined : open ? lastOf(session, line) : hashAt(session, line, seq);
    checkFinished(one, { end, deleted: line?.dropped === deleted });
    if (line === undefined) throw new Error("invariant: a log that ends somewhere is here");
    return line;
  }

  function hashAt(session: LogId, line: AnyLine, seq: number): LastRecord | undefined {
    if (seq === line.forkSeq) return lastOf(session, { ...line, id: -1 });
    const point = reader.point(line.id, seq);
    return point && { seq, hash: point.hash };
  }

  function finishOne({ session, seq, as, index }: FinishRequest, line: AnyLine): void {
    const { id, dropped, untilSeq } = line;
    const wasSeen = dropped === seen;
    const more = dropped === receiving || untilSeq !== null;
    if (as === "prefix" && !wasSeen) {
      sql.setPrefix.run(dropped === deleted ? deleted : prefix, id);
      return;
    }
    if (wasSeen && !changesVisible(as, { more, copy: line.copy })) return;
    if (!wasSeen || more) {
      arrive(id, wasSeen ? (untilSeq ?? seq) + 1 : line.forkSeq + 1, seq);
      const openedAt = wasSeen ? undefined : reader.point(id, line.forkSeq + 1)?.at;
      sql.setTimes.run(openedAt ?? null, reader.point(id, seq)?.at ?? 0, id);
    }
    if (!wasSeen && line.forkSeq === 0) sql.setOrigin.run(originAt(id), id);
    sql.setSeen.run(as === "own" ? 0 : 1, isSharedLogId(session) ? 0 : 1, id);
    sql.endLease.run(id);
    if (index !== undefined) appender.setIndex(id, index);
  }

  function originAt(log: number): string | null {
    const row = sql.first.get(log);
    const first =
      row === undefined
        ? segments.record(log, 1)
        : { type: names.name(Number(row["type"])), body: String(row["body"]) };
    return (first === undefined ? null : originOf(first))?.session ?? null;
  }

  /**
   * Reserves a place in the feed for newly visible records. A row without a log keeps others from taking it.
   */
  function arrive(log: number, fromSeq: number, toSeq: number): void {
    if (fromSeq > toSeq) return;
    const position = Number(sql.reserve.run().lastInsertRowid);
    sql.addArrival.run(position, log, fromSeq, toSeq);
  }

  function discardSome(session: LogId): boolean {
    const line = logs.findAny(session);
    if (line === undefined || (line.dropped !== receiving && line.untilSeq === null)) return false;
    const own = line.dropped === receiving ? 0 : (line.untilSeq ?? 0);
    const keep = Math.max(own, Number(sql.shared.get(line.id, receiving)?.["seq"]));
    if (deleteAbove(database, context.segmentWriter, line.id, keep) > 0) return true;
    // What finished forks share beyond the end of a visible log stays hidden from its readers.
    if (line.dropped === seen && keep > own) return false;
    if (line.dropped !== receiving) sql.setUntil.run(null, line.id);
    else if (sql.named.get(line.id, line.id) === undefined) sql.deleteLog.run(line.id);
    else sql.setPrefix.run(prefix, line.id);
    forget();
    return false;
  }

  return { receive, put, finish, discardSome };
}

function prepared(database: DatabaseSync) {
  const places = recordColumns.replaceAll(/\w+/g, "?");
  const statements = {
    last: database.prepare("SELECT seq, hash FROM records WHERE log = ? ORDER BY seq DESC LIMIT 1"),
    insertLog: database.prepare(
      `INSERT INTO logs
         (tenant, session, listed, dropped, parent, base, fork_seq, depth, opened_at, active_at)
       VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    fillLog: database.prepare(
      "UPDATE logs SET parent = ?, base = ?, fork_seq = ?, depth = ?, active_at = ? WHERE id = ?",
    ),
    insertRecord: database.prepare(`INSERT INTO records (${recordColumns}) VALUES (${places})`),
    addRef: database.prepare(
      `INSERT OR IGNORE INTO blob_refs (position, blob)
       SELECT ?, id FROM blobs WHERE tenant = ? AND hash = ? AND bytes IS NOT NULL`,
    ),
    touch: database.prepare("UPDATE logs SET active_at = ? WHERE id = ? AND dropped = ?"),
    setUntil: database.prepare("UPDATE logs SET until_seq = ? WHERE id = ?"),
    setPrefix: database.prepare("UPDATE logs SET dropped = ?, until_seq = NULL WHERE id = ?"),
    setSeen: database.prepare(
      "UPDATE logs SET copy = ?, listed = ?, dropped = 0, until_seq = NULL, epoch = 0 WHERE id = ?",
    ),
    setTimes: database.prepare(
      "UPDATE logs SET opened_at = ifnull(?, opened_at), active_at = ? WHERE id = ?",
    ),
    first: database.prepare("SELECT type, body FROM records WHERE log = ? AND seq = 1"),
    setOrigin: database.prepare("UPDATE logs SET origin = ? WHERE id = ?"),
    endLease: database.prepare("DELETE FROM leases WHERE log = ?"),
    reserve: database.prepare(
      `INSERT INTO records (position, log, seq, at, type, v, actor, body, hash)
       SELECT p, 0, p, 0, 1, 1, 1, '{}', zeroblob(32)
       FROM (SELECT ifnull(max(position), 0) + 1 AS p FROM records)`,
    ),
    addArrival: database.prepare(
      "INSERT INTO arrivals (position, log, from_seq, to_seq) VALUES (?, ?, ?, ?)",
    ),
    shared: database.prepare(
      "SELECT ifnull(max(fork_seq), 0) AS seq FROM logs WHERE base = ? AND dropped <> ?",
    ),
    named: database.prepare("SELECT 1 FROM logs WHERE parent = ? OR base = ? LIMIT 1"),
    deleteLog: database.prepare("DELETE FROM logs WHERE id = ?"),
  };
  statements.last.setReturnArrays(true);
  return statements;
}
