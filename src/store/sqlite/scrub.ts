/**
 * Scrubbing: removes erased and deleted data from the file. Rows are overwritten on deletion (secure_delete),
 * but words stay in the search index until its segments are merged, pages keep copies of moved rows until the
 * file is rewritten (vacuum.ts), and the -wal file keeps earlier versions of pages. `meta` marks it as due
 * until the last step is done.
 */
import type { StoreWorld } from "../port.ts";
import { busyTimeoutMs, isBusy, sqliteBusy, waitForLock, type SqliteConnection } from "./connection.ts";
import { unscrubbed } from "./erase.ts";
import type { SegmentWriter } from "./segment-write.ts";
import { sweep } from "./blobs.ts";
import { vacuumStore } from "./vacuum.ts";
import type { SqliteWriter } from "./writer.ts";

export interface ScrubDeps {
  readonly connection: SqliteConnection;
  readonly writer: SqliteWriter;
  readonly world: StoreWorld;
  readonly lockWaitMs: number;
  /** Drops the cached logs. */
  readonly forget: () => void;
  readonly segmentWriter: SegmentWriter;
  /** Aborted when the store closes: a scrub in progress ends, and is still due. */
  readonly signal: AbortSignal;
}

/** Pages of the search index merged in one transaction; a few milliseconds. */
const mergePages = 16;
/** Like chunks of blobs: each step writes much more than an append. */
const mergeWeight = 16;

/** Harmless if there is nothing to scrub. */
export async function scrub(scrubbing: ScrubDeps): Promise<void> {
  // Also sweeps for a process that deleted something and died before its sweep.
  if (unscrubbed(scrubbing.connection.database) !== null) await sweepDeleted(scrubbing);
  await scrubFile(scrubbing);
}

/** Sweeps deleted data. If a reader blocks the scrub, it stays due. */
export async function sweepAndScrub(scrubbing: ScrubDeps): Promise<void> {
  await sweepDeleted(scrubbing);
  try {
    await scrubFile(scrubbing);
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
}

const sweepDeleted = ({ connection, writer, world, forget, segmentWriter }: ScrubDeps): Promise<void> =>
  sweep(connection.database, writer, { now: world.now(), forget, segmentWriter });

async function scrubFile(scrubbing: ScrubDeps): Promise<void> {
  const { connection, writer } = scrubbing;
  const { database, guard } = connection;
  const note = guard(() => unscrubbed(database));
  if (note === null) return;
  await mergeSearch(scrubbing);
  // A reader that keeps the -wal file from being emptied would make the new file worthless: wait for it
  // first.
  await emptyWal(scrubbing);
  // Jobs of this process wait in their queue, however long it takes; those of others wait for the lock.
  await writer.hold(() =>
    waitForLock({ ...scrubbing, path: connection.path }, () => vacuumStore(connection, scrubbing)),
  );
  await emptyWal(scrubbing);
  // An erasure after the mark was read needs another round; it has its own mark.
  await writer.run(() => {
    database.prepare("DELETE FROM meta WHERE key = 'scrub' AND value = ?").run(note);
  });
}

/** Deleted words stay in older segments of the index, until these are merged into one. */
async function mergeSearch({ connection, writer }: ScrubDeps): Promise<void> {
  const { database } = connection;
  const merge = database.prepare("INSERT INTO search (search, rank) VALUES ('merge', ?)");
  const reset = database.prepare("INSERT OR REPLACE INTO last_row (id) VALUES (1)");
  const changes = database.prepare("SELECT total_changes() AS count");
  // FTS5 leaves row ids behind that exceed a number.
  merge.setReadBigInts(true);
  /**
   * False if there was nothing to do: FTS5 itself counts as one change. A negative number merges all
   * segments.
   */
  const step = (pages: number): boolean => {
    const before = Number(changes.get()?.["count"]);
    merge.run(pages);
    const done = Number(changes.get()?.["count"]) - before >= 2;
    reset.run();
    return done;
  };
  if (!(await writer.run(() => step(-mergePages), { weight: mergeWeight }))) return;
  await writer.steps(() => step(mergePages), { weight: mergeWeight });
}

/** Moves all pages of the -wal file to the main file and empties it; waits for readers of it. */
async function emptyWal({ connection, world, lockWaitMs }: ScrubDeps): Promise<void> {
  const { path, guard } = connection;
  await waitForLock({ world, lockWaitMs, path }, () => guard(() => truncateWal(connection)));
}

/**
 * Most pages move without the writer lock, and the rest is tried only briefly, so that no writer waits for
 * it.
 */
function truncateWal({ database }: SqliteConnection): void {
  const [, pages = 0, moved = 0] = progress(database, "PASSIVE");
  if (moved < pages) throw busy();
  database.exec(`PRAGMA busy_timeout=${truncateWaitMs}`);
  try {
    const [refused] = progress(database, "TRUNCATE");
    if (refused !== 0) throw busy();
  } finally {
    database.exec(`PRAGMA busy_timeout=${busyTimeoutMs}`);
  }
}

/** How long an attempt blocks writers. */
const truncateWaitMs = 2;

/** The result of a checkpoint: whether it was blocked, pages in the -wal file, and pages moved. */
function progress(database: SqliteConnection["database"], mode: "PASSIVE" | "TRUNCATE"): readonly number[] {
  const row = database.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  return Object.values(row ?? {}).map(Number);
}

const busy = (): Error => Object.assign(new Error("database is locked"), { errcode: sqliteBusy });
