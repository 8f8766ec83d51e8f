/** A pooler in transaction mode takes from its clients what such a pooler takes. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import postgres from "postgres";
import { noPostgres, serverUrl } from "./place.ts";
import { startPooler, type Pooler } from "./pooler.ts";

const skip = await noPostgres();

suite("a pooler before PostgreSQL", { skip }, () => {
  test("serves more clients than it has connections, and keeps their transactions apart", async () => {
    await using pooler = await poolerOf(2);
    const sql = await client(pooler, { max: 8 });
    const pids = await Promise.all(
      Array.from({ length: 24 }, () =>
        sql.begin(async (inside) => {
          const ask = async () => Number((await inside`select pg_backend_pid() as pid`)[0]?.["pid"]);
          const before = await ask();
          await inside`select pg_sleep(0.002)`;
          assert.equal(await ask(), before);
          return before;
        }),
      ),
    );
    assert.equal(new Set(pids).size, 2);
    await sql.end({ timeout: 1 });
  });

  test("gives the next transaction another connection, without prepared statements", async () => {
    await using pooler = await poolerOf(2);
    const [one, other] = [await client(pooler, { max: 1 }), await client(pooler, { max: 1 })];
    // Both connections are made, and rest.
    await Promise.all([one, other].map((sql) => sql`select pg_sleep(0.05)`.simple()));
    await one`set application_name = 'left behind'`;
    assert.notEqual((await one`show application_name`)[0]?.["application_name"], "left behind");
    assert.equal((await other`show application_name`)[0]?.["application_name"], "left behind");
    await one`prepare kept as select 1 as one`.simple();
    await assert.rejects(one`execute kept`.simple(), { code: "26000" });
    assert.deepEqual((await other`execute kept`.simple()).flat(), [{ one: 1 }]);
    await Promise.all([one.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  });

  test("refuses a client that sets more than it may", async () => {
    await using pooler = await poolerOf(1);
    const sql = await client(pooler, { connection: { statement_timeout: 1000 } });
    await assert.rejects(sql`select 1`, { message: "unsupported startup parameter: statement_timeout" });
    await sql.end({ timeout: 0 });
  });
});

const poolerOf = async (size: number): Promise<Pooler> =>
  startPooler({ port: Number(new URL(await serverUrl()).port || 5432), size });

const client = async (pooler: Pooler, options: postgres.Options<Record<string, postgres.PostgresType>>) =>
  postgres(pooler.through(await serverUrl()), { prepare: false, fetch_types: false, ...options });
