/**
 * The first word of a statement on a read-only PostgreSQL binding, and the functions it names. A read-only
 * transaction is not enough: functions reach large objects, advisory locks, notifications, server files and
 * other servers.
 */
import { tokenizeSql } from "../platform/postgres-tokens.ts";

export interface ReadStatement {
  /** Names before a parenthesis or after a dot, as PostgreSQL resolves them. */
  readonly called: readonly string[];
}

/** Statements that read. All others have effects outside of a transaction, or change the session. */
const first: ReadonlySet<string> = new Set(["select", "with", "values", "table", "show", "explain"]);

/** These run a text as SQL, so that its names are invisible here. */
const running: ReadonlySet<string> = new Set(
  `query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml ts_stat ts_rewrite crosstab
  crosstab2 crosstab3 crosstab4 connectby`.split(/\s+/),
);

/** The flaw as a text; otherwise the names. */
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
 * Of the functions with these names, those of PostgreSQL or an extension that may have effects: volatile
 * ones. The transaction contains users' own SQL or PL/pgSQL functions.
 */
export const effectfulQuery = `SELECT DISTINCT p.proname AS name FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang
  WHERE p.proname = ANY ($1::text[]) AND p.provolatile = 'v' AND NOT l.lanpltrusted`;

/** Volatile because their result varies, without an effect. */
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
