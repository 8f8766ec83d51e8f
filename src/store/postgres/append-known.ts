/**
 * The most frequent appends, of records and nothing else to logs whose heads are known here: one statement
 * moves the heads that are where they were left, and writes the records of those. Who is not among the moved
 * has written nothing, and is judged in a transaction. See append-judged.ts.
 */
import type { Draft, Outcome, Part } from "../port.ts";
import { agrees } from "../parts.ts";
import type { Value } from "./connection.ts";
import type { Driver } from "./driver.ts";
import type { Heads, KnownHead } from "./heads.ts";
import { arrayOf } from "./literal.ts";
import { draftArrays, draftColumns, draftParameters, draftRows, draftValues, linked } from "./records.ts";
import { activeLagMs } from "./schema.ts";

/** The log whose known head makes an append one of these; null when it is not. */
export function knownHead(heads: Heads, parts: readonly Part[], nowMs: number): KnownHead | null {
  const [part] = parts;
  if (part === undefined || parts.length > 1) return null;
  const { session, expect, epoch, drafts } = part;
  if (part.index !== undefined || part.lease !== undefined || part.parent !== undefined) return null;
  if (part.drop !== undefined || part.erase !== undefined || typeof expect === "string") return null;
  const head = heads.get(session);
  if (head === undefined || !agrees(head.seq, head.hash, expect)) return null;
  if (epoch !== undefined && epoch !== head.epoch) return null;
  if (nowMs - head.activeAt >= activeLagMs) return null;
  return drafts.every(({ key, blobs }) => key === null && blobs.length === 0) ? head : null;
}

const isThere = "h.state = 0 AND NOT h.copy AND h.put_seq IS NULL";

const columns = `tenant, log, seq, xid, at, ${draftColumns}`;

const many = `
WITH given AS (
  SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
    $8::bigint[], $9::bigint[])
    WITH ORDINALITY g (session, before, before_hash, seq, hash, at, epoch, bytes, place)
), moved AS (
  UPDATE skein.heads h SET seq = g.seq, hash = decode(g.hash, 'hex'), at = g.at, bytes = h.bytes + g.bytes
  FROM given g
  WHERE h.tenant = $1 AND h.session = g.session AND h.seq = g.before
    AND h.hash = decode(g.before_hash, 'hex') AND (g.epoch IS NULL OR h.epoch = g.epoch) AND ${isThere}
  RETURNING h.log, g.place, g.before, g.at
), written AS (
  INSERT INTO skein.events (${columns})
  SELECT $1, m.log, m.before + d.number, pg_current_xact_id(), m.at, ${draftValues}
  FROM moved m JOIN unnest($10::integer[], $11::integer[], ${draftArrays(12)})
    d (place, number, ${draftColumns}) ON d.place = m.place
)
SELECT place FROM moved`;

const one = `
WITH moved AS (
  UPDATE skein.heads h SET seq = $5, hash = decode($6, 'hex'), at = $7, bytes = h.bytes + $9
  WHERE h.tenant = $1 AND h.session = $2 AND h.seq = $3 AND h.hash = decode($4, 'hex')
    AND ($8::bigint IS NULL OR h.epoch = $8) AND ${isThere}
  RETURNING h.log
)
INSERT INTO skein.events (${columns})
SELECT $1, m.log, $5, pg_current_xact_id(), $7, $10, $11::integer, $12, $13::integer, $14::bigint, NULL, $15,
  decode($16, 'hex'), $17::integer, decode($18, 'hex'), $19, decode($6, 'hex')
FROM moved m RETURNING 1 AS place`;

const oneDraft = ({ type, v, actor, turn, cause, body, content }: Draft): readonly Value[] => {
  const { hash = null, bytes = null, salt = null, text = null } = content ?? {};
  return [type, v, actor, turn, cause, body, hash, bytes, salt, text];
};

/** Null for an append that was not done, since its log is not where it was left. Rejects with `Lost`. */
export async function appendKnown(
  { database, tenant, world }: Driver,
  heads: Heads,
  list: readonly { readonly part: Part; readonly head: KnownHead }[],
): Promise<readonly (Outcome | null)[]> {
  const nowMs = database.now();
  const ready = list.map(({ part, head }) => linked(world.digest, part, head, Math.floor(nowMs)));
  const rows = draftRows(ready);
  const before = list.map(({ head }) => head);
  const [first] = ready;
  const [row] = rows;
  const moved = await (first !== undefined && row !== undefined && rows.length === 1
    ? database.once<{ place: number }>(one, [
        tenant,
        first.part.session,
        before[0]?.seq ?? 0,
        before[0]?.hash ?? "",
        first.seq,
        first.hash,
        first.at,
        first.part.epoch ?? null,
        first.bytes,
        ...oneDraft(row.draft),
      ])
    : database.once<{ place: number }>(many, [
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
        ...draftParameters(rows),
      ]));
  const done = new Set(moved.map(({ place }) => place));
  return ready.map(({ part, firstSeq, seq, hash, hashes, at }, place): Outcome | null => {
    const { session } = part;
    const head = before[place];
    if (!done.has(place + 1) || head === undefined) {
      heads.forget(session);
      return null;
    }
    heads.set(session, { ...head, seq, hash, at });
    return { kind: "ok", parts: [{ session, firstSeq, headSeq: seq, at, hashes }] };
  });
}
