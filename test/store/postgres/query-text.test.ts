/** Which queries are read, and what of them must be looked up before they are run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery } from "../../../src/store/postgres/derived/query-text.ts";

test("a query is taken without what ends it, with the names that must be looked up", () => {
  assert.deepEqual(readQuery("-- what is there\nSELECT count(*) FROM sessions; ;"), {
    text: "-- what is there\nSELECT count(*) FROM sessions",
    owners: [],
    called: [],
  });
  assert.deepEqual(readQuery(`SELECT s.session, "T".x FROM sessions s, Other.users "T" WHERE f(1) = '('`), {
    text: `SELECT s.session, "T".x FROM sessions s, Other.users "T" WHERE f(1) = '('`,
    owners: ["s", "T", "other"],
    called: ["x", "users", "f"],
  });
});

test("names that the query gives itself need not be looked up", () => {
  const sql = "WITH RECURSIVE line (n) AS (SELECT 1), f (n) AS (SELECT 2) SELECT * FROM line AS point (x)";
  assert.deepEqual(readQuery(sql), { text: sql, owners: [], called: ["as", "f"] });
});

test("texts, comments and numbers hide nothing and stand for nothing", () => {
  const same = [
    "SELECT 'it''s; pg_sleep(9) -- no' FROM events",
    "SELECT /* pg_sleep(9); /* nested */ */ 1 -- pg_sleep(9)\n FROM events",
    "SELECT 1.5e3, .5, 1., 'a'\n'b' FROM events",
    'SELECT seq AS "two ""words"" ;" FROM events',
  ];
  for (const sql of same) assert.deepEqual(readQuery(sql), { text: sql, owners: [], called: [] });
});

test("a name that is hidden in quotes, case, comments or spaces is found", () => {
  for (const name of ["lo_import", "LO_Import", '"lo_import"']) {
    for (const call of [`${name}('x')`, `${name} /**/ ('x')`, `${name}--\n('x')`, `x . ${name}`]) {
      const found = readQuery(`SELECT 1, ${call}`);
      assert.deepEqual(typeof found === "string" ? found : found.called, ["lo_import"], call);
    }
  }
});

test("ambiguous statements, and those that are not queries, are refused", () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ["", /expected SELECT/],
    ["DELETE FROM events", /expected SELECT/],
    ["EXPLAIN SELECT 1", /expected SELECT/],
    ["SELECT 'a\0b'", /NUL/],
    ["SELECT 1 -- a\0b", /NUL/],
    ["SELECT 1; SELECT 2", /more than one/],
    ["SELECT 1) q; DROP SCHEMA skein; SELECT * FROM (SELECT 2", /more than one|unmatched/],
    ["SELECT 1) AS a, (SELECT 2", /unmatched closing/],
    ["SELECT (1", /unmatched opening/],
    ["SELECT 1 /* /* */", /comment is not ended/],
    ["SELECT E'\\' || pg_sleep(9) || '", /escape strings/],
    ["SELECT U&'\\0041'", /Unicode escapes/],
    ['SELECT * FROM u&"\\0070g_class"', /Unicode escapes/],
    ["SELECT $$x$$", /"\$"/],
    ["SELECT $1", /"\$"/],
    ["SELECT 'a", /"'"/],
    ['SELECT "a', /"\\""/],
    ["SELECT \\d", /unexpected/],
    ["SELECT * FROM pg_class", /pg_class is not allowed in queries/],
    ['SELECT * FROM "pg_class"', /pg_class is not allowed in queries/],
    ["SELECT * FROM information_schema.tables", /information_schema is not allowed in queries/],
    ["SELECT * FROM skein.events", /skein is not allowed in queries/],
    ["SELECT 'pg_class'::regclass", /regclass is not allowed in queries/],
    ["SELECT current_user", /current_user is not allowed in queries/],
    ["WITH d AS (DELETE FROM events RETURNING 1) SELECT * FROM d", /delete is not allowed in queries/],
    ["SELECT 1 INTO t", /into is not allowed in queries/],
    ["SELECT 1 OPERATOR(other.+) 1", /operator is not allowed in queries/],
  ];
  for (const [sql, said] of refused) {
    const found = readQuery(sql);
    assert.match(typeof found === "string" ? found : "taken", said, sql);
  }
});
