/**
 * Scrubbing: what was erased or deleted leaves the file. Rows are overwritten when they go (secure_delete),
 * but words stay in the index of search until its parts are merged, pages keep copies of rows that were moved
 * until the file is written anew (vacuum.ts), and the -wal file keeps what pages were like before. That it is
 * due stands in `meta` until the last step is done.
 */
import type { StoreWorld } from "../port.ts";
import { busyTimeoutMs, isBusy, sqliteBusy, waitForLock, type Connection } from "./connection.ts";
import { unscrubbed } from "./erase.ts";
import type { SegmentWriter } from "./segment-write.ts";
import { sweep } from "./blobs.ts";
import { vacuumStore } from "./vacuum.ts";
import type { Writer } from "./writer.ts";

export interface Scrubbing {
  readonly connection: Connection;
  readonly writer: Writer;
  readonly world: StoreWorld;
  readonly lockWaitMs: number;
  /** Forgets what is known of logs. */
  readonly forget: () => void;
  readonly segmentWriter: SegmentWriter;
  /** Aborted when the store closes: a scrub that is under way ends, and is still due. */
  readonly signal: AbortSignal;
}

/** Pages of the index of search that are merged in one transaction; a few milliseconds. */
const mergePages = 16;
/** As chunks of blobs: each step writes much more than an append does. */
const mergeWeight = 16;

/** Harmless when there is nothing to scrub. */
export async function scrub(scrubbing: Scrubbing): Promise<void> {
  // What a process deleted that died before it could sweep is to go as well.
  if (unscrubbed(scrubbing.connection.database) !== null) await sweepDeleted(scrubbing);
  await scrubFile(scrubbing);
}

/** Sweeps what is deleted. If it cannot be scrubbed now because somebody reads, that stays due. */
export async function sweepAndScrub(scrubbing: Scrubbing): Promise<void> {
  await sweepDeleted(scrubbing);
  try {
    await scrubFile(scrubbing);
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
}

const sweepDeleted = ({ connection, writer, world, forget, segmentWriter }: Scrubbing): Promise<void> =>
  sweep(connection.database, writer, { now: world.now(), forget, segmentWriter });

async function scrubFile(scrubbing: Scrubbing): Promise<void> {
  const { connection, writer } = scrubbing;
  const { database, guard } = connection;
  const note = guard(() => unscrubbed(database));
  if (note === null) return;
  await mergeSearch(scrubbing);
  // A reader that keeps the -wal file from being emptied would make the new file worthless: it waits first.
  await emptyWal(scrubbing);
  // Jobs of this process wait in their queue, however long it takes; those of others wait for the lock.
  await writer.hold(() =>
    waitForLock({ ...scrubbing, path: connection.path }, () => vacuumStore(connection, scrubbing)),
  );
  await emptyWal(scrubbing);
  // What was erased after the note was read needs another round; it has a note of its own.
  await writer.run(() => {
    database.prepare("DELETE FROM meta WHERE key = 'scrub' AND value = ?").run(note);
  });
}

/**
 * Words of what is gone stay in the parts of the index that were written before, until these are merged into
 * one.
 */
async function mergeSearch({ connection, writer }: Scrubbing): Promise<void> {
  const { database } = connection;
  const merge = database.prepare("INSERT INTO search (search, rank) VALUES ('merge', ?)");
  const reset = database.prepare("INSERT OR REPLACE INTO last_row (id) VALUES (1)");
  const changes = database.prepare("SELECT total_changes() AS count");
  // FTS5 leaves row ids of its own behind that do not fit a number.
  merge.setReadBigInts(true);
  /** False when there was nothing to do: FTS5 itself counts for one. A negative number takes up all parts. */
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

/** Moves all pages of the -wal file to the main file and empties it; waits while somebody reads from it. */
async function emptyWal({ connection, world, lockWaitMs }: Scrubbing): Promise<void> {
  const { path, guard } = connection;
  await waitForLock({ world, lockWaitMs, path }, () => guard(() => truncateWal(connection)));
}

/**
 * Most pages are moved without the lock that writers need, and the rest is tried for a moment only: nobody is
 * to wait for it.
 */
function truncateWal({ database }: Connection): void {
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

/** How long a try holds writers off. */
const truncateWaitMs = 2;

/** What SQLite says of a checkpoint: whether it was refused, pages in the -wal file, and those moved. */
function progress(database: Connection["database"], mode: "PASSIVE" | "TRUNCATE"): readonly number[] {
  const row = database.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  return Object.values(row ?? {}).map(Number);
}

const busy = (): Error => Object.assign(new Error("database is locked"), { errcode: sqliteBusy });
