/** What can be wrong with an address, a server or a database: one clear line each, with what to do. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import postgres from "postgres";
import { SkeinError } from "../../src/core/error.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { serverFlaw, type ServerState } from "../../src/store/postgres/connection/start.ts";
import { asSkeinError } from "../../src/store/postgres/connection/errors.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { workspace } from "../runtime/place.ts";
import { makeRole } from "./database.ts";
import { startFakeServer, type Disguise } from "./fake-server.ts";
import { noPostgres, type PostgresPlace } from "./place.ts";
import { startPostgres, type Postgres } from "./server.ts";

const world = realWorld();
const open = (url: string) => postgresStore({ url, world, workspace });

interface Said {
  readonly code: string;
  readonly message: RegExp;
  readonly hint: RegExp;
}

/** It is one line, with a hint, and without the password. */
async function refuses(url: string, said: Said): Promise<void> {
  const error = await open(url).then(
    () => assert.fail("it was opened"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SkeinError, String(error));
  const { code, message, hint = "" } = error;
  assert.equal(code, said.code, message);
  assert.match(message, said.message);
  assert.match(hint, said.hint);
  assert.doesNotMatch(message + hint, /\n|geheim/);
}

suite("an address that cannot be", { concurrency: true }, () => {
  const wrong: readonly (readonly [string, Said])[] = [
    ["postgres://", said("invalid", /incomplete/, /postgres:\/\/user:password@host/)],
    ["postgres://u:geheim@127.0.0.1", said("invalid", /incomplete/, /database/)],
    ["postgres://u:geheim@127.0.0.1:x/d", said("invalid", /incomplete/, /5432/)],
    ["postgres://u:geheim@127.0.0.1/d?tenan=a", said("invalid", /unknown parameter "tenan"/, /"tenant"/)],
    ["postgres://u:geheim@127.0.0.1/d?tenant=a%20b", said("invalid", /invalid name/, /letters/)],
    [
      "postgres://u:geheim@127.0.0.1/d?connections=0",
      said("invalid", /connections: out of range, got "0"/, /expected 1 to 200/),
    ],
    [
      "postgres://u:geheim@127.0.0.1/d?pooler=x",
      said("invalid", /pooler: expected "transaction" or "session", got "x"/, /"transaction"/),
    ],
  ];
  for (const [url, words] of wrong) test(`is refused: ${url}`, () => refuses(url, words));
});

suite("a server that is not as it should be", { concurrency: true }, () => {
  const old = { kind: "postgres", version: "12.5" } as const;
  const usual = { kind: "postgres", version: "15.4" } as const;
  const disguises = [
    [old, said("refused", /PostgreSQL 12.5 is not supported; Skein requires 15/, /upgrade/)],
    [{ ...usual, settings: { fsync: "off" } }, said("refused", /fsync = off/, /set fsync = on/)],
    [{ ...usual, settings: { full_page_writes: "off" } }, said("refused", /torn page/, /"process"/)],
    [{ ...usual, settings: { synchronous_commit: "off" } }, said("refused", /acknowledged/, /"process"/)],
    [{ ...usual, settings: { server_encoding: "LATIN1" } }, said("refused", /LATIN1/, /UTF8/)],
    [{ ...usual, settings: { transaction_read_only: "on" } }, said("refused", /read-only/, /off/)],
    [
      { kind: "refusing", code: "53100", message: "could not write: No space left on device" },
      said("unavailable", /disk is full or failing: could not write/, /free some space/),
    ],
    [
      pooler("idle_in_transaction_session_timeout"),
      said("unavailable", /the connection pooler rejects/, /=transaction .* = idle_\w+, plan_\w+, jit$/),
    ],
    [
      pooler("synchronous_commit"),
      said("unavailable", /rejects the setting "synchronous_commit"/, /, jit, synchronous_commit$/),
    ],
  ] as const;
  for (const [disguise, words] of disguises) {
    test(`is refused: ${words.message.source}`, async () => {
      await using server = await startFakeServer(disguise);
      await refuses(server.url.replace("skein@", "skein:geheim@"), words);
    });
  }

  test("is unavailable, whatever it refuses, once the store was open", () => {
    const codes = ["28P01", "28000", "3D000", "42501", "25006", "XX000", "ECONNREFUSED"].map((code) => {
      const error = asSkeinError("p", Object.assign(new Error("no"), { code }), { isOpen: true });
      return (error as SkeinError).code;
    });
    assert.deepEqual([...new Set(codes)], ["unavailable"]);
  });

  test("is refused when it is a standby, and taken for less durability when it is not durable", () => {
    const state: ServerState = {
      version: 150_004,
      shownVersion: "15.4",
      encoding: "UTF8",
      fsync: true,
      fullPageWrites: true,
      synchronousCommit: "on",
      isStandby: false,
      isReadOnly: false,
      layout: 1,
      role: "skein",
      connections: 1,
      connectionsMax: 100,
      nowMs: 0,
    };
    assert.equal(serverFlaw(state, "p", "disk"), null);
    assert.match(serverFlaw({ ...state, isStandby: true }, "p", "disk")?.message ?? "", /standby/);
    assert.equal(serverFlaw({ ...state, fsync: false }, "p", "process"), null);
  });

  test("reports a full disk in the middle, and an unknown host", () => {
    const told = (code: string) => asSkeinError("p", Object.assign(new Error("No space left"), { code }));
    assert.match(String(told("53100")), /disk is full or failing: No space left/);
    assert.match(String(told("ENOTFOUND")), /no such host: p/);
  });
});

suite("a database that is not as it should be", { skip: await noPostgres(), concurrency: true }, () => {
  let server: Postgres;
  let place: Pick<PostgresPlace, "url">;
  before(async () => {
    server = await startPostgres();
    place = { url: await server.newDatabase() };
    await (await open(place.url)).close();
  });
  after(() => server.stop());

  const asOwner = async (sql: string, url = place.url): Promise<void> => {
    const owner = postgres(url, { max: 1, onnotice: () => undefined });
    try {
      await owner.unsafe(sql);
    } finally {
      await owner.end();
    }
  };

  test("is on a server that does not run", () =>
    refuses("postgres://u:geheim@127.0.0.1:1/d", said("unavailable", /cannot be reached/, /server runs/)));

  test("does not exist", async () => {
    const url = new URL(place.url);
    url.pathname = "/nothing";
    await refuses(url.href, said("not-found", /no such database/, /createdb/));
  });

  test("asks for another password", async () => {
    const role = await makeRole(place.url, { password: "right" });
    role.password = "geheim";
    await refuses(role.href, said("refused", /refused the login/, /user and password/));
    role.password = "";
    await refuses(role.href, said("refused", /refused the login/, /user and password/));
  });

  test("is of a role that may only read, or nothing at all", async () => {
    const role = await makeRole(place.url);
    await refuses(
      role.href,
      said("refused", /may not do this.*permission denied/, /tenants set NAME --role/),
    );
    await asOwner(`GRANT USAGE ON SCHEMA skein TO ${role.username};
      GRANT SELECT ON ALL TABLES IN SCHEMA skein TO ${role.username}`);
    await refuses(role.href, said("refused", /may not/, /tenants set .* --role/));
    await asOwner(`ALTER ROLE ${role.username} SET default_transaction_read_only = on`);
    await refuses(role.href, said("refused", /read-only/, /default_transaction_read_only = off/));
  });

  test("takes no more connections of the role", async () => {
    const role = await makeRole(place.url);
    await asOwner(`ALTER ROLE ${role.username} CONNECTION LIMIT 0`);
    await refuses(role.href, said("unavailable", /no more connections/, /max_connections/));
  });

  test("has the layout of a newer Skein", async () => {
    const url = await server.newDatabase();
    await (await open(url)).close();
    await asOwner("INSERT INTO skein.migrations (number, program, at) VALUES (999, '9.0.0', 0)", url);
    await refuses(
      url,
      said("refused", /layout 999 is not supported; this Skein reads layouts up to \d+/, /update Skein/),
    );
  });

  test("is not encoded in UTF-8", async () => {
    await asOwner("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
    const url = new URL(place.url);
    url.pathname = "/ascii";
    await refuses(url.href, said("refused", /encoding is SQL_ASCII; Skein requires UTF8/, /--encoding=UTF8/));
  });

  test("has no store, and none is to be made", async () => {
    const url = await server.newDatabase();
    const missing = postgresStore({ url, world, workspace, create: false });
    await assert.rejects(missing, { code: "not-found", message: /no store at/ });
    const other = postgresStore({ url: place.url, tenant: "nobody", world, workspace, create: false });
    await assert.rejects(other, { code: "not-found", message: /tenant "nobody" not found/ });
  });

  test("is brought up to date once, by however many open it at the same moment", async () => {
    const url = await server.newDatabase();
    const stores = await Promise.all(Array.from({ length: 6 }, () => open(url)));
    assert.equal(new Set(stores.map((store) => store.workspace)).size, 1);
    for (const store of stores) await store.close();
  });
});

/** As PgBouncer does it. */
function pooler(setting: string): Disguise {
  return { kind: "refusing", code: "08P01", message: `unsupported startup parameter: ${setting}` };
}

function said(code: string, message: RegExp, hint: RegExp): Said {
  return { code, message, hint };
}
