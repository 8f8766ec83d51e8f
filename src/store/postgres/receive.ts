/**
 * Receiving whole logs in PostgreSQL. What is put lies in `events` at once, under a log that is not seen yet,
 * or beyond what is seen of one that is here already; to finish is then a matter of a few rows (finish.ts).
 */
import { bodyHashOf, genesisHash, link } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Received, ReceivedRecord, Reception, Store } from "../port.ts";
import { dropLost, referBlobs } from "./blob.ts";
import type { Statement, Value } from "./connection.ts";
import { cutSome, setEnds } from "./cut.ts";
import { state, type Driver } from "./driver.ts";
import { finish } from "./finish.ts";
import { lastOf, linesOf, type Last, type Line } from "./line.ts";
import { arrayOf } from "./literal.ts";
import { draftArrays, draftColumns, draftValues } from "./records.ts";
import { isUnique } from "./trouble.ts";

export const makeReceiver = (driver: Driver): Pick<Store, "receive" | "put" | "finish" | "discard"> => ({
  receive: (reception) =>
    driver.database.transaction((statement) => receive(driver, statement, reception), { twice: true }),
  put: (session, records) =>
    driver.database.transaction((statement) => put(driver, statement, session, records), { twice: true }),
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
const isBare = (line: Line): boolean =>
  (line.state === state.deleted || line.state === state.prefix) &&
  line.put_seq === null &&
  line.seq <= line.fork_seq;

const thereOf = (line: Line | undefined): Received["there"] => {
  if (line === undefined || line.state === state.receiving || isBare(line)) return "nothing";
  if (line.state !== state.seen) return "prefix";
  return line.copy ? "copy" : "own";
};

/** Somebody else made the same row: the transaction is begun again, and finds it. */
const again = (): Error => Object.assign(new Error("the row was made by another"), { code: "40001" });

async function receive(driver: Driver, statement: Statement, reception: Reception): Promise<Received> {
  const { session, parent, base } = reception;
  const { tenant } = driver;
  const others = [parent?.session ?? [], base ?? []].flat();
  const [own, around] = await Promise.all([
    linesOf(statement, tenant, [session], "write"),
    others.length === 0 ? new Map<SessionId, Line>() : linesOf(statement, tenant, others, "keep"),
  ]);
  const line = own.get(session);
  const there = thereOf(line);
  if (line !== undefined && !isBare(line)) return { ...lastOf(line), there };
  return { ...(await begin(driver, statement, reception, { line, around })), there };
}

const insertLog = `
WITH made AS (
  INSERT INTO skein.heads (tenant, state, session, log, seq, hash, at, active_at)
  VALUES ($1, $2, $3, nextval('skein.log_numbers'), $4, decode($5, 'hex'), $6, skein.clock($7))
  ON CONFLICT (tenant, session) DO NOTHING RETURNING log, session, active_at
)
INSERT INTO skein.logs (id, tenant, session, listed, parent, base, fork_seq, depth, opened_at, active_at, put_at)
SELECT log, $1, session, false, $8::bigint, $9::bigint, $4, $10::integer, active_at, active_at, active_at FROM made
RETURNING id`;

const fillHead = `
UPDATE skein.heads SET seq = $3, hash = decode($4, 'hex'), at = $5,
  state = CASE state WHEN ${state.prefix} THEN ${state.receiving} ELSE state END
WHERE tenant = $1 AND log = $2`;
const fillLog = `
UPDATE skein.logs SET parent = $3, base = $4, fork_seq = $5, depth = $6, put_at = skein.clock($7)
WHERE tenant = $1 AND id = $2`;

/** The row of a log that is to be received; gives back what stands before its first record. */
async function begin(
  driver: Driver,
  statement: Statement,
  { session, parent, base }: Reception,
  { line, around }: { readonly line: Line | undefined; readonly around: ReadonlyMap<SessionId, Line> },
): Promise<Last> {
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
  if (parent !== null && point === undefined) {
    throw new SkeinError("not-found", `there is no position ${seq} of ${base ?? "nothing"} to go on from`);
  }
  if ((from?.depth ?? 0) >= limit.forkDepthMax) {
    throw new SkeinError("refused", `forks are nested at most ${limit.forkDepthMax} deep`);
  }
  const depth = from === undefined ? 0 : from.depth + 1;
  const end = { seq, hash: point?.hash ?? genesisHash, at: point?.at ?? 0 };
  const parentLog = parent === null ? null : await numberOf(driver, statement, parent.session, around);
  const lineage = [parentLog, from?.log ?? null] as const;
  if (line === undefined) {
    const head = [state.receiving, session, end.seq, end.hash, end.at, database.given()] as const;
    const made = await statement(insertLog, [tenant, ...head, ...lineage, depth]);
    if (made.length === 0) throw again();
  } else {
    await Promise.all([
      statement(fillHead, [tenant, line.log, end.seq, end.hash, end.at]),
      statement(fillLog, [tenant, line.log, ...lineage, end.seq, depth, database.given()]),
    ]);
  }
  return { seq: end.seq, hash: end.hash };
}

/** The number of a log that may be no more than a name. */
async function numberOf(
  { tenant, database }: Driver,
  statement: Statement,
  session: SessionId,
  around: ReadonlyMap<SessionId, Line>,
): Promise<number> {
  const known = around.get(session);
  if (known !== undefined) return known.log;
  const head = [state.prefix, session, 0, genesisHash, 0, database.given()] as const;
  const [made] = await statement<{ id: number }>(insertLog, [tenant, ...head, null, null, 0]);
  if (made === undefined) throw again();
  return made.id;
}

async function put(
  driver: Driver,
  statement: Statement,
  session: SessionId,
  records: readonly ReceivedRecord[],
): Promise<void> {
  const line = (await linesOf(statement, driver.tenant, [session], "write")).get(session);
  if (line === undefined) {
    throw new SkeinError("conflict", `${session} is not being received`, { hint: "begin again" });
  }
  const start = lastOf(line);
  let last: Last = start;
  const passed: ReceivedRecord[] = [];
  const fresh: ReceivedRecord[] = [];
  for (const record of records) {
    if (record.seq > last.seq) {
      checkNext(driver, session, last, record);
      fresh.push(record);
      last = record;
    } else if (record.seq <= start.seq) passed.push(record);
    else if (fresh[record.seq - start.seq - 1]?.hash !== record.hash) throw another(session, record.seq);
  }
  if (passed.length > 0) await checkSame(statement, line, passed);
  if (fresh.length > 0) await insert(driver, statement, line, fresh);
}

const another = (session: SessionId, seq: number): SkeinError =>
  new SkeinError("conflict", `${session} has another record ${seq} here`, {
    hint: "it went on in two places; fork one of them instead",
  });

function checkNext({ world }: Driver, session: SessionId, last: Last, record: ReceivedRecord): void {
  const { seq, body, hash } = record;
  if (seq !== last.seq + 1) {
    throw new SkeinError("conflict", `record ${seq} of ${session} cannot follow ${last.seq}`, {
      hint: "somebody else receives it too; begin again",
    });
  }
  const linked = link(world.digest, last.hash, record, bodyHashOf(world.digest, body)) === hash;
  if (linked && record.session === session) return;
  throw new SkeinError("corrupt", `record ${seq} of ${session} does not match the chain`);
}

async function checkSame(
  statement: Statement,
  { session, log }: Line,
  records: readonly ReceivedRecord[],
): Promise<void> {
  const rows = await statement<{ seq: number; hash: string }>(
    `SELECT g.seq, encode(p.hash, 'hex') AS hash FROM unnest($2::bigint[]) g (seq)
     CROSS JOIN LATERAL skein.point($1, g.seq) p`,
    [log, arrayOf(records.map(({ seq }) => seq))],
  );
  const hashes = new Map(rows.map(({ seq, hash }) => [seq, hash]));
  const other = records.find(({ seq, hash }) => hashes.get(seq) !== hash);
  if (other !== undefined) throw another(session, other.seq);
}

const insertEvents = `
INSERT INTO skein.events (tenant, log, seq, at, ${draftColumns})
SELECT $1, $2, d.seq, d.at, ${draftValues}
FROM unnest($3::bigint[], $4::bigint[], ${draftArrays(5)}) d (seq, at, ${draftColumns})`;

const insertKeys = `
INSERT INTO skein.keys (tenant, log, seq, key)
SELECT $1, $2, g.seq, decode(g.key, 'hex') FROM unnest($3::bigint[], $4::text[]) g (seq, key)`;

const moveHead = `
UPDATE skein.heads SET put_seq = $3, put_hash = decode($4, 'hex'), bytes = bytes + $5
WHERE tenant = $1 AND log = $2`;
const touch = "UPDATE skein.logs SET put_at = skein.clock($3) WHERE tenant = $1 AND id = $2";

/** What one statement carries at most, counted in characters of bodies and contents. */
const statementCharsMax = 8_388_608;

async function insert(
  { tenant, database }: Driver,
  statement: Statement,
  { session, log }: Line,
  records: readonly ReceivedRecord[],
): Promise<void> {
  const keyed = records.filter(({ key }) => key !== null);
  const last = records.at(-1);
  const bytes = records.reduce((sum, one) => sum + bytesOf(one), 0);
  const sent: Promise<unknown>[] = portions(records).map((some) =>
    statement(insertEvents, [tenant, log, ...arraysOf(some)]),
  );
  if (keyed.length > 0) {
    const keys = [arrayOf(keyed.map(({ seq }) => seq)), arrayOf(keyed.map(({ key }) => key))];
    sent.push(statement(insertKeys, [tenant, log, ...keys]));
  }
  sent.push(statement(moveHead, [tenant, log, last?.seq ?? 0, last?.hash ?? "", bytes]));
  sent.push(statement(touch, [tenant, log, database.given()]));
  try {
    await Promise.all(sent);
  } catch (error) {
    if (!isUnique(error)) throw error;
    // Their positions are free, so it is a key.
    throw new SkeinError("corrupt", `a record of ${session} has a key that is used already`, {
      cause: error,
    });
  }
  const refs = records.flatMap(({ seq, blobs }) => blobs.map((hash) => ({ log, seq, hash })));
  if (refs.length > 0) await referBlobs(statement, tenant, refs);
}

const bytesOf = ({ body, content, contentBytes }: ReceivedRecord): number =>
  body.length + (content === null ? 0 : (contentBytes ?? 0));

function portions(records: readonly ReceivedRecord[]): readonly (readonly ReceivedRecord[])[] {
  const found: ReceivedRecord[][] = [];
  let chars = 0;
  for (const record of records) {
    const own = record.body.length + (record.content?.length ?? 0);
    if (found.length === 0 || chars + own > statementCharsMax) {
      found.push([]);
      chars = 0;
    }
    found.at(-1)?.push(record);
    chars += own;
  }
  return found;
}

const arraysOf = (records: readonly ReceivedRecord[]): Value[] => [
  arrayOf(records.map(({ seq }) => seq)),
  arrayOf(records.map(({ at }) => at)),
  arrayOf(records.map(({ type }) => type)),
  arrayOf(records.map(({ v }) => v)),
  arrayOf(records.map(({ actor }) => actor)),
  arrayOf(records.map(({ turn }) => turn)),
  arrayOf(records.map(({ cause }) => cause)),
  arrayOf(records.map(({ key }) => key)),
  arrayOf(records.map(({ body }) => body)),
  arrayOf(records.map(({ contentHash }) => contentHash)),
  arrayOf(records.map(({ contentBytes }) => contentBytes)),
  arrayOf(records.map(({ salt }) => salt)),
  arrayOf(records.map(({ content }) => content)),
  arrayOf(records.map(({ hash }) => hash)),
];

/** Up to where forks that are more than received share it; and whether anybody names it. */
const findForks = `
SELECT (
  SELECT max(l.fork_seq) FROM skein.logs l JOIN skein.heads h ON h.log = l.id
  WHERE l.base = $1 AND h.state <> ${state.receiving}
) AS shared, EXISTS (SELECT 1 FROM skein.logs WHERE parent = $1 OR base = $1) AS named`;

/** One step; false when there is nothing left of it. */
async function discardSome(driver: Driver, statement: Statement, session: SessionId): Promise<boolean> {
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

/** Nothing is received of it any more; what finished forks share of it stays. */
async function letGo(statement: Statement, tenant: number, line: Line, keepSeq: number): Promise<void> {
  if (line.state !== state.receiving && keepSeq > line.seq) return;
  await statement(seenToPut, [tenant, line.log]);
  await setEnds(statement, tenant, [{ log: line.log, seq: keepSeq }], "seen");
}
