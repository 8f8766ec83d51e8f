/**
 * Records of logs being received. Concurrent calls for several logs share one transaction, with a few
 * statements for any number of them.
 */
import { SkeinError } from "../../../core/error.ts";
import type { ProjectId, SessionId } from "../../../core/ids.ts";
import { checkNext, notReceived, otherRecord, usedKey, type LastRecord } from "../../judge.ts";
import type { ReceivedRecord, Store } from "../../port.ts";
import { referBlobs } from "../blob.ts";
import type { Statement } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import { gather } from "../log/batch.ts";
import { lastOf, linesOf, type LockedLog } from "../log/locked-logs.ts";
import { arrayOf } from "../connection/array-literal.ts";
import { fieldArrays, fieldColumns, fieldParameters, fieldValues, formOf, inForms } from "../log/records.ts";
import { isUnique } from "../connection/errors.ts";

/** One call. */
interface RecordInput {
  readonly session: SessionId | ProjectId;
  readonly records: readonly ReceivedRecord[];
}

/** The new part of it, as written. */
interface Fresh {
  readonly line: LockedLog;
  readonly records: readonly ReceivedRecord[];
}

/** The limit of one transaction, in characters of bodies and contents. */
const charsMax = 8_388_608;

export function gatherPuts(driver: Driver): Store["put"] {
  const put = gather<RecordInput, null>(driver.world, {
    work: (list) =>
      driver.database.transaction((statement) => putAll(driver, statement, list), { twice: true }),
    name: ({ session }) => session,
    weight: ({ records }) => charsOf(records),
    weightMax: charsMax,
  });
  return async (session, records) => {
    await put({ session, records });
  };
}

const charsOf = (records: readonly ReceivedRecord[]): number =>
  records.reduce((sum, { body, content }) => sum + body.length + (content?.length ?? 0), 0);

async function putAll(
  driver: Driver,
  statement: Statement,
  list: readonly RecordInput[],
): Promise<readonly (SkeinError | null)[]> {
  const sessions = list.map(({ session }) => session);
  const lines = await linesOf(statement, driver.tenant, sessions, "write");
  const ready: Fresh[] = [];
  const answers: (SkeinError | null)[] = [];
  for (const given of list) {
    try {
      const { line, fresh, passed } = judge(driver, given, lines.get(given.session));
      if (passed.length > 0) await checkSame(statement, line, passed);
      if (fresh.length > 0) ready.push({ line, records: fresh });
      answers.push(null);
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error;
      answers.push(error);
    }
  }
  if (ready.length > 0) await insert(driver, statement, ready);
  return answers;
}

/** Which records are new, and which claim to exist already. */
function judge(driver: Driver, { session, records }: RecordInput, line: LockedLog | undefined) {
  if (line === undefined) throw notReceived(session);
  const start = lastOf(line);
  let last: LastRecord = start;
  const passed: ReceivedRecord[] = [];
  const fresh: ReceivedRecord[] = [];
  for (const record of records) {
    if (record.seq > last.seq) {
      checkNext(driver.world.digest, session, last, record);
      fresh.push(record);
      last = record;
    } else if (record.seq <= start.seq) passed.push(record);
    else if (fresh[record.seq - start.seq - 1]?.hash !== record.hash) throw otherRecord(session, record.seq);
  }
  return { line, fresh, passed };
}

async function checkSame(
  statement: Statement,
  { session, log }: LockedLog,
  records: readonly ReceivedRecord[],
): Promise<void> {
  const rows = await statement<{ seq: number; hash: string }>(
    `SELECT g.seq, encode(p.hash, 'hex') AS hash FROM unnest($2::bigint[]) g (seq)
     CROSS JOIN LATERAL skein.point($1, g.seq) p`,
    [log, arrayOf(records.map(({ seq }) => seq))],
  );
  const hashes = new Map(rows.map(({ seq, hash }) => [seq, hash]));
  const other = records.find(({ seq, hash }) => hashes.get(seq) !== hash);
  if (other !== undefined) throw otherRecord(session, other.seq);
}

const insertEvents = inForms(
  (form) => `
INSERT INTO skein.events (tenant, log, seq, at, ${fieldColumns})
SELECT $1, d.log, d.seq, d.at, ${fieldValues}
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], ${fieldArrays(5, form)})
  d (log, seq, at, ${fieldColumns})`,
);

const insertKeys = `
INSERT INTO skein.keys (tenant, log, seq, key)
SELECT $1, g.log, g.seq, decode(g.key, 'hex')
FROM unnest($2::bigint[], $3::bigint[], $4::text[]) g (log, seq, key)`;

const moveHeads = `
UPDATE skein.heads h SET put_seq = g.seq, put_hash = decode(g.hash, 'hex'), bytes = h.bytes + g.bytes
FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[]) g (log, seq, hash, bytes)
WHERE h.tenant = $1 AND h.log = g.log`;
const touch = `
UPDATE skein.logs SET put_at = skein.clock($3) WHERE tenant = $1 AND id = ANY ($2::bigint[])`;

interface Row {
  readonly log: number;
  readonly record: ReceivedRecord;
}

async function insert(
  { tenant, database }: Driver,
  statement: Statement,
  list: readonly Fresh[],
): Promise<void> {
  const rows = list.flatMap(({ line: { log }, records }) => records.map((record): Row => ({ log, record })));
  const keyed = rows.filter(({ record }) => record.key !== null);
  const records = rows.map(({ record }) => record);
  const form = formOf(records);
  const sent: Promise<unknown>[] = [
    statement(insertEvents[form], [
      tenant,
      arrayOf(rows.map(({ log }) => log)),
      arrayOf(records.map(({ seq }) => seq)),
      arrayOf(records.map(({ at }) => at)),
      ...fieldParameters(records, form),
    ]),
  ];
  if (keyed.length > 0) {
    const logs = arrayOf(keyed.map(({ log }) => log));
    const keys = [
      arrayOf(keyed.map(({ record }) => record.seq)),
      arrayOf(keyed.map(({ record }) => record.key)),
    ];
    sent.push(statement(insertKeys, [tenant, logs, ...keys]));
  }
  const logs = arrayOf(list.map(({ line }) => line.log));
  const ends = list.map(({ records }) => records.at(-1) ?? { seq: 0, hash: "" });
  sent.push(
    statement(moveHeads, [
      tenant,
      logs,
      arrayOf(ends.map(({ seq }) => seq)),
      arrayOf(ends.map(({ hash }) => hash)),
      arrayOf(list.map(({ records }) => records.reduce((sum, one) => sum + bytesOf(one), 0))),
    ]),
    statement(touch, [tenant, logs, database.given()]),
  );
  try {
    await Promise.all(sent);
  } catch (error) {
    if (!isUnique(error)) throw error;
    // Their positions are free, so the conflict is a key.
    throw usedKey(list.length === 1 ? (list[0]?.line.session ?? null) : null, error);
  }
  const refs = rows.flatMap(({ log, record: { seq, blobs } }) => blobs.map((hash) => ({ log, seq, hash })));
  if (refs.length > 0) await referBlobs(statement, tenant, refs);
}

const bytesOf = ({ content, contentBytes }: ReceivedRecord): number =>
  content === null ? 0 : (contentBytes ?? 0);
