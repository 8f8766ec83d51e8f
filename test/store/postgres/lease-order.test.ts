/** Leases that several programs take at once: each sees all that were taken before its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { noPostgres, postgresDriver } from "../../postgres/place.ts";
import { workspace } from "../../runtime/place.ts";

const skip = await noPostgres();
const [programs, each] = [4, 16];

test("a lease holder sees every lease with a smaller order", { skip }, async () => {
  const { url } = await postgresDriver();
  const world = realWorld();
  const stores = await Promise.all(
    Array.from({ length: programs }, () => postgresStore({ url, world, workspace, durability: "process" })),
  );
  const engines = await Promise.all(stores.map((store) => openEngine({ store })));
  await using open = new AsyncDisposableStack();
  for (const engine of engines) open.use(engine);
  const ids = await Promise.all(
    Array.from({ length: programs * each }, async () => (await engines[0]!.open({ objective: "o" })).id),
  );
  const seen = await Promise.all(
    ids.map(async (id, number) => {
      const place = number % programs;
      open.use(await (await engines[place]!.session(id)).drive());
      const rows = await stores[place]!.leased();
      return { id, rows: new Map(rows.map(({ session, lease }) => [session, lease?.order ?? 0])) };
    }),
  );
  const orders = new Map((await stores[0]!.leased()).map(({ session, lease }) => [session, lease?.order]));
  assert.deepEqual([orders.size, new Set(orders.values()).size], [ids.length, ids.length]);
  const missed = seen.flatMap(({ id, rows }) =>
    [...orders].filter(([other, order]) => order! < orders.get(id)! && !rows.has(other)),
  );
  assert.deepEqual(missed, []);
});
