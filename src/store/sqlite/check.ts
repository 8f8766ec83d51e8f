/** Checks the file below the level of records and, after an I/O error, at that level too. */
import { flaw, genesisHash } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { parseLogId, type LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Store, StoreWorld } from "../port.ts";
import { sqliteBusy, waitForLock, type SqliteConnection } from "./connection.ts";
import { segmentFaults } from "./segment-check.ts";
import type { Segments } from "./segments.ts";

export interface CheckContext {
  readonly connection: SqliteConnection;
  readonly segments: Segments;
  readonly world: StoreWorld;
}

export async function faults({ connection, segments, world }: CheckContext): Promise<string[]> {
  const { database } = connection;
  return [
    ...damageIn(database),
    ...strays.flatMap((sql) => database.prepare(sql).all()).map((row) => String(row["fault"])),
    ...(await segmentFaults(database, segments, world)),
  ];
}

/**
 * SQLite's own findings. Its check of the full-text index uses the connection's last view of it, which
 * another program may have changed: only a read refreshes it. Nothing is written in between, because both see
 * one state of the file.
 */
function damageIn(database: SqliteConnection["database"]): readonly string[] {
  database.exec("BEGIN");
  try {
    database.prepare("SELECT rowid FROM search WHERE search MATCH 'x' LIMIT 1").get();
    return database
      .prepare("PRAGMA integrity_check(20)")
      .all()
      .map((row) => String(Object.values(row)[0]))
      .filter((line) => line !== "ok");
  } finally {
    database.exec("COMMIT");
  }
}

/**
 * The head of a log is its last record, and a log is found by its session id. So readers would never notice a
 * misplaced last record, or a log with a corrupt id.
 */
const idTail = "[0-9a-z]".repeat(26);
const strays = [
  `WITH RECURSIVE used (log) AS (
     SELECT min(log) FROM records
     UNION ALL
     SELECT (SELECT min(log) FROM records WHERE log > used.log) FROM used WHERE log IS NOT NULL
   )
   SELECT 'records of a log that does not exist: ' || log AS fault FROM used
   WHERE log <> 0 AND log NOT IN (SELECT id FROM logs) LIMIT 20`,
  `SELECT 'a record before the beginning of ' || session AS fault FROM logs l
   WHERE (SELECT min(seq) FROM records WHERE log = l.id) <= fork_seq LIMIT 20`,
  `SELECT 'a record that was taken out of its log: ' || position AS fault
   FROM records WHERE log = 0 AND body <> '{}' LIMIT 20`,
  `SELECT 'a log of no session: ' || session AS fault FROM logs
   WHERE session NOT GLOB 'ses_${idTail}' AND session NOT GLOB 'wsp_${idTail}'
   AND session NOT GLOB 'prj_${idTail}' LIMIT 20`,
] as const;

/**
 * After an I/O error of an earlier process: reads and verifies everything before anything is written again.
 */
export async function regainTrust(
  store: Store,
  context: CheckContext,
  lock: { readonly lockWaitMs: number; readonly path: string },
): Promise<void> {
  const { connection, world } = context;
  try {
    await trust(store, context);
    await waitForLock({ world, ...lock }, () => connection.guard(() => rewriteTail(connection)));
  } catch (error) {
    await store.close();
    throw error;
  }
  connection.trusted();
}

async function trust(store: Store, context: CheckContext): Promise<void> {
  const { connection, world } = context;
  const bad = await faults(context);
  const rows = connection.database.prepare("SELECT session FROM logs WHERE dropped = 0").all();
  for (const row of rows) {
    if (bad.length > 0) break;
    const session = sessionIn(String(row["session"]));
    if (session === null) {
      bad.push(`a log of no session: ${String(row["session"])}`);
      break;
    }
    let before = genesisHash;
    for (let fromSeq = 1; bad.length === 0;) {
      const page = await store.read(session, {
        fromSeq,
        toSeq: Infinity,
        limit: limit.pageRecordsMax,
        contents: true,
      });
      if (page.length === 0) break;
      for (const record of page) {
        const bytes = record.content === null ? null : Buffer.byteLength(record.content);
        const wrong =
          record.seq === fromSeq++ ? flaw(world.digest, before, record, bytes) : "a record is missing";
        if (wrong !== null) bad.push(`${session} at ${record.seq}: ${wrong}`);
        before = record.hash;
      }
    }
  }
  if (bad.length === 0) return;
  throw new SkeinError("corrupt", `the store failed verification after an I/O error: ${bad[0] ?? ""}`, {
    hint: "restore a backup; the damaged file is left as it is",
  });
}

/** Null for a corrupt id. */
function sessionIn(text: string): LogId | null {
  try {
    return parseLogId(text);
  } catch {
    return null;
  }
}

/**
 * After a failed fsync the kernel may count pages of the -wal file as written that never reached the disk,
 * and still read them from memory. Copied to the main file and synced there, they are safe to build upon.
 */
function rewriteTail({ database }: SqliteConnection): void {
  const row = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (row?.["busy"] !== 0) throw Object.assign(new Error("database is locked"), { errcode: sqliteBusy });
}
