/**
 * The most frequent appends, of records only, to logs with known heads: one statement moves the heads that
 * are still in place, and writes their records. An append whose head was not moved has written nothing, and
 * is judged in a transaction. See append-judged.ts.
 */
import type { Draft, Outcome, Part } from "../../port.ts";
import { agrees } from "../../judge.ts";
import type { Value } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import type { CachedHeads, CachedHead } from "./heads.ts";
import { arrayOf, isPlain, joined, splitting } from "../connection/array-literal.ts";
import {
  fieldArrays,
  fieldColumns,
  fieldParameters,
  fieldsOf,
  fieldValues,
  linked,
  type LinkedPart,
} from "./records.ts";
import { activeLagMs } from "../schema.ts";

/** The log whose known head qualifies the append; null if it does not qualify. */
export function knownHead(heads: CachedHeads, parts: readonly Part[]): CachedHead | null {
  const [part] = parts;
  if (part === undefined || parts.length > 1) return null;
  const { session, expect, epoch, drafts } = part;
  if (part.index !== undefined || part.lease !== undefined || part.parent !== undefined) return null;
  if (part.drop !== undefined || part.erase !== undefined || typeof expect === "string") return null;
  const head = heads.get(session);
  if (head === undefined || !agrees(head.seq, head.hash, expect)) return null;
  if (epoch !== undefined && epoch !== head.epoch) return null;
  return drafts.every(isSimple) ? head : null;
}

const isSimple = ({ key, blobs, body, content }: Draft): boolean =>
  key === null && blobs.length === 0 && isPlain(body) && (content === null || isPlain(content.text));

const isThere = "h.state = 0 AND NOT h.copy AND h.put_seq IS NULL";

/**
 * Each statement in two forms: the usual one touches no index of `logs`; the other also updates `active_at`,
 * in both tables, of logs where it lags too far behind.
 */
interface Forms {
  readonly usual: string;
  readonly active: string;
}

const forms = (at: string, statement: (set: string, also: string) => string): Forms => ({
  usual: statement("", ""),
  active: statement(
    `, active_at = CASE WHEN ${at} - h.active_at >= ${activeLagMs} THEN ${at} ELSE h.active_at END`,
    `, active AS (
  UPDATE skein.logs l SET active_at = m.at FROM moved m
  WHERE l.tenant = $1 AND l.id = m.log AND m.at - l.active_at >= ${activeLagMs}
)`,
  ),
});

const columns = `tenant, log, seq, xid, at, ${fieldColumns}`;

const many = forms(
  "g.at",
  (set, also) => `
WITH given AS (
  SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
    $8::bigint[], $9::bigint[])
    WITH ORDINALITY g (session, before, before_hash, seq, hash, at, epoch, bytes, place)
), moved AS (
  UPDATE skein.heads h SET seq = g.seq, hash = decode(g.hash, 'hex'), at = g.at,
    bytes = h.bytes + g.bytes${set}
  FROM given g
  WHERE h.tenant = $1 AND h.session = g.session AND h.seq = g.before
    AND h.hash = decode(g.before_hash, 'hex') AND (g.epoch IS NULL OR h.epoch = g.epoch) AND ${isThere}
  RETURNING h.log, g.place, g.before, g.at
), written AS (
  INSERT INTO skein.events (${columns})
  SELECT $1, m.log, m.before + d.number, pg_current_xact_id(), m.at, ${fieldValues}
  FROM moved m JOIN unnest($10::integer[], $11::integer[], ${fieldArrays(12, "joined")})
    d (place, number, ${fieldColumns}) ON d.place = m.place
)${also}
SELECT place FROM moved`,
);

/**
 * Of one record each. Lists are read by index: unnesting them all would take as long as writing the records.
 * Only one is unnested, from which the planner infers that they are few. The keys are computed before any
 * lookup, so that heads are found by their sessions.
 */
const each = forms(
  "g.at",
  (set, also) => `
WITH list AS MATERIALIZED (
  SELECT ${splitting(3)} AS session, ${splitting(4)} AS before_hash, ${splitting(5)} AS hash,
    $6::bigint[] AS at, $7::bigint[] AS epoch, ${splitting(8)} AS type, $9::integer[] AS v,
    ${splitting(10)} AS actor, $11::integer[] AS turn, $12::bigint[] AS cause, ${splitting(13)} AS body,
    ${splitting(14)} AS content_hash, $15::integer[] AS bytes, ${splitting(16)} AS salt,
    ${splitting(17)} AS content
), given AS MATERIALIZED (
  SELECT p.place::integer AS place, p.before, l.session[p.place] AS session, l.at[p.place] AS at,
    decode(l.before_hash[p.place], 'hex') AS before_hash, decode(l.hash[p.place], 'hex') AS hash,
    l.epoch[p.place] AS epoch, l.bytes[p.place] AS bytes
  FROM list l, unnest($2::bigint[]) WITH ORDINALITY p (before, place)
), moved AS (
  UPDATE skein.heads h SET seq = g.before + 1, hash = g.hash, at = g.at,
    bytes = h.bytes + coalesce(g.bytes, 0)${set}
  FROM given g
  WHERE h.tenant = $1 AND h.session = g.session AND h.seq = g.before AND h.hash = g.before_hash
    AND (g.epoch IS NULL OR h.epoch = g.epoch) AND ${isThere}
  RETURNING h.log, h.seq, h.at, h.hash, g.bytes, g.place
), written AS (
  INSERT INTO skein.events (${columns})
  SELECT $1, m.log, m.seq, pg_current_xact_id(), m.at, l.type[m.place], l.v[m.place], l.actor[m.place],
    l.turn[m.place], l.cause[m.place], NULL, l.body[m.place], decode(l.content_hash[m.place], 'hex'),
    m.bytes, decode(l.salt[m.place], 'hex'), l.content[m.place], m.hash
  FROM list l, moved m
)${also}
SELECT count(*)::integer AS count, string_agg(place::text, ',') AS places FROM moved`,
);

const one = forms(
  "$6::bigint",
  (set, also) => `
WITH moved AS (
  UPDATE skein.heads h SET seq = $3::bigint + 1, hash = decode($5, 'hex'), at = $6,
    bytes = h.bytes + coalesce($8::integer, 0)${set}
  WHERE h.tenant = $1 AND h.session = $2 AND h.seq = $3 AND h.hash = decode($4, 'hex')
    AND ($7::bigint IS NULL OR h.epoch = $7) AND ${isThere}
  RETURNING h.log, h.seq, h.at, h.hash
)${also}
INSERT INTO skein.events (${columns})
SELECT $1, m.log, m.seq, pg_current_xact_id(), m.at, $9, $10::integer, $11, $12::integer, $13::bigint, NULL,
  $14, decode($15, 'hex'), $8::integer, decode($16, 'hex'), $17, m.hash
FROM moved m`,
);

const oneDraft = ({ type, v, actor, turn, cause, body, content }: Draft): readonly Value[] => {
  const { hash = null, bytes = null, salt = null, text = null } = content ?? {};
  return [bytes, type, v, actor, turn, cause, body, hash, salt, text];
};

/** Null for an append that did not happen, because its log has moved. Rejects with `Lost`. */
export async function appendKnown(
  driver: Driver,
  heads: CachedHeads,
  list: readonly { readonly part: Part; readonly head: CachedHead }[],
): Promise<readonly (Outcome | null)[]> {
  const nowMs = Math.floor(driver.database.now());
  const ready = list.map(({ part, head }) => linked(driver.world.digest, part, head, nowMs));
  const before = list.map(({ head }) => head);
  const isLate = (place: number): boolean =>
    (ready[place]?.at ?? 0) - (before[place]?.activeAt ?? 0) >= activeLagMs;
  const form = before.some((_, place) => isLate(place)) ? "active" : "usual";
  const isEach = ready.every(({ part }) => part.drafts.length === 1);
  const done = await (isEach
    ? ready.length === 1
      ? writeOne(driver, form, ready, before)
      : writeEach(driver, form, ready, before)
    : writeMany(driver, form, ready, before));
  return ready.map(({ part, firstSeq, seq, hash, hashes, at }, place): Outcome | null => {
    const { session } = part;
    const head = before[place];
    if ((done !== null && !done.has(place + 1)) || head === undefined) {
      heads.delete(session);
      return null;
    }
    const activeAt = isLate(place) ? at : head.activeAt;
    heads.set(session, { seq, hash, at, epoch: head.epoch, activeAt });
    return { kind: "ok", parts: [{ session, firstSeq, headSeq: seq, at, hashes }] };
  });
}

/** The indices, from 1, of the moved ones; null: all. */
type MovedHead = ReadonlySet<number> | null;
type Write = (
  driver: Driver,
  form: keyof Forms,
  ready: readonly LinkedPart[],
  before: readonly CachedHead[],
) => Promise<MovedHead>;

const writeOne: Write = async ({ database, tenant }, form, [first], [head]) => {
  const draft = first?.part.drafts[0];
  if (first === undefined || draft === undefined || head === undefined) return new Set();
  const { part, hash, at } = first;
  const where = [tenant, part.session, head.seq, head.hash];
  const how = [hash, at, part.epoch ?? null];
  const { count } = await database.once(one[form], [...where, ...how, ...oneDraft(draft)]);
  return count === 1 ? null : new Set();
};

const writeEach: Write = async ({ database, tenant }, form, ready, before) => {
  const drafts = ready.flatMap(({ part }) => part.drafts);
  const contents = drafts.map(({ content }) => content);
  const [row] = await database.once<{ count: number; places: string | null }>(each[form], [
    tenant,
    arrayOf(before.map(({ seq }) => seq)),
    joined(ready.map(({ part }) => part.session)),
    joined(before.map(({ hash }) => hash)),
    joined(ready.map(({ hash }) => hash)),
    arrayOf(ready.map(({ at }) => at)),
    arrayOf(ready.map(({ part }) => part.epoch ?? null)),
    joined(drafts.map(({ type }) => type)),
    arrayOf(drafts.map(({ v }) => v)),
    joined(drafts.map(({ actor }) => actor)),
    arrayOf(drafts.map(({ turn }) => turn)),
    arrayOf(drafts.map(({ cause }) => cause)),
    joined(drafts.map(({ body }) => body)),
    joined(contents.map((content) => content?.hash ?? null)),
    arrayOf(contents.map((content) => content?.bytes ?? null)),
    joined(contents.map((content) => content?.salt ?? null)),
    joined(contents.map((content) => content?.text ?? null)),
  ]);
  if (row?.count === ready.length) return null;
  return new Set((row?.places ?? "").split(",").map(Number));
};

const writeMany: Write = async ({ database, tenant }, form, ready, before) => {
  const rows = await database.once<{ place: number }>(many[form], [
    tenant,
    arrayOf(ready.map(({ part }) => part.session)),
    arrayOf(before.map(({ seq }) => seq)),
    arrayOf(before.map(({ hash }) => hash)),
    arrayOf(ready.map(({ seq }) => seq)),
    arrayOf(ready.map(({ hash }) => hash)),
    arrayOf(ready.map(({ at }) => at)),
    arrayOf(ready.map(({ part }) => part.epoch ?? null)),
    arrayOf(ready.map(({ bytes }) => bytes)),
    arrayOf(ready.flatMap(({ part }, place) => part.drafts.map(() => place + 1))),
    arrayOf(ready.flatMap(({ part }) => part.drafts.map((_, place) => place + 1))),
    ...fieldParameters(fieldsOf(ready), "joined"),
  ]);
  return rows.length === ready.length ? null : new Set(rows.map(({ place }) => place));
};
