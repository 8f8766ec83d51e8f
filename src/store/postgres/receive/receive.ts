/**
 * Receiving whole logs in PostgreSQL. Received records go directly into `events`, under an invisible log, or
 * beyond the visible part of an existing one; finishing then changes only a few rows (finish.ts).
 */
import { genesisHash } from "../../../core/chain.ts";
import type { LogId, SessionId } from "../../../core/ids.ts";
import { depthFlaw, missingOrigin, presenceOf, type LastRecord } from "../../judge.ts";
import type { ReceivedLog, Reception, Store } from "../../port.ts";
import { newNumbers } from "../log/append-judged.ts";
import { dropLost } from "../blob.ts";
import type { Statement } from "../connection/connection.ts";
import { cutSome, setEnds } from "../log/truncate.ts";
import type { Driver } from "../driver.ts";
import { state } from "../../sql/log-state.ts";
import { finish } from "./finish.ts";
import { gather } from "../log/batch.ts";
import { lastOf, linesOf, type LockedLog } from "../log/locked-logs.ts";
import { arrayOf } from "../connection/array-literal.ts";
import { gatherPuts } from "./put-records.ts";

export const makeReceiver = (driver: Driver): Pick<Store, "receive" | "put" | "finish" | "discard"> => ({
  receive: gatherReceptions(driver),
  put: gatherPuts(driver),
  async finish(logs) {
    await driver.database.transaction((statement) => finish(driver, statement, logs), { twice: true });
    driver.changed();
  },
  async discard(session) {
    const step = (statement: Statement) => discardSome(driver, statement, session);
    while (await driver.database.transaction(step, { twice: true }));
    await dropLost(driver);
  },
});

/** Only a name, which a fork has for its parent. */
const isBare = (line: LockedLog): boolean =>
  (line.state === state.deleted || line.state === state.prefix) &&
  line.put_seq === null &&
  line.seq <= line.fork_seq;

const thereOf = (line: LockedLog | undefined): ReceivedLog["there"] =>
  line === undefined || line.state === state.receiving || isBare(line)
    ? presenceOf(null)
    : presenceOf({ seen: line.state === state.seen, copy: line.copy });

/** Another process inserted the same row: the transaction is retried, and finds it. */
const again = (): Error => Object.assign(new Error("the row was made by another"), { code: "40001" });

/** Batched, so that a move of many sessions waits for the disk once. Forks go separately. */
function gatherReceptions(driver: Driver): Store["receive"] {
  const { database } = driver;
  const together = gather<Reception, ReceivedLog>(driver.world, {
    work: (list) => database.transaction((statement) => receiveAll(driver, statement, list), { twice: true }),
    name: ({ session }) => session,
    weight: () => 1,
    weightMax: 500,
  });
  return (reception) =>
    reception.parent === null
      ? together(reception)
      : database.transaction((statement) => receive(driver, statement, reception), { twice: true });
}

const insertLogs = `
WITH made AS (
  INSERT INTO skein.heads (tenant, state, session, log, seq, hash, at, active_at)
  SELECT $1, ${state.receiving}, g.session, g.log, 0, decode($3, 'hex'), 0, skein.clock($4)
  FROM unnest($2::text[], $5::bigint[]) g (session, log) ORDER BY g.session
  ON CONFLICT (tenant, session) DO NOTHING RETURNING log, session, active_at
)
INSERT INTO skein.logs (id, tenant, session, listed, fork_seq, depth, opened_at, active_at, put_at)
SELECT log, $1, session, false, 0, 0, active_at, active_at, active_at FROM made RETURNING id`;

/** Logs that are not forks. */
async function receiveAll(
  driver: Driver,
  statement: Statement,
  list: readonly Reception[],
): Promise<readonly ReceivedLog[]> {
  const { tenant, database } = driver;
  const sessions = list.map(({ session }) => session);
  const lines = await linesOf(statement, tenant, sessions, "write");
  const fresh = sessions.filter((session) => !lines.has(session));
  if (fresh.length > 0) {
    const numbers = await statement<{ number: number }>(newNumbers, [tenant, fresh.length]);
    const logs = arrayOf(numbers.map(({ number }) => number));
    const made = await statement(insertLogs, [tenant, arrayOf(fresh), genesisHash, database.given(), logs]);
    if (made.length < fresh.length) throw again();
  }
  const answers: ReceivedLog[] = [];
  for (const reception of list) {
    const line = lines.get(reception.session);
    if (line === undefined) answers.push({ seq: 0, hash: genesisHash, there: "nothing" });
    else answers.push(await receiveAt(driver, statement, reception, { line, around: new Map() }));
  }
  return answers;
}

async function receive(driver: Driver, statement: Statement, reception: Reception): Promise<ReceivedLog> {
  const { session, parent, base } = reception;
  const { tenant } = driver;
  const others = [parent?.session ?? [], base ?? []].flat();
  const [own, around] = await Promise.all([
    linesOf(statement, tenant, [session], "write"),
    others.length === 0 ? new Map<LogId, LockedLog>() : linesOf(statement, tenant, others, "keep"),
  ]);
  return receiveAt(driver, statement, reception, { line: own.get(session), around });
}

async function receiveAt(
  driver: Driver,
  statement: Statement,
  reception: Reception,
  { line, around }: Parameters<typeof begin>[3],
): Promise<ReceivedLog> {
  const there = thereOf(line);
  if (line !== undefined && !isBare(line)) return { ...lastOf(line), there };
  return { ...(await begin(driver, statement, reception, { line, around })), there };
}

const insertLog = `
WITH made AS (
  INSERT INTO skein.heads (tenant, state, session, log, seq, hash, at, active_at)
  VALUES ($1, $2, $3, $11::bigint, $4, decode($5, 'hex'), $6, skein.clock($7))
  ON CONFLICT (tenant, session) DO NOTHING RETURNING log, session, active_at
)
INSERT INTO skein.logs
  (id, tenant, session, listed, parent, base, fork_seq, depth, opened_at, active_at, put_at)
SELECT log, $1, session, false, $8::bigint, $9::bigint, $4, $10::integer, active_at, active_at, active_at
FROM made
RETURNING id`;

const fillHead = `
UPDATE skein.heads SET seq = $3, hash = decode($4, 'hex'), at = $5,
  state = CASE state WHEN ${state.prefix} THEN ${state.receiving} ELSE state END
WHERE tenant = $1 AND log = $2`;
const fillLog = `
UPDATE skein.logs SET parent = $3, base = $4, fork_seq = $5, depth = $6, put_at = skein.clock($7)
WHERE tenant = $1 AND id = $2`;

/** The row of a log to receive; returns the record before its first one. */
async function begin(
  driver: Driver,
  statement: Statement,
  { session, parent, base }: Reception,
  { line, around }: { readonly line: LockedLog | undefined; readonly around: ReadonlyMap<LogId, LockedLog> },
): Promise<LastRecord> {
  const { tenant, database } = driver;
  const from = base === null ? undefined : around.get(base);
  const seq = parent?.seq ?? 0;
  const [point] =
    from === undefined
      ? []
      : await statement<{ at: number; hash: string }>(
          "SELECT at, encode(hash, 'hex') AS hash FROM skein.point($1, $2)",
          [from.log, seq],
        );
  if (parent !== null && point === undefined) throw missingOrigin(seq, base);
  const tooDeep = depthFlaw(from?.depth ?? 0);
  if (tooDeep !== null) throw tooDeep;
  const depth = from === undefined ? 0 : from.depth + 1;
  const end = { seq, hash: point?.hash ?? genesisHash, at: point?.at ?? 0 };
  const parentLog = parent === null ? null : await numberOf(driver, statement, parent.session, around);
  const lineage = [parentLog, from?.log ?? null] as const;
  if (line === undefined) {
    const head = [state.receiving, session, end.seq, end.hash, end.at, database.given()] as const;
    const number = await newNumber(statement, tenant);
    const made = await statement(insertLog, [tenant, ...head, ...lineage, depth, number]);
    if (made.length === 0) throw again();
  } else {
    await Promise.all([
      statement(fillHead, [tenant, line.log, end.seq, end.hash, end.at]),
      statement(fillLog, [tenant, line.log, ...lineage, end.seq, depth, database.given()]),
    ]);
  }
  return { seq: end.seq, hash: end.hash };
}

async function newNumber(statement: Statement, tenant: number): Promise<number> {
  const [row] = await statement<{ number: number }>(newNumbers, [tenant, 1]);
  if (row === undefined) throw new Error("invariant: the database gives a number");
  return row.number;
}

/** The number of a log that may be only a name. */
async function numberOf(
  { tenant, database }: Driver,
  statement: Statement,
  session: SessionId,
  around: ReadonlyMap<LogId, LockedLog>,
): Promise<number> {
  const known = around.get(session);
  if (known !== undefined) return known.log;
  const head = [state.prefix, session, 0, genesisHash, 0, database.given()] as const;
  const number = await newNumber(statement, tenant);
  const [made] = await statement<{ id: number }>(insertLog, [tenant, ...head, null, null, 0, number]);
  if (made === undefined) throw again();
  return made.id;
}

/** Up to where finished forks share it; and whether any log names it. */
const findForks = `
SELECT (
  SELECT max(l.fork_seq) FROM skein.logs l JOIN skein.heads h ON h.log = l.id
  WHERE l.base = $1 AND h.state <> ${state.receiving}
) AS shared, EXISTS (SELECT 1 FROM skein.logs WHERE parent = $1 OR base = $1) AS named`;

/** One step; false if nothing of it is left. */
async function discardSome(driver: Driver, statement: Statement, session: LogId): Promise<boolean> {
  const { tenant } = driver;
  const line = (await linesOf(statement, tenant, [session], "remove")).get(session);
  if (line === undefined || (line.state !== state.receiving && line.put_seq === null)) return false;
  const { log } = line;
  const [forks] = await statement<{ shared: number | null; named: boolean }>(findForks, [log]);
  const ownKeep = line.state === state.receiving ? line.fork_seq : line.seq;
  const keepSeq = Math.max(ownKeep, forks?.shared ?? 0);
  const lastSeq = lastOf(line).seq;
  const [end] = await cutSome(statement, tenant, [{ log, lastSeq, keepSeq }]);
  if (end !== undefined) {
    await setEnds(statement, tenant, [end], "put");
    return true;
  }
  if (line.state === state.receiving && forks?.named !== true) {
    await Promise.all([
      statement("DELETE FROM skein.heads WHERE tenant = $1 AND log = $2", [tenant, log]),
      statement("DELETE FROM skein.logs WHERE tenant = $1 AND id = $2", [tenant, log]),
    ]);
  } else await letGo(statement, tenant, line, keepSeq);
  return false;
}

const seenToPut = `
UPDATE skein.heads SET state = CASE state WHEN ${state.receiving} THEN ${state.prefix} ELSE state END,
  put_seq = NULL, put_hash = NULL WHERE tenant = $1 AND log = $2`;

/** Ends the reception; what finished forks share of it stays. */
async function letGo(statement: Statement, tenant: number, line: LockedLog, keepSeq: number): Promise<void> {
  if (line.state !== state.receiving && keepSeq > line.seq) return;
  await statement(seenToPut, [tenant, line.log]);
  await setEnds(statement, tenant, [{ log: line.log, seq: keepSeq }], "seen");
}
