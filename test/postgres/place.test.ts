/** Every test gets a place of its own on a PostgreSQL that starts by itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import postgres from "postgres";
import { noPostgres, ownDatabase, postgresDriver, serverUrl } from "./place.ts";

const skip = await noPostgres();

test("under CI there is a PostgreSQL", { skip: process.env["CI"] !== "true" && skip }, () => {
  assert.equal(skip, false);
});

test("two places are two tenants in one database", { skip }, async () => {
  const [one, other] = await Promise.all([postgresDriver(), postgresDriver()]);
  const [first, second] = [new URL(one.url), new URL(other.url)];
  assert.notEqual(first.searchParams.get("tenant"), second.searchParams.get("tenant"));
  for (const url of [first, second]) url.search = "";
  assert.equal(first.href, second.href);
  assert.deepEqual(await ask(first.href, "select current_database() as name"), [{ name: "skein_test" }]);
  await Promise.all([one.done(), other.done()]);
});

test("a new database is empty, and is dropped even with open connections", { skip }, async () => {
  const { url, done } = await ownDatabase();
  assert.deepEqual(await ask(url, "select count(*)::int as count from pg_stat_user_tables"), [{ count: 0 }]);
  const sql = postgres(url, { max: 1 });
  await sql`select 1`;
  await done();
  await sql.end({ timeout: 1 });
  const name = new URL(url).pathname.slice(1);
  assert.deepEqual(await ask(await serverUrl(), `select 1 from pg_database where datname = '${name}'`), []);
});

async function ask(url: string, statement: string): Promise<unknown> {
  const sql = postgres(url, { max: 1 });
  try {
    return structuredClone([...(await sql.unsafe(statement))]);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
