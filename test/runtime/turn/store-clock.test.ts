/** Leases run out by the store's clock: what a process thinks the time is changes nothing about them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { standingRows } from "../../../src/runtime/read/session-list.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld, type World } from "../../../src/runtime/world.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import { madeWorld, startOfTime } from "../made-world.ts";
import { workspace } from "../place.ts";
import { engineWith, scripted } from "./scripted.ts";

const hourMs = 3_600_000;
const held = { code: "conflict", message: "the session is running on elsewhere" };

for (const [how, offMs] of [
  ["an hour ahead", hourMs],
  ["an hour behind", -hourMs],
] as const) {
  test(`a live lease is never taken, and a dead one is, with a clock that is ${how}`, async () => {
    const storeWorld = madeWorld();
    const store = memoryStore({ world: storeWorld, workspace });
    const world = { ...madeWorld("here"), now: () => storeWorld.now() + offMs };
    const engine = new Engine({ store, world });
    const session = await engine.open({ objective: "o" });
    await session.lease({ holder: "elsewhere", leaseMs: 2_000 });
    const other = await new Engine({ store, world }).session(session.id);
    storeWorld.pass(1_999);
    await assert.rejects(other.lease({ holder: "here" }), held);
    storeWorld.pass(1);
    assert.equal((await other.lease({ holder: "here" })).epoch, 3);
    assert.equal((await store.head(session.id))?.lease?.untilMs, startOfTime + 2_000 + 15_000);
  });

  test(`a worker whose clock is ${how} leaves a living lease alone, and is known to others`, async () => {
    const real = realWorld();
    const store = memoryStore({ world: real, workspace });
    const world: World = { ...real, now: () => real.now() + offMs };
    const lines = scripted(["done"]);
    const engine = engineWith(lines, { store, world });
    const sessions = [];
    for (const name of ["living", "dead"]) {
      const session = await engine.open({ objective: name });
      await session.input("do it");
      await session.lease({ holder: "elsewhere", leaseMs: name === "dead" ? 1_000 : 60_000 });
      sessions.push(session);
    }
    const [living, dead] = sessions;
    if (living === undefined || dead === undefined) throw new Error("two were opened");
    await using worker = await engine.work({ name: "w" });
    while ((await dead.fold()).standing.lastTurn === 0) await real.sleep(10);
    assert.equal(lines.calls.length, 1);
    assert.deepEqual((await living.state()).lease, { holder: "elsewhere", epoch: 3 });
    const [known] = await store.workers();
    assert.ok(Math.abs((known?.untilMs ?? 0) - real.now() - 15_000) < 6_000);
    const { rows } = await store.list({}, { limit: 10 });
    const shown = await standingRows(store, rows, world.now());
    const of = (id: string) => shown.find((row) => row.session === id);
    assert.deepEqual([of(living.id)?.runBy, of(living.id)?.waitingFor], ["elsewhere", null]);
    await worker.stop();
  });

  test(`an asker whose clock is ${how} waits for as long as the lease lasts`, async () => {
    const real = realWorld();
    const store = memoryStore({ world: real, workspace });
    const engine = engineWith(scripted(["hello"]), {
      store,
      world: { ...real, now: () => real.now() + offMs },
    });
    const session = await engine.open({ objective: "o" });
    await session.lease({ holder: "elsewhere", leaseMs: 1_000 });
    const from = real.now();
    for await (const _ of session.ask("hi"));
    assert.ok(real.now() - from >= 900 && real.now() - from < 5_000, `${real.now() - from} ms`);
  });
}
