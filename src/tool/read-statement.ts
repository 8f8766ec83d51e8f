/**
 * What a statement on a PostgreSQL that is bound for reading begins with, and which functions it names. A
 * read-only transaction is not enough: large objects, advisory locks, notifications, files of the server and
 * connections to other servers are all reached by functions.
 */
import { tokenizeSql } from "../platform/postgres-tokens.ts";

export interface ReadStatement {
  /** Names that stand before a bracket or behind a point, as PostgreSQL looks them up. */
  readonly called: readonly string[];
}

/** What reads. All else has effects outside of a transaction, or changes the session. */
const first: ReadonlySet<string> = new Set(["select", "with", "values", "table", "show", "explain"]);

/** Run a text as SQL, so that no name in it is seen here. */
const running: ReadonlySet<string> = new Set(
  `query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml ts_stat ts_rewrite crosstab
  crosstab2 crosstab3 crosstab4 connectby`.split(/\s+/),
);

/** What is wrong with it, as a text; else what it names. */
export function readStatement(sql: string): ReadStatement | string {
  const tokens = tokenizeSql(sql);
  if (typeof tokens === "string") return tokens;
  const isSign = (at: number, sign: string): boolean =>
    tokens[at]?.kind === "sign" && tokens[at].value === sign;
  const begins = tokens.find((_, at) => !isSign(at, "("));
  if (begins?.kind !== "word" || !first.has(begins.value))
    return `it does not begin with ${[...first].join(", ").toUpperCase()}`;
  const called = tokens.flatMap(({ kind, value }, at) => {
    const isName = kind === "word" || kind === "quoted";
    return isName && (isSign(at + 1, "(") || isSign(at - 1, ".")) ? [value] : [];
  });
  const runs = called.find((name) => running.has(name));
  return runs === undefined ? { called: [...new Set(called)] } : `${runs} runs a text as SQL`;
}

/**
 * Of the functions with these names, those that PostgreSQL or an extension has and that may have effects: it
 * calls them volatile. What the database's own users wrote in SQL or PL/pgSQL is kept by the transaction.
 */
export const effectfulQuery = `SELECT DISTINCT p.proname AS name FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang
  WHERE p.proname = ANY ($1::text[]) AND p.provolatile = 'v' AND NOT l.lanpltrusted`;

/** Volatile since they give something else each time, without an effect. */
const harmless: ReadonlySet<string> = new Set(
  `random random_normal clock_timestamp timeofday gen_random_uuid gen_random_bytes uuid_generate_v1
  uuid_generate_v1mc uuid_generate_v4 gen_salt currval lastval pg_sleep pg_sleep_for pg_sleep_until
  pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size pg_database_size pg_tablespace_size
  pg_is_in_recovery pg_is_wal_replay_paused pg_current_wal_lsn pg_current_wal_insert_lsn
  pg_current_wal_flush_lsn pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp
  pg_last_committed_xact pg_blocking_pids pg_safe_snapshot_blocking_pids pg_lock_status
  pg_relation_filepath`.split(/\s+/),
);

export const isHarmless = (name: string): boolean => harmless.has(name) || name.startsWith("pg_stat_get_");
