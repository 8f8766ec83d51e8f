/** However several workers come between one another, each cause fires once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeSessionId, makeWorkspaceId, type SessionId } from "../../../src/core/ids.ts";
import type { Deps } from "../../../src/runtime/deps.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { makeMemoryReader } from "../../../src/runtime/workspace/memory.ts";
import { makeStateReader } from "../../../src/runtime/read/state-reader.ts";
import { fire, fireDue } from "../../../src/runtime/trigger/fire.ts";
import { fireDueTemplates, fireTemplate, listTemplates } from "../../../src/runtime/trigger/templates.ts";
import { makeWriter } from "../../../src/runtime/log/writer.ts";
import { faultyStore } from "../../store/faulty.ts";
import { cases, kind } from "../../kind.ts";
import type { Store } from "../../../src/store/port.ts";
import { madeWorld, type MadeWorld } from "../made-world.ts";

/** The store, each answer of which comes when the scheduler says so. */
function hesitant(store: Store, scheduler: fc.Scheduler): Store {
  const slow = new Set(["append", "head", "read", "keyed"]);
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const call = (...given: unknown[]): unknown => Reflect.apply(value, target, given);
      if (!slow.has(String(name))) return call;
      return async (...given: unknown[]) => {
        await scheduler.schedule(Promise.resolve(), String(name));
        return call(...given);
      };
    },
  });
}

/** What one worker of several has. */
function depsOf(store: Store, world: MadeWorld): Deps {
  const states = makeStateReader(store);
  const writer = makeWriter(store, world, states, { tenant: "default" });
  const known = {
    store,
    world,
    states,
    writer,
    actor: "system",
    holder: "a",
    memory: makeMemoryReader(store, writer.workspace),
  };
  return known as unknown as Deps;
}

interface Fired {
  readonly dueMs?: number;
  readonly digest: string;
  readonly opened?: string;
}

async function firedIn(store: Store, log: Parameters<Store["read"]>[0]): Promise<Fired[]> {
  const range = { fromSeq: 1, toSeq: Infinity, limit: 1_000, contents: false, types: ["trigger.fired"] };
  return (await store.read(log, range)).map(({ body }) => JSON.parse(body) as Fired);
}

const setUp = (): { world: MadeWorld; store: Store; engine: Engine } => {
  const world = madeWorld("race");
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = kind().store({ world, workspace });
  return { world, store, engine: new Engine({ store, world }) };
};

const times = async (count: number, work: (worker: number) => Promise<unknown>): Promise<void> => {
  await Promise.all(Array.from({ length: count }, (_, worker) => work(worker)));
};

const anyRace = { scheduler: fc.scheduler(), workers: fc.integer({ min: 2, max: 4 }) };

test("times and changes that several workers notice at once fire once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ ...anyRace, missed: fc.constantFrom("once", "all", "skip") }),
      async (race) => {
        const { world, store, engine } = setUp();
        const session = await engine.open({ objective: "Race" });
        await session.trigger("tick", { kind: "every", everyMs: 10_000 }, { missed: race.missed });
        const { triggers } = (await session.fold()).standing;
        const tick = { name: "tick", setSeq: triggers.get("tick")?.seq ?? 0 };
        world.pass(25_000);
        const workers = Array.from({ length: race.workers }, () =>
          depsOf(hesitant(store, race.scheduler), world),
        );
        const all = times(race.workers, async (worker) => {
          const context = workers[worker];
          if (context === undefined) return;
          for (let round = 0; round < 3; round++)
            await fireDue(context, session.id, await context.writer.current(session.id));
          const cause = { digest: world.digest("", "one"), once: "one", text: "it ended" };
          await fire(context, session.id, tick, cause);
        });
        await race.scheduler.waitFor(all);
        const fired = await firedIn(store, session.id);
        const due = fired.flatMap(({ dueMs }) => dueMs ?? []);
        assert.equal(due.length, race.missed === "once" ? 1 : race.missed === "all" ? 2 : 1);
        assert.equal(new Set(due).size, due.length);
        assert.equal(fired.length - due.length, 1);
      },
    ),
    cases(25),
  );
});

test("a template opens one session for each time and occurrence, with any number of workers", async () => {
  await fc.assert(
    fc.asyncProperty(fc.record(anyRace), async (race) => {
      const { world, store, engine } = setUp();
      const open = { objective: "Read the news" };
      await engine.trigger("news", { kind: "every", everyMs: 10_000 }, { open, missed: "all" });
      world.pass(25_000);
      const all = times(race.workers, async () => {
        const context = depsOf(hesitant(store, race.scheduler), world);
        await fireDueTemplates(context, { failed: new Map() }, assert.fail);
        const [template] = await listTemplates(context);
        if (template === undefined) return;
        await fireTemplate(context, template, { digest: world.digest("", "x"), once: "x", text: "called" });
      });
      await race.scheduler.waitFor(all);
      const fired = await firedIn(store, store.workspace);
      const sessions = (await engine.sessions()).rows.map(({ session }) => session as string);
      assert.equal(fired.length, 3);
      assert.deepEqual(new Set(fired.map(({ opened }) => opened)), new Set(sessions));
      assert.equal(new Set(fired.map(({ dueMs }) => dueMs)).size, 3);
    }),
    cases(15),
  );
});

test("a template opens one session also when the store's answers are lost or late", async () => {
  const faults = ["pass", "lose-answer", "lose-request", "late", "conflict"] as const;
  const plans = fc.array(fc.constantFrom(...faults), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { world, store, engine } = setUp();
      await engine.trigger("hook", { kind: "webhook" }, { open: { objective: "Called" } });
      const quick = { ...world, sleep: async () => Promise.resolve() };
      const faulty = faultyStore(store, {
        plan: ({ op, count }) => (op === "append" ? (plan[count - 1] ?? "pass") : "pass"),
        delay: async () => new Promise((resolve) => void setImmediate(resolve)),
      });
      const context = depsOf(faulty, quick);
      const [template] = await listTemplates(context);
      assert.ok(template !== undefined);
      const cause = { digest: world.digest("", "x"), once: "x", text: "called" };
      const opened = await fireTemplate(context, template, cause);
      await faulty.settled();
      assert.equal(await fireTemplate(depsOf(store, world), template, cause), null);
      assert.deepEqual(
        (await firedIn(store, store.workspace)).map((one) => one.opened),
        [opened],
      );
      assert.deepEqual(
        (await engine.sessions()).rows.map(({ session }) => session),
        [opened],
      );
    }),
    cases(60),
  );
});

test("a removed trigger does not fire, also for a worker that saw its cause before", async () => {
  const { world, store, engine } = setUp();
  const session = await engine.open({ objective: "Race" });
  await session.trigger("tick", { kind: "every", everyMs: 10_000 });
  const context = depsOf(store, world);
  const state = await context.writer.current(session.id);
  world.pass(10_000);
  await session.untrigger("tick");
  await fireDue(context, session.id, state);
  const cause = { digest: world.digest("", "x"), text: "x" };
  assert.equal(await fire(context, session.id, { name: "tick", setSeq: 2 }, cause), undefined);
  assert.deepEqual(await firedIn(store, session.id), []);
  const nobody: SessionId = makeSessionId({ nowMs: 1, random: new Uint8Array(10) });
  assert.equal(await fire(context, nobody, { name: "tick", setSeq: 2 }, cause), undefined);
});
