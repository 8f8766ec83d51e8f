/** The network on a bad day, in front of a real server. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import postgres from "postgres";
import { noPostgres, ownDatabase, serverUrl } from "./place.ts";
import { startProxy, type Proxy } from "./proxy.ts";

const skip = await noPostgres();

suite("a proxy before PostgreSQL", { skip }, () => {
  test("passes everything on when the weather is fine", async () => {
    await using proxy = await startProxy({ port: await serverPort() });
    const sql = client(proxy, await serverUrl());
    const text = "é".repeat(500_000);
    const rows = await Promise.all([1, 2, 3].map((n) => sql`select ${n}::int as n, ${text} as text`));
    assert.deepEqual(
      rows.map(([row]) => ({ n: Number(row?.["n"]), same: row?.["text"] === text })),
      [1, 2, 3].map((n) => ({ n, same: true })),
    );
    assert.deepEqual(proxy.count, { open: 2, ever: 2 });
    await sql.end({ timeout: 1 });
  });

  test("cuts all connections, and accepts none while it refuses", async () => {
    await using proxy = await startProxy({ port: await serverPort() });
    const sql = client(proxy, await serverUrl());
    const asked = assert.rejects(sql`select pg_sleep(60)`.execute(), isCut);
    await until(() => proxy.count.open > 0);
    await asleep();
    proxy.refuse(true);
    proxy.cutAll();
    await asked;
    await assert.rejects(sql`select 1`);
    proxy.refuse(false);
    assert.deepEqual([...(await sql`select 1 as one`)], [{ one: 1 }]);
    await sql.end({ timeout: 0 });
  });

  test("cuts one repeatedly until it is stopped", async () => {
    await using proxy = await startProxy({ port: await serverPort() });
    const sql = client(proxy, await serverUrl());
    const stop = proxy.cutOneEvery(10, 7);
    const tries = { gone: 0, went: 0 };
    while (tries.gone < 3) {
      await sql`select pg_sleep(0.005)`.then(
        () => (tries.went += 1),
        () => (tries.gone += 1),
      );
    }
    stop();
    await until(() =>
      sql`select 1`.then(
        () => true,
        () => false,
      ),
    );
    for (let n = 0; n < 5; n += 1) await sql`select pg_sleep(0.01)`;
    assert.ok(proxy.count.ever >= 3);
    await sql.end({ timeout: 0 });
  });

  test("delays traffic, or blocks it", async () => {
    await using proxy = await startProxy({ port: await serverPort() });
    const sql = client(proxy, await serverUrl(), 1);
    await sql`select 1`;
    proxy.delay(50);
    const before = performance.now();
    assert.deepEqual([...(await sql`select 2 as n`.simple())], [{ n: 2 }]);
    assert.ok(performance.now() - before >= 99, "there and back is twice the delay");
    proxy.delay(0);
    proxy.hang(true);
    let answered = false;
    const asked = sql`select 3 as n`.simple().then((rows) => ((answered = true), [...rows]));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(answered, false);
    proxy.hang(false);
    assert.deepEqual(await asked, [{ n: 3 }]);
    await sql.end({ timeout: 1 });
  });
});

suite("an answer that is lost", { skip }, () => {
  test("belongs to a statement that was done", async () => {
    const { url, done } = await ownDatabase();
    await using proxy = await startProxy({ port: await serverPort() });
    const direct = postgres(url, { max: 1 });
    const sql = client(proxy, url, 1);
    await direct`create table kept (n int primary key)`;
    // The second time it is prepared already, and is only bound.
    await sql`insert into kept values (${1})`;
    for (const n of [2, 3]) {
      const lost = proxy.loseReply(/^insert/);
      await assert.rejects(sql`insert into kept values (${n})`, isCut);
      assert.deepEqual(await lost, { statement: "insert into kept values ($1)", failed: false });
    }
    const failing = proxy.loseReply(/^insert/);
    await assert.rejects(sql`insert into kept values (${3})`, isCut);
    assert.deepEqual(await failing, { statement: "insert into kept values ($1)", failed: true });

    const committed = proxy.loseReply(/^commit$/i);
    await assert.rejects(sql.begin((inside) => [inside`insert into kept values (${4})`]));
    assert.deepEqual(await committed, { statement: "commit", failed: false });
    assert.deepEqual([...(await direct`select n from kept order by n`.values())], [[1], [2], [3], [4]]);
    await Promise.all([sql.end({ timeout: 0 }), direct.end({ timeout: 1 })]);
    await done();
  });

  test("is that of the one statement: those before it in the same connection are answered", async () => {
    await using proxy = await startProxy({ port: await serverPort() });
    const sql = client(proxy, await serverUrl(), 1);
    await sql`select 1`;
    const lost = proxy.loseReply(/'third'/);
    const texts = ["first", "second", "third", "fourth"];
    const answers = await Promise.allSettled(texts.map((text) => sql.unsafe(`select '${text}' as text`)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "rejected"],
    );
    assert.deepEqual(await lost, { statement: "select 'third' as text", failed: false });
    await sql.end({ timeout: 0 });
  });

  test("a request that is lost was not done", async () => {
    const { url, done } = await ownDatabase();
    await using proxy = await startProxy({ port: await serverPort() });
    const direct = postgres(url, { max: 1 });
    const sql = client(proxy, url, 1);
    await direct`create table kept (n int)`;
    const lost = proxy.loseRequest(/^commit$/i);
    await assert.rejects(sql.begin((inside) => inside`insert into kept values (${1})`));
    assert.equal((await lost).statement, "commit");
    assert.deepEqual([...(await direct`select n from kept`)], []);
    await Promise.all([sql.end({ timeout: 0 }), direct.end({ timeout: 1 })]);
    await done();
  });
});

const isCut = (error: unknown): boolean =>
  error instanceof Error && "code" in error && /^(CONNECTION_CLOSED|ECONNRESET)$/.test(String(error.code));

const client = (proxy: Proxy, url: string, max = 2) =>
  postgres(proxy.through(url), { max, fetch_types: false, backoff: false, onnotice: () => undefined });

const serverPort = async (): Promise<number> => Number(new URL(await serverUrl()).port || 5432);

async function asleep(): Promise<void> {
  const sql = postgres(await serverUrl(), { max: 1 });
  await until(
    async () => (await sql`select 1 from pg_stat_activity where wait_event = 'PgSleep'`).length > 0,
  );
  await sql.end({ timeout: 1 });
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 5000; !(await isSo());) {
    assert.ok(performance.now() < deadline, "it takes too long");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
