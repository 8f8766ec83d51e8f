/** Lists of sessions say how each stands: what it waits for, who runs it, what it has cost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import type { Store } from "../../../src/store/port.ts";
import { kind } from "../../kind.ts";
import { madeWorld, startOfTime } from "../made-world.ts";
import { inMemory, workspace } from "../place.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const idle = {
  zone: "smart",
  unconfirmedNanoUsd: 0,
  unpriced: 0,
  nanoUsd: 0,
  model: null,
  runnable: false,
  waitingFor: "input",
  runBy: null,
  triggers: null,
  deadlineMs: null,
  dueMs: null,
};

test("an idle session is listed whole, with its status", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o", name: "n", labels: { team: "hr" } });
  const { rows, cursor } = await place.engine.sessions();
  assert.equal(cursor, null);
  assert.deepEqual(rows, [
    {
      session: session.id,
      status: "open",
      agent: null,
      name: "n",
      objective: "o",
      priority: 5,
      labels: { team: "hr" },
      headSeq: 1,
      openedAt: startOfTime,
      activeAt: startOfTime,
      parent: null,
      ...idle,
    },
  ]);
  await session.close();
  assert.equal((await place.engine.sessions()).rows[0]?.waitingFor, null);
});

test("a session with work waits for a worker; a running one names its process", async () => {
  await using place = inMemory();
  const { engine } = place;
  const waits = await engine.open({ objective: "waits" });
  await waits.input("do it");
  const runs = await engine.open({ objective: "runs" });
  await runs.input("do it");
  await runs.lease({ holder: "elsewhere" });
  const { rows } = await engine.sessions();
  const shown = rows.map(({ session, runnable, waitingFor, runBy }) => {
    return [session, { runnable, waitingFor, runBy }] as const;
  });
  assert.deepEqual(Object.fromEntries(shown), {
    [waits.id]: { runnable: true, waitingFor: "a worker", runBy: null },
    [runs.id]: { runnable: false, waitingFor: null, runBy: "elsewhere" },
  });
});

test("one that was given back with something left to do waits for another try, and is not next", async () => {
  const world = madeWorld();
  const store = kind().store({ world, workspace });
  await using engine = engineWith(scripted(["done"]), { store, world });
  const worker = { name: "w", sinceMs: 0, concurrency: 4, limits: [] };
  await store.beat({ ...worker, untilMs: store.now() + 60_000 });
  const session = await engine.open({ objective: "o" });
  const stands = async () => {
    const { runnable, waitingFor } = (await engine.sessions()).rows[0]!;
    return [runnable, waitingFor];
  };
  await session.input("do it");
  assert.deepEqual(await stands(), [true, null]);
  const tryIt = async (): Promise<void> => (await session.lease({ holder: "w" })).release();
  await tryIt();
  assert.deepEqual(await stands(), [true, "a retry"]);
  // Whatever is said meanwhile, the worker leaves it alone.
  await session.input("why not?");
  await session.label({ team: "hr" });
  assert.deepEqual(await stands(), [true, "a retry"]);
  await session.run();
  assert.deepEqual(await stands(), [false, "input"]);
  await session.input("and now this");
  assert.deepEqual(await stands(), [true, null]);
  await tryIt();
  await session.suspend();
  await session.activate();
  assert.deepEqual(await stands(), [true, null]);
  await engine.close();
});

test("a turn's cost, its model and its wait reason come from the index alone", async () => {
  const engine = engineWith(scripted(["done"]));
  const session = await engine.open({ objective: "o", model: "test/scripted" });
  await session.input("do it");
  await session.run();
  await session.trigger("report", { kind: "message" });
  await session.sleep({ triggers: ["report"], untilMs: 4_000_000_000_000 });
  const { rows } = await engine.sessions({ status: "sleeping" });
  assert.deepEqual(
    rows.map(({ nanoUsd, model, waitingFor, triggers, dueMs }) => {
      return { nanoUsd, model, waitingFor, triggers, dueMs };
    }),
    [
      {
        nanoUsd: 150_000,
        model: "test/scripted",
        waitingFor: "time until 2096-10-02T07:06:40.000Z or trigger",
        triggers: "report",
        dueMs: 4_000_000_000_000,
      },
    ],
  );
  await engine.close();
});

test("a page takes two calls of the store, however many sessions it has", async () => {
  const asked: string[] = [];
  const inner = memoryStore({ world: madeWorld(), workspace });
  const store = new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === "function") asked.push(String(name));
      return value;
    },
  }) satisfies Store;
  await using engine = new Engine({ store, world: madeWorld() });
  for (let made = 0; made < 30; made += 1) await engine.open({ objective: `o${made}` });
  asked.length = 0;
  const { rows } = await engine.sessions({ limit: 25 });
  assert.equal(rows.length, 25);
  assert.deepEqual(
    asked.filter((name) => name !== "now"),
    ["list", "scheduled"],
  );
});
