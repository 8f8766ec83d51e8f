/** Tenants in PostgreSQL: what each may use, and that the database keeps a role to its own. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import postgres from "postgres";
import { version } from "../../../src/core/version.ts";
import { makeWorkspaceId } from "../../../src/core/ids.ts";
import { openEngine } from "../../../src/index.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Store } from "../../../src/store/port.ts";
import { parseAddress } from "../../../src/store/postgres/connection/address.ts";
import { openDatabase } from "../../../src/store/postgres/connection/connection.ts";
import { serverState } from "../../../src/store/postgres/connection/start.ts";
import type { Tenants } from "../../../src/store/driver.ts";
import { openTenants } from "../../../src/store/postgres/tenant/tenants.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { makeRole } from "../../postgres/database.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../../postgres/place.ts";
import { workspace } from "../../runtime/place.ts";
import { toLayout3 } from "./older-layout.ts";

suite("tenants in PostgreSQL", { skip: await noPostgres() }, () => {
  const world = realWorld();
  const stores: Store[] = [];
  let place: PostgresPlace;
  let tenants: Tenants;

  before(async () => {
    place = await ownDatabase();
    tenants = openTenants({ url: place.url, world, workspace });
  });
  after(async () => {
    for (const store of stores) await store.close();
    await tenants.close();
    await place.done();
  });

  async function opened(tenant: string, url = place.url, own = world): Promise<Engine> {
    const store = await postgresStore({ url, tenant, world: own, workspace });
    stores.push(store);
    return new Engine({ store, world });
  }

  test("a tenant is made, given a quota and a use, and listed", async () => {
    const set = await tenants.set("listed", { sessionsMax: 10, bytesMax: 2_000 });
    assert.deepEqual(set, { ...noUse, name: "listed", sessionsMax: 10, bytesMax: 2_000 });
    const engine = await opened("listed");
    await engine.open({ objective: "Of the tenant" });
    const [row] = (await tenants.list()).filter(({ name }) => name === "listed");
    assert.ok(row !== undefined && row.bytes > 0);
    assert.deepEqual(row, { ...set, sessions: 1, bytes: row.bytes });
    assert.deepEqual(await tenants.set("listed", { bytesMax: null }), { ...row, bytesMax: null });
  });

  test("an engine is opened for the tenant that is named, or that the address names", async () => {
    await using named = await openEngine({ store: place.url, tenant: "named" });
    const { id } = await named.open({ objective: "Of the tenant" });
    await using addressed = await openEngine({ store: `${place.url}?tenant=named`, create: false });
    assert.equal((await addressed.session(id)).id, id);
    await using other = await openEngine({ store: place.url });
    assert.deepEqual((await other.sessions({})).rows, []);
    await assert.rejects(openEngine({ store: place.url, tenant: "none", create: false }), {
      code: "not-found",
    });
  });

  test("at its quota of sessions a tenant opens no more, and its existing ones continue", async () => {
    await tenants.set("few", { sessionsMax: 2 });
    const engine = await opened("few");
    const session = await engine.open({ objective: "One" });
    await engine.open({ objective: "Two" });
    const refused = { code: "refused", message: /tenant few: quota exceeded: 2 of 2 sessions/ };
    await assert.rejects(engine.open({ objective: "Three" }), refused);
    await assert.rejects(session.fork({ name: "Three" }), refused);
    await assert.rejects((await opened("few")).open({ objective: "Three" }), refused, "in another process");
    await session.append("It goes on.");
    await session.close();
  });

  test("moved sessions count in no quota", async () => {
    await tenants.set("movable", { sessionsMax: 1 });
    const session = await (await opened("movable")).open({ objective: "Goes elsewhere" });
    const other = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
    const to = await postgresStore({ url: place.url, tenant: "elsewhere", world, workspace: other });
    stores.push(to);
    await session.migrate({ to });
    const used = (await tenants.list()).filter(({ name }) => name === "movable");
    assert.deepEqual(
      used.map(({ sessions }) => sessions),
      [0],
    );
    await (await opened("movable")).open({ objective: "In its stead" });
  });

  test("past its quota of bytes a tenant takes no input, and can still close and erase", async () => {
    await tenants.set("small", { bytesMax: 3_000 });
    const engine = await opened("small");
    const { project } = await engine.openProject({ objective: "All" });
    const session = await engine.open({ objective: "One" });
    await session.append("x".repeat(3_000), { key: "k" });
    const refused = { code: "refused", message: /quota exceeded: [\d,]+ of 3,000 bytes/, hint: /--bytes N/ };
    await assert.rejects(session.append("more"), refused);
    assert.equal((await session.append("x".repeat(3_000), { key: "k" })).duplicate, true, "it was taken");
    await assert.rejects(engine.open({ objective: "Two" }), refused);
    await assert.rejects(engine.openProject({ objective: "Two" }), refused);
    await assert.rejects(engine.noteInProject(project, { text: "more" }), refused);
    await session.record("fact", "size", "large");
    await session.close();
  });

  test("a count that is old is made anew before anything is begun", async () => {
    await tenants.set("idle", { sessionsMax: 3, bytesMax: 20_000 });
    let laterMs = 0;
    const own = { ...world, now: () => world.now() + laterMs };
    const idle = await opened("idle", place.url, own);
    const session = await idle.open({ objective: "One" });
    const busy = await opened("idle");
    await busy.open({ objective: "Two" });
    const third = await busy.open({ objective: "Three" });
    laterMs += 6_000;
    await assert.rejects(idle.open({ objective: "Four" }), { message: /quota exceeded: 3 of 3 sessions/ });
    await third.append("x".repeat(20_000));
    laterMs += 6_000;
    await assert.rejects(session.append("more"), { message: /of 20,000 bytes/ });
  });

  test("past its quota of bytes a tenant takes no blob, and no scratch but in a turn", async () => {
    await tenants.set("full", { bytesMax: 3_000 });
    const engine = await opened("full");
    const session = await engine.open({ objective: "One" });
    await session.scratch("early", "kept");
    await session.append("x".repeat(1_000));
    const small = new TextEncoder().encode("y".repeat(2_500));
    await engine.putBlob(small);
    const refused = { code: "refused", message: /quota exceeded: [\d,]+ of 3,000 bytes/ };
    await assert.rejects(engine.putBlob(new TextEncoder().encode("z")), refused);
    await engine.putBlob(small);
    await assert.rejects(session.scratch("late", "more"), refused);
    await assert.rejects(session.scratch("late", "x".repeat(200_000)), refused);
    const [used] = (await tenants.list()).filter(({ name }) => name === "full");
    assert.ok(used !== undefined && used.bytes < 10_000, "what was refused leaves nothing behind");
    await session.scratch("early");
    await using drive = await session.drive();
    await drive.begin();
    await session.scratch("during", "kept");
  });

  test("a store of layout 1 is brought up to date, also for a role that was there before", async () => {
    const older = await ownDatabase();
    const theirs = openTenants({ url: older.url, world, workspace });
    try {
      const role = await makeRole(older.url);
      await theirs.set("kept", { role: role.username });
      const before = await postgresStore({ url: older.url, tenant: "kept", world, workspace });
      const engine = new Engine({ store: before, world });
      const first = await engine.open({ objective: "o" });
      const next = await first.clear();
      const later = await engine.open({ objective: "p", from: first.id });
      for (let count = 0; count < 20; count++) await later.record("fact", `x${count}`, count);
      await before.pack(later.id, Number.MAX_SAFE_INTEGER);
      await engine.close();
      await using raw = rawly(older.url);
      await toLayout3(raw.sql, role.username);
      await raw.sql.unsafe("DROP TABLE skein.servers; DELETE FROM skein.migrations WHERE number >= 2");
      await (await postgresStore({ url: older.url, tenant: "kept", world, workspace })).close();
      const store = await postgresStore({ url: role.href, tenant: "kept", world, workspace });
      const server = { holder: "a", address: "http://a:1", secret: "s", untilMs: store.now() + 60_000 };
      await store.announce(server);
      assert.deepEqual(await store.servers(), [server]);
      assert.deepEqual(await store.openedFrom(first.id), [next.id, later.id]);
      await store.close();
    } finally {
      await theirs.close();
      await older.done();
    }
  });

  test("costs are summed by tenant for the owner, and refused to a role of one tenant", async () => {
    for (const [name, costNanoUsd] of [
      ["cheap", 5],
      ["dear", null],
    ] as const) {
      await using drive = await (await (await opened(name)).open({ objective: "One" })).drive();
      await drive.begin();
      await drive.request({ model: "m/m", reserve: { tokens: 9 } });
      const usage = { inputTokens: 1, outputTokens: 2 };
      await drive.respond({ finish: "stop", usage, costNanoUsd, blocks: [{ type: "text", text: "ok" }] });
    }
    const rows = (await tenants.costs({})).map((row) => row.map(String));
    assert.deepEqual(
      rows.filter(([name]) => name === "cheap" || name === "dear"),
      [
        ["cheap", "1", "1", "2", "5", "0", "0", "0", "0"],
        ["dear", "1", "1", "2", "0", "1", "0", "0", "0"],
      ],
    );
    const role = await makeRole(place.url);
    await tenants.set("cheap", { role: role.username });
    const theirs = openTenants({ url: role.href, world, workspace });
    await assert.rejects(theirs.costs({}), { code: "refused", message: /restricted to one tenant/ });
    await theirs.close();
  });

  test("the database confines a role to its tenant, where it works like any other", async () => {
    const theirs = await opened("theirs");
    await theirs.open({ objective: "Theirs alone" });
    const role = await makeRole(place.url);
    await tenants.set("kept", { role: role.username });
    const engine = await opened("kept", role.href);
    const session = await engine.open({ objective: "Kept here", labels: { team: "web" } });
    await session.append("A word to be found.");
    await session.record("fact", "size", "large");
    const branch = await session.fork({ name: "branch" });
    await branch.close();
    const { rows } = await engine.sessions({});
    assert.deepEqual(
      rows.map(({ objective }) => objective),
      ["Kept here", "Kept here"],
    );
    assert.equal((await engine.search("found")).length, 1);
    assert.deepEqual((await engine.query("SELECT count(*) FROM sessions")).rows, [[2]]);
    assert.equal((await engine.stats()).sessions, 2);
    assert.deepEqual((await engine.verify()).problems, []);

    await using raw = rawly(role.href);
    for (const table of [
      "heads",
      "logs",
      "events",
      "keys",
      "snapshots",
      "texts",
      "item_rows",
      "servers",
      "numbers",
    ]) {
      const [{ n } = { n: null }] = await raw.sql.unsafe(
        `SELECT count(*)::int AS n FROM skein.${table} WHERE tenant <>
         (SELECT id FROM skein.tenants WHERE name = 'kept')`,
      );
      assert.equal(n, 0, table);
    }
    const names = await raw.sql`SELECT name FROM skein.tenants`;
    assert.deepEqual(
      names.map(({ name }) => name as string),
      ["kept"],
    );
    const forbidden = [
      "SELECT count(*) FROM skein.events_0",
      "UPDATE skein.tenants SET sessions_max = NULL",
      "INSERT INTO skein.tenants (name, workspace, program) VALUES ('x', 'x', 'x')",
      "INSERT INTO skein.keys (tenant, log, seq, key) VALUES (1, 1, 1, '\\x00')",
      "DROP TABLE skein.keys",
    ];
    for (const sql of forbidden) await assert.rejects(raw.sql.unsafe(sql), { code: "42501" }, sql);
    await assert.rejects(opened("theirs", role.href), {
      code: "refused",
      message: /the role may not do this in the database/,
    });
  });

  test("a tenant's role counts all connections of the server, and not its own alone", async () => {
    const role = await makeRole(place.url);
    await tenants.set("counting", { role: role.username });
    const database = openDatabase({ address: parseAddress(role.href), world, clock: "database" });
    const others = postgres(place.url, { max: 7 });
    try {
      await Promise.all(Array.from({ length: 7 }, () => others`SELECT pg_sleep(0.2)`));
      assert.ok((await serverState(database)).connections >= 8);
    } finally {
      await database.close();
      await others.end();
    }
  });

  test("a role that is too powerful, missing or another tenant's is refused", async () => {
    const role = await makeRole(place.url);
    await tenants.set("first", { role: role.username });
    const owner = decodeURIComponent(new URL(place.url).username);
    await assert.rejects(tenants.set("second", { role: owner }), {
      code: "refused",
      message: /cannot be restricted/,
    });
    await assert.rejects(tenants.set("second", { role: "nobody_of_this_name" }), { code: "not-found" });
    await assert.rejects(tenants.set("second", { role: role.username }), {
      message: /already restricted to tenant "first"/,
    });
    const names = (await tenants.list()).map(({ name }) => name);
    assert.equal(names.includes("second"), false, "what is refused leaves no tenant behind");
    await tenants.set("first", { role: null });
    await assert.rejects(opened("first", role.href), { code: "refused" });
    assert.equal((await tenants.set("second", { role: role.username })).role, role.username);
  });
});

const noUse = { sessions: 0, bytes: 0, sessionsMax: null, bytesMax: null, role: null, program: version };

function rawly(url: string) {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  return { sql, [Symbol.asyncDispose]: () => sql.end() };
}
