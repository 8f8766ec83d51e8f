/**
 * Frees the data of deleted sessions, and of abandoned receptions, in PostgreSQL: in small atomic steps. Then
 * scrubs: erased and deleted data leaves the tables. docs/erasure.md says what the server's files may still
 * hold.
 */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Store } from "../port.ts";
import { dropLost, loseUnreferred } from "./blob.ts";
import { unreferredMs } from "../blob-pieces.ts";
import type { SqlRow, Statement } from "./connection/connection.ts";
import { cutSome, setEnds, type LogCut } from "./log/truncate.ts";
import type { Driver } from "./driver.ts";
import { state } from "../sql/log-state.ts";
import { countErasure } from "./log/erase.ts";
import { linesOf } from "./log/locked-logs.ts";
import { arrayOf } from "./connection/array-literal.ts";

/** Logs read together, and logs truncated in one transaction. */
const pageLogs = 200;
const stepLogs = 32;
/** Blobs read together. */
const pageBlobs = 500;

export const makeSweeper = (driver: Driver): Pick<Store, "sweep" | "scrub"> => ({
  async sweep() {
    await sweepAll(driver);
    try {
      await scrubTables(driver);
    } catch (error) {
      // It stays due.
      if (!(error instanceof SkeinError) || error.code !== "unavailable") throw error;
      await driver.database.run("SELECT 1");
    }
  },
  async scrub() {
    // Also sweeps for a process that deleted something and died before its sweep.
    if ((await due(driver)) !== null) await sweepAll(driver);
    await scrubTables(driver);
  },
});

async function sweepAll(driver: Driver): Promise<void> {
  await endStale(driver);
  for (let freed = true; freed;) freed = await sweepOnce(driver);
  await sweepBlobs(driver);
  await dropLost(driver);
}

/** A reception in progress stays, until it has been idle for long. */
const setStale = `
UPDATE skein.heads h SET state = CASE h.state WHEN ${state.receiving} THEN ${state.prefix} ELSE h.state END,
  seq = coalesce(h.put_seq, h.seq), hash = coalesce(h.put_hash, h.hash), put_seq = NULL, put_hash = NULL
FROM skein.logs l
WHERE h.tenant = $1 AND h.state <> ${state.seen} AND (h.state = ${state.receiving} OR h.put_seq IS NOT NULL)
  AND l.id = h.log AND l.put_at < skein.clock($2) - ${unreferredMs}`;

async function endStale({ database, tenant }: Driver): Promise<void> {
  await database.run(setStale, [tenant, database.given()]);
}

/** An invisible log, and what keeps it. */
interface UnseenLog extends SqlRow {
  readonly session: SessionId;
  readonly log: number;
  readonly seq: number;
  readonly fork_seq: number;
  readonly base: number | null;
  /** Up to where forks share it; null if none does. */
  readonly shared: number | null;
  /** Some log has it as its parent. */
  readonly named: boolean;
}

const columns = `h.session, h.log, h.seq, l.fork_seq, l.base,
  (SELECT max(f.fork_seq) FROM skein.logs f WHERE f.base = h.log) AS shared,
  EXISTS (SELECT 1 FROM skein.logs f WHERE f.parent = h.log) AS named`;
const unseen = `skein.heads h JOIN skein.logs l ON l.id = h.log
WHERE h.tenant = $1 AND h.state <> ${state.seen} AND h.state <> ${state.receiving} AND h.put_seq IS NULL`;

const findPage = `SELECT ${columns} FROM ${unseen} AND h.log < $2 ORDER BY h.log DESC LIMIT ${pageLogs}`;
const findThese = `SELECT ${columns} FROM ${unseen} AND h.session = ANY ($2::text[])`;

const keptOf = ({ shared, fork_seq: forkSeq }: UnseenLog): number => Math.max(shared ?? 0, forkSeq);

/** All its records are shared; or it has none, and only its name is needed. */
const isIdle = (line: UnseenLog): boolean =>
  line.seq <= keptOf(line) && (line.shared !== null || line.seq > line.fork_seq || isLetGo(line));
const isLetGo = ({ named, base }: UnseenLog): boolean => named && base === null;

/**
 * One pass over all invisible logs, the youngest first, because forks are younger than their bases. True if
 * something was freed, because then there may be more.
 */
async function sweepOnce(driver: Driver): Promise<boolean> {
  const { database, tenant } = driver;
  let freed = false;
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await database.run<UnseenLog>(findPage, [tenant, before]);
    const last = page.at(-1);
    if (last === undefined) return freed;
    before = last.log;
    let left = page.filter((line) => !isIdle(line)).map(({ session }) => session);
    while (left.length > 0) {
      const some = left.slice(0, stepLogs);
      const step = (statement: Statement) => sweepSome(driver, statement, some);
      const busy = new Set(await database.transaction(step, { twice: true }));
      freed = true;
      left = [...some.filter((session) => busy.has(session)), ...left.slice(stepLogs)];
    }
  }
}

/** One step for several logs; returns the unfinished ones. */
async function sweepSome(
  driver: Driver,
  statement: Statement,
  sessions: readonly SessionId[],
): Promise<readonly SessionId[]> {
  const { tenant } = driver;
  await linesOf(statement, tenant, sessions, "remove");
  const lines = await statement<UnseenLog>(findThese, [tenant, arrayOf(sessions)]);
  const cuts: readonly LogCut[] = lines.map((line) => ({
    log: line.log,
    lastSeq: line.seq,
    keepSeq: keptOf(line),
  }));
  const ends = cuts.length === 0 ? [] : await cutSome(statement, tenant, cuts);
  if (ends.length > 0) {
    await setEnds(statement, tenant, ends, "seen");
    await statement(countErasure, [tenant]);
  }
  const after = new Map(ends.map(({ log, seq }) => [log, seq]));
  const now = lines.map((line): UnseenLog => ({ ...line, seq: after.get(line.log) ?? line.seq }));
  await removeEmpty(driver, statement, now);
  return now.filter((line) => line.seq > keptOf(line)).map(({ session }) => session);
}

const derived = ["snapshots", "item_rows", "texts", "word_steps", "log_words", "vectors"] as const;
const emptied = [...derived, "places", "schedule", "keys", "heads"] as const;

/** Deletes empty logs; one that a fork still names only detaches from its ancestors. */
async function removeEmpty(driver: Driver, statement: Statement, lines: readonly UnseenLog[]): Promise<void> {
  const { tenant } = driver;
  const empty = lines.filter(({ shared, seq, fork_seq: forkSeq }) => shared === null && seq <= forkSeq);
  const gone = empty.filter(({ named }) => !named).map(({ log }) => log);
  const named = empty.filter((line) => line.named && line.base !== null).map(({ log }) => log);
  const sent: Promise<unknown>[] = [];
  if (gone.length > 0) {
    const where = [tenant, arrayOf(gone)];
    for (const table of emptied) {
      sent.push(
        statement(`DELETE FROM skein.${table} WHERE tenant = $1 AND log = ANY ($2::bigint[])`, where),
      );
    }
    sent.push(statement("DELETE FROM skein.logs WHERE tenant = $1 AND id = ANY ($2::bigint[])", where));
  }
  if (named.length > 0) {
    const where = [tenant, arrayOf(named)];
    sent.push(
      statement("UPDATE skein.logs SET base = NULL WHERE tenant = $1 AND id = ANY ($2::bigint[])", where),
    );
  }
  await Promise.all(sent);
}

/** Complete ones by their hash, incomplete ones by their number. */
const unreferredBlobs = `
SELECT b.id, encode(b.hash, 'hex') AS hash, b.put_at >= 0 AND b.put_at < skein.clock($3) - ${unreferredMs}
  AND NOT EXISTS (SELECT 1 FROM skein.blob_refs r WHERE r.tenant = $1 AND r.blob = b.id) AS lost
FROM skein.blobs b WHERE b.tenant = $1 AND b.hash > decode($2, 'hex') ORDER BY b.hash LIMIT ${pageBlobs}`;

/** Blobs that no record refers to any more, or ever did. */
async function sweepBlobs({ database, tenant }: Driver): Promise<void> {
  for (let after = ""; ;) {
    const page = await database.run<{ id: number; hash: string; lost: boolean }>(unreferredBlobs, [
      tenant,
      after,
      database.given(),
    ]);
    const lost = page.filter((row) => row.lost).map(({ id }) => id);
    if (lost.length > 0) {
      await database.transaction((statement) => loseUnreferred(statement, tenant, lost), { twice: true });
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.hash;
  }
}

/** The number of the last erasure, if it is not scrubbed yet; otherwise null. */
async function due({ database, tenant }: Driver): Promise<number | null> {
  const [row] = await database.run<{ erased: number }>(
    "SELECT erased FROM skein.tenants WHERE id = $1 AND erased > scrubbed",
    [tenant],
  );
  return row?.erased ?? null;
}

/** Tables with contents, or with data derived from them. */
const findTables = `
SELECT c.oid::regclass::text AS name, pg_has_role(c.relowner, 'USAGE') AS owned
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'skein' AND c.relkind = 'r' AND (c.relname LIKE 'events\\_%' OR c.relname IN
  ('segments', 'blob_chunks', 'logs', ${derived.map((table) => `'${table}'`).join(", ")}))
ORDER BY c.relname`;

async function scrubTables(driver: Driver): Promise<void> {
  const { database, tenant } = driver;
  const number = await due(driver);
  if (number === null) return;
  const tables = await database.run<{ name: string; owned: boolean }>(findTables);
  if (tables.some(({ owned }) => !owned)) {
    throw new SkeinError("unavailable", "scrub: the role does not own the tables", {
      hint: "run it as the role that owns the schema skein; the scrub stays pending",
    });
  }
  await readersGone(driver);
  for (const { name } of tables) {
    await database.run(`VACUUM (INDEX_CLEANUP ON) ${name}`, [], { prepare: false });
  }
  // An erasure after the number was read needs another round.
  await database.run("UPDATE skein.tenants SET scrubbed = greatest(scrubbed, $2) WHERE id = $1", [
    tenant,
    number,
  ]);
}

/** A transaction from before the erasure may still see the old rows, and the server keeps them for it. */
const olderReaders = `
SELECT count(*) AS count FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  AND query NOT LIKE 'VACUUM%'
  AND greatest(age(backend_xid), age(backend_xmin)) > age($1::text::xid)`;

const readersPauseMs = 50;

async function readersGone({ database, world }: Driver): Promise<void> {
  const [mark] = await database.run<{ xid: string }>("SELECT pg_current_xact_id()::xid::text AS xid");
  for (let waitedMs = 0; ; waitedMs += readersPauseMs) {
    const [older] = await database.run<{ count: number }>(olderReaders, [mark?.xid ?? "0"]);
    if (older?.count === 0) return;
    if (waitedMs >= limit.lockWaitMs) {
      throw new SkeinError("unavailable", "scrub: another program still reads erased data", {
        hint: "end its transaction (see pg_stat_activity), then scrub again",
      });
    }
    await world.sleep(readersPauseMs);
  }
}
