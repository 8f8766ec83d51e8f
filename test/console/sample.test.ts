/** The sample family: really run, found by its label, gone with one call, gone on with when broken off. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { RemoteEngine } from "../../src/client/connect.ts";
import { makeSampleFamily, removeSampleFamily, sampleStanding } from "../../src/console/sample/maker.ts";
import { makingLabel, samplePlan } from "../../src/console/sample/plan.ts";
import { offlineModel } from "../../src/model/offline.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { workspace } from "../runtime/place.ts";

const silent = (): void => undefined;

/** The library's engine has every call of a client's. */
function place(t: TestContext): RemoteEngine {
  const world = realWorld();
  const offline = offlineModel({ world });
  const engine = new Engine({
    store: memoryStore({ world, workspace }),
    world,
    models: async () => ({ byDefault: "offline/offline", model: async () => offline, list: () => [] }),
    tools: async () => makeToolSource({ world, tools: [] }),
  });
  t.after(() => engine.close());
  return engine as unknown as RemoteEngine;
}

async function rowsByName(engine: RemoteEngine) {
  const { rows } = await engine.sessions({ limit: 100 });
  return new Map(rows.map((row) => [row.name ?? "", row]));
}

const standings = async (engine: RemoteEngine): Promise<Record<string, string>> =>
  Object.fromEntries([...(await rowsByName(engine))].map(([name, { status }]) => [name, status]));

const whole = {
  Requirements: "closed",
  "Payment provider": "open",
  "Fees of a year": "open",
  "What if Southpay?": "open",
  "Notice to customers": "open",
  "Refund 1042": "suspended",
  "Exchange rates": "sleeping",
  "Yearly report": "open",
};

test("every view has something true to show", async (t) => {
  const engine = place(t);
  const told: string[] = [];
  await makeSampleFamily(engine, ({ says }) => told.push(says));
  assert.deepEqual(
    told,
    samplePlan.map(({ says }) => says),
  );
  assert.deepEqual(await standings(engine), whole);
  assert.deepEqual(await sampleStanding(engine), { sessions: 8, isUnfinished: false });
  const rows = await rowsByName(engine);
  const payments = await engine.session(rows.get("Payment provider")?.session ?? "");
  const items = (await payments.items()).map(({ kind, key, value }) => `${kind} ${key}: ${String(value)}`);
  assert.deepEqual(items.toSorted(), [
    "artifact fee-table: 21600 orders, 25 EUR each",
    "decision provider: Northpay",
    "fact northpay-fee: 1.4 %",
    "fact northpay-year: 7560 EUR",
    "fact southpay-fee: 1.1 %",
    "fact southpay-year: 5940 EUR",
    "task compare-the-fees-of-a-year: compare the fees of a year",
  ]);
  const other = rows.get("What if Southpay?")?.session ?? "";
  const { conflicts } = await payments.merge({ from: other, dryRun: true });
  assert.deepEqual(
    conflicts.map(({ name }) => name),
    ["decision/provider"],
  );
  assert.equal(rows.get("Refund 1042")?.waitingFor, "approval");
  assert.equal(rows.get("Exchange rates")?.triggers, "first-of-the-month");
  const notice = await engine.session(rows.get("Notice to customers")?.session ?? "");
  const discount = (await notice.items()).find(({ key }) => key === "discount");
  assert.equal(discount?.value, "5 %");
  assert.deepEqual(
    (await engine.memory()).map(({ scope, kind, key, origin }) => [scope, kind, key, origin?.session]),
    [["agent", "decision", "provider", payments.id]],
  );
  // A real session about the very same is not told of it.
  const real = await engine.open({ objective: "Choose a payment provider for the shop" });
  const system = (await real.context()).parts.filter(({ part }) => part === "system");
  assert.doesNotMatch(JSON.stringify(system), /Northpay|Southpay/);
  assert.equal((await real.fold()).mind.memory.length, 0);
  await engine.delete(real.id);
  assert.deepEqual(
    (await engine.triggers()).map(({ name }) => name),
    ["sample-yearly-report"],
  );
  assert.deepEqual(
    (await engine.agents()).map(({ name }) => name),
    ["sample-clerk"],
  );
});

test("one call removes it, and no other sessions", async (t) => {
  const engine = place(t);
  await engine.open({ objective: "My own", name: "Mine" });
  await engine.remember({ scope: "workspace", kind: "fact", key: "own", value: 1 });
  await engine.trigger("mine", { kind: "every", everyMs: 3_600_000 }, { open: { objective: "x" } });
  await makeSampleFamily(engine, silent);
  assert.equal(await removeSampleFamily(engine, silent), 8);
  assert.deepEqual(await standings(engine), { Mine: "open" });
  assert.deepEqual(
    (await engine.memory()).map(({ key }) => key),
    ["own"],
  );
  assert.deepEqual(
    (await engine.triggers()).map(({ name }) => name),
    ["mine"],
  );
  assert.equal(await removeSampleFamily(engine, silent), 0);
});

/** Breaks off at the nth call of the making. */
function breakingOff(engine: RemoteEngine, calls: number): RemoteEngine {
  let left = calls;
  const counted = <T extends object>(object: T): T =>
    new Proxy(object, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return async (...given: readonly unknown[]) => {
          if (left-- <= 0) throw new Error("the page was closed");
          const answer: unknown = await Reflect.apply(value, target, given);
          const isHandle = typeof answer === "object" && answer !== null && "id" in answer && "run" in answer;
          return isHandle ? counted(answer) : answer;
        };
      },
    });
  return counted(engine);
}

test("after an interruption at any step it can be resumed, with the same result", async (t) => {
  for (const calls of [2, 12, 23, 40, 55]) {
    const engine = place(t);
    await assert.rejects(makeSampleFamily(breakingOff(engine, calls), silent), /the page was closed/);
    const { isUnfinished, sessions } = await sampleStanding(engine);
    assert.equal(isUnfinished, sessions > 0, `after ${calls} calls`);
    await makeSampleFamily(engine, silent);
    assert.deepEqual(await standings(engine), whole, `after ${calls} calls`);
    const { rows } = await engine.sessions({ limit: 100 });
    assert.equal(rows.length, 8);
    assert.ok(rows.every(({ labels }) => !(makingLabel in labels)));
  }
});

test("an interrupted one can be removed too", async (t) => {
  const engine = place(t);
  await assert.rejects(makeSampleFamily(breakingOff(engine, 20), silent));
  await removeSampleFamily(engine, silent);
  assert.deepEqual(await sampleStanding(engine), { sessions: 0, isUnfinished: false });
});
