/** Consolidation: duplicates merge, what was replaced expires, contradictions wait for a person. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeWorkspaceId } from "../../../src/core/ids.ts";
import { planConsolidation, type ConsolidatedEntry } from "../../../src/core/memory/consolidate.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { madeWorld } from "../made-world.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const types = ["memory.forgotten", "memory.disputed", "memory.consolidated", "consolidation.scheduled"];

async function eventsOf(engine: Engine) {
  const { events } = await engine.feed({ limit: 200 });
  return events.filter(({ type }) => types.includes(type));
}

const remember = (engine: Engine, key: string, value: unknown, more: object = {}) =>
  engine.remember({ scope: "workspace", kind: "fact", key, value, ...more });
const keysOf = async (engine: Engine): Promise<string[]> =>
  (await engine.memory()).map(({ key }) => key).toSorted((a, b) => (a < b ? -1 : 1));

test("a dry run reports and writes nothing; applied, it is once in effect", async () => {
  await using engine = engineWith(scripted(["Done."]));
  await remember(engine, "db", "SQLite with WAL");
  await remember(engine, "database", "sqlite  with WAL.");
  await remember(engine, "port", 8080);
  const dry = await engine.consolidateMemory();
  assert.deepEqual(
    dry.forgotten.map(({ why, entry, into }) => [why, entry.key, into.key]),
    [["duplicate", "db", "database"]],
  );
  assert.deepEqual([dry.applied, dry.more, dry.everyMs], [false, 0, null]);
  assert.deepEqual(await eventsOf(engine), []);
  const done = await engine.consolidateMemory({ apply: true });
  assert.deepEqual([done.applied, done.forgotten.length], [true, 1]);
  assert.deepEqual(await keysOf(engine), ["database", "port"]);
  const [forgotten, consolidated, ...more] = await eventsOf(engine);
  const { consolidated: why, by } = (forgotten?.body ?? {}) as { consolidated?: unknown; by?: string };
  const into = (await engine.memory()).find(({ key }) => key === "database");
  assert.deepEqual([why, by], [{ why: "duplicate", kind: "fact", key: "database", seq: into?.seq }, "rule"]);
  assert.deepEqual(consolidated?.body, { merged: 1, expired: 0, disputed: 0 });
  assert.deepEqual(more, []);
  const again = await engine.consolidateMemory({ apply: true });
  assert.deepEqual([again.applied, again.forgotten], [false, []]);
  assert.equal((await eventsOf(engine)).length, 2, "nothing is written where nothing is to do");
  // Nothing is lost: what was forgotten can be remembered again.
  await remember(engine, "db", "SQLite with WAL");
  assert.deepEqual(await keysOf(engine), ["database", "db", "port"]);
});

test("a contradiction is marked once, shown, and stays for a person", async () => {
  await using engine = engineWith(scripted(["Done."]));
  await remember(engine, "db", "SQLite");
  await remember(engine, "database", "Postgres");
  const done = await engine.consolidateMemory({ apply: true });
  assert.deepEqual(
    done.disputed.map(({ entries }) => entries.map(({ key }) => key)),
    [["database", "db"]],
  );
  assert.deepEqual(await keysOf(engine), ["database", "db"], "both stay");
  const shown = await engine.memory();
  assert.deepEqual(
    shown.map(({ key, contradicts = [] }) => [key, contradicts.map((one) => one.key)]),
    [
      ["database", ["db"]],
      ["db", ["database"]],
    ],
  );
  assert.deepEqual((await engine.consolidateMemory({ apply: true })).disputed, [], "marked once");
  // A person settles it.
  await engine.forget({ scope: "workspace", kind: "fact", key: "db", reason: "we moved" });
  assert.equal((await engine.memory())[0]?.contradicts, undefined);
  await remember(engine, "db", "MySQL");
  assert.equal((await engine.consolidateMemory()).disputed.length, 1, "another version is another mark");
});

test("what its own session has replaced under another spelling expires; no person's word does", async () => {
  await using engine = engineWith(scripted(["Done."]));
  await engine.addAgent({
    name: "clerk",
    instructions: "Work.",
    memory: { promote: [{ kinds: ["fact"], scope: "agent" }] },
  });
  const session = await engine.open({ objective: "Watch rates", agent: "clerk" });
  await session.record("fact", "baseRate", 4.1);
  await session.record("fact", "base-rate", 4.3);
  await session.record("fact", "port-1", 80);
  await session.record("fact", "port-2", 443);
  const other = await engine.open({ objective: "Watch rates", agent: "clerk" });
  await other.record("fact", "launchDay", "Monday");
  const day = { scope: "agent", owner: "clerk", kind: "fact", key: "launch-day" } as const;
  await engine.remember({ ...day, value: "Friday" });
  const { forgotten, disputed } = await engine.consolidateMemory({ apply: true });
  assert.deepEqual(
    forgotten.map(({ why, entry, into }) => [why, entry.key, into.key]),
    [["superseded", "baseRate", "base-rate"]],
  );
  assert.ok(disputed.some(({ entries }) => entries.some(({ key }) => key === "launchDay")));
  assert.ok((await keysOf(engine)).includes("launchDay"));
  assert.ok((await keysOf(engine)).includes("port-1"));
});

test("of two consolidations at once, each change is made once", async () => {
  const world = madeWorld("consolidate");
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = kind().store({ world, workspace });
  await using one = engineWith(scripted(["Done."]), { store, world });
  await using two = engineWith(scripted(["Done."]), { store, world });
  for (let number = 0; number < 5; number++) {
    await remember(one, `db${number}`, `the store of shop ${number} keeps orders`);
    await remember(one, `base${number}`, `The store of shop ${number} keeps orders.`);
  }
  const both = await Promise.all([
    one.consolidateMemory({ apply: true }),
    two.consolidateMemory({ apply: true }),
  ]);
  assert.equal(both.filter(({ applied }) => applied).length, 1);
  const events = await eventsOf(one);
  assert.equal(events.filter(({ type }) => type === "memory.forgotten").length, 5);
  assert.equal(events.filter(({ type }) => type === "memory.consolidated").length, 1);
  assert.equal((await two.memory()).length, 5);
});

test("workers do it when a person lets them, two of them once, and not before", async () => {
  const world = { ...madeWorld("consolidate-workers"), sleep: realWorld().sleep };
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = kind().store({ world, workspace });
  await using one = engineWith(scripted(["Done."]), { store, world });
  await using two = engineWith(scripted(["Done."]), { store, world });
  await remember(one, "db", "SQLite with WAL");
  await remember(one, "database", "SQLite with WAL");
  const work = async (): Promise<void> => {
    const workers = [await one.work({ name: "a" }), await two.work({ name: "b" })];
    await realWorld().sleep(150);
    for (const worker of workers) await worker.stop();
  };
  await work();
  assert.deepEqual(await keysOf(one), ["database", "db"], "off until it is enabled");
  const { everyMs, applied } = await one.consolidateMemory({ everyMs: 86_400_000 });
  assert.deepEqual([everyMs, applied], [86_400_000, false]);
  await work();
  assert.deepEqual(await keysOf(one), ["database"]);
  const count = async () => (await eventsOf(one)).filter(({ type }) => type === "memory.consolidated").length;
  assert.equal(await count(), 1);
  await work();
  assert.equal(await count(), 1, "not due again");
  assert.equal((await one.consolidateMemory({ everyMs: 0 })).everyMs, null);
  await assert.rejects(one.consolidateMemory({ everyMs: 1_000 }), {
    code: "invalid",
    message: "consolidateMemory: everyMs: expected 0, or at least an hour, got 1000",
  });
});

const entry = (seq: number, key: string, value: unknown, more: object = {}): ConsolidatedEntry => ({
  scope: "workspace",
  owner: null,
  kind: "fact",
  key,
  seq,
  at: seq,
  actor: "system",
  origin: null,
  by: "rule",
  value,
  ...more,
});

test("a plan keeps what a person wrote or approved, then the newest, and never merges across readers", () => {
  const plan = (...entries: ConsolidatedEntry[]) =>
    planConsolidation(entries, () => false).forget.map((one) => [one.entry.seq, one.into.seq]);
  const text = "the shop in Rome opens its doors at nine every morning";
  assert.deepEqual(plan(entry(1, "a", text), entry(2, "b", text)), [[1, 2]]);
  assert.deepEqual(plan(entry(1, "a", text, { by: "person" }), entry(2, "b", text)), [[2, 1]]);
  assert.deepEqual(plan(entry(1, "a", text, { approvedBy: "user" }), entry(2, "b", text)), [[2, 1]]);
  const mine = { scope: "user", owner: "prn_01jd0000000000000000000000" };
  assert.deepEqual(plan(entry(1, "a", text, mine), entry(2, "b", text)), []);
  assert.deepEqual(plan(entry(1, "a", text, { kind: "decision" }), entry(2, "b", text)), []);
  // Word for word: a word that search ignores may change what is said.
  assert.deepEqual(
    plan(entry(1, "a", "ship it before the review"), entry(2, "a-", "ship it after the review")),
    [],
  );
  assert.deepEqual(plan(entry(1, "db", "not SQLite"), entry(2, "database", "SQLite")), []);
});
