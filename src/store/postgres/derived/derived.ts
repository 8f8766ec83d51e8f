/** PostgreSQL data that can be rebuilt from the logs: snapshots, search, items. */
import type { LogId } from "../../../core/ids.ts";
import { limit } from "../../../core/limit.ts";
import type { Projection, Snapshot, Store } from "../../port.ts";
import type { SqlRow, Statement } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import { state } from "../../sql/log-state.ts";
import { arrayOf, shownText } from "../connection/array-literal.ts";
import { unsynced } from "../connection/settings.ts";
import { projectionPosition, withoutErasures } from "../../feed-position.ts";
import { beginning, placeText } from "../log/feed-position.ts";
import { makeRanking } from "./ranking.ts";
import { queryText, wordsText } from "./search-words.ts";

type DerivedPart = Pick<
  Store,
  | "putSnapshot"
  | "snapshot"
  | "projected"
  | "project"
  | "search"
  | "wordGaps"
  | "addWords"
  | "rank"
  | "vectors"
  | "putVectors"
  | "clearDerived"
>;

/**
 * Words in fewer of the latest texts than this are looked up by index; others are found quickly, from the
 * latest on.
 */
const sample = { few: 5, of: 500 } as const;
const cleared = ["snapshots", "texts", "item_rows", "word_steps", "log_words", "vectors"] as const;
/** Rows deleted in one step. */
const clearMax = 2_000;
/** The pause between steps, for other work. */
const breathMs = 2;

export function makeDerived(driver: Driver): DerivedPart {
  const { database, tenant, world } = driver;

  /** In small steps, because a long transaction blocks the feed. */
  async function clear(table: (typeof cleared)[number]): Promise<void> {
    for (;;) {
      const { count } = await database.run(clearSome(table), [tenant]);
      if (count < clearMax) return;
      await world.sleep(breathMs);
    }
  }

  async function isFew(query: string): Promise<boolean> {
    const [row] = await database.run<{ count: number }>(sampleSql, [tenant, query]);
    return (row?.count ?? 0) < sample.few;
  }

  return {
    /** A snapshot belongs to the log that holds the position, so that all sharers find it. */
    async putSnapshot(session, { seq, form, text }) {
      await database.run(putSnapshotSql, [tenant, session, seq, form, text]);
    },
    async snapshot(session, seq): Promise<Snapshot | undefined> {
      const upTo = Math.min(seq, Number.MAX_SAFE_INTEGER);
      const [row] = await database.run<Snapshot & SqlRow>(snapshotSql, [tenant, session, upTo]);
      return row && { seq: row.seq, form: row.form, text: row.text };
    },
    async projected() {
      const [row] = await database.run<StandRow>(standSql, [tenant]);
      return placeOf(row);
    },
    project: (step) => database.transaction((statement) => project(statement, tenant, step), { twice: true }),
    async search(text, { limit: count, session, logs }) {
      const query = queryText(tenant, text);
      if (query === null) return [];
      const most = Math.min(count, limit.searchMax);
      if (logs !== undefined) {
        const some = arrayOf(session === undefined ? logs : logs.filter((log) => log === session));
        const sql = (await isFew(query)) ? searchFewOfSql : searchManyOfSql;
        const found = await database.run<HitRow>(sql, [tenant, query, most, some]);
        return found.map(({ session: log, seq }) => ({ session: log, seq }));
      }
      const rows = await (session === undefined
        ? database.run<HitRow>((await isFew(query)) ? searchFewSql : searchManySql, [tenant, query, most])
        : database.run<HitRow>(searchOneSql, [tenant, query, most, session]));
      return rows.map(({ session: found, seq }) => ({ session: found, seq }));
    },
    ...makeRanking(driver),
    /** Projections written meanwhile are undone at the end with the rest. */
    async clearDerived() {
      await database.run(forgetStandSql, [tenant]);
      for (const table of cleared) await clear(table);
      await database.transaction(
        async (statement) => {
          await statement(lockStandSql, [tenant]);
          for (const table of cleared)
            if (table !== "snapshots")
              await statement(`DELETE FROM skein.${table} WHERE tenant = $1`, [tenant]);
          await statement(forgetStandSql, [tenant]);
        },
        { twice: true },
      );
    },
  };
}

/** Does not wait for the disk: a lost snapshot is rebuilt. */
const putSnapshotSql = `
INSERT INTO skein.snapshots (tenant, log, seq, form, text)
SELECT $1, s.log, $3, $4::integer, $5 FROM skein.heads h CROSS JOIN LATERAL skein.stretches(h.log, $3, $3) s
WHERE h.tenant = $1 AND h.session = $2 AND h.state = ${state.seen}
  AND ${unsynced}
ON CONFLICT (log, seq) DO UPDATE SET form = excluded.form, text = excluded.text`;

/** The first found on the way up: ancestors hold only earlier ones. */
const snapshotSql = `
WITH RECURSIVE up (id, base, fork_seq, upto) AS (
  SELECT l.id, l.base, l.fork_seq, $3::bigint FROM skein.heads h JOIN skein.logs l ON l.id = h.log
  WHERE h.tenant = $1 AND h.session = $2 AND h.state = ${state.seen}
  UNION ALL
  SELECT l.id, l.base, l.fork_seq, least(up.upto, up.fork_seq)
  FROM up JOIN skein.logs l ON l.id = up.base AND l.fork_seq < up.fork_seq
)
SELECT s.seq, s.form, s.text FROM up CROSS JOIN LATERAL (
  SELECT s.seq, s.form, s.text FROM skein.snapshots s
  WHERE s.tenant = $1 AND s.log = up.id AND s.seq <= up.upto
  ORDER BY s.seq DESC LIMIT 1
) s LIMIT 1`;

interface StandRow extends SqlRow {
  readonly projected: string | null;
  readonly erased: number;
}

const standSql = "SELECT projected, erased FROM skein.tenants WHERE id = $1";
const lockStandSql = `${standSql} FOR NO KEY UPDATE`;
const moveStandSql = "UPDATE skein.tenants SET projected = $2 WHERE id = $1";
const forgetStandSql = "UPDATE skein.tenants SET projected = NULL WHERE id = $1";

const placeOf = (row: StandRow | undefined): string | null =>
  row === undefined ? null : projectionPosition(row.projected, row.erased, placeText(beginning));

/**
 * Locks the tenant's row, as an erasure does before it touches search and items: so either the erasure is
 * counted before this step, which is then rejected, or the step's texts are there to be erased.
 */
async function project(statement: Statement, tenant: number, step: Projection): Promise<boolean> {
  const [row] = await statement<StandRow>(lockStandSql, [tenant]);
  if (row === undefined || placeOf(row) !== step.from) return false;
  const { texts, items } = step;
  const to = withoutErasures(step.to);
  const rows = items.flatMap(({ session, rows: list }) => list.map((item) => ({ session, ...item })));
  await Promise.all([
    texts.length > 0 ? statement(addTextsSql, textValues(tenant, texts)) : null,
    items.length > 0
      ? statement(clearItemsSql, [tenant, arrayOf(items.map(({ session }) => session))])
      : null,
    rows.length > 0 ? statement(addItemsSql, itemValues(tenant, rows)) : null,
    statement(moveStandSql, [tenant, to]),
  ]);
  return true;
}

/** In the given order, by which they are found. */
const addTextsSql = `
INSERT INTO skein.texts (tenant, log, seq, words)
SELECT $1, h.log, t.seq, t.words::tsvector
FROM unnest($2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY t (session, seq, words, place)
JOIN skein.heads h ON h.tenant = $1 AND h.session = t.session AND h.state = ${state.seen}
ORDER BY t.place
ON CONFLICT (log, seq) DO UPDATE SET words = excluded.words`;

/** Of two texts for a record the last counts. */
function textValues(tenant: number, texts: Projection["texts"]): (string | number)[] {
  const last = [...new Map(texts.map((one) => [`${one.session} ${one.seq}`, one])).values()];
  return [
    tenant,
    arrayOf(last.map(({ session }) => session)),
    arrayOf(last.map(({ seq }) => seq)),
    arrayOf(last.map(({ text }) => wordsText(tenant, text))),
  ];
}

const clearItemsSql = `
DELETE FROM skein.item_rows i USING skein.heads h
WHERE h.tenant = $1 AND h.session = ANY ($2::text[]) AND i.tenant = $1 AND i.log = h.log`;

const addItemsSql = `
INSERT INTO skein.item_rows (tenant, log, kind, key, seq, at, status, value, because)
SELECT $1, h.log, i.kind, i.key, i.seq, i.at, i.status, i.value, i.because
FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
  $9::text[])
  i (session, kind, key, seq, at, status, value, because)
JOIN skein.heads h ON h.tenant = $1 AND h.session = i.session AND h.state = ${state.seen}
ON CONFLICT (log, kind, key) DO NOTHING`;

type ItemOf = Projection["items"][number]["rows"][number] & { readonly session: LogId };

const itemValues = (tenant: number, rows: readonly ItemOf[]): (string | number)[] => [
  tenant,
  arrayOf(rows.map(({ session }) => session)),
  arrayOf(rows.map(({ kind }) => shownText(kind))),
  arrayOf(rows.map(({ key }) => shownText(key))),
  arrayOf(rows.map(({ seq }) => seq)),
  arrayOf(rows.map(({ at }) => at)),
  arrayOf(rows.map(({ status }) => shownText(status))),
  arrayOf(rows.map(({ value }) => shownText(value))),
  arrayOf(rows.map(({ because }) => shownText(because))),
];

interface HitRow extends SqlRow {
  readonly session: LogId;
  readonly seq: number;
}

/** How many of the latest texts have all words. */
const sampleSql = `
SELECT count(*) AS count FROM (
  SELECT t.words FROM skein.texts t WHERE t.tenant = $1 ORDER BY t.id DESC LIMIT ${sample.of}
) t WHERE t.words @@ $2::tsquery`;

const foundIn = (texts: string): string => `
SELECT h.session, t.seq FROM (${texts}) t JOIN skein.heads h ON h.log = t.log AND h.state = ${state.seen}
ORDER BY t.id DESC LIMIT $3`;

/** Rare words: by the word index alone, where the tenant is part of each word. */
const searchFewSql = foundIn(`
SELECT t.id, t.log, t.seq FROM skein.texts t WHERE t.tenant + 0 = $1 AND t.words @@ $2::tsquery OFFSET 0`);

/** Common words: from the latest on. Some of deleted sessions may remain until they are swept. */
const searchManySql = foundIn(`
SELECT t.id, t.log, t.seq FROM skein.texts t
JOIN skein.heads h ON h.log = t.log AND h.state = ${state.seen}
WHERE t.tenant = $1 AND (t.words @@ $2::tsquery) IS TRUE ORDER BY t.id DESC LIMIT ${limit.searchMax}`);

const searchOneSql = `
SELECT h.session, t.seq FROM skein.heads h JOIN skein.texts t ON t.log = h.log
WHERE h.tenant = $1 AND h.session = $4 AND h.state = ${state.seen} AND t.words @@ $2::tsquery
ORDER BY t.id DESC LIMIT $3`;

/** Rare words in some logs: by the word index. */
const searchFewOfSql = `
SELECT h.session, t.seq FROM (
  SELECT t.id, t.log, t.seq FROM skein.texts t
  WHERE t.tenant + 0 = $1 AND t.words @@ $2::tsquery OFFSET 0
) t JOIN skein.heads h ON h.log = t.log AND h.state = ${state.seen}
WHERE h.tenant = $1 AND h.session = ANY ($4::text[]) ORDER BY t.id DESC LIMIT $3`;

/** Common words in some logs: the latest of each log; a walk over all texts could pass many of others. */
const searchManyOfSql = `
SELECT h.session, t.seq FROM skein.heads h CROSS JOIN LATERAL (
  SELECT t.id, t.seq FROM skein.texts t WHERE t.log = h.log AND t.words @@ $2::tsquery
  ORDER BY t.seq DESC LIMIT $3
) t
WHERE h.tenant = $1 AND h.session = ANY ($4::text[]) AND h.state = ${state.seen}
ORDER BY t.id DESC LIMIT $3`;

const clearSome = (table: string): string => `
DELETE FROM skein.${table} WHERE ctid = ANY (ARRAY (
  SELECT ctid FROM skein.${table} WHERE tenant = $1 LIMIT ${clearMax}
))`;
