/** The feed of PostgreSQL under many writers, and being told across processes. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import type { SessionId } from "../../../src/core/ids.ts";
import { makeSessionId } from "../../../src/core/ids.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { draftOf, entryOf, upTo } from "../../../src/store/conformance/bench.ts";
import type { Part, Store } from "../../../src/store/port.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { noPostgres, postgresDriver } from "../../postgres/place.ts";
import { workspace } from "../../runtime/place.ts";

const skip = await noPostgres();
const world = realWorld();
const cleanups: (() => Promise<void>)[] = [];
after(async () => {
  for (const clean of cleanups.toReversed()) await clean();
});

const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: 1_800_000_000_000 + count, random: new Uint8Array(10).fill(count) });

const partFor = (session: SessionId, expect: Part["expect"], more: Partial<Part> = {}): Part => ({
  session,
  expect,
  drafts: [draftOf({ content: "said" }, world.digest)],
  ...more,
});

/** Stores of one tenant, as two programs would open them, and a plain way to the same server. */
async function opened(): Promise<{ stores: readonly [Store, Store]; sql: postgres.Sql }> {
  const place = await postgresDriver();
  const open = () => postgresStore({ url: place.url, world, workspace });
  const stores = [await open(), await open()] as const;
  const url = new URL(place.url);
  url.search = "";
  const sql = postgres(url.href, { max: 1, onnotice: () => undefined });
  cleanups.push(place.done, () => sql.end(), ...stores.map((store) => () => store.close()));
  return { stores, sql };
}

test(
  "the feed gives each record once and in order while eight write to the same logs",
  { skip },
  async () => {
    const { stores, sql } = await opened();
    const sessions = upTo(6).map(idOf);
    await stores[0].append(sessions.map((session) => partFor(session, "absent", { index: entryOf() })));
    const written = new AbortController();
    const appends = 30;
    /** Each writes to three of the logs at once, each time to others. */
    const write = async (writer: number): Promise<void> => {
      for (let count = 0; count < appends; count++) {
        const places = new Set([writer + count, writer * 2 + count + 1, 5 + count].map((place) => place % 6));
        const chosen = sessions.filter((_, place) => places.has(place));
        const store = stores[writer % 2] ?? stores[0];
        const { kind } = await store.append(chosen.map((session) => partFor(session, "unchecked")));
        assert.equal(kind, "ok");
        if (writer === 0) await world.sleep(3);
      }
    };
    /** A transaction that has a number and writes nothing for a while. */
    const dawdle = async (): Promise<void> => {
      while (!written.signal.aborted) {
        await sql.begin(async (way) => {
          await way`SELECT pg_current_xact_id()`;
          await world.sleep(40);
        });
      }
    };
    const seen = new Map<string, number[]>();
    let position: string | null = null;
    const readPage = async (): Promise<number> => {
      const page = await stores[1].feed(position, 7);
      for (const { session, seq } of page.records) seen.set(session, [...(seen.get(session) ?? []), seq]);
      ({ position } = page);
      return page.records.length;
    };
    const reading = (async () => {
      while (!written.signal.aborted) await readPage();
    })();
    const dawdling = dawdle();
    await Promise.all(upTo(8).map((writer) => write(writer - 1)));
    written.abort();
    await Promise.all([reading, dawdling]);
    while ((await readPage()) > 0);
    for (const session of sessions) {
      const head = await stores[0].head(session);
      assert.deepEqual(seen.get(session), upTo(head?.seq ?? 0), `the feed of ${session}`);
    }
  },
);

test("records committed above the horizon are announced once the feed returns them", { skip }, async () => {
  const { stores, sql } = await opened();
  const session = idOf(7);
  await stores[0].append([partFor(session, "absent", { index: entryOf() })]);
  const { position } = await stores[1].feed(null, 10);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => void (release = resolve));
  const begun = Promise.withResolvers<void>();
  const holding = sql.begin(async (way) => {
    await way`SELECT pg_current_xact_id()`;
    begun.resolve();
    await held;
  });
  await begun.promise;
  let given: readonly number[] = [];
  const found = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    const { records } = await stores[1].feed(position, 10);
    if (records.length === 0) return;
    given = records.map(({ seq }) => seq);
    found.resolve();
  };
  const end = stores[1].watch(() => void look());
  try {
    await stores[0].append([partFor(session, { seq: 1 })]);
    assert.deepEqual((await stores[1].feed(position, 10)).records, []);
    assert.equal((await stores[1].head(session))?.seq, 2);
  } finally {
    release();
    await holding;
  }
  await found.promise;
  end();
  assert.deepEqual(given, [2]);
});

test("a watcher in another process is notified, also after its connection was cut", { skip }, async () => {
  const { stores, sql } = await opened();
  const session = idOf(8);
  const told = { count: 0, next: Promise.withResolvers<void>() };
  const end = stores[1].watch(() => {
    told.count += 1;
    told.next.resolve();
  });
  const next = async (expect: Part["expect"], more: Partial<Part> = {}): Promise<void> => {
    await world.sleep(60);
    told.next = Promise.withResolvers();
    await stores[0].append([partFor(session, expect, more)]);
    await told.next.promise;
  };
  await next("absent", { index: entryOf() });
  await next({ seq: 1 });
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`;
  await next({ seq: 2 });
  await next({ seq: 3 });
  end();
  await world.sleep(30);
  const before = told.count;
  await stores[0].append([partFor(session, { seq: 4 })]);
  await world.sleep(60);
  assert.equal(told.count, before);
});
