/** Appends to logs in SQLite, inside a transaction of the writer. */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { genesisHash, link } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId } from "../../core/ids.ts";
import { originOf } from "../../core/branch/origin.ts";
import {
  agrees,
  depthFlaw,
  judgePart,
  missingBlob,
  missingForkPoint,
  missingIndex,
  type LogFacts,
  type AppendRefusal,
} from "../judge.ts";
import { state } from "../sql/log-state.ts";
import type { AppendedPart, Draft, IndexEntry, Outcome, Part, StoreWorld } from "../port.ts";
import { isConstraint } from "./connection.ts";
import { makeEraser, markUnscrubbed } from "./erase.ts";
import type { HeadRow, Logs } from "./log.ts";
import type { Names } from "./name-ids.ts";
import type { Reader } from "./read.ts";
import { makeSchedule } from "./schedule.ts";
import { activeLagMs } from "./schema.ts";
import type { SegmentWriter } from "./segment-write.ts";
import { keyNumber, type Segments } from "./segments.ts";

export interface Appender {
  /** At the start of each transaction: drops heads that another connection may have moved. */
  begin(): void;
  /** Drops all heads, after a change other than an append, or a rollback. */
  forget(): void;
  /** Checks all parts, then writes all of them or none. */
  append(parts: readonly Part[]): Outcome;
  /**
   * The most frequent append, of one record only, as one statement without a transaction. Null if it does not
   * qualify, or the log has moved: then nothing was written.
   */
  appendAlone(parts: readonly Part[]): Outcome | null;
  setIndex(log: number, entry: IndexEntry): void;
}

/** A log to write: its head, or the start of a new one. */
interface Target {
  readonly part: Part;
  readonly head: HeadRow | null;
}

interface AppendPlace {
  readonly seq: number;
  readonly at: number;
  /** The hash of the previous record. */
  readonly before: string;
}

/** Cached heads; beyond that they are read again. */
const headsMax = 20_000;

/** The shared parts of the driver. */
export interface DriverParts {
  readonly world: StoreWorld;
  readonly logs: Logs;
  readonly names: Names;
  readonly reader: Reader;
  readonly segments: Segments;
  readonly segmentWriter: SegmentWriter;
}

export function makeAppender(database: DatabaseSync, tenant: string, context: DriverParts): Appender {
  const { world, logs, names, reader, segments } = context;
  const { keyed, deletion, insertLog, insertRecord, insertAlone, addRef, setActive } = prepared(database);
  const index = preparedForIndex(database);
  const schedule = makeSchedule(database, tenant, () => world.now());
  const eraser = makeEraser(database, logs, context.segmentWriter);
  const dataVersion = database.prepare("PRAGMA data_version");
  for (const statement of [keyed, dataVersion]) statement.setReturnArrays(true);
  const heads = new Map<number, HeadRow>();
  let version: unknown;

  function check(part: Part): Target | AppendRefusal {
    const { session } = part;
    const line = logs.find(session);
    const head = line === undefined ? null : headOf(line.id);
    const seqOfKey = (key: string): number | undefined => findKey(head?.id ?? 0, key);
    const refused = judgePart(part, factsOf(part, head), seqOfKey);
    if (refused instanceof SkeinError) throw refused;
    return refused ?? { part, head };
  }

  function factsOf(part: Part, head: HeadRow | null): LogFacts {
    const { session } = part;
    if (head !== null && !head.closed) return { head, taken: false, closed: null };
    const any = logs.findAny(session);
    const isClosed = head?.closed ?? any?.dropped === state.receiving;
    const closed = isClosed ? (any?.copy === true ? "copy" : "receiving") : null;
    return { head, taken: any !== undefined || wasDeleted(part), closed };
  }

  /** Its row may be gone already. */
  function wasDeleted({ session, unlessDeleted }: Part): boolean {
    if (unlessDeleted === undefined) return false;
    const type = names.known("session.deleted");
    const { by, afterSeq } = unlessDeleted;
    const line = type === undefined ? undefined : logs.find(by);
    return line !== undefined && deletion.get(line.id, afterSeq, type ?? 0, session) !== undefined;
  }

  function headOf(log: number): HeadRow | null {
    const known = heads.get(log) ?? logs.headRow(log);
    if (known === undefined) return null;
    if (heads.size >= headsMax) heads.clear();
    heads.set(log, known);
    return known;
  }

  function findKey(log: number, key: string): number | undefined {
    const bytes = Buffer.from(key, "hex");
    const row = keyed.get(log, bytes) as unknown as [number] | undefined;
    return row === undefined ? segments.keyed(log, bytes) : row[0];
  }

  function write({ part, head: found }: Target): AppendedPart {
    const head = found ?? begin(part);
    const { id } = head;
    const at = Math.max(world.now(), head.at);
    const firstSeq = head.seq + 1;
    const hashes: string[] = [];
    let before = head.hash;
    for (const [place, draft] of part.drafts.entries()) {
      before = insert(id, part, draft, { seq: firstSeq + place, at, before });
      hashes.push(before);
    }
    const headSeq = head.seq + part.drafts.length;
    const stale = at - head.activeAt >= activeLagMs;
    if (stale) setActive.run(at, id);
    if (part.index !== undefined) setIndex(id, part.index);
    const epoch = part.lease === undefined ? head.epoch : moveLease(id, part.lease, firstSeq);
    heads.set(id, {
      id,
      seq: headSeq,
      hash: before,
      at,
      epoch,
      depth: head.depth,
      activeAt: stale ? at : head.activeAt,
      closed: head.closed,
    });
    if (part.drop === true) dropNow(id);
    return { session: part.session, firstSeq, headSeq, at, hashes };
  }

  /** The epoch in force from now on. */
  function moveLease(log: number, lease: NonNullable<Part["lease"]>, firstSeq: number): number {
    const epoch = lease === "release" ? 0 : firstSeq;
    index.setEpoch.run(epoch, log);
    if (lease === "release") {
      index.endLease.run(log);
      schedule.released(log);
    } else index.setLease.run(log, lease.holder, world.now() + lease.leaseMs);
    return epoch;
  }

  // SQLite copies bound values, so every row may reuse the same bytes.
  const scratch = { contentHash: Buffer.alloc(32), hash: Buffer.alloc(32), salt: Buffer.alloc(16) };

  /** The row of a record, and its hash. The row is valid until the next one. */
  function rowOf(
    log: number,
    part: Part,
    draft: Draft,
    place: AppendPlace,
  ): { row: SQLInputValue[]; hash: string } {
    const { type, v, actor, turn, cause, key, body, bodyHash, content } = draft;
    const { seq, at } = place;
    const contentHash = content === null ? null : content.hash;
    const contentBytes = content === null ? null : content.bytes;
    const { session } = part;
    const fields = { session, seq, at, type, v, actor, turn, cause, key, contentHash, contentBytes };
    const hash = link(world.digest, place.before, fields, bodyHash);
    const row = [
      log,
      seq,
      at,
      names.id(type),
      v,
      names.id(actor),
      turn,
      cause,
      key === null ? null : Buffer.from(key, "hex"),
      body,
      contentHash === null ? null : bytesOf(contentHash, scratch.contentHash),
      contentBytes,
      bytesOf(hash, scratch.hash),
      content === null ? null : bytesOf(content.salt, scratch.salt),
      content === null ? null : content.text,
    ];
    return { row, hash };
  }

  function appendAlone(parts: readonly Part[]): Outcome | null {
    const part = parts[0];
    const draft = part?.drafts[0];
    if (part === undefined || draft === undefined || parts.length > 1 || part.drafts.length > 1) return null;
    const line = logs.find(part.session);
    const head = line && heads.get(line.id);
    if (head === undefined || typeof part.expect === "string" || !agrees(head.seq, head.hash, part.expect)) {
      return null;
    }
    if (head.closed) return null;
    if (part.epoch !== undefined && part.epoch !== head.epoch) return null;
    if (part.index !== undefined || part.lease !== undefined || part.parent !== undefined) return null;
    if (part.erase !== undefined) return null;
    if (draft.blobs.length > 0 || names.isNew(draft.type) || names.isNew(draft.actor)) return null;
    const at = Math.max(world.now(), head.at);
    if (at - head.activeAt >= activeLagMs) return null;
    const seq = head.seq + 1;
    const { row, hash } = rowOf(head.id, part, draft, { seq, at, before: head.hash });
    const key = draft.key === null ? null : keyNumber(Buffer.from(draft.key, "hex"));
    if (!insertedAlone(row, [head.id, head.id, seq, head.id, key])) return null;
    heads.set(head.id, { ...head, seq, hash, at });
    return {
      kind: "ok",
      parts: [{ session: part.session, firstSeq: seq, headSeq: seq, at, hashes: [hash] }],
    };
  }

  function insertedAlone(row: readonly SQLInputValue[], conditions: readonly SQLInputValue[]): boolean {
    try {
      return insertAlone.run(...row, ...conditions).changes === 1;
    } catch (error) {
      if (isConstraint(error)) return false;
      throw error;
    }
  }

  function insert(log: number, part: Part, draft: Draft, place: AppendPlace): string {
    const { row, hash } = rowOf(log, part, draft, place);
    const { lastInsertRowid } = insertRecord.run(...row);
    for (const blob of draft.blobs) refer(blob, lastInsertRowid);
    return hash;
  }

  function refer(hash: string, position: number | bigint): void {
    if (addRef.run(position, tenant, Buffer.from(hash, "hex")).changes === 1) return;
    throw missingBlob(hash);
  }

  /** The row of a new log, with its initial head: empty, or a position of its parent. */
  function begin({ session, parent, index, drafts }: Part): HeadRow {
    if (index === undefined && !isSharedLogId(session)) throw missingIndex(session);
    const start = parent === undefined ? null : forkPoint(parent);
    const openedAt = Math.max(world.now(), start?.at ?? 0);
    const seq = parent?.seq ?? 0;
    const depth = start === null ? 0 : start.depth + 1;
    const [first] = drafts;
    const { lastInsertRowid } = insertLog.run(
      tenant,
      session,
      isSharedLogId(session) ? 0 : 1,
      start?.parent ?? null,
      start?.base ?? null,
      seq,
      depth,
      openedAt,
      openedAt,
      (first === undefined ? null : originOf(first))?.session ?? null,
    );
    const hash = start?.hash ?? genesisHash;
    return {
      id: Number(lastInsertRowid),
      seq,
      hash,
      at: start?.at ?? 0,
      epoch: 0,
      depth,
      activeAt: openedAt,
      closed: false,
    };
  }

  function forkPoint({ session, seq }: NonNullable<Part["parent"]>) {
    const line = logs.find(session);
    const head = line && logs.headRow(line.id);
    const stretch = line && head && seq <= head.seq ? logs.stretches(line, seq, seq)[0] : undefined;
    const point = stretch && reader.point(stretch.log, seq);
    if (line === undefined || head === undefined || stretch === undefined || point === undefined) {
      throw missingForkPoint({ session, seq });
    }
    const tooDeep = depthFlaw(head.depth);
    if (tooDeep !== null) throw tooDeep;
    return { parent: line.id, base: stretch.log, hash: point.hash, depth: head.depth, at: point.at };
  }

  function setIndex(log: number, entry: IndexEntry): void {
    const { status, agent, priority, outbox = 0, full = false } = entry;
    index.setFields.run(status, agent, priority, outbox, full ? 1 : 0, log);
    index.setTitle.run(log, entry.name, entry.objective);
    index.clearLabels.run(log);
    for (const [key, value] of Object.entries(entry.labels)) index.addLabel.run(log, key, value);
    schedule.set(log, entry);
  }

  function dropNow(log: number): void {
    index.drop.run(log);
    for (const statement of [index.endLease, index.clearLabels, index.clearItems]) statement.run(log);
    index.setTitle.run(log, null, null);
    schedule.clear(log);
    markUnscrubbed(database);
    logs.forget();
    heads.delete(log);
  }

  return {
    begin() {
      const now = (dataVersion.get() as unknown as [number])[0];
      if (now !== version) heads.clear();
      version = now;
    },
    forget: () => heads.clear(),
    appendAlone,
    append(parts) {
      const targets: Target[] = [];
      for (const part of parts) {
        const checked = check(part);
        if ("kind" in checked) return checked;
        targets.push(checked);
      }
      const written = targets.map((target) => write(target));
      eraser.erase(parts, written);
      return { kind: "ok", parts: written };
    },
    setIndex,
  };
}

export const recordColumns =
  "log, seq, at, type, v, actor, turn, cause, key, body, content_hash, content_bytes, hash, salt, content";
const places = recordColumns.replaceAll(/\w+/g, "?");

function prepared(database: DatabaseSync) {
  return {
    keyed: database.prepare("SELECT seq FROM records WHERE log = ? AND key = ?"),
    deletion: database.prepare(
      `SELECT seq FROM records
       WHERE log = ? AND seq > ? AND type = ? AND json_extract(body, '$.session') = ?`,
    ),
    insertLog: database.prepare(
      `INSERT INTO logs (tenant, session, listed, parent, base, fork_seq, depth, opened_at, active_at, origin)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertRecord: database.prepare(`INSERT INTO records (${recordColumns}) VALUES (${places})`),
    // The unique (log, seq) stops a second writer; only a deletion, or packing of later records, leaves no
    // record behind.
    insertAlone: database.prepare(
      `INSERT INTO records (${recordColumns})
       SELECT ${places} WHERE EXISTS (SELECT 1 FROM logs WHERE id = ? AND dropped = 0)
       AND NOT EXISTS (SELECT 1 FROM segments WHERE log = ? AND to_seq >= ?)
       AND NOT EXISTS (SELECT 1 FROM packed_keys WHERE log = ? AND key = ?)`,
    ),
    addRef: database.prepare(
      `INSERT OR IGNORE INTO blob_refs (position, blob)
       SELECT ?, id FROM blobs WHERE tenant = ? AND hash = ? AND bytes IS NOT NULL`,
    ),
    setActive: database.prepare("UPDATE logs SET active_at = ? WHERE id = ?"),
  };
}

function preparedForIndex(database: DatabaseSync) {
  return {
    setEpoch: database.prepare("UPDATE logs SET epoch = ? WHERE id = ?"),
    setLease: database.prepare("INSERT OR REPLACE INTO leases (log, holder, until_ms) VALUES (?, ?, ?)"),
    endLease: database.prepare("DELETE FROM leases WHERE log = ?"),
    drop: database.prepare("UPDATE logs SET listed = 0, dropped = 1, epoch = 0, outbox = 0 WHERE id = ?"),
    setFields: database.prepare(
      "UPDATE logs SET status = ?, agent = ?, priority = ?, outbox = ?, inbox_full = ? WHERE id = ?",
    ),
    setTitle: database.prepare("INSERT OR REPLACE INTO titles (log, name, objective) VALUES (?, ?, ?)"),
    clearLabels: database.prepare("DELETE FROM labels WHERE log = ?"),
    addLabel: database.prepare("INSERT INTO labels (log, key, value) VALUES (?, ?, ?)"),
    clearItems: database.prepare("DELETE FROM item_rows WHERE log = ?"),
  };
}

function bytesOf(hex: string, into: Buffer): Buffer {
  into.write(hex, "hex");
  return into;
}
