/** A PostgreSQL that is bound for reading keeps nothing of what a statement did. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import postgres, { type Sql } from "postgres";
import { realWorld } from "../../src/runtime/world.ts";
import { openPostgres } from "../../src/tool/postgres-query.ts";
import { readStatement } from "../../src/tool/read-statement.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../postgres/place.ts";

suite("a PostgreSQL that is bound for reading", { skip: await noPostgres() }, () => {
  const world = realWorld();
  let place: PostgresPlace;
  let owner: Sql;
  let database: ReturnType<typeof openPostgres>;

  before(async () => {
    place = await ownDatabase();
    owner = postgres(place.url, { max: 1, onnotice: () => undefined });
    await owner.unsafe(`CREATE TABLE t (n integer);
      CREATE SEQUENCE numbers;
      CREATE FUNCTION keep_lock() RETURNS void LANGUAGE sql AS 'SELECT pg_advisory_lock(99)';
      CREATE FUNCTION keep_object() RETURNS oid LANGUAGE sql AS 'SELECT lo_from_bytea(0, ''kept'')';
      CREATE FUNCTION tell() RETURNS void LANGUAGE sql AS 'SELECT pg_notify(''news'', ''told'')';
      CREATE FUNCTION set_path() RETURNS text LANGUAGE sql
        AS 'SELECT set_config(''search_path'', ''elsewhere'', false)';
      CREATE FUNCTION lock_and_fail() RETURNS integer LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_advisory_lock(98); RETURN 1 / 0; END'`);
    database = openPostgres({ world, name: "books", url: place.url, password: undefined, mayWrite: false });
  });
  after(async () => {
    await database[Symbol.asyncDispose]();
    await owner.end({ timeout: 1 });
    await place.done();
  });

  const ask = async (sql: string): Promise<unknown> =>
    (await database.query(sql, { rowsMax: 10, timeoutMs: 10_000, signal: new AbortController().signal }))
      .rows;
  const refused = { code: "refused", message: /^books: the database is bound read-only/ };

  /** What is left behind, as everybody else sees it. */
  const left = async (): Promise<unknown> => ({
    objects: Number((await owner`SELECT count(*) AS n FROM pg_largeobject_metadata`)[0]?.["n"]),
    locks: (
      await owner`SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
    ).length,
    rows: Number((await owner`SELECT count(*) AS n FROM t`)[0]?.["n"]),
    prepared: (await owner`SELECT 1 FROM pg_prepared_xacts`).length,
  });
  const nothing = { objects: 0, locks: 0, rows: 0, prepared: 0 };

  test("refuses functions with effects, and statements that do not read", async () => {
    const statements = [
      "SELECT lo_create(0)",
      "SELECT lo_from_bytea(0, 'x')",
      "SELECT pg_catalog.lo_creat(-1)",
      "SELECT ('/etc/passwd'::text).lo_import",
      `SELECT "lo_create"(0)`,
      "SELECT lo_create /* spaced */ (0)",
      "SELECT lo_export(1, '/tmp/x')",
      "SELECT pg_advisory_lock(1)",
      "SELECT pg_try_advisory_lock(1)",
      "SELECT pg_advisory_xact_lock(1)",
      "SELECT pg_notify('news', 'told')",
      "SELECT set_config('search_path', 'x', false)",
      "SELECT pg_terminate_backend(1)",
      "SELECT pg_reload_conf()",
      "SELECT pg_switch_wal()",
      "SELECT pg_logical_emit_message(false, 'a', 'b')",
      "SELECT pg_create_physical_replication_slot('x')",
      "SELECT pg_stat_reset()",
      "SELECT nextval('numbers')",
      "SELECT query_to_xml('SELECT lo_create(0)', true, true, '')",
      'SELECT U&"lo\\005fcreate"(0)',
      "WITH a AS (SELECT 1) SELECT lo_create(0) FROM a",
      "EXPLAIN ANALYZE SELECT lo_create(0)",
      "SET search_path = elsewhere",
      "LISTEN news",
      "NOTIFY news",
      "PREPARE TRANSACTION 'kept'",
      "PREPARE kept AS SELECT 1",
      "DO $$ BEGIN PERFORM lo_create(0); END $$",
      "COPY (SELECT 1) TO PROGRAM 'cat > /tmp/x'",
      "COPY t TO '/tmp/x'",
      "LOCK TABLE t",
      "LOAD 'x'",
      "DECLARE kept CURSOR WITH HOLD FOR SELECT 1",
      "CREATE TEMP TABLE kept (n integer)",
      "COMMIT",
      "INSERT INTO t VALUES (1)",
    ];
    for (const sql of statements) await assert.rejects(ask(sql), refused, sql);
    assert.deepEqual(await left(), nothing);
  });

  test("undoes what functions of the database did all the same", { timeout: 60_000 }, async (t) => {
    const told: string[] = [];
    const listening = postgres(place.url, { max: 1 });
    t.after(() => listening.end({ timeout: 1 }));
    await listening.listen("news", (text) => told.push(text));
    for (const name of ["keep_lock", "keep_object", "tell", "set_path"]) await ask(`SELECT ${name}()`);
    await assert.rejects(ask("SELECT lock_and_fail()"), { code: "invalid", message: /division by zero/ });
    assert.deepEqual(await left(), nothing);
    assert.deepEqual(await ask("SELECT current_setting('search_path')"), [['"$user", public']]);
    await listening.notify("news", "last");
    while (!told.includes("last")) await world.sleep(5);
    assert.deepEqual(told, ["last"]);
  });

  test("reads as before", async () => {
    const statements = [
      "SELECT count(*)::int FROM t",
      "WITH a (n) AS (VALUES (1)) SELECT n FROM a",
      "(SELECT 1) UNION (SELECT 2)",
      "VALUES (1)",
      "TABLE t",
      "SHOW server_version",
      "EXPLAIN SELECT * FROM t",
      "SELECT random(), clock_timestamp(), gen_random_uuid(), pg_total_relation_size('t')",
      "SELECT * FROM pg_stat_activity LIMIT 1",
      "SELECT table_name FROM information_schema.tables LIMIT 1",
      "SELECT 'lo_create(0)' AS text, $$ pg_notify('a', 'b') $$ AS other -- lo_create(0)",
      "SELECT upper(lower('a')), coalesce(null, E'it\\'s (1)')",
    ];
    for (const sql of statements) await ask(sql);
  });
});

test("names are found where PostgreSQL would look them up", () => {
  const called = (sql: string): unknown => {
    const read = readStatement(sql);
    return typeof read === "string" ? read : read.called;
  };
  assert.deepEqual(called(`SELECT A ( 1 ), "B""c"(2), x.d FROM y`), ["a", 'B"c', "d"]);
  assert.deepEqual(called("SELECT 'f(1)', $a$ g(1) $a$, E'\\'h(1)' /* i(1) /* j(1) */ */"), []);
  assert.equal(called("SELECT $$ a"), "a text is not ended");
  assert.equal(called("SELECT /* a"), "a comment is not ended");
  assert.equal(
    called("/* SELECT */ DELETE FROM t"),
    "it does not begin with SELECT, WITH, VALUES, TABLE, SHOW, EXPLAIN",
  );
});
