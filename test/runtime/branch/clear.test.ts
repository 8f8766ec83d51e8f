/** What goes over when a session is cleared or carried on: triggers, budget, files; and the list of it. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { makeWorkspaceId } from "../../../src/core/ids.ts";
import type { Engine, Session } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { makeFolder } from "../../cli/skein.ts";
import { cases, kind } from "../../kind.ts";
import { madeWorld, type MadeWorld } from "../made-world.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

/** An engine in a world whose clock is moved by hand and whose timers are short. */
function made(): { world: MadeWorld; engine: Engine } {
  const { sleep } = realWorld();
  const short = (ms: number, signal?: AbortSignal) => sleep(Math.min(ms, 3), signal);
  const world = { ...madeWorld("clear"), sleep: short };
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = kind().store({ world, workspace });
  return { world, engine: engineWith(scripted(["Done."]), { store, world }) };
}

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  const world = realWorld();
  for (const end = world.now() + 30_000; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(3);
  }
};

const count = async (session: Session, type: string): Promise<number> => {
  let found = 0;
  for await (const _ of session.events({ types: [type] })) found += 1;
  return found;
};

const part = (list: readonly { what: string; names: readonly string[] }[] = [], what: string) =>
  list.filter((one) => one.what === what).flatMap(({ names }) => names);

test("a cleared recurring session keeps firing: each time once, for the next one alone", async () => {
  const { world, engine: opened } = made();
  await using engine = opened;
  const first = await engine.open({
    objective: "Hourly",
    wake: [
      { kind: "every", everyMs: 3_600_000, name: "hour", missed: "all" },
      { kind: "message", topic: "rates", name: "rates" },
    ],
  });
  const nextMs = (await first.triggers()).find(({ name }) => name === "hour")?.nextMs;
  await using _worker = await engine.work({ name: "one" });
  world.pass(3_600_000);
  await until(async () => (await count(first, "turn.ended")) === 1);
  await until(async () => !(await first.fold()).standing.lease.held);
  const next = await first.clear();
  assert.deepEqual(part(next.carriedOver?.moved, "triggers"), ["hour", "rates"]);
  assert.deepEqual(await first.triggers(), []);
  const [hour, rates] = await next.triggers();
  assert.deepEqual([hour?.name, hour?.missed, hour?.nextMs], ["hour", "all", Number(nextMs) + 3_600_000]);
  assert.deepEqual([rates?.kind, rates?.spec], ["message", { kind: "message", topic: "rates" }]);
  world.pass(2 * 3_600_000);
  await until(async () => (await count(next, "trigger.fired")) === 2);
  await first.reopen();
  world.pass(3_600_000);
  await until(async () => (await count(next, "trigger.fired")) === 3);
  assert.equal(await count(first, "trigger.fired"), 1, "the earlier one is not woken any more");
  assert.equal((await engine.verify()).ok, true);
});

test("the last-seen state of a trigger carries over: it fires for changes only", async () => {
  const folder = makeFolder();
  const file = join(folder, "rates.json");
  writeFileSync(file, "1");
  await using engine = engineWith(scripted(["Done."]));
  const bind = [{ kind: "directory", path: folder } as const];
  const first = await engine.open({
    objective: "Watch",
    bind,
    wake: [{ kind: "file", path: file, debounceMs: 0, name: "rates" }],
  });
  const [seen] = await first.triggers();
  const next = await first.clear();
  const [moved] = await next.triggers();
  assert.equal(moved?.name, "rates");
  assert.equal(moved?.lastCause, seen?.lastCause);
  await using _worker = await engine.work({ name: "one" });
  await realWorld().sleep(300);
  assert.equal(await count(next, "trigger.fired"), 0);
  writeFileSync(file, "2");
  await until(async () => (await count(next, "trigger.fired")) === 1);
  assert.equal(await count(first, "trigger.fired"), 0);
});

test("the rest of the budget moves to the next session, and is not counted twice", async () => {
  await using engine = engineWith(scripted(["One.", "Two."]));
  const first = await engine.open({ objective: "Work", budget: { steps: 10, usd: 2 } });
  await first.input("Go");
  await first.run();
  const { used } = (await first.state()).budget;
  assert.equal(used.steps, 1);
  const next = await first.clear();
  const { limits } = (await next.state()).budget;
  assert.deepEqual(limits, { steps: 9, nanoUsd: 2e9 - used.nanoUsd });
  assert.deepEqual(part(next.carriedOver?.moved, "budget").slice(-1), ["9 steps"]);
  // Reopened, the earlier one has nothing left.
  await first.reopen();
  await first.input("More");
  await first.run();
  const { status, why } = await first.state();
  assert.deepEqual([status, why?.by], ["suspended", "budget"]);
});

test("however often a session is cleared, no more is spent than its budget", async () => {
  const lives = fc.array(fc.constantFrom("run", "clear", "open", "reopen"), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(lives, async (steps) => {
      const { engine: opened } = made();
      await using engine = opened;
      const budget = 3;
      let session = await engine.open({ objective: "Work", budget: { steps: budget } });
      const chain = [session];
      for (const step of steps) {
        if (step === "clear") chain.push((session = await session.clear()));
        const before = chain.at(-2);
        if (step === "reopen" && before !== undefined) await before.reopen().catch(() => undefined);
        const runs = step === "run" ? [session, ...(before === undefined ? [] : [before])] : [];
        for (const one of runs) {
          await one.input("Go").catch(() => undefined);
          await one.run().catch(() => undefined);
        }
      }
      let spent = 0;
      for (const one of chain) spent += (await one.state()).budget.used.steps;
      assert.ok(spent <= budget, `${spent} steps of ${budget}`);
    }),
    cases(15),
  );
});

test("initial files are carried over as loaded; a webhook, the queue and what stays are listed", async () => {
  const folder = makeFolder();
  const file = join(folder, "house.md");
  writeFileSync(file, "Always say please.");
  await using engine = engineWith(scripted(["Done."]));
  const first = await engine.open({ objective: "Work", files: [file] });
  await first.trigger("hook", { kind: "webhook" });
  await first.save("here");
  await first.record("fact", "port", 8080);
  await first.input("Waits");
  writeFileSync(file, "Never.");
  const texts = async (session: Session): Promise<string> =>
    JSON.stringify((await session.context()).parts.filter(({ part }) => part === "system"));
  await first.rename("Manners");
  const next = await first.clear();
  assert.equal((await next.state()).name, "Manners");
  assert.match(await texts(next), /Always say please/);
  const { moved, left } = next.carriedOver ?? {};
  assert.deepEqual([part(moved, "name"), part(moved, "files")], [["Manners"], [file]]);
  assert.deepEqual([part(moved, "triggers"), part(moved, "input")], [["hook"], ["1"]]);
  assert.deepEqual(
    left?.map(({ what, names }) => [what, ...names]),
    [
      ["items", "1"],
      ["checkpoints", "here"],
    ],
  );
  assert.ok(left?.every(({ why = "" }) => why !== ""));
  // Once more, from one to the next.
  const third = await next.clear({ name: "Other" });
  assert.deepEqual([(await third.state()).name, part(third.carriedOver?.moved, "name")], ["Other", []]);
  assert.match(await texts(third), /Always say please/);
});

test("open from another takes files and the rest of the budget, and says that triggers stay", async () => {
  const folder = makeFolder();
  const file = join(folder, "house.md");
  writeFileSync(file, "Always say please.");
  await using engine = engineWith(scripted(["Done."]));
  const first = await engine.open({
    objective: "Work",
    files: [file],
    budget: { steps: 10 },
    wake: [{ kind: "every", everyMs: 60_000, name: "minute" }],
  });
  await first.input("Go");
  await first.run();
  const next = await engine.open({ from: first.id });
  const { moved, left } = next.carriedOver ?? {};
  assert.deepEqual(part(moved, "files"), [file]);
  assert.deepEqual((await next.state()).budget.limits, { steps: 9 });
  assert.deepEqual(part(left, "triggers"), ["minute"]);
  assert.deepEqual([(await first.triggers()).length, (await next.triggers()).length], [1, 0]);
  const own = await engine.open({ from: first.id, budget: { steps: 4 } });
  assert.deepEqual((await own.state()).budget.limits, { steps: 4 });
  assert.deepEqual(part(own.carriedOver?.left, "budget"), ["9 steps"]);
  assert.equal((await engine.open({ objective: "Other" })).carriedOver, null);
});
