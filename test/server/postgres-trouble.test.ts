/** A database that turns its server away: callers are told to try again, and not where it is. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import postgres from "postgres";
import { realWorld } from "../../src/runtime/world.ts";
import { openTenants } from "../../src/store/postgres/tenant/tenants.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { makeRole } from "../postgres/database.ts";
import { noPostgres, ownDatabase } from "../postgres/place.ts";
import { workspace } from "../runtime/place.ts";
import { fine, served } from "./served.ts";

const world = realWorld();
const unavailable = ["503 unavailable", "503 unavailable", "503 unavailable"];

suite("a server whose database turns it away", { skip: await noPostgres() }, () => {
  test("answers 503, also at /readyz and to strangers, without the address", async () => {
    const place = await ownDatabase();
    const tenants = openTenants({ url: place.url, world, workspace });
    const owner = postgres(place.url, { max: 1, onnotice: () => undefined });
    const { href: url, username: role } = await makeRole(place.url);
    await tenants.set("default", { role });
    const store = await postgresStore({ url, world, workspace });
    await using server = await served({
      store,
      isReady: () => store.head(store.workspace).then(() => true),
    });
    /** For the connections that are made from now on. */
    const change = async (sql: string): Promise<void> => {
      await owner.unsafe(sql);
      await owner`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = ${role}`;
    };
    const asked = async () => {
      await world.sleep(600); // What is known of tokens is no longer fresh.
      const answers = [
        await server.call("engine.open", { params: { objective: "o" } }),
        await plainly(`${server.server.url}/readyz`),
        await plainly(`${server.server.url}/v1/sessions`, otherThan(server.token)),
      ];
      return answers.map(({ status, body }) => {
        assert.doesNotMatch(JSON.stringify(body), /postgres:|127\.0\.0\.1|role_|permission denied/);
        return `${status} ${(body as { readonly code?: string }).code ?? ""}`;
      });
    };
    try {
      fine(await server.call("engine.open", { params: { objective: "o" } }));
      await change(`ALTER ROLE ${role} NOLOGIN`);
      assert.deepEqual(await asked(), unavailable, "no login");
      await change(`ALTER ROLE ${role} LOGIN; ALTER ROLE ${role} SET default_transaction_read_only = on`);
      assert.deepEqual(await asked(), ["503 unavailable", "200 ", "401 unauthorized"], "read-only");
      await change(`ALTER ROLE ${role} RESET ALL; REVOKE ALL ON ALL TABLES IN SCHEMA skein FROM ${role}`);
      assert.deepEqual(await asked(), unavailable, "no rights");
      const messages = server.troubles.map((error) => (error as Error).message);
      assert.ok(messages.some((message) => /refused the login: postgres:\/\/role_/.test(message)));
      assert.equal(new Set(messages).size, messages.length, "each was told once");
    } finally {
      await owner.end();
      await tenants.close();
    }
    await server[Symbol.asyncDispose]();
    await place.done();
  });
});

/** One that looks like it, and was never given to anybody. */
const otherThan = (token: string): string => token.slice(0, -1) + (token.endsWith("a") ? "b" : "a");

async function plainly(url: string, token = "") {
  const response = await fetch(url, { headers: token === "" ? {} : { authorization: `Bearer ${token}` } });
  return { status: response.status, body: await response.json() };
}
