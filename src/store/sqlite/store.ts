/**
 * The embedded store: one SQLite file, opened by any number of processes. See sqlite/schema.ts for the layout
 * and sqlite/writer.ts for the one write path.
 */
import { realpathSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import { parseLogId, type WorkspaceId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { isLater, version } from "../../core/version.ts";
import type { Durability, Store, StoreStats, StoreWorld } from "../port.ts";
import { partsFlaw } from "../judge.ts";
import { makeAppender } from "./append.ts";
import { faults, regainTrust } from "./check.ts";
import { connect, type SqliteConnection } from "./connection.ts";
import {
  endingWith,
  everyLog,
  forksOf,
  makeLister,
  openedFrom,
  makeProjector,
  makeSnapshots,
} from "./derived.ts";
import { erasures, unscrubbed } from "./erase.ts";
import { makeFeed } from "./feed.ts";
import { fileSystemClock } from "./file-clock.ts";
import { makeLogs } from "./log.ts";
import { makeNames } from "./name-ids.ts";
import { packLog } from "./pack.ts";
import { query } from "./query.ts";
import { makeReader } from "./read.ts";
import { makeReceiver, receptions } from "./receive.ts";
import { makeSegmentWriter } from "./segment-write.ts";
import { makeSegments } from "./segments.ts";
import { scrub, sweepAndScrub } from "./scrub.ts";
import { dropUnreferred, putBlob, readBlob } from "./blobs.ts";
import { schedules } from "./schedule.ts";
import { rankings } from "./words.ts";
import { makeWatch } from "./watch.ts";
import { makeWriter, type SqliteWriter } from "./writer.ts";
import { withProgress } from "../paging.ts";

export interface SqliteOptions {
  readonly path: string;
  readonly world: StoreWorld;
  /** For a new store: the id of its workspace. */
  readonly workspace: WorkspaceId;
  readonly tenant?: string;
  readonly durability?: Durability;
  /** Whether to create a missing file; default: true. */
  readonly create?: boolean;
  readonly lockWaitMs?: number;
  /** The source of `readClock`: the file system, or by default the world's clock, which tests set. */
  readonly clock?: "files" | "world";
}

export async function sqliteStore(options: SqliteOptions): Promise<Store> {
  const { path, world, tenant = "default", durability = "disk", lockWaitMs = limit.lockWaitMs } = options;
  const { clock = "world", create = true } = options;
  const connection = await connect({ ...options, tenant, durability, create, lockWaitMs });
  const { database, guard } = connection;
  const parts = openParts(database, tenant, world);
  const { logs, names, reader, segments } = parts;
  const appender = makeAppender(database, tenant, parts);
  const onRollback = () => {
    for (const cache of [logs, names, appender, segments]) cache.forget();
  };
  const writer = makeWriter(connection, { world, lockWaitMs, path, onBegin: appender.begin, onRollback });
  const receiver = makeReceiver(database, tenant, { ...parts, appender });
  const lister = makeLister(database, tenant);
  const snapshots = makeSnapshots(database, logs);
  const projector = makeProjector(database, logs, segments);
  const watch = makeWatch(connection, realpathSync(path), world);
  writer.onCommit(watch.notify);
  const renew = database.prepare(renewal);
  const look = makeLook(guard);

  const checking = { connection, segments, world };
  const closing = new AbortController();
  const { signal } = closing;
  const scrubbing = { ...parts, connection, writer, lockWaitMs, forget: onRollback, signal };
  const store: Store = {
    workspace: workspaceOf(connection),
    program: await keepProgram(connection, writer),
    now: () => world.now(),
    readClock: async () => (clock === "files" ? fileSystemClock(path) : world.now()),
    append(parts) {
      const wrong = partsFlaw(parts);
      if (wrong !== null) return Promise.reject(new SkeinError("invalid", wrong));
      return writer.run(() => appender.append(parts), {
        alone: () => appender.appendAlone(parts),
        lost: (cause) => ({ kind: "unknown", cause }),
      });
    },
    head: (session) => look(() => logs.head(session)),
    read: (session, range) => look(() => reader.read(session, range)),
    keyed: (session, key) => look(() => reader.keyed(session, key)),
    seqAt: (session, at) => look(() => reader.seqAt(session, at)),
    ...makeFeed(database, { ...parts, look }),
    watch: (changed) => watch.add(changed),
    ...receptions(database, writer, receiver),
    renew: (session, epoch, leaseMs) =>
      writer.run(() => {
        const line = logs.find(session);
        return (
          line !== undefined && epoch > 0 && renew.run(world.now() + leaseMs, line.id, epoch).changes === 1
        );
      }),
    ...schedules(database, writer, { tenant, now: () => world.now(), look }),
    logs: (after, count) => look(() => everyLog(database, tenant, after, count)),
    list: (filter, page) => look(() => lister.list(filter, page)),
    endingWith: (ending, count) => look(() => endingWith(database, tenant, ending, count)),
    forks: (session) => look(() => forksOf(database, logs.find(session)?.id ?? -1)),
    openedFrom: (session) => look(() => openedFrom(database, tenant, session)),
    index: (session, entry, atSeq) =>
      writer.run(() => {
        const line = logs.find(session);
        if (line === undefined || logs.headRow(line.id)?.seq !== atSeq) return false;
        appender.setIndex(line.id, entry);
        return true;
      }),
    putSnapshot: (session, snapshot) => writer.run(() => snapshots.put(session, snapshot)),
    snapshot: (session, seq) => look(() => snapshots.latest(session, seq)),
    putBlob: (hash, chunks) =>
      look(() => putBlob(database, writer, tenant, { hash, putAt: world.now() }, chunks)),
    dropBlob: (hash) => look(() => dropUnreferred(database, writer, tenant, hash)),
    blob: (hash) => look(() => readBlob(database, tenant, hash)),
    projected: () => look(() => projector.projected()),
    project: (step) => writer.run(() => projector.project(step)),
    search: (text, search) => look(() => projector.search(text, search)),
    ...rankings(database, writer, { logs, look, erasures: () => erasures(database) }),
    query: (sql, limits) => look(() => query(path, sql, { ...limits, world })),
    clearDerived: () => writer.run(() => clearDerived(connection)),
    sweep: () => look(() => sweepAndScrub(scrubbing)),
    pack: (session, toSeq, signal) => look(() => packLog({ ...parts, writer }, session, toSeq, signal)),
    packedTo: (session) =>
      look(() => {
        const line = logs.find(session);
        return (line && segments.upTo(line.id, Number.MAX_SAFE_INTEGER)?.toSeq) ?? line?.forkSeq ?? 0;
      }),
    scrub: () => look(() => scrub(scrubbing)),
    check: () => look(() => faults(checking)),
    stats: () => look(() => stats(connection, durability)),
    bytes: () => look(() => databaseBytes(connection)),
    async close() {
      closing.abort();
      await writer.idle();
      connection.close();
      watch.close();
    },
  };
  if (connection.suspect) await regainTrust(store, checking, { lockWaitMs, path });
  return withProgress(store);
}

/** Reads under the guard of the connection. */
function makeLook(guard: SqliteConnection["guard"]) {
  return async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await guard(work);
    } catch (error) {
      // An error thrown after an await has not passed the guard yet.
      return guard(() => {
        throw error;
      });
    }
  };
}

/** The shared parts of the driver. */
function openParts(database: DatabaseSync, tenant: string, world: StoreWorld) {
  const logs = makeLogs(database, tenant);
  const names = makeNames(database);
  const { digest } = world;
  const segments = makeSegments(database, { digest, sessionOf: logs.sessionOf, name: names.name });
  const segmentWriter = makeSegmentWriter(database, segments);
  const reader = makeReader(database, { world, logs, names, segments });
  return { database, world, logs, names, reader, segments, segmentWriter };
}

const renewal = `UPDATE leases SET until_ms = ?
  WHERE log = (SELECT id FROM logs WHERE id = ? AND epoch = ? AND dropped = 0)`;

function workspaceOf({ database }: SqliteConnection): WorkspaceId {
  const row = database.prepare("SELECT value FROM meta WHERE key = 'workspace'").get();
  return parseLogId(String(row?.["value"])) as WorkspaceId;
}

/** Records this version, unless a later one was here. */
async function keepProgram({ database }: SqliteConnection, writer: SqliteWriter): Promise<string> {
  const row = database.prepare("SELECT value FROM meta WHERE key = 'program'").get();
  const newest = row?.["value"];
  if (typeof newest === "string" && !isLater(version, newest)) return newest;
  await writer.run(() => {
    database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('program', ?)").run(version);
  });
  return version;
}

function clearDerived({ database }: SqliteConnection): void {
  const tables = ["snapshots", "item_rows", "log_words", "word_steps", "vectors"];
  for (const table of tables) database.exec(`DELETE FROM ${table}`);
  database.exec(
    "INSERT INTO search (search) VALUES ('delete-all'); DELETE FROM meta WHERE key = 'projected'",
  );
}

/**
 * The write-ahead log counts as part of the main file: the -wal file itself grows and shrinks with the work.
 */
function databaseBytes({ database }: SqliteConnection): number {
  const one = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  return one("page_count") * one("page_size");
}

function fileBytes(path: string): number {
  const size = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return size(path) + size(`${path}-wal`);
}

function stats({ database, path }: SqliteConnection, durability: Durability): StoreStats {
  const one = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0);
  return {
    driver: "sqlite",
    version: process.versions["sqlite"] ?? "unknown",
    durability,
    bytes: fileBytes(path),
    sessions: one("SELECT count(*) FROM logs WHERE listed = 1"),
    records:
      one("SELECT count(*) FROM records WHERE log > 0") +
      one("SELECT sum(to_seq + 1 - from_seq) FROM segments"),
    contentBytes:
      one("SELECT sum(content_bytes) FROM records WHERE content IS NOT NULL") +
      one("SELECT sum(content_bytes) FROM segments"),
    snapshots: one("SELECT count(*) FROM snapshots"),
    snapshotBytes: one("SELECT sum(length(text)) FROM snapshots"),
    segments: one("SELECT count(*) FROM segments"),
    segmentBytes: one("SELECT sum(length(heads) + length(contents)) FROM segments"),
    unscrubbed: unscrubbed(database) !== null,
    blobs: one("SELECT count(*) FROM blobs WHERE bytes IS NOT NULL"),
    blobBytes: one("SELECT sum(bytes) FROM blobs"),
  };
}
