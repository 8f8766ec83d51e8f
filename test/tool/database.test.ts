/** The database tool on SQLite files: reading stays reading, and nothing takes for ever. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { realWorld } from "../../src/runtime/world.ts";
import { databaseTools } from "../../src/tool/database.ts";
import type { StoredBinding, OuterTool } from "../../src/tool/port.ts";
import { callTool, failure, openFolder } from "./calling.ts";

const world = realWorld();

interface Place extends AsyncDisposable {
  readonly path: string;
  readonly file: string;
  open(...bound: readonly Partial<StoredBinding>[]): Promise<readonly OuterTool[]>;
}

async function openPlace(): Promise<Place> {
  const folder = await openFolder();
  const file = join(folder.path, "rates.db");
  using database = new DatabaseSync(file);
  database.exec(
    "CREATE TABLE rate (name TEXT, value REAL); INSERT INTO rate VALUES ('base', 4.1), ('top', 9)",
  );
  const opened = new AsyncDisposableStack();
  opened.use(folder);
  return {
    path: folder.path,
    file,
    open: (...bound) =>
      databaseTools(
        world,
        bound.map((one) => ({ kind: "database", name: "rates", mode: "read", path: file, ...one })),
        opened,
      ),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const query = async (tools: readonly OuterTool[], sql: string, more: object = {}) => {
  const { detail, ...called } = await callTool(tools, "query_database", { sql, ...more });
  const { uses: _, ...rest } = detail as { readonly uses?: unknown };
  return { ...called, detail: rest };
};

test("a query says what it read: statement, tables, and a digest of the rows", async () => {
  await using place = await openPlace();
  const tools = await place.open({});
  const uses = async (sql: string) => {
    const { detail } = await callTool(tools, "query_database", { sql });
    return (detail as { readonly uses: readonly { readonly digest: string }[] }).uses;
  };
  const sql = "SELECT value FROM rate WHERE name = 'base'";
  const [use] = await uses(sql);
  assert.deepEqual(
    { ...use, digest: use?.digest.length },
    { kind: "query", binding: "rates", sql, rows: 100, tables: ["rate"], digest: 64 },
  );
  assert.equal((await uses(sql))[0]?.digest, use?.digest);
  assert.notEqual((await uses("SELECT value FROM rate WHERE name = 'top'"))[0]?.digest, use?.digest);
});

test("a query gives columns and rows, and says when there are more", async () => {
  await using place = await openPlace();
  const tools = await place.open({});
  assert.equal(tools[0]?.effect, "read");
  assert.deepEqual(await query(tools, "SELECT * FROM rate ORDER BY name;  -- all of them"), {
    text: '["name","value"]\n["base",4.1]\n["top",9]',
    detail: { rows: 2, isMore: false },
  });
  assert.deepEqual(await query(tools, "SELECT name FROM rate", { rows: 1 }), {
    text: '["name"]\n["base"]\n[the first 1 rows; there are more: narrow it down]',
    detail: { rows: 1, isMore: true },
  });
  const odd = "SELECT 9007199254740993, x'0102', NULL, 1e999, 'a' || char(10) || 'b'";
  assert.equal(
    (await query(tools, odd)).text.split("\n")[1],
    '["9007199254740993","[2 bytes]",null,"Infinity","a\\nb"]',
  );
  assert.equal((await query(tools, "SELECT 1 WHERE 0")).text, '["1"]\n[no rows]');
  assert.match((await query(tools, "SELECT name FROM pragma_table_info('rate')")).text, /\["value"\]$/);
});

test("large results are cut", async () => {
  await using place = await openPlace();
  const tools = await place.open({});
  const long = await query(tools, "SELECT printf('%.*c', 100000000, 'x') AS x");
  assert.equal(long.text, `["x"]\n["${"x".repeat(4_000)}[… 99996000 characters more]"]`);
  const many =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT printf('%.*c', 1000, 'x') FROM n";
  const { text, detail } = await query(tools, many, { rows: 1_000 });
  assert.match(text, /\n\[the first 65 rows; there are more: narrow it down\]$/);
  assert.deepEqual(detail, { rows: 1_000, isMore: true });
  const wide = `WITH RECURSIVE
      n(i, v) AS (SELECT 1, printf('%.*c', 4000, 'x') UNION ALL SELECT i + 1, v FROM n)
    SELECT ${Array.from({ length: 300 }, () => "v").join(", ")} FROM n`;
  assert.deepEqual((await query(tools, wide, { rows: 1_000 })).detail, { rows: 13, isMore: true });
});

const reasons =
  /^invalid: rates: (not authorized|authorization denied|expected one statement|no such table|near )/;

test("bound for reading, nothing can be written, and no other file can be reached", async () => {
  await using place = await openPlace();
  const tools = await place.open({});
  const refused = [
    "DELETE FROM rate",
    "INSERT INTO rate VALUES ('x', 1) RETURNING *",
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t (a)",
    "PRAGMA query_only=OFF",
    "PRAGMA journal_mode=WAL",
    `ATTACH '${join(place.path, "other.db")}' AS other`,
    `VACUUM INTO '${join(place.path, "copy.db")}'`,
    "VACUUM",
    "BEGIN IMMEDIATE",
    "SELECT load_extension('x')",
    "SELECT 1; DELETE FROM rate",
    "SELECT * FROM nowhere",
    "nonsense",
  ];
  for (const [place, sql] of refused.entries()) {
    const told = place < 4 ? /^refused: rates: .* bound read-only/ : /^invalid: rates: /;
    assert.match(await failure(query(tools, sql)), told, sql);
  }
  assert.deepEqual(
    [existsSync(join(place.path, "other.db")), existsSync(join(place.path, "copy.db"))],
    [false, false],
  );
  assert.equal((await query(tools, "SELECT count(*) AS n FROM rate")).text, '["n"]\n[2]');
});

test("bound for writing, a statement can write, and still reaches no other file", async () => {
  await using place = await openPlace();
  const tools = await place.open({ mode: "write" });
  assert.equal(tools[0]?.effect, "unsafe");
  const { text } = await query(tools, "UPDATE rate SET value = value + 1");
  assert.equal(text, "done; rows changed: 2");
  assert.equal(
    (await query(tools, "INSERT INTO rate VALUES ('low', 1) RETURNING name")).text,
    '["name"]\n["low"]',
  );
  assert.equal((await query(tools, "SELECT sum(value) AS s FROM rate")).text, '["s"]\n[16.1]');
  const copy = join(place.path, "copy.db");
  for (const sql of [
    `ATTACH '${copy}' AS c`,
    `VACUUM INTO '${copy}'`,
    "BEGIN",
    "UPDATE rate SET value=0; SELECT 1",
  ])
    assert.match(await failure(query(tools, sql)), reasons, sql);
  assert.equal(existsSync(copy), false);
});

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

test("a query that takes too long is ended, holds up nothing, and ends with an interrupt", async () => {
  await using place = await openPlace();
  const tools = await place.open({ options: { timeoutMs: 1_500 } });
  const begun = performance.now();
  const slow = failure(query(tools, endless));
  let ticks = 0;
  while (ticks < 5) {
    await setTimeout(10);
    ticks += 1;
  }
  assert.ok(performance.now() - begun < 1_200, "the event loop goes on meanwhile");
  assert.equal(await slow, "refused: the query timed out after 1500 ms; add conditions or a LIMIT");
  const call = new AbortController();
  const stopped = failure(callTool(await place.open({}), "query_database", { sql: endless }, call.signal));
  await setTimeout(100);
  call.abort(new Error("interrupted"));
  assert.equal(await stopped, "error: interrupted");
});

test("several databases are distinguished by name", async () => {
  await using place = await openPlace();
  const other = join(place.path, "new.db");
  const tools = await place.open({}, { name: "new", mode: "write", path: other });
  assert.equal(tools[0]?.effect, "unsafe");
  await query(tools, "CREATE TABLE t (a)", { database: "new" });
  assert.match(await failure(query(tools, "CREATE TABLE t (a)", { database: "rates" })), /^refused: rates: /);
  assert.match(await failure(query(tools, "SELECT 1")), /invalid arguments: database/);
  assert.match(await failure(query(tools, "SELECT 1", { database: "none" })), /invalid arguments: database/);
});

test("a file that is not a database is refused when it is opened", async () => {
  await using place = await openPlace();
  const text = join(place.path, "a.txt");
  await writeFile(text, "this is no database at all");
  const cases: readonly [Partial<StoredBinding>, RegExp][] = [
    [{ path: text }, /^invalid: .* is not an SQLite file$/],
    [{ path: join(place.path, "none.db") }, /^unavailable: .* cannot open .*$/],
    [{ path: join(place.path, "no", "none.db"), mode: "write" }, /^invalid|^unavailable|unable to open/],
    [{ path: place.path }, /^unavailable: /],
    [{ path: undefined, url: "mysql://x" } as object, /^invalid: .* neither a path nor a postgres:\/\/ URL$/],
    [{ options: { timeoutMs: 0 } }, /timeoutMs/],
    [{ secrets: ["SKEIN_TEST_NONE"] }, /secret SKEIN_TEST_NONE is not set/],
  ];
  for (const [bound, says] of cases) {
    const opening = place.open(bound).then((tools) => query(tools, "SELECT 1"));
    assert.match(await failure(opening), says, JSON.stringify(bound));
  }
  assert.deepEqual(await place.open(), []);
});
