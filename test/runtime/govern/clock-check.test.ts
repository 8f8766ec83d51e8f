/** A process whose clock is wrong: retention, triggers and deadlines go by the store's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld, type World } from "../../../src/runtime/world.ts";
import type { Store } from "../../../src/store/port.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { noPostgres, ownDatabase } from "../../postgres/place.ts";
import { newPath, workspace } from "../place.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const real = realWorld();
const off = (ms: number): World => ({ ...real, now: () => real.now() + ms });
const skip = await noPostgres();

/** A session that is closed, and a policy that deletes what was closed 30 days ago. */
async function closedSession(store: Store): Promise<string> {
  const engine = new Engine({ store, world: real });
  await engine.setPolicy("trash", { do: "delete", after: "30d" }, { everything: true });
  await engine.setPolicy("shelf", { do: "archive", after: "20d" }, { everything: true });
  const session = await engine.open({ objective: "Just closed" });
  await session.close();
  return session.id;
}

test("on PostgreSQL a process 40 days off deletes nothing, and says why", { skip }, async (t) => {
  const place = await ownDatabase();
  const stores: Store[] = [];
  t.after(async () => {
    for (const store of stores) await store.close();
    await place.done();
  });
  const opened = async (world: World): Promise<Store> => {
    const store = await postgresStore({ url: place.url, world, workspace });
    stores.push(store);
    return store;
  };
  const id = await closedSession(await opened(real));
  for (const [days, way] of [
    [40, "ahead of"],
    [-40, "behind"],
  ] as const) {
    const world = off(days * dayMs + Math.sign(days) * hourMs);
    const engine = new Engine({ store: await opened(world), world });
    await assert.rejects(engine.retain({ everything: true }), {
      code: "refused",
      message: `retain: this machine's clock is 40d ${way} the store's; nothing was deleted`,
      hint: /NTP/,
    });
    assert.equal((await engine.session(id)).id, id);
  }
  // A few seconds are no disagreement, and the store's clock decides.
  const near = off(90_000);
  const engine = new Engine({ store: await opened(near), world: near });
  assert.deepEqual((await engine.retain({ everything: true })).done, []);
});

test(
  "a clock that is set while the store is open is noticed before anything is deleted",
  { skip },
  async (t) => {
    const place = await ownDatabase();
    let aheadMs = 0;
    const world: World = { ...real, now: () => real.now() + aheadMs };
    const store = await postgresStore({ url: place.url, world, workspace });
    t.after(async () => {
      await store.close();
      await place.done();
    });
    await closedSession(store);
    const engine = new Engine({ store, world });
    aheadMs = 40 * dayMs + hourMs;
    await assert.rejects(engine.retain({ everything: true }), { code: "refused", message: /40d ahead/ });
  },
);

test("an embedded store uses the clock of its file system", async (t) => {
  const { path, remove } = newPath();
  const first = await sqliteStore({ path, world: real, workspace, clock: "files" });
  const id = await closedSession(first);
  await first.close();
  const world = off(40 * dayMs + hourMs);
  const store = await sqliteStore({ path, world, workspace, clock: "files" });
  t.after(async () => {
    await store.close();
    remove();
  });
  const engine = new Engine({ store, world });
  await assert.rejects(engine.retain({ everything: true }), { code: "refused", message: /40d ahead/ });
  assert.equal((await engine.session(id)).id, id);
});

test(
  "a worker 40 days ahead fires no trigger and wakes no session before the store's time",
  { skip },
  async (t) => {
    const place = await ownDatabase();
    const world = off(40 * dayMs + hourMs);
    const store = await postgresStore({ url: place.url, world, workspace });
    t.after(async () => {
      await store.close();
      await place.done();
    });
    const engine = engineWith(scripted(["done"]), { store, world });
    const soon = real.now() + 10 * dayMs;
    const timed = await engine.open({ objective: "Timed" });
    await timed.trigger("later", { kind: "at", at: soon });
    const asleep = await engine.open({ objective: "Asleep" });
    await asleep.sleep({ untilMs: soon });
    const idle = await engine.open({ objective: "Idle", expiresAfterIdleMs: 20 * dayMs });
    const worker = await engine.work();
    await real.sleep(1_500);
    await worker.stop();
    const statuses = await Promise.all([timed, asleep, idle].map(async (one) => (await one.state()).status));
    assert.deepEqual(statuses, ["open", "sleeping", "open"]);
    const fired = [];
    for await (const event of timed.events({ types: ["trigger.fired"] })) fired.push(event);
    assert.deepEqual(fired, []);
  },
);
