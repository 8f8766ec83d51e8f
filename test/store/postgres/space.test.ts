/** What comes and goes in PostgreSQL: blobs, what nobody came back for, scrubbing, packing, and its check. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import postgres from "postgres";
import { limit } from "../../../src/core/limit.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Bench } from "../../../src/store/conformance/bench.ts";
import * as bench from "../../../src/store/conformance/bench.ts";
import type { Store } from "../../../src/store/port.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { makeRole } from "../../postgres/database.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../../postgres/place.ts";
import { workspace } from "../../runtime/place.ts";

const { append, assertWhole, draftOf, dropped, hashOfBytes, isError, opened, partOf, readAll, upTo } = bench;
const everything = Number.MAX_SAFE_INTEGER;
const dayMs = 86_400_000;

suite("space is reused in PostgreSQL", { skip: await noPostgres() }, () => {
  const stores: Store[] = [];
  let place: PostgresPlace;
  let sql: postgres.Sql;
  let tenants = 0;

  before(async () => {
    place = await ownDatabase();
    sql = postgres(place.url, { max: 2, onnotice: () => undefined });
  });
  after(async () => {
    for (const store of stores) await store.close();
    await sql.end();
    await place.done();
  });

  /** A store of its own; two of the same name are two programs that share one. */
  async function newBench(tenant = `t${(tenants += 1)}`): Promise<Bench & { readonly tenant: string }> {
    const { world, setClock } = bench.makeWorld();
    const { sleep, defer } = realWorld();
    const wide = { ...world, sleep, defer };
    const store = await postgresStore({ url: place.url, tenant, world: wide, workspace, clock: "world" });
    stores.push(store);
    const reopen = () => Promise.resolve(store);
    return { store, world, setClock, newId: bench.makeIds(), reopen, tenant };
  }

  const large = Uint8Array.from({ length: limit.contentBytesMax * 2 + 5 }, (_, at) => (at * 31) >> 4);
  async function* slowly(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    const size = limit.blobChunkBytesMax;
    for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
  }

  async function bytesOf(store: Store, hash: string): Promise<Buffer | null> {
    const chunks = await store.blob(hash);
    return chunks === undefined ? null : Buffer.concat(await Array.fromAsync(chunks));
  }

  test("a large blob that two write at once is there once, and whole", async () => {
    const { store, tenant } = await newBench();
    const { store: other } = await newBench(tenant);
    const hash = hashOfBytes(large);
    await Promise.all([store.putBlob(hash, slowly(large)), other.putBlob(hash, slowly(large))]);
    assert.equal(Buffer.compare((await bytesOf(store, hash)) ?? Buffer.alloc(0), large), 0);
    assert.deepEqual(await store.check(), []);
    const rows = await sql`SELECT count(*)::int AS count FROM skein.blob_chunks c JOIN skein.tenants t
      ON t.id = c.tenant WHERE t.name = ${tenant}`;
    assert.equal(rows[0]?.["count"], Math.ceil(large.length / limit.blobChunkBytesMax));
  });

  test("what a dead process wrote of a blob is never whole, and is swept away after a day", async () => {
    const { store, setClock, tenant } = await newBench();
    const hash = hashOfBytes(large);
    const dying = async function* (): AsyncGenerator<Uint8Array> {
      yield large.subarray(0, limit.contentBytesMax + 7);
      await store.close();
    };
    await assert.rejects(store.putBlob(hash, dying()), isError("unavailable"));
    const again = await newBench(tenant);
    const count = async (): Promise<unknown> =>
      (
        await sql`SELECT count(*)::int AS count FROM skein.blobs b JOIN skein.tenants t ON t.id = b.tenant
        WHERE t.name = ${tenant}`
      )[0]?.["count"];
    assert.equal(await again.store.blob(hash), undefined);
    await again.store.sweep();
    assert.equal(await count(), 1);
    await again.store.putBlob(hash, slowly(large));
    again.setClock(bench.startOfTime + dayMs + 1);
    setClock(bench.startOfTime + dayMs + 1);
    await again.store.putBlob(hash, slowly(large));
    await again.store.sweep();
    assert.equal(await count(), 1);
    assert.equal((await bytesOf(again.store, hash))?.length, large.length, "one that was put again stays");
  });

  const idOf = async (tenant: string, session: string): Promise<number> => {
    const rows = await sql`SELECT h.log FROM skein.heads h JOIN skein.tenants t ON t.id = h.tenant
      WHERE t.name = ${tenant} AND h.session = ${session}`;
    return Number(rows[0]?.["log"]);
  };

  test("a blob that gains a reference while it is being deleted stays", async () => {
    const here = await newBench();
    const hash = hashOfBytes(Uint8Array.of(7));
    await here.store.putBlob(hash, [Uint8Array.of(7)]);
    const log = await idOf(here.tenant, await opened(here));
    let dropping: Promise<void> | undefined;
    // As an append does it that is not committed yet.
    await sql.begin(async (referring) => {
      const [blob] = await referring`SELECT b.tenant, b.id FROM skein.blobs b JOIN skein.tenants t
        ON t.id = b.tenant WHERE t.name = ${here.tenant} FOR KEY SHARE OF b`;
      const row = { tenant: Number(blob?.["tenant"]), blob: Number(blob?.["id"]), log, seq: 1 };
      await referring`INSERT INTO skein.blob_refs ${referring(row)}`;
      dropping = here.store.dropBlob(hash);
      for (let waits = false; !waits;) {
        const rows = await sql`SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        waits = rows.length > 0;
      }
    });
    await dropping;
    assert.deepEqual(await bytesOf(here.store, hash), Buffer.of(7));
    assert.deepEqual(await here.store.check(), []);
  });

  test("an unfinished import is removed after a day, and no sooner", async () => {
    const here = await newBench();
    const { store } = here;
    const session = here.newId();
    const source = await newBench();
    await append(source, partOf(source, session, "absent", { count: 9, index: bench.entryOf() }));
    const records = (await readAll(source.store, session)).map((record) => ({ ...record, blobs: [] }));
    await store.receive({ session, parent: null, base: null });
    await store.put(session, records);
    here.setClock(bench.startOfTime + dayMs - 1);
    await store.sweep();
    assert.equal((await store.receive({ session, parent: null, base: null })).seq, 9);
    here.setClock(bench.startOfTime + dayMs + 1);
    await store.sweep();
    assert.equal((await store.stats()).records, 0);
    await assert.rejects(store.put(session, records), isError("conflict"));
    assert.deepEqual(await store.check(), []);
  });

  test("scrubbing waits for transactions that may still see erased data", async () => {
    const here = await newBench();
    const session = await opened(here, 0, { drafts: [draftOf({ content: "secret" }, here.world.digest)] });
    let scrubbed = false;
    await sql.begin("isolation level repeatable read", async (reader) => {
      await reader`SELECT count(*) FROM skein.events`;
      await append(here, partOf(here, session, "exists", { erase: [[1, 1]] }));
      const scrubbing = here.store.scrub().then(() => (scrubbed = true));
      await realWorld().sleep(250);
      assert.equal(scrubbed, false);
      assert.equal((await here.store.stats()).unscrubbed, true);
      void scrubbing;
    });
    await here.store.scrub();
    assert.equal((await here.store.stats()).unscrubbed, false);
  });

  test("who does not own the tables erases, and leaves the scrubbing to the owner", async () => {
    const here = await newBench();
    const role = await makeRole(place.url);
    const name = role.username;
    await sql.unsafe(`GRANT USAGE ON SCHEMA skein TO ${name};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA skein TO ${name};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA skein TO ${name};
      ALTER ROLE ${name} BYPASSRLS`);
    const { sleep, defer } = realWorld();
    const wide = { ...here.world, sleep, defer };
    const store = await postgresStore({
      url: role.href,
      tenant: here.tenant,
      world: wide,
      workspace,
      clock: "world",
    });
    stores.push(store);
    const guest = { ...here, store };
    const session = await opened(guest, 0, { drafts: [draftOf({ content: "it" }, here.world.digest)] });
    await append(guest, partOf(guest, session, "exists", { erase: [[1, 1]] }));
    await assert.rejects(store.scrub(), isError("unavailable"));
    await store.sweep();
    assert.equal((await store.stats()).unscrubbed, true);
    await here.store.scrub();
    assert.equal((await store.stats()).unscrubbed, false);
  });

  const prose = (count: number) =>
    upTo(count).map((at) => ({ body: { at }, content: `line ${at} ${"of the long story ".repeat(20)}` }));

  test("packing works in steps, and appends continue during each of them", async () => {
    const here = await newBench();
    const drafts = prose(1_000).map((given) => draftOf(given, here.world.digest));
    const session = await opened(here, 0, { drafts });
    let packed = false;
    const isPacked = (): boolean => packed;
    const packing = here.store.pack(session, everything).finally(() => (packed = true));
    let count = 0;
    do {
      await append(here, partOf(here, session, "exists"));
      count += 1;
    } while (!isPacked());
    assert.ok((await packing).records >= 999);
    assert.ok(count > 1, "an append had to wait for all of it");
    await assertWhole(here, session, 1_000 + count);
    assert.deepEqual(await here.store.check(), []);
  });

  test("packing makes room, and keeps small segments few", async () => {
    const here = await newBench();
    const drafts = prose(600).map((given) => draftOf(given, here.world.digest));
    const session = await opened(here, 0, { drafts });
    const { records, bytesBefore, bytesAfter } = await here.store.pack(session, everything);
    assert.equal(records, 599);
    assert.ok(bytesAfter * 2 < bytesBefore, `${bytesBefore} became ${bytesAfter}`);
    for (const _ of upTo(20)) {
      await append(here, partOf(here, session, "exists", { count: 5 }));
      await here.store.pack(session, everything);
    }
    assert.ok((await here.store.stats()).segments <= 4);
    await assertWhole(here, session, 700);
  });

  test("damaged records are not packed", async () => {
    const here = await newBench();
    for (const change of [
      "content = '\"other text\"'",
      "body = '{\"at\":0}'",
      "salt = NULL",
      "actor = 'user:prn_other'",
      "at = at + 1",
      "hash = sha256(hash)",
    ]) {
      const drafts = upTo(5).map((at) => draftOf({ body: { at }, content: `text ${at}` }, here.world.digest));
      const session = await opened(here, 0, { drafts });
      const log = await idOf(here.tenant, session);
      await sql.unsafe(`UPDATE skein.events SET ${change} WHERE log = ${log} AND seq = 3`);
      await assert.rejects(here.store.pack(session, everything), isError("corrupt"), change);
      assert.equal(await here.store.packedTo(session), 0, change);
    }
  });

  test("check finds what does not fit together", async () => {
    const faults: Readonly<Record<string, RegExp>> = {
      "DELETE FROM skein.events WHERE log = LOG AND seq = 8": /records of .* are not those up to 10/,
      "DELETE FROM skein.events WHERE log = LOG AND seq = 10": /does not end with the record/,
      "UPDATE skein.heads SET hash = sha256(hash) WHERE log = LOG": /does not end with the record/,
      "DELETE FROM skein.places WHERE log = LOG": /places do not fit/,
      "UPDATE skein.places SET to_seq = 11 WHERE log = LOG": /beyond the end/,
      "UPDATE skein.segments SET salts = salts[1:2] WHERE log = LOG": /parts do not match/,
      "UPDATE skein.segments SET content_bytes = 1 WHERE log = LOG": /parts do not match/,
      "DELETE FROM skein.keys WHERE log = LOG AND seq = 2": /keys of .* are not its records'/,
      "UPDATE skein.keys SET seq = 3 WHERE log = LOG AND seq = 2": /a key of no record/,
      "DELETE FROM skein.heads WHERE log = LOG": /records of a log that does not exist/,
      "DELETE FROM skein.logs WHERE id = LOG": /a head without its log/,
      "DELETE FROM skein.blobs b USING skein.blob_refs r WHERE r.blob = b.id AND r.log = LOG":
        /refers to a blob that is not there/,
      "DELETE FROM skein.blob_chunks b USING skein.blob_refs r WHERE r.blob = b.blob AND r.log = LOG":
        /a blob that is not whole/,
    };
    const here = await newBench();
    for (const [place, [change, told]] of Object.entries(faults).entries()) {
      const bytes = Uint8Array.of(place);
      const hash = hashOfBytes(bytes);
      await here.store.putBlob(hash, [bytes]);
      const drafts = upTo(10).map((at) => {
        const more = at === 2 ? { key: "k", blobs: [hash] } : {};
        return draftOf({ body: { at }, content: `text ${at}`, ...more }, here.world.digest);
      });
      const session = await opened(here, 0, { drafts });
      await here.store.pack(session, 5);
      const known = new Set(await here.store.check());
      assert.ok(place > 0 || known.size === 0);
      await sql.unsafe(change.replaceAll("LOG", String(await idOf(here.tenant, session))));
      const found = (await here.store.check()).filter((fault) => !known.has(fault));
      assert.ok(
        found.some((fault) => told.test(fault)),
        `${change}: ${found.join("; ")}`,
      );
    }
  });

  test("deleting is done in steps, and leaves no row behind", async () => {
    const here = await newBench();
    const drafts = upTo(900).map((at) =>
      draftOf({ body: { at }, content: `text ${at}`, key: `${at}` }, here.world.digest),
    );
    const session = await opened(here, 0, { drafts });
    await here.store.pack(session, 300);
    const fork = await bench.forked(here, session, 200, 3);
    await dropped(here, session);
    await here.store.sweep();
    await assertWhole(here, fork, 203);
    assert.deepEqual(await here.store.check(), []);
    await dropped(here, fork);
    await here.store.sweep();
    for (const table of ["heads", "logs", "events", "segments", "places", "keys", "snapshots", "texts"]) {
      const rows = await sql`SELECT 1 FROM ${sql(`skein.${table}`)} r JOIN skein.tenants t ON t.id = r.tenant
        WHERE t.name = ${here.tenant}`;
      assert.equal(rows.length, 0, table);
    }
  });
});
