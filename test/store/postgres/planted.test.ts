/** Rows that a tenant's own role writes by hand never reach another tenant. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import postgres, { type Sql } from "postgres";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Store } from "../../../src/store/port.ts";
import { openTenants } from "../../../src/store/postgres/tenant/tenants.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { makeRole } from "../../postgres/database.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../../postgres/place.ts";
import { all, workspace } from "../../runtime/place.ts";
import { toLayout3 } from "./older-layout.ts";

suite("a tenant's role that plants rows", { skip: await noPostgres() }, () => {
  const world = realWorld();
  const closing: (() => Promise<unknown>)[] = [];
  let place: PostgresPlace;
  let owner: Sql;
  let role: Sql;
  let roleName = "";
  let mallory = 0;
  let store: Store;
  let engine: Engine;

  before(async () => {
    place = await ownDatabase();
    const tenants = openTenants({ url: place.url, world, workspace });
    const login = await makeRole(place.url);
    roleName = login.username;
    await tenants.set("mallory", { role: roleName });
    await tenants.close();
    owner = postgres(place.url, { max: 1, onnotice: () => undefined });
    role = postgres(login.href, { max: 1, onnotice: () => undefined });
    const [row] = await owner`SELECT id FROM skein.tenants WHERE name = 'mallory'`;
    mallory = Number(row?.["id"]);
    await opened();
  });
  after(async () => {
    await store.close();
    for (const close of closing) await close();
    await Promise.all([role.end({ timeout: 1 }), owner.end({ timeout: 1 })]);
    await place.done();
  });

  async function opened(): Promise<void> {
    store = await postgresStore({ url: place.url, tenant: "victim", world, workspace });
    engine = new Engine({ store, world });
  }

  const numberOf = async (session: string): Promise<number> =>
    Number((await owner`SELECT log FROM skein.heads WHERE session = ${session}`)[0]?.["log"]);
  const lastNumber = async (): Promise<number> =>
    Number((await owner`SELECT last_value FROM skein.log_numbers`)[0]?.["last_value"]);

  /** Rows for every key that has a log's number, at the position and behind it. */
  const plants = (log: number, seq: number): Record<string, string> => ({
    heads: `(tenant, state, session, log, seq, at, active_at, hash)
      VALUES (${mallory}, 0, 'planted ${log}', ${log}, 1, 1, 1, '\\x00')`,
    logs: `(id, tenant, listed, session, fork_seq, depth, opened_at, active_at)
      VALUES (${log}, ${mallory}, true, 'planted ${log}', 0, 0, 1, 1)`,
    events: `(tenant, v, log, seq, xid, at, type, actor, body, hash)
      SELECT ${mallory}, 1, ${log}, n, pg_current_xact_id(), 1, 'x.planted', 'm', '{}', '\\x00'
      FROM generate_series(${seq}, ${seq + 20}) n`,
    keys: `(tenant, log, seq, key) VALUES (${mallory}, ${log}, ${seq}, '\\x00')`,
    places: `(tenant, xid, log, from_seq, to_seq)
      VALUES (${mallory}, '9000000000000000000', ${log}, 1, ${seq + 100})`,
    segments: `SELECT ${mallory}, ${log}, 1, ${seq + 100}, 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}',
      '{}', '{}', '{}', '{}', '{}', '{}'`,
    snapshots: `(tenant, log, seq, form, text) VALUES (${mallory}, ${log}, ${seq + 1}, 1, '{}')`,
    blob_refs: `(tenant, blob, log, seq) VALUES (${mallory}, 1, ${log}, ${seq + 1})`,
    texts: `(tenant, log, seq, words) VALUES (${mallory}, ${log}, ${seq + 1}, '')`,
    item_rows: `(tenant, log, seq, at, kind, key) VALUES (${mallory}, ${log}, 1, 1, 'fact', 'planted')`,
    schedule: `(log, tenant, priority, watches, since, cost, agent)
      VALUES (${log}, ${mallory}, 5, false, 1, 0, 'a')`,
  });

  test("is refused under another's number, and under one that was not given yet", async () => {
    const session = await engine.open({ objective: "Mine" });
    const { seq } = await session.head();
    const targets = [await numberOf(session.id), (await lastNumber()) + 1, (await lastNumber()) + 2];
    for (const log of targets) {
      for (const [table, values] of Object.entries(plants(log, seq + 1))) {
        const planted = role.unsafe(`INSERT INTO skein.${table} ${values}`);
        await assert.rejects(planted, { code: "42501" }, `${table} ${log}`);
      }
    }
    for (let count = 0; count < 3; count++) await session.append(`word ${count}`);
    const later = await Promise.all([1, 2, 3].map((n) => engine.open({ objective: `Later ${n}` })));
    for (const one of later) await one.append("word");
    assert.equal((await all(session.events({ types: ["input.received"] }))).length, 3);
    assert.deepEqual((await engine.verify()).problems, []);
  });

  test("cannot choose an id, a number or a base", async () => {
    const session = await engine.open({ objective: "Secret" });
    const log = await numberOf(session.id);
    const own = await postgresStore({ url: place.url, tenant: "mallory", world, workspace });
    closing.push(() => own.close());
    await (await new Engine({ store: own, world }).open({ objective: "Own" })).append("word");
    const forbidden = [
      `INSERT INTO skein.numbers (log, tenant) VALUES (${log + 1}, ${mallory})`,
      `UPDATE skein.numbers SET log = ${log + 1}`,
      `UPDATE skein.logs SET base = ${log}, fork_seq = 2`,
      `UPDATE skein.logs SET parent = ${log}`,
      `UPDATE skein.heads SET log = ${log}`,
      `UPDATE skein.events SET log = ${log}`,
      `INSERT INTO skein.blobs (id, tenant, put_at, hash) OVERRIDING SYSTEM VALUE
       VALUES (1, ${mallory}, 1, '')`,
      `INSERT INTO skein.texts (id, tenant, log, seq, words) OVERRIDING SYSTEM VALUE
       SELECT 99, ${mallory}, log, 99, '' FROM skein.numbers LIMIT 1`,
      "SELECT setval('skein.log_numbers', 1)",
    ];
    for (const sql of forbidden) await assert.rejects(role.unsafe(sql), { code: "42501" }, sql);
  });

  test(
    "holds up no lease, no erasure and no deletion of another by advisory locks",
    { timeout: 20_000 },
    async () => {
      const session = await engine.open({ objective: "Mine" });
      await session.append("to be erased");
      const log = await numberOf(session.id);
      await role.begin(async (sql) => {
        await sql.unsafe("SELECT pg_advisory_lock(1, id) FROM generate_series(0, 20) id");
        await sql.unsafe(`SELECT pg_advisory_lock(-id) FROM generate_series(1, ${log + 5}) id`);
        const lease = await session.lease({ holder: "a" });
        await lease.release();
        assert.equal((await session.erase({ ranges: [[2, 2]] })).records, 1);
        await session.close();
        await engine.delete(session.id);
        await sql.unsafe("SELECT pg_advisory_unlock_all()");
      });
    },
  );

  test("changes no blob of another, by chunks under ids that are given next", async () => {
    await role.unsafe(`INSERT INTO skein.blob_chunks (tenant, number, blob, bytes)
      SELECT ${mallory}, 0, n, 'planted' FROM generate_series(1, 50) n`);
    for (const text of ["one", "two"]) {
      const bytes = Buffer.from(text.repeat(100));
      const hash = world.hashBytes(bytes);
      await store.putBlob(
        hash,
        (async function* () {
          yield bytes;
        })(),
      );
      const read = await store.blob(hash);
      assert.ok(read !== undefined);
      assert.equal(world.hashBytes(Buffer.concat(await all(read))), hash);
    }
    await role`DELETE FROM skein.blob_chunks`;
  });

  test("planted rows of a store of layout 3 are removed", async () => {
    const session = await engine.open({ objective: "Mine" });
    await session.append("before");
    const { seq } = await session.head();
    const log = await numberOf(session.id);
    await store.close();
    await toLayout3(owner, roleName);
    const next = (await lastNumber()) + 1;
    for (const target of [log, next]) {
      for (const [table, values] of Object.entries(plants(target, seq + 1))) {
        if (target === log && ["heads", "logs", "item_rows", "schedule"].includes(table)) continue;
        await role.unsafe(`INSERT INTO skein.${table} ${values} ON CONFLICT DO NOTHING`);
      }
    }
    await opened();
    const again = await engine.session(session.id);
    for (let count = 0; count < 3; count++) await again.append(`after ${count}`);
    assert.equal((await all(again.events({ types: ["input.received"] }))).length, 4);
    await (await engine.open({ objective: "Next" })).append("word");
    assert.deepEqual((await engine.verify()).problems, []);
    for (const table of Object.keys(plants(1, 1))) {
      const column = table === "logs" ? "id" : "log";
      const rows = await owner.unsafe(
        `SELECT 1 FROM skein.${table} x JOIN skein.numbers n ON n.log = x.${column} AND n.tenant <> x.tenant`,
      );
      assert.equal(rows.length, 0, table);
    }
  });
});
