/** Queries: the documented views and nothing else, and never for longer than allowed. */
// Process of its own: it compares the largest memory of its process.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { samples } from "../../core/samples.ts";
import { madeWorld, startOfTime } from "../../runtime/made-world.ts";
import { inFile, type FilePlace } from "../../runtime/place.ts";
import { writeRaw } from "../../runtime/raw.ts";

let place: FilePlace;
let session: Session;
let fork: Session;

before(async () => {
  place = await inFile({ ...madeWorld(), apart: realWorld().apart! });
  session = await place.engine.open({
    objective: "Fix login",
    name: "login",
    agent: "fixer",
    labels: { team: "web" },
  });
  await session.record("decision", "use-wal", "yes", { because: "readers do not block" });
  await session.record("fact", "rate", 4.1);
  const { "tool.requested": requested, "tool.settled": settled, "model.responded": responded } = samples;
  await writeRaw(place, session.id, [
    { type: "tool.requested", ...requested },
    { type: "tool.settled", ...settled },
    { type: "tool.requested", body: { ...requested.body, call: "call_2" }, content: { input: [1, "x"] } },
    { type: "model.responded", ...responded },
  ]);
  place.world.pass(1);
  fork = await session.fork({ atSeq: 2 });
});
after(() => place[Symbol.asyncDispose]());

const ask = (sql: string, more: { limit?: number; bytesMax?: number; timeoutMs?: number } = {}) =>
  place.store.query(sql, { limit: 100, bytesMax: 1_000_000, timeoutMs: 10_000, ...more });
const rowsOf = async (sql: string) => (await place.engine.query(sql)).rows;

test("each view gives its rows", async () => {
  assert.deepEqual(
    await rowsOf(
      "SELECT session, status, agent, name, objective, priority, labels, head_seq FROM sessions ORDER BY 1",
    ),
    [
      [session.id, "open", "fixer", "login", "Fix login", 5, '{"team":"web"}', 7],
      [fork.id, "open", "fixer", "login", "Fix login", 5, "{}", 3],
    ],
  );
  assert.deepEqual(
    await rowsOf("SELECT parent, parent_seq, opened_at, active_at FROM sessions ORDER BY session"),
    [
      [null, null, startOfTime, startOfTime],
      [session.id, 2, startOfTime + 1, startOfTime + 1],
    ],
  );
  const events = await rowsOf(
    "SELECT seq, type, v, content IS NULL, erased FROM events ORDER BY session, seq LIMIT 4",
  );
  assert.deepEqual(events, [
    [1, "session.opened", 1, 0, 0],
    [2, "item.recorded", 1, 0, 0],
    [3, "item.recorded", 1, 0, 0],
    [4, "tool.requested", 1, 0, 0],
  ]);
  assert.deepEqual(
    await rowsOf("SELECT seq, call, tool, effect, input, status, settled_seq, ms, output FROM tool_calls"),
    [
      [4, "call_1", "files.read", "read", '{"path":"rates.json"}', "ok", 5, 12, '{"base":4.1}'],
      [6, "call_2", "files.read", "read", '[1,"x"]', null, null, null, null],
    ],
  );
  assert.deepEqual(
    await rowsOf("SELECT session, kind, key, value, because, seq FROM items ORDER BY session, key"),
    [
      [session.id, "fact", "rate", "4.1", null, 3],
      [session.id, "decision", "use-wal", "yes", "readers do not block", 2],
      [fork.id, "decision", "use-wal", "yes", "readers do not block", 2],
    ],
  );
  const decisions = await rowsOf(
    `SELECT key, decision, because FROM decisions WHERE session = '${session.id}'`,
  );
  assert.deepEqual(decisions, [["use-wal", "yes", "readers do not block"]]);
  assert.deepEqual(await rowsOf("SELECT model, day, input_tokens, output_tokens, nano_usd FROM costs"), [
    ["acme/large-2", "2023-11-14", 120, 30, 1_500],
  ]);
});

test("views can be counted, joined, aliased, nested and walked", async () => {
  const questions = [
    "SELECT count(*) FROM events",
    "SELECT count(*) FROM events AS e JOIN sessions AS s ON s.session = e.session WHERE s.name = 'login'",
    "WITH few AS (SELECT * FROM events LIMIT 3) SELECT count(*) FROM few",
    "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT max(n) FROM c",
    "SELECT value FROM json_each('[7]')",
    "SELECT count(*) FROM (SELECT DISTINCT type FROM events)",
    "-- what is there\nSELECT count(*) FROM sessions;",
  ];
  const answers = await Promise.all(questions.map(async (sql) => (await ask(sql)).rows[0]?.[0]));
  assert.deepEqual(answers, [9, 8, 3, 5, 7, 7, 2]);
});

test("calls with the same id are distinguished, each with its own outcome", async () => {
  await using other = await inFile();
  const again = await other.engine.open({ objective: "o" });
  const { "tool.requested": requested, "tool.settled": settled } = samples;
  for (let round = 0; round < 3; round++) {
    const late = { ...settled, body: { ...settled.body, late: true } };
    await writeRaw(other, again.id, [
      { type: "tool.requested", ...requested },
      { type: "tool.settled", ...settled },
      { type: "tool.settled", ...late },
    ]);
  }
  const { rows } = await other.engine.query("SELECT seq, settled_seq FROM tool_calls");
  assert.deepEqual(rows, [
    [2, 3],
    [5, 6],
    [8, 9],
  ]);
});

test("columns have their names, and an answer without rows has them too", async () => {
  const none = await ask("SELECT session AS id, seq FROM events WHERE seq > 1000");
  assert.deepEqual(none, { columns: ["id", "seq"], rows: [] });
});

test("tables, settings, other files and changes are out of reach", async () => {
  const reaching = [
    "SELECT * FROM records",
    "SELECT salt FROM main.records",
    "SELECT * FROM logs",
    "SELECT * FROM (SELECT hex(salt) FROM records)",
    "WITH v AS (SELECT hex(salt) FROM records) SELECT * FROM v",
    "WITH v AS MATERIALIZED (SELECT hex(salt) FROM records) SELECT * FROM v",
    "WITH events AS (SELECT hex(salt) FROM records) SELECT * FROM events",
    "WITH events/**/AS (SELECT hex(salt) FROM records) SELECT * FROM events",
    "WITH RECURSIVE items (salt) AS (SELECT hex(salt) FROM records UNION SELECT salt FROM items) " +
      "SELECT * FROM items",
    "WITH inner_0_events AS (SELECT hex(salt) FROM records) SELECT * FROM inner_0_events",
    "SELECT session FROM events WHERE EXISTS (SELECT salt FROM records WHERE salt > 'a')",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM sqlite_temp_master",
    "SELECT * FROM pragma_table_info('records')",
    "SELECT * FROM snapshots",
    "SELECT rowid FROM search",
    "PRAGMA user_version",
    "PRAGMA query_only = OFF",
    "ATTACH 'other.db' AS other",
    `VACUUM INTO '${place.path}.copy'`,
    "INSERT INTO labels VALUES (1, 'a', 'b')",
    "DELETE FROM records",
    "UPDATE logs SET status = 'closed'",
    "DROP TABLE records",
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t (a)",
    "BEGIN",
    "SELECT load_extension('x')",
    "SELECT 1; SELECT 2",
    "SELECT 1; DELETE FROM records",
    "not sql",
    "SELECT",
  ];
  const before = await place.store.stats();
  const inThread = await place.open({ world: madeWorld() });
  for (const sql of reaching) {
    const answer = inThread.query(sql, { limit: 9, bytesMax: 1_000_000, timeoutMs: 9_000 });
    await assert.rejects(answer, { code: "invalid", hint: /SELECT over the views/ }, sql);
  }
  assert.deepEqual(await place.store.stats(), before);
  assert.equal(existsSync(`${place.path}.copy`), false);
  const raw = new DatabaseSync(place.path, { readOnly: true });
  assert.equal(raw.prepare("SELECT count(*) AS count FROM records").get()?.["count"], 9);
  raw.close();
});

test("more rows than the limit are refused, the limit itself is allowed", async () => {
  assert.equal((await ask("SELECT seq FROM events LIMIT 5", { limit: 5 })).rows.length, 5);
  await assert.rejects(ask("SELECT seq FROM events", { limit: 5 }), { code: "invalid", hint: /LIMIT/ });
});

test("more bytes than the limit are refused, the limit itself is allowed", async () => {
  const two = "SELECT 'abcd', 1 UNION ALL SELECT 'é', x'0a0b'";
  const { rows } = await ask(two, { bytesMax: 12 + 8 + 10 + 12 });
  assert.deepEqual(rows, [
    ["abcd", 1],
    ["é", "0a0b"],
  ]);
  const refused = { code: "invalid", message: /more than 41 bytes/, hint: /fewer rows or columns/ };
  await assert.rejects(ask(two, { bytesMax: 41 }), refused);
  const half = limit.queryBytesMax / 2 - 4;
  const [row] = await rowsOf(`SELECT hex(zeroblob(${half}))`);
  assert.equal(String(row?.[0]).length, limit.queryBytesMax - 8);
  await assert.rejects(rowsOf(`SELECT hex(zeroblob(${half + 1}))`), { code: "invalid", message: /bytes/ });
});

test("a value that is longer than memory bears is refused before it is there", async () => {
  const long = [
    "SELECT hex(zeroblob(200000000))",
    "SELECT hex(zeroblob(400000000))",
    "SELECT zeroblob(900000000)",
    "SELECT length(zeroblob(900000000))",
    "SELECT printf('%.*c', 300000000, 'x')",
    "SELECT replace(hex(zeroblob(10000)), '0', hex(zeroblob(10000)))",
    "SELECT group_concat(hex(zeroblob(1000000))) FROM json_each('[1,2,3,4,5,6,7,8,9]')",
  ];
  const inThread = await place.open({ world: madeWorld() });
  const refused = {
    code: "invalid",
    message: /^query: a value of more than 16777216 bytes$/,
    hint: /part/,
  };
  const before = process.resourceUsage().maxRSS;
  for (const sql of long) {
    await assert.rejects(ask(sql), refused, sql);
    await assert.rejects(inThread.query(sql, { limit: 9, bytesMax: 9, timeoutMs: 9_000 }), refused, sql);
  }
  assert.ok(process.resourceUsage().maxRSS - before < 200_000, "kilobytes");
});

test("SQLite's error about a long value is shortened", async () => {
  const answer = ask("SELECT json_extract('{}', hex(zeroblob(1000000)))");
  await assert.rejects(
    answer,
    (error: Error) => error.message.length < 600 && /JSON path/.test(error.message),
  );
});

test("a query that takes more memory than it may have is ended", async () => {
  const sorted = `WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000)
    SELECT count(*), max(v) FROM (SELECT hex(randomblob(500000)) AS v FROM c ORDER BY v LIMIT 2000 OFFSET 1)`;
  const refused = { code: "refused", message: /exceeded the memory limit/, hint: /add conditions/ };
  await assert.rejects(ask(sorted, { timeoutMs: 60_000 }), refused);
});

test("a query that does not end is ended", async () => {
  const started = performance.now();
  const endless = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c";
  const refused = { code: "refused", message: /timed out after 150 ms/, hint: /add conditions/ };
  await assert.rejects(ask(endless, { timeoutMs: 150 }), refused);
  assert.ok(performance.now() - started < 2_000);
  assert.deepEqual((await ask("SELECT 1")).rows, [[1]]);
});

test("the engine refuses statements that are not queries before it runs them", async () => {
  for (const sql of ["", "  ", "x".repeat(10_001)]) {
    await assert.rejects(place.engine.query(sql), { code: "invalid" });
  }
});

test("a world that starts no processes asks in a thread", async () => {
  const store = await place.open({ world: madeWorld() });
  const { rows } = await store.query("SELECT count(*) FROM sessions", {
    limit: 9,
    bytesMax: 1_000_000,
    timeoutMs: 9_000,
  });
  assert.deepEqual(rows, [[2]]);
});

test("a cancelled query is stopped midway", async () => {
  const leaving = new AbortController();
  const told: (AbortSignal | undefined)[] = [];
  const { apart } = realWorld();
  await using own = await inFile({
    ...madeWorld(),
    apart: (file, message, signal) => {
      told.push(signal);
      const answer = apart!(file, message, signal);
      setImmediate(() => leaving.abort());
      return answer;
    },
  });
  const endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t";
  const asked = own.engine.query(endless, { signal: leaving.signal });
  await assert.rejects(asked, { code: "unavailable", message: /query: aborted/ });
  assert.deepEqual(
    told.map((signal) => signal?.aborted),
    [true],
  );
  assert.deepEqual((await own.engine.query("SELECT 1", {})).rows, [[1]]);
});
