/** Queries over the views in PostgreSQL: what they answer, and that no tenant hears of another. */
// Process of its own: it compares the largest memory of its process.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import postgres from "postgres";
import type { SessionId } from "../../../src/core/ids.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { seal } from "../../../src/runtime/log/seal.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Store } from "../../../src/store/port.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../../postgres/place.ts";
import { workspace } from "../../runtime/place.ts";

suite("queries in PostgreSQL", { skip: await noPostgres() }, () => {
  const world = realWorld();
  let place: PostgresPlace;
  let raw: postgres.Sql;
  let mine: { readonly store: Store; readonly engine: Engine };
  let theirs: { readonly store: Store; readonly engine: Engine };
  let own: string;

  const ask = (sql: string, more: object = {}) =>
    mine.store.query(sql, { limit: 100, bytesMax: 1_000_000, timeoutMs: 10_000, ...more });
  const rowsOf = async (sql: string) => (await ask(sql)).rows;

  before(async () => {
    place = await ownDatabase();
    raw = postgres(place.url, { max: 1, onnotice: () => undefined });
    [mine, theirs] = [await opened("mine"), await opened("theirs")];
    own = await filled(mine, "Mine to see");
    await filled(theirs, "Theirs alone");
    await raw.unsafe(`CREATE SCHEMA other_app; CREATE TABLE other_app.users (secret text);
      INSERT INTO other_app.users VALUES ('of another program');
      CREATE TABLE public.plain (secret text); CREATE FUNCTION public.reveal() RETURNS text LANGUAGE sql
      AS 'SELECT max(content) FROM skein.events'`);
  });
  after(async () => {
    await raw.end();
    await mine.store.close();
    await theirs.store.close();
    await place.done();
  });

  async function opened(tenant: string) {
    const store = await postgresStore({ url: place.url, tenant, world, workspace });
    return { store, engine: new Engine({ store, world }) };
  }

  async function filled({ store, engine }: typeof mine, objective: string): Promise<string> {
    const session = await engine.open({ objective, labels: { team: "web" }, agent: "fixer" });
    const drafts = seal(
      world,
      [
        {
          type: "tool.requested",
          body: { call: "call_1", tool: "shell", effect: "read" },
          content: { input: { path: "a" } },
        },
        {
          type: "tool.settled",
          body: { call: "call_1", status: "ok", ms: 12 },
          content: { output: "done" },
        },
        {
          type: "tool.requested",
          body: { call: "call_1", tool: "shell", effect: "read" },
          content: { input: [1] },
        },
        {
          type: "model.responded",
          body: {
            model: "acme/one",
            finish: "stop",
            usage: { inputTokens: 10, outputTokens: 5 },
            costNanoUsd: 1_500,
          },
          content: { blocks: [] },
        },
      ],
      { actor: "agent:fixer@1", key: null },
    ).drafts;
    assert.equal((await store.append([{ session: session.id, expect: "exists", drafts }])).kind, "ok");
    return session.id;
  }

  test("the views show the stored data", async () => {
    assert.deepEqual(
      await rowsOf("SELECT session, status, agent, objective, labels ->> '$.team', parent FROM sessions"),
      [[own, "open", "fixer", "Mine to see", "web", null]],
    );
    const [opening] = await rowsOf("SELECT seq, type, v, erased, length(hash) FROM events ORDER BY at, seq");
    assert.deepEqual(opening, [1, "session.opened", 1, 0, 64]);
    const calls = await rowsOf(
      `SELECT tool, input, status, settled_seq - seq, ms, output FROM tool_calls
       WHERE session = '${own}' ORDER BY seq`,
    );
    assert.deepEqual(calls, [
      ["shell", '{"path":"a"}', "ok", 1, 12, "done"],
      ["shell", "[1]", null, null, null, null],
    ]);
    assert.deepEqual(await rowsOf("SELECT agent, model, input_tokens, output_tokens, nano_usd FROM costs"), [
      ["fixer", "acme/one", 10, 5, 1_500],
    ]);
    assert.match(String((await rowsOf("SELECT day FROM costs"))[0]?.[0]), /^\d{4}-\d\d-\d\d$/);
  });

  test("answers have numbers as numbers, JSON as text, and columns of one name apart", async () => {
    const answer = await ask(
      "SELECT sum(nano_usd) AS a, 1.5 AS a, '{\"x\":1}'::jsonb, true, date(0, 'unixepoch'), " +
        "datetime(0, 'unixepoch'), sum(nano_usd IS NULL), total('2'::text), null FROM costs",
    );
    assert.deepEqual(answer.rows, [
      [1_500, 1.5, '{"x":1}', true, "1970-01-01", "1970-01-01 00:00:00", 0, 2, null],
    ]);
    assert.deepEqual(answer.columns.slice(0, 2), ["a", "a"]);
    assert.deepEqual(await ask("SELECT session AS id FROM events WHERE seq > 1000"), {
      columns: ["id"],
      rows: [],
    });
  });

  test("JSON is looked into as on SQLite", async () => {
    const json = `'{"a":{"b":[1,{"c":"x"}]},"d":null,"e.f":2}'`;
    const paths = ["$.a.b[1].c", "$.a.b", "$.d", "e.f", "$.none"];
    const asked = paths.map((path) => `${json} ->> '${path}', json_extract(${json}, '${path}')`);
    const texts = ["x", '[1,{"c":"x"}]', null, "2", null];
    assert.deepEqual(await rowsOf(`SELECT ${asked.join(", ")}`), [texts.flatMap((text) => [text, text])]);
    const odd = String.raw`'{"x":"a\u0000b","y":"\ud800"}'`;
    assert.deepEqual(await rowsOf(`SELECT ${odd} ->> 'x', ${odd} ->> 'y'`), [["a\ufffdb", "\ufffd"]]);
  });

  test("views can be counted, joined, aliased, nested and walked", async () => {
    const questions: readonly (readonly [string, unknown])[] = [
      ["SELECT count(*) FROM sessions", 1],
      ["SELECT count(*) FROM events AS e JOIN sessions AS s ON s.session = e.session WHERE e.seq = 1", 1],
      ["WITH few AS (SELECT * FROM events LIMIT 3) SELECT count(*) FROM few", 3],
      [
        "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT max(n) FROM c",
        5,
      ],
      ["SELECT x.value FROM jsonb_each('{\"a\":7}') x", "7"],
      ["VALUES (3)", 3],
      ["(SELECT 4)", 4],
      ["-- what is there\nSELECT count(*) FROM sessions;", 1],
    ];
    for (const [sql, expected] of questions)
      assert.deepEqual(String((await rowsOf(sql))[0]?.[0]), String(expected), sql);
  });

  test("packed records are in every view, in the same rows", async () => {
    const views = ["events", "tool_calls", "costs"].map(
      (view) => `SELECT * FROM ${view} ORDER BY session, seq`,
    );
    const before = await Promise.all(views.map(rowsOf));
    const { records } = await mine.store.pack(own as SessionId, 4);
    assert.equal(records, 4);
    assert.deepEqual(await Promise.all(views.map(rowsOf)), before);
    const [, count] =
      (await rowsOf(`SELECT session, count(*) FROM events WHERE session = '${own}' GROUP BY 1`))[0] ?? [];
    assert.equal(count, 5);
  });

  test("other tenants, tables, settings, the server and changes are out of reach", async () => {
    for (const sql of hostile) {
      const told = await ask(sql).then(
        ({ rows }) => JSON.stringify(rows),
        (error: { code?: string; message: string }) => {
          assert.equal(error.code, "invalid", `${sql}: ${error.message}`);
          return error.message;
        },
      );
      assert.doesNotMatch(told, /Theirs|another program/i, sql);
      assert.match(told, /^query: /, sql);
    }
    assert.deepEqual(await rowsOf("SELECT objective FROM sessions"), [["Mine to see"]]);
  });

  test("a failing condition does not reveal rows of others", async () => {
    const tries = [
      "SELECT count(*) FROM events WHERE content LIKE '%Theirs%' AND content::integer > 0",
      `SELECT count(*) FROM events
       WHERE (CASE WHEN content LIKE '%Theirs%' THEN content::integer ELSE 0 END) = 0`,
      "SELECT count(*) FROM sessions WHERE objective LIKE 'Theirs%' AND objective::integer = 1",
      `SELECT count(*) FROM (SELECT content::integer AS n FROM events WHERE content LIKE '%Theirs%') x
       WHERE n > 0`,
      "SELECT count(*) FROM items WHERE value::integer > 0",
    ];
    for (const sql of tries) {
      const found = Number((await rowsOf(sql))[0]?.[0]);
      const all = Number((await rowsOf("SELECT count(*) FROM events"))[0]?.[0]);
      assert.ok(found === 0 || found === all, sql);
    }
  });

  test("a query that does not end is ended, and one with too many rows is refused", async () => {
    const endless = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 0 FROM c) SELECT max(n) FROM c";
    const refused = { code: "refused", message: /timed out after 150 ms/, hint: /add conditions/ };
    await assert.rejects(ask(endless, { timeoutMs: 150 }), refused);
    assert.equal((await ask("SELECT seq FROM events LIMIT 2", { limit: 2 })).rows.length, 2);
    await assert.rejects(ask("SELECT seq FROM events", { limit: 2 }), { code: "invalid", hint: /LIMIT/ });
  });

  test("more bytes than the limit are refused, the limit itself is allowed", async () => {
    const two = "SELECT 'abcd', 1 UNION ALL SELECT 'é', 2";
    assert.equal((await ask(two, { bytesMax: 12 + 8 + 10 + 8 })).rows.length, 2);
    const refused = { code: "invalid", message: /more than 37 bytes/, hint: /fewer rows or columns/ };
    await assert.rejects(ask(two, { bytesMax: 37 }), refused);
  });

  test("a value that is longer than memory bears does not come in, nor does an error with it", async () => {
    const long = [
      "SELECT format('%100000000s', 'x') AS a",
      "SELECT format('%100000000s', 'x') AS a, 1 AS a",
      "SELECT format('%100000000s', 'x')::integer AS a",
      "SELECT format('%10000000s', 'x') AS a FROM generate_series(1, 20)",
      "SELECT 'x'::char(10000000) AS a FROM generate_series(1, 60)",
    ];
    const refused = { code: "invalid", message: /more than 1000000 bytes/, hint: /part of a text/ };
    const before = process.resourceUsage().maxRSS;
    for (const sql of long) await assert.rejects(ask(sql), refused, sql);
    assert.ok(process.resourceUsage().maxRSS - before < 90_000, "kilobytes");
    const short = ask("SELECT format('%3000s', 'x')::integer AS a");
    await assert.rejects(
      short,
      (error: Error) => error.message.length < 600 && /integer/.test(error.message),
    );
    assert.deepEqual(await rowsOf("SELECT objective FROM sessions"), [["Mine to see"]]);
    assert.deepEqual((await theirs.engine.query("SELECT 1 AS one")).rows, [[1]]);
  });

  test("a cancelled query is ended on the server, and nothing else with it", async () => {
    const endless = "WITH RECURSIVE c (n) AS (SELECT 7 UNION ALL SELECT n + 0 FROM c) SELECT max(n) FROM c";
    const running = async (): Promise<number> =>
      (
        await raw.unsafe(
          "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%SELECT 7 UN%'",
        )
      ).length - 1;
    for (let round = 0; round < 5; round++) {
      const leaving = new AbortController();
      const asked = ask(endless, { timeoutMs: 60_000, signal: leaving.signal });
      asked.catch(() => undefined);
      while ((await running()) === 0) await world.sleep(5);
      leaving.abort();
      const others = Array.from({ length: 20 }, () => mine.store.head(own as SessionId));
      await assert.rejects(asked, { code: "unavailable", message: /query: aborted/ });
      assert.equal(await running(), 0);
      assert.ok((await Promise.all(others)).every((head) => head !== undefined));
    }
    const gone = AbortSignal.abort();
    await assert.rejects(ask("SELECT 1 AS one", { signal: gone }), { code: "unavailable" });
    const { signal } = new AbortController();
    assert.deepEqual((await ask("SELECT 1 AS one", { signal })).rows, [[1]]);
  });
});

/** Each would tell of another tenant, of the database or its server, or change something. */
const hostile = [
  "SELECT * FROM skein.events",
  "SELECT * FROM events, skein . events",
  'SELECT * FROM "skein"."events"',
  "SELECT * FROM other_app.users",
  "SELECT * FROM sessions other_app, other_app.users",
  "SELECT secret FROM public.plain",
  "SELECT * FROM plain",
  "SELECT public.reveal()",
  "SELECT reveal()",
  "SELECT set_config('skein.tenant', '2', true)",
  "SELECT set_config/**/('skein.tenant', '2', true), count(*) FROM events",
  "SELECT \"set_config\"('skein.tenant', '2', true)",
  "SELECT current_setting('skein.tenant')",
  "SELECT ('skein.tenant'::text).current_setting",
  "SELECT x.current_setting FROM (SELECT 'skein.tenant'::text AS x) y",
  "SELECT query_to_xml('SELECT * FROM skein.events', true, true, '')",
  "SELECT table_to_xml('skein.events', true, true, '')",
  "SELECT database_to_xml(true, true, '')",
  "SELECT ts_stat('SELECT words FROM skein.texts')",
  "SELECT * FROM ts_stat('SELECT words FROM skein.texts')",
  "SELECT * FROM dblink('dbname=postgres', 'SELECT 1')",
  "SELECT pg_sleep(10)",
  "SELECT pg_read_file('postgresql.conf')",
  "SELECT lo_import('/etc/passwd')",
  "SELECT ('/etc/passwd'::text).lo_import",
  "SELECT * FROM pg_class",
  "SELECT * FROM pg_catalog.pg_class",
  "SELECT * FROM information_schema.tables",
  "SELECT 'skein.events'::regclass",
  "SELECT to_regclass('skein.events')",
  "SELECT version()",
  "SELECT inet_server_addr()",
  "SELECT has_table_privilege('skein.events', 'SELECT')",
  "SELECT nextval('skein.log_numbers')",
  "SELECT txid_current()",
  "SELECT current_user",
  "SELECT current_database()",
  "SELECT * FROM migrations",
  "SELECT salt FROM events",
  "WITH events AS (SELECT * FROM skein.events) SELECT * FROM events",
  "TABLE skein.events",
  "SELECT 1; SELECT 2",
  "SELECT 1; SET skein.tenant = 2",
  "SET skein.tenant = 2",
  "RESET ROLE",
  "EXPLAIN SELECT * FROM events",
  "COPY (SELECT 1) TO PROGRAM 'id'",
  "DELETE FROM events",
  "WITH d AS (DELETE FROM skein.events RETURNING 1) SELECT * FROM d",
  "SELECT * FROM sessions FOR UPDATE",
  "SELECT 1 INTO taken",
  "SELECT 1) AS a, (SELECT 2",
  "DO $$ BEGIN END $$",
  "not sql",
  "SELECT",
  "SELECT FROM events",
  "SELECT 1 / 0",
] as const;
