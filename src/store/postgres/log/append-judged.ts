/**
 * Appends in a transaction: locks the heads of all logs in one order, judges each append separately, and
 * writes those that pass. A refused one does not fail the others.
 */
import { genesisHash } from "../../../core/chain.ts";
import { SkeinError } from "../../../core/error.ts";
import { isSharedLogId, type LogId } from "../../../core/ids.ts";
import { originOf } from "../../../core/branch/origin.ts";
import type { Outcome, Part } from "../../port.ts";
import { depthFlaw, judgePart, missingForkPoint, missingIndex } from "../../judge.ts";
import { referBlobs } from "../blob.ts";
import type { SqlRow, Statement } from "../connection/connection.ts";
import { hexOf, type Driver } from "../driver.ts";
import { state } from "../../sql/log-state.ts";
import { dropLogs, eraseParts } from "./erase.ts";
import type { CachedHeads } from "./heads.ts";
import { setIndex } from "./index-entry.ts";
import { arrayOf } from "../connection/array-literal.ts";
import { linked, type End, type LinkedPart } from "./records.ts";
import {
  fieldArrays,
  fieldColumns,
  fieldParameters,
  fieldsOf,
  fieldValues,
  formOf,
  inForms,
} from "./records.ts";
import { activeLagMs } from "../schema.ts";

/** The result of an append: its outcome, or why it is impossible. */
export type AppendVerdict = Outcome | SkeinError;

interface HeadRow extends SqlRow {
  readonly session: LogId;
  readonly log: number;
  readonly state: number;
  readonly copy: boolean;
  readonly seq: number;
  readonly at: number;
  readonly active_at: number;
  readonly epoch: number;
  readonly put_seq: number | null;
  readonly hash: Uint8Array;
}

interface KeyRow extends SqlRow {
  readonly session: LogId;
  readonly key: string;
  readonly seq: number;
}

/** The fork point of a new log. Its fields are null if it does not exist. */
interface PointRow extends SqlRow {
  readonly session: LogId;
  readonly parent: number;
  readonly head_seq: number;
  readonly depth: number;
  readonly base: number | null;
  readonly at: number | null;
  readonly hash: string | null;
}

/** The facts for the verdict, read under the locks. */
interface Facts {
  readonly nowMs: number;
  readonly heads: ReadonlyMap<LogId, HeadRow>;
  readonly keys: ReadonlyMap<LogId, readonly KeyRow[]>;
  /** By the session to fork. */
  readonly points: ReadonlyMap<LogId, PointRow>;
  /** Ids of logs that were deleted since the caller looked. */
  readonly deleted: ReadonlySet<LogId>;
  /** Numbers for new logs. */
  readonly numbers: number[];
}

/** The origin of a new log. */
interface Beginning {
  readonly parent: number | null;
  readonly base: number | null;
  readonly forkSeq: number;
  readonly depth: number;
}

/** A part to write, with its log. */
interface WrittenPart extends LinkedPart {
  readonly log: number;
  readonly head: HeadRow | null;
  readonly begins: Beginning | null;
  readonly epoch: number;
  readonly activeAt: number;
}

const lockHeads = (strength: string): string => `
SELECT session, log, state, copy, seq, at, active_at, epoch, put_seq, hash FROM skein.heads
WHERE tenant = $1 AND session = ANY ($2::text[]) ORDER BY session FOR ${strength}`;

/** Appends do not block forks of their logs; deletions do. */
const lockToAppend = lockHeads("NO KEY UPDATE");
const lockToDrop = lockHeads("UPDATE");

const findKeys = `
SELECT g.session, g.key, k.seq FROM unnest($2::text[], $3::text[]) WITH ORDINALITY g (session, key, place)
JOIN skein.heads h ON h.tenant = $1 AND h.session = g.session
JOIN skein.keys k ON k.log = h.log AND k.key = decode(g.key, 'hex') ORDER BY g.place`;

/** Ids that a log names as deleted after a position: their rows may be gone already. */
const findDeleted = `
SELECT g.session FROM unnest($2::text[], $3::text[], $4::bigint[]) g (session, by, seq)
JOIN skein.heads h ON h.tenant = $1 AND h.session = g.by
WHERE EXISTS (SELECT 1 FROM skein.events e WHERE e.log = h.log AND e.seq > g.seq
  AND e.type = 'session.deleted' AND e.body::jsonb ->> 'session' = g.session)`;

const findPoints = `
SELECT g.child AS session, h.log AS parent, h.seq AS head_seq, l.depth, st.log AS base, p.at,
  encode(p.hash, 'hex') AS hash
FROM unnest($2::text[], $3::text[], $4::bigint[]) g (child, session, seq)
JOIN skein.heads h ON h.tenant = $1 AND h.session = g.session AND h.state = ${state.seen}
JOIN skein.logs l ON l.id = h.log
LEFT JOIN LATERAL skein.stretches(h.log, g.seq, least(g.seq, h.seq)) st ON true
LEFT JOIN LATERAL skein.point(st.log, g.seq) p ON true
FOR KEY SHARE OF h`;

/** In the given order, and before the logs: row-level security looks them up. */
export const newNumbers = `INSERT INTO skein.numbers (tenant) SELECT $1 FROM generate_series(1, $2)
RETURNING log AS number`;

/**
 * Leases of a tenant are taken one by one, before anything else is locked: so each is committed before the
 * next gets its order, and its holder sees all earlier ones. The lock is a row of the tenant: any role of the
 * database could hold an advisory lock.
 */
const oneByOne = "SELECT 1 AS one FROM skein.lease_locks WHERE tenant = $1 FOR UPDATE";

/** Rejects with `Lost` if the commit is uncertain; any other rejection means that nothing was written. */
export async function appendJudged(
  driver: Driver,
  heads: CachedHeads,
  list: readonly (readonly Part[])[],
): Promise<readonly AppendVerdict[]> {
  const { database } = driver;
  const all = list.flat();
  for (const { session } of all) heads.delete(session);
  const done = await database.transaction(async (statement) => {
    if (all.some(({ lease }) => typeof lease === "object")) await statement(oneByOne, [driver.tenant]);
    const askedAt = driver.world.now();
    const facts = await learn(driver, statement, all);
    database.heardClock(facts.nowMs, askedAt);
    const judged = list.map((parts) => judge(driver, facts, parts));
    const written = judged.flatMap((one) => (isWritten(one) ? one : []));
    if (written.length > 0) await write(driver, statement, written, facts.nowMs);
    return { judged, written };
  });
  for (const { part, seq, hash, at, epoch, activeAt } of done.written) {
    if (part.drop !== true) heads.set(part.session, { seq, hash, at, epoch, activeAt });
  }
  return done.judged.map((one) => (isWritten(one) ? { kind: "ok", parts: one.map(appended) } : one));
}

const isWritten = (one: AppendVerdict | readonly WrittenPart[]): one is readonly WrittenPart[] =>
  Array.isArray(one);

const appended = ({ part, firstSeq, seq, at, hashes }: WrittenPart) => ({
  session: part.session,
  firstSeq,
  headSeq: seq,
  at,
  hashes,
});

/** All at once: the server runs the statements in order, so with the locks of the first. */
async function learn(driver: Driver, statement: Statement, parts: readonly Part[]): Promise<Facts> {
  const { tenant, database } = driver;
  const sessions = arrayOf(parts.map(({ session }) => session));
  const keyed = parts.flatMap(({ session, drafts }) =>
    drafts.flatMap(({ key }) => (key === null ? [] : [{ session, key }])),
  );
  const forked = parts.flatMap(({ session, parent }) => (parent === undefined ? [] : [{ session, parent }]));
  const lock = parts.some(({ drop }) => drop === true) ? lockToDrop : lockToAppend;
  const mayBegin = parts.filter(({ expect }) => typeof expect === "string" || expect.seq === 0).length;
  const again = parts.flatMap(({ session, unlessDeleted }) =>
    unlessDeleted === undefined ? [] : [{ session, ...unlessDeleted }],
  );
  const [heads, keys, points, deleted, numbers, clock] = await Promise.all([
    statement<HeadRow>(lock, [tenant, sessions]),
    keyed.length === 0
      ? []
      : statement<KeyRow>(findKeys, [
          tenant,
          arrayOf(keyed.map(({ session }) => session)),
          arrayOf(keyed.map(({ key }) => key)),
        ]),
    forked.length === 0
      ? []
      : statement<PointRow>(findPoints, [
          tenant,
          arrayOf(forked.map(({ session }) => session)),
          arrayOf(forked.map(({ parent }) => parent.session)),
          arrayOf(forked.map(({ parent }) => parent.seq)),
        ]),
    again.length === 0
      ? []
      : statement<Pick<HeadRow, "session">>(findDeleted, [
          tenant,
          arrayOf(again.map(({ session }) => session)),
          arrayOf(again.map(({ by }) => by)),
          arrayOf(again.map(({ afterSeq }) => afterSeq)),
        ]),
    mayBegin === 0 ? [] : statement<{ number: number }>(newNumbers, [tenant, mayBegin]),
    statement<{ now: number }>("SELECT skein.clock($1) AS now", [database.given()]),
  ]);
  return {
    nowMs: clock[0]?.now ?? 0,
    heads: new Map(heads.map((row) => [row.session, row])),
    keys: Map.groupBy(keys, ({ session }) => session),
    points: new Map(points.map((row) => [row.session, row])),
    deleted: new Set(deleted.map(({ session }) => session)),
    numbers: numbers.map(({ number }) => number),
  };
}

/** All parts of an append, or why it is refused: the first failing part decides. */
function judge(driver: Driver, facts: Facts, parts: readonly Part[]): AppendVerdict | readonly WrittenPart[] {
  for (const part of parts) {
    const refused = refusal(facts, part);
    if (refused !== null) return refused;
  }
  const written: WrittenPart[] = [];
  for (const part of parts) {
    const one = place(driver, facts, part, written);
    if (one instanceof SkeinError) return one;
    written.push(one);
  }
  return written;
}

function refusal(facts: Facts, part: Part): AppendVerdict | null {
  const { session } = part;
  const row = facts.heads.get(session);
  const head = row?.state === state.seen ? { ...row, hash: hexOf(row.hash) } : null;
  const isClosed = row?.state === state.receiving || (head !== null && isShut(head));
  const closed = isClosed ? (row?.copy === true ? "copy" : "receiving") : null;
  const found = facts.keys.get(session);
  const seqOfKey = (key: string): number | undefined => found?.find((one) => one.key === key)?.seq;
  const taken = row !== undefined || facts.deleted.has(session);
  return judgePart(part, { head, taken, closed }, seqOfKey);
}

const isShut = ({ copy, put_seq: putSeq }: Pick<HeadRow, "copy" | "put_seq">): boolean =>
  copy || putSeq !== null;

/** Links a part to the record before it; `earlier` are the previous parts of the same append. */
function place(
  { world }: Driver,
  facts: Facts,
  part: Part,
  earlier: readonly WrittenPart[],
): WrittenPart | SkeinError {
  const head = facts.heads.get(part.session) ?? null;
  const begin = head === null ? beginning(facts, part, earlier) : null;
  if (begin instanceof SkeinError) return begin;
  const end: End =
    head === null
      ? (begin?.end ?? { seq: 0, hash: genesisHash, at: 0 })
      : { seq: head.seq, hash: hexOf(head.hash), at: head.at };
  const ready = linked(world.digest, part, end, facts.nowMs);
  const log = head?.log ?? facts.numbers.pop();
  if (log === undefined) throw new Error("invariant: a number was kept for each log that may begin");
  const stale = head === null || ready.at - head.active_at >= activeLagMs;
  const { lease } = part;
  return {
    ...ready,
    log,
    head,
    begins: begin?.from ?? null,
    activeAt: stale ? ready.at : head.active_at,
    epoch: lease === undefined ? (head?.epoch ?? 0) : lease === "release" ? 0 : ready.firstSeq,
  };
}

function beginning(
  facts: Facts,
  { session, index, parent }: Part,
  earlier: readonly WrittenPart[],
): { readonly from: Beginning; readonly end: End } | SkeinError {
  if (index === undefined && !isSharedLogId(session)) return missingIndex(session);
  if (parent === undefined) {
    const from = { parent: null, base: null, forkSeq: 0, depth: 0 };
    return { from, end: { seq: 0, hash: genesisHash, at: 0 } };
  }
  const { seq } = parent;
  const mine = earlier.find(({ part }) => part.session === parent.session);
  const point = facts.points.get(session);
  const depth = mine?.begins?.depth ?? point?.depth ?? 0;
  const found =
    mine !== undefined && seq >= mine.firstSeq && seq <= mine.seq
      ? { parent: mine.log, base: mine.log, hash: mine.hashes[seq - mine.firstSeq] ?? "", at: mine.at }
      : point !== undefined &&
          point.hash !== null &&
          point.base !== null &&
          point.at !== null &&
          seq <= point.head_seq
        ? { parent: point.parent, base: point.base, hash: point.hash, at: point.at }
        : null;
  if (found === null) return missingForkPoint(parent);
  const tooDeep = depthFlaw(depth);
  if (tooDeep !== null) return tooDeep;
  const from = { parent: found.parent, base: found.base, forkSeq: seq, depth: depth + 1 };
  return { from, end: { seq, hash: found.hash, at: found.at } };
}

const insertHeads = `
INSERT INTO skein.heads (tenant, state, session, log, seq, hash, at, active_at, epoch, holder, until_ms,
  lease_order, bytes)
SELECT $1, ${state.seen}, g.session, g.log, g.seq, decode(g.hash, 'hex'), g.at, g.active_at, g.epoch,
  g.holder, g.until_ms, CASE WHEN g.holder IS NOT NULL THEN nextval('skein.lease_numbers') END, g.bytes
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
  $9::text[], $10::bigint[], $11::bigint[], $12::boolean[])
  g (session, log, seq, hash, at, active_at, epoch, holder, until_ms, bytes, leases)`;

const insertLogs = `
INSERT INTO skein.logs
  (tenant, id, session, listed, parent, base, fork_seq, depth, origin, opened_at, active_at)
SELECT $1, g.*, g.active_at FROM unnest($2::bigint[], $3::text[], $4::boolean[], $5::bigint[], $6::bigint[],
  $7::bigint[], $8::integer[], $9::text[], $10::bigint[])
  g (id, session, listed, parent, base, fork_seq, depth, origin, active_at)`;

const moveHeads = `
UPDATE skein.heads h SET seq = g.seq, hash = decode(g.hash, 'hex'), at = g.at, active_at = g.active_at,
  epoch = g.epoch, bytes = h.bytes + g.bytes,
  holder = CASE WHEN g.leases THEN g.holder ELSE h.holder END,
  until_ms = CASE WHEN g.leases THEN g.until_ms ELSE h.until_ms END,
  lease_order = CASE WHEN g.holder IS NOT NULL THEN nextval('skein.lease_numbers') ELSE h.lease_order END
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
  $9::text[], $10::bigint[], $11::bigint[], $12::boolean[])
  g (session, log, seq, hash, at, active_at, epoch, holder, until_ms, bytes, leases)
WHERE h.tenant = $1 AND h.session = g.session`;

const setActive = `
UPDATE skein.logs l SET active_at = g.at FROM unnest($2::bigint[], $3::bigint[]) g (log, at)
WHERE l.tenant = $1 AND l.id = g.log`;

/** Inlines skein.place_after: a function would be planned again with each append. */
const insertEvents = inForms(
  (form) => `
WITH begun AS (
  SELECT g.log, min(g.seq) - 1 AS before FROM unnest($2::bigint[], $3::bigint[]) g (log, seq) GROUP BY g.log
), places AS MATERIALIZED (
  SELECT b.log, greatest(
    pg_current_xact_id(),
    (SELECT e.xid FROM skein.events e WHERE e.log = b.log AND e.seq = b.before),
    (SELECT p.xid FROM skein.places p WHERE p.log = b.log AND p.from_seq <= b.before
      ORDER BY p.from_seq DESC LIMIT 1)
  ) AS xid FROM begun b
)
INSERT INTO skein.events (tenant, log, seq, xid, at, ${fieldColumns})
SELECT $1, d.log, d.seq, p.xid, d.at, ${fieldValues}
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], ${fieldArrays(5, form)})
  d (log, seq, at, ${fieldColumns})
JOIN places p ON p.log = d.log`,
);

const insertKeys = `
INSERT INTO skein.keys (tenant, log, seq, key)
SELECT $1, g.log, g.seq, decode(g.key, 'hex') FROM unnest($2::bigint[], $3::bigint[], $4::text[])
  g (log, seq, key)`;

const letGo = `
UPDATE skein.schedule SET since = $2 WHERE tenant = $1 AND log = ANY ($3::bigint[]) AND due = 0`;

/** Sends all statements that need no answer together. */
async function write(
  driver: Driver,
  statement: Statement,
  written: readonly WrittenPart[],
  nowMs: number,
): Promise<void> {
  const { tenant } = driver;
  const sent: Promise<unknown>[] = [];
  const send = (sql: string, values: Parameters<Statement>[1]): void => {
    const answer = statement(sql, values);
    // The first failure is reported; the others fail with it.
    answer.catch(() => undefined);
    sent.push(answer);
  };
  const born = written.filter(({ head }) => head === null);
  const moved = written.filter(({ head, part }) => head !== null && part.drop !== true);
  if (born.length > 0) {
    send(insertHeads, [tenant, ...headArrays(born, nowMs)]);
    send(insertLogs, [tenant, ...logArrays(born)]);
  }
  if (moved.length > 0) send(moveHeads, [tenant, ...headArrays(moved, nowMs)]);
  const stale = moved.filter(({ activeAt, head }) => activeAt !== head?.active_at);
  if (stale.length > 0) {
    send(setActive, [tenant, arrayOf(stale.map(({ log }) => log)), arrayOf(stale.map(({ at }) => at))]);
  }
  sendRecords(tenant, send, written);
  const indexed = written.flatMap(({ log, part }) =>
    part.index === undefined ? [] : [{ log, entry: part.index }],
  );
  if (indexed.length > 0) sent.push(setIndex(statement, tenant, indexed, nowMs));
  const released = written.filter(({ part }) => part.lease === "release");
  if (released.length > 0) send(letGo, [tenant, nowMs, arrayOf(released.map(({ log }) => log))]);
  await Promise.all(sent);
  await writeRest(driver, statement, written);
}

function sendRecords(
  tenant: number,
  send: (sql: string, values: Parameters<Statement>[1]) => void,
  written: readonly WrittenPart[],
): void {
  const places = written.flatMap(({ log, firstSeq, at, part }) =>
    part.drafts.map((draft, number) => ({ log, seq: firstSeq + number, at, key: draft.key })),
  );
  if (places.length > 0) {
    const fields = fieldsOf(written);
    const form = formOf(fields);
    send(insertEvents[form], [
      tenant,
      arrayOf(places.map(({ log }) => log)),
      arrayOf(places.map(({ seq }) => seq)),
      arrayOf(places.map(({ at }) => at)),
      ...fieldParameters(fields, form),
    ]);
  }
  const keyed = places.filter(({ key }) => key !== null);
  if (keyed.length > 0) {
    send(insertKeys, [
      tenant,
      arrayOf(keyed.map(({ log }) => log)),
      arrayOf(keyed.map(({ seq }) => seq)),
      arrayOf(keyed.map(({ key }) => key)),
    ]);
  }
}

/** The rare extras; after all writes, so that no blob is deleted that a new record refers to. */
async function writeRest(
  driver: Driver,
  statement: Statement,
  written: readonly WrittenPart[],
): Promise<void> {
  const { tenant } = driver;
  const refs = written.flatMap(({ log, firstSeq, part }) =>
    part.drafts.flatMap(({ blobs }, place) => blobs.map((hash) => ({ log, seq: firstSeq + place, hash }))),
  );
  if (refs.length > 0) await referBlobs(statement, tenant, refs);
  const erased = written.flatMap(({ log, firstSeq, part }) =>
    part.erase === undefined ? [] : [{ log, headSeq: firstSeq - 1, ranges: part.erase }],
  );
  if (erased.length > 0) await eraseParts(statement, tenant, erased);
  const dropped = written.flatMap(({ log, part }) => (part.drop === true ? [log] : []));
  if (dropped.length > 0) await dropLogs(statement, tenant, dropped);
}

function headArrays(list: readonly WrittenPart[], nowMs: number): string[] {
  const holders = list.map(({ part: { lease } }) => (typeof lease === "object" ? lease : null));
  return [
    arrayOf(list.map(({ part }) => part.session)),
    arrayOf(list.map(({ log }) => log)),
    arrayOf(list.map(({ seq }) => seq)),
    arrayOf(list.map(({ hash }) => hash)),
    arrayOf(list.map(({ at }) => at)),
    arrayOf(list.map(({ activeAt }) => activeAt)),
    arrayOf(list.map(({ epoch }) => epoch)),
    arrayOf(holders.map((lease) => lease?.holder ?? null)),
    arrayOf(holders.map((lease) => (lease === null ? null : nowMs + lease.leaseMs))),
    arrayOf(list.map(({ bytes }) => bytes)),
    arrayOf(list.map(({ part }) => part.lease !== undefined)),
  ];
}

function logArrays(list: readonly WrittenPart[]): string[] {
  return [
    arrayOf(list.map(({ log }) => log)),
    arrayOf(list.map(({ part }) => part.session)),
    arrayOf(list.map(({ part }) => !isSharedLogId(part.session))),
    arrayOf(list.map(({ begins }) => begins?.parent ?? null)),
    arrayOf(list.map(({ begins }) => begins?.base ?? null)),
    arrayOf(list.map(({ begins }) => begins?.forkSeq ?? 0)),
    arrayOf(list.map(({ begins }) => begins?.depth ?? 0)),
    arrayOf(list.map(({ part: { drafts } }) => drafts.slice(0, 1).map(originOf)[0]?.session ?? null)),
    arrayOf(list.map(({ at }) => at)),
  ];
}
