/** Statements on a bound PostgreSQL when the way there breaks: the call fails, and nothing else does. */
// Process of its own: it compares the largest memory of its process.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { openPostgres } from "../../src/tool/postgres-query.ts";
import type { StatementRows } from "../../src/tool/rows.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../postgres/place.ts";
import { startProxy, type Proxy } from "../postgres/proxy.ts";
import { until } from "../server/until.ts";

suite("a bound PostgreSQL", { skip: await noPostgres() }, () => {
  const world = realWorld();
  let place: PostgresPlace;
  let proxy: Proxy;

  before(async () => {
    place = await ownDatabase();
    proxy = await startProxy({ port: Number(new URL(place.url).port) });
    await using made = open({ mayWrite: true });
    await ask(made, "CREATE TABLE t (n integer)");
  });
  after(async () => {
    await proxy.close();
    await place.done();
  });

  const open = ({ mayWrite = false, url = place.url } = {}) =>
    openPostgres({ world, name: "books", url, password: undefined, mayWrite });
  const through = (mayWrite = false) => open({ mayWrite, url: proxy.through(place.url) });
  const ask = (
    database: Pick<ReturnType<typeof open>, "query">,
    sql: string,
    signal = new AbortController().signal,
  ): Promise<StatementRows> => database.query(sql, { rowsMax: 2, timeoutMs: 20_000, signal });
  const lost = { code: "unavailable", message: /^books: / };

  test("returns rows, reports errors, and takes one statement at a time", async () => {
    await using database = open();
    const { columns, rows, isMore } = await ask(database, "SELECT n, 'x' AS x FROM generate_series(1, 5) n");
    assert.deepEqual(
      { columns, rows, isMore },
      {
        columns: ["n", "x"],
        rows: [
          [1, "x"],
          [2, "x"],
        ],
        isMore: true,
      },
    );
    await assert.rejects(ask(database, "SELECT nothing"), { code: "invalid", message: /^books: .*nothing/ });
    await assert.rejects(ask(database, "COMMIT; DELETE FROM t"), { code: "refused" });
    await assert.rejects(ask(database, "INSERT INTO t VALUES (1)"), { message: /read/ });
    const both = await Promise.all([1, 2, 3].map((n) => ask(database, `SELECT ${n}`)));
    assert.deepEqual(
      both.map(({ rows: given }) => given),
      [[[1]], [[2]], [[3]]],
    );
  });

  test("an answer, or an error, that is longer than memory bears does not come in", async () => {
    await using database = open({ mayWrite: true });
    const before = process.resourceUsage().maxRSS;
    const long = [
      "SELECT repeat('x', 90000000)",
      "SELECT repeat('x', 90000000)::integer",
      "INSERT INTO t VALUES (9) RETURNING repeat('x', 90000000)",
    ];
    for (const sql of long) {
      const refused = { code: "invalid", message: /^books: the result has more than 67108864 bytes/ };
      await assert.rejects(ask(database, sql), refused, sql);
    }
    assert.ok(process.resourceUsage().maxRSS - before < 200_000, "kilobytes");
    assert.deepEqual((await ask(database, "SELECT n FROM t")).rows, [], "nothing was written");
    const short = ask(database, "SELECT repeat('x', 30000)::integer");
    await assert.rejects(short, (error: Error) => error.message.length < 5_000);
  });

  test("writes where it may, and what fails is not written", async () => {
    await using database = open({ mayWrite: true });
    assert.equal((await ask(database, "INSERT INTO t VALUES (7)")).changes, 1);
    await assert.rejects(ask(database, "INSERT INTO t SELECT 1 / (n - 3) FROM generate_series(1, 5) n"));
    assert.deepEqual((await ask(database, "SELECT n FROM t")).rows, [[7]]);
    await ask(database, "DELETE FROM t");
  });

  test("a connection that breaks fails the call alone, and the next one goes well", async () => {
    await using database = through();
    const before = proxy.count.ever;
    const slow = ask(database, "SELECT pg_sleep(29)");
    await until(async () => proxy.count.ever > before && (await isRunning(29)));
    proxy.cutAll();
    await assert.rejects(slow, lost);
    assert.deepEqual((await ask(database, "SELECT 1")).rows, [[1]]);
    // One that lay idle.
    proxy.cutAll();
    await until(async () => proxy.count.open === 0);
    await until(async () => (await ask(database, "SELECT 2").catch(() => null)) !== null);
  });

  test("wherever it breaks: before the transaction, in it, and at its end", async () => {
    await using database = through(true);
    const { loseReply, loseRequest } = proxy;
    const ways = [
      [loseReply, /^BEGIN/],
      [loseRequest, /^BEGIN/],
      [loseRequest, /^INSERT/],
      [loseReply, /^COMMIT/],
      [loseRequest, /^COMMIT/],
    ] as const;
    for (const [lose, like] of ways) {
      const happened = lose(like);
      const isOpen = String(like).includes("COMMIT");
      const expected = isOpen ? { name: "OutcomeUnknown", message: /^books: .*COMMIT/ } : lost;
      await assert.rejects(ask(database, "INSERT INTO t VALUES (1)"), expected, String(like));
      await happened;
      assert.deepEqual((await ask(database, "SELECT 1")).rows, [[1]]);
    }
    assert.deepEqual((await ask(database, "SELECT n FROM t")).rows, [[1]], "the one whose answer was lost");
  });

  test("a server that is missing or disconnects repeatedly ends no process", async () => {
    await using nowhere = open({ url: "postgres://127.0.0.1:1/none" });
    await assert.rejects(ask(nowhere, "SELECT 1"), lost);
    await using database = through(true);
    const stop = proxy.cutOneEvery(3, 1);
    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, of) => {
        let done = 0;
        for (let number = 0; number < 12; number++)
          await ask(database, `SELECT ${of}, pg_sleep(0.002)`).then(
            () => (done += 1),
            (error: Error) =>
              assert.ok(error.name === "OutcomeUnknown" || ("code" in error && error.code === "unavailable")),
          );
        return done;
      }),
    );
    stop();
    assert.equal(answers.length, 8);
    assert.deepEqual((await ask(database, "SELECT 1")).rows, [[1]]);
  });

  test("a call that is broken off ends its statement at the server", async () => {
    await using database = open();
    const over = new AbortController();
    const slow = ask(database, "SELECT pg_sleep(30)", over.signal);
    await until(() => isRunning(30));
    over.abort(new Error("enough"));
    await assert.rejects(slow, { message: "enough" });
    await until(async () => !(await isRunning(30)));
    assert.deepEqual((await ask(database, "SELECT 1")).rows, [[1]]);
    await assert.rejects(ask(database, "SELECT 1", over.signal), { message: "enough" });
  });

  /** Whether the server carries out a statement that sleeps. */
  async function isRunning(seconds: number): Promise<boolean> {
    await using looks = open();
    const { rows } = await ask(
      looks,
      `SELECT count(*)::int FROM pg_stat_activity WHERE state = 'active' AND datname = current_database()
       AND pid <> pg_backend_pid() AND query LIKE 'SELECT pg_sleep(${seconds})%'`,
    );
    return rows[0]?.[0] !== 0;
  }
});
