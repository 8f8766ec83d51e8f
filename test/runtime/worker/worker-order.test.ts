/** Workers side by side: limits, order, giving way, failing alone, taking over, and stopping in peace. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { WorkerEvent } from "../../../src/runtime/worker/worker.ts";
import { realWorld, type World } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { workspace } from "../place.ts";
import { engineWith, scripted, use, type Line } from "../turn/scripted.ts";

const world = realWorld();

async function until(holds: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  for (const end = world.now() + ms; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(5);
  }
}

async function openOne(
  engine: Engine,
  options: Partial<Parameters<Engine["open"]>[0]> = {},
): Promise<Session> {
  const session = await engine.open({ objective: "Work", ...options });
  await session.input("do it");
  return session;
}

/** What was asked for in a call's session, by the objective. */
const objectiveOf = (parts: readonly unknown[]): string =>
  /Job (\w+)/.exec(JSON.stringify(parts))?.[1] ?? "?";

const turnsOf = async (session: Session): Promise<number> => (await session.fold()).standing.lastTurn;
const isIdle = async (session: Session): Promise<boolean> => {
  const { status, lastTurn, lease, turn } = (await session.fold()).standing;
  return status === "open" && lastTurn > 0 && turn === null && !lease.held;
};
const allIdle = async (sessions: readonly Session[]): Promise<boolean> =>
  (await Promise.all(sessions.map(isIdle))).every(Boolean);

test("limits of agents, policies and the worker hold over all workers, at every moment", async () => {
  const store = kind().store({ world, workspace });
  let running = 0;
  let most = 0;
  const script = scripted([
    async () => {
      running += 1;
      most = Math.max(most, running);
      // Long enough for another to come, where the store takes its time.
      const another = (): boolean => most >= 2;
      for (let waited = 0; !another() && waited < 100; waited++) await world.sleep(5);
      await world.sleep(5);
      running -= 1;
      return "done";
    },
  ]);
  // What a worker goes by when it chooses is old by the time it takes the lease.
  const leased = async () => {
    const rows = await store.leased();
    await world.sleep(3);
    return rows;
  };
  const slow = { ...store, leased };
  const engines = ["one", "two", "three"].map((holder) => engineWith(script, { store: slow, holder }));
  const [first] = engines as [Engine];
  await first.addAgent({ name: "coder", instructions: "Code.", concurrency: 2 });
  await first.setPolicy("web", { do: "limit", running: 3, match: { labels: { team: "web" } } });
  const sessions = await Promise.all(
    Array.from({ length: 12 }, () => openOne(first, { agent: "coder", labels: { team: "web" } })),
  );
  const workers = await Promise.all(engines.map((engine) => engine.work({ concurrency: 4 })));
  await until(() => allIdle(sessions));
  assert.equal(most, 2);
  assert.deepEqual(
    new Map((await first.workers()).map(({ name, limits }) => [name, limits.length])),
    new Map([
      ["one", 2],
      ["two", 2],
      ["three", 2],
    ]),
  );
  await Promise.all(workers.map((worker) => worker.stop()));
  for (const session of sessions) assert.equal(await turnsOf(session), 1);
});

test("those that wait for a limit do not hide others, however many they are", async () => {
  const hang = Promise.withResolvers<void>();
  const script = scripted([
    async ({ parts }) => {
      if (objectiveOf(parts) === "many") await hang.promise;
      return "done";
    },
  ]);
  await using engine = engineWith(script);
  const held = { objective: "Job many", labels: { kind: "many" }, priority: 1 };
  const many = await Promise.all(Array.from({ length: 260 }, () => openOne(engine, held)));
  const other = await openOne(engine, { objective: "Job other" });
  await using _ = await engine.work({ concurrency: 2, limits: [{ labels: { kind: "many" }, running: 1 }] });
  await until(() => isIdle(other));
  const begun = await Promise.all(many.map(turnsOf));
  assert.equal(
    begun.reduce((sum, turns) => sum + turns, 0),
    1,
  );
  hang.resolve();
});

test("a more urgent session preempts another at its next step, which resumes later", async () => {
  const order: string[] = [];
  const told: WorkerEvent[] = [];
  const lines: Line = async ({ parts }) => {
    const job = objectiveOf(parts);
    order.push(job);
    await world.sleep(20);
    const steps = order.filter((one) => one === job).length;
    return job === "slow" && steps < 6 ? [use("scratch", { key: "k", value: steps })] : "done";
  };
  await using engine = engineWith(scripted([lines]));
  const slow = await openOne(engine, { objective: "Job slow", priority: 9 });
  await using _ = await engine.work({ concurrency: 1, onEvent: (one) => void told.push(one) });
  await until(() => order.length >= 2);
  const urgent = await openOne(engine, { objective: "Job urgent", priority: 0 });
  const plain = await openOne(engine, { objective: "Job plain", priority: 9 });
  await until(() => allIdle([slow, urgent, plain]));
  const at = order.indexOf("urgent");
  assert.ok(at >= 2 && at < 6, order.join(" "));
  assert.equal(order.filter((one) => one === "slow").length, 6);
  assert.equal(await turnsOf(slow), 1);
  assert.deepEqual(
    told.flatMap((one) => (one.type === "yielded" ? [[one.session, one.to]] : [])),
    [[slow.id, urgent.id]],
  );
});

test("a session that always has something to do does not keep another from its turn", async () => {
  const order: string[] = [];
  let greedy: Session | null = null;
  const script = scripted([
    async ({ parts }) => {
      const job = objectiveOf(parts);
      order.push(job);
      await world.sleep(1);
      if (job === "greedy" && order.length < 60) await greedy?.input("more", { key: `k${order.length}` });
      return "done";
    },
  ]);
  await using engine = engineWith(script);
  greedy = await openOne(engine, { objective: "Job greedy" });
  await using _ = await engine.work({ concurrency: 1 });
  await until(() => order.length >= 3);
  const other = await openOne(engine, { objective: "Job other" });
  await until(() => isIdle(other));
  await until(() => order.length >= 60);
  assert.ok(order.indexOf("other") < 30, `at ${order.indexOf("other")}`);
});

test("a session that fails is retried, then suspended with the reason; the others continue", async () => {
  const told: WorkerEvent[] = [];
  const script = scripted(["done"]);
  const { model } = script.models;
  const picky = {
    ...script,
    models: {
      ...script.models,
      model: async (name: string) => {
        if (name === "test/none") throw new Error("there is no such model");
        return model(name);
      },
    },
  };
  await using engine = engineWith(picky);
  const broken = await openOne(engine, { model: "test/none" });
  const others = await Promise.all(Array.from({ length: 5 }, () => openOne(engine)));
  await using _ = await engine.work({ concurrency: 1, onEvent: (one) => void told.push(one) });
  await until(() => allIdle(others), 3_000);
  await until(async () => (await broken.fold()).standing.status === "suspended");
  const { why, status } = await broken.state();
  assert.deepEqual(
    [status, why?.by, why?.reason],
    ["suspended", "error", "it could not be run: there is no such model"],
  );
  const failures = told.flatMap((one) => (one.type === "failed" ? [one.againMs] : []));
  assert.deepEqual(failures, [1_000, 2_000, null]);
});

test("an unavailable model is reported at once, unless another worker may have the key", async () => {
  const store = kind().store({ world, workspace });
  const script = scripted(["done"]);
  const model = async (name: string) => {
    if (name === "test/none") throw new SkeinError("unavailable", `${name}: API key missing`);
    return script.models.model(name);
  };
  const keyless = { ...script, models: { ...script.models, model } };
  const told: WorkerEvent[] = [];
  const tell = (one: WorkerEvent): void => void told.push(one);
  const failures = () => told.flatMap((one) => (one.type === "failed" ? [one.againMs] : []));
  const engine = engineWith(keyless, { store, holder: "keyless" });
  const alone = await openOne(engine, { model: "test/none" });
  await using _ = await engine.work({ onEvent: tell });
  await until(async () => (await alone.fold()).standing.status === "suspended");
  const { why } = await alone.state();
  assert.deepEqual([why?.by, why?.reason], ["error", "it could not be run: test/none: API key missing"]);
  assert.deepEqual(failures(), [null]);

  // The other has no place yet: it is left to it for a while.
  await using other = engineWith(script, { store, holder: "other" });
  await using worker = await other.work({ limits: [{ model: "test/none", running: 0 }] });
  const left = await openOne(engine, { model: "test/none" });
  await until(() => failures().length >= 2);
  assert.equal(failures()[1], 1_000);
  assert.equal((await left.fold()).standing.status, "open");
  await worker.stop();
  await until(async () => (await left.fold()).standing.status === "suspended");
});

/** A world in which time passes so many times as fast. */
function hasty(times: number): World {
  const { steady: _, ...rest } = world;
  const began = world.now();
  const now = (): number => began + (world.now() - began) * times;
  return { ...rest, now, sleep: (ms, signal) => world.sleep(ms / times, signal) };
}

const keyless = (meanwhile = async (): Promise<unknown> => undefined) => {
  const script = scripted(["done"]);
  const model = async (name: string) => {
    await meanwhile();
    throw new SkeinError("unavailable", `${name}: API key missing`);
  };
  return { ...script, models: { ...script.models, model } };
};

test("a model that no worker has is reported soon, and the log is not written meanwhile", async () => {
  const quick = hasty(10);
  const store = kind().store({ world: quick, workspace });
  await using engine = engineWith(keyless(), { store, world: quick, holder: "one" });
  await using other = engineWith(keyless(), { store, world: quick, holder: "two" });
  const [one, two] = [await engine.work(), await other.work()];
  await until(async () => (await engine.workers()).length === 2);
  const session = await openOne(engine, { model: "test/none" });
  await until(async () => (await session.fold()).standing.status === "suspended");
  assert.equal((await session.state()).why?.reason, "it could not be run: test/none: API key missing");
  const types: string[] = [];
  for await (const { type } of session.events()) types.push(type);
  assert.ok(types.filter((type) => type === "lease.taken").length <= 2, types.join(" "));
  await one.stop();
  await two.stop();
});

test("one whose model is missing here is left to others that have no place, or try it", async () => {
  const quick = hasty(40);
  for (const other of ["has room", "is full", "tries"] as const) {
    const store = kind().store({ world: quick, workspace });
    const row = { name: "other", sinceMs: 0, untilMs: Infinity, limits: [] };
    const workers = async () => [{ ...row, concurrency: other === "is full" ? 0 : 4 }];
    const failures: (number | null)[] = [];
    const there = { ...store, workers };
    const tried = async (): Promise<void> => (await session.lease({ holder: "other" })).release();
    // While it is held here it cannot be tried there.
    const script = keyless(other === "tries" ? () => tried().catch(() => undefined) : undefined);
    await using engine = engineWith(script, { store: there, world: quick, holder: "keyless" });
    const session = await openOne(engine, { model: "test/none" });
    const tell = (told: WorkerEvent): void => {
      if (told.type === "failed") failures.push(told.againMs);
    };
    await using worker = await engine.work({ onEvent: tell });
    await until(() => failures.length >= (other === "has room" ? 4 : 6));
    await worker.stop();
    const { status } = (await session.fold()).standing;
    if (other === "has room")
      assert.deepEqual([failures, status], [[1_000, 2_000, 4_000, null], "suspended"]);
    else assert.deepEqual([failures.includes(null), status], [false, "open"], other);
  }
});

test("a missing binding is tried three times, then the session is suspended", async () => {
  const told: WorkerEvent[] = [];
  await using engine = engineWith(scripted(["done"]));
  const bind = [{ kind: "directory", name: "gone", path: "/nowhere/at/all" }] as const;
  const broken = await openOne(engine, { bind });
  await using _ = await engine.work({ onEvent: (one) => void told.push(one) });
  await until(async () => (await broken.fold()).standing.status === "suspended", 6_000);
  const { reason } = (await broken.state()).why ?? {};
  assert.equal(reason, 'it could not be run: "gone": cannot open /nowhere/at/all');
  const failures = told.flatMap((one) => (one.type === "failed" ? [one.againMs] : []));
  assert.deepEqual(failures, [1_000, 2_000, null]);
});

test("work of a dead worker of this machine is taken over at once, its call written off", async () => {
  let gone = "";
  const knowing: World = { ...world, isGone: (holder) => holder === gone };
  const store = kind().store({ world: knowing, workspace });
  const stuck = engineWith(scripted([() => new Promise(() => undefined)]), {
    store,
    holder: "dead",
    leaseMs: 60_000,
  });
  const left = await openOne(stuck);
  void left.run().catch(() => undefined);
  await until(async () => (await left.fold()).standing.turn !== null);
  const engine = engineWith(scripted(["done"]), { store, holder: "alive", world: knowing });
  const mine = await engine.session(left.id);
  const worker = await engine.work();
  await world.sleep(100);
  assert.equal((await mine.fold()).standing.lease.held, true);
  gone = "dead";
  await until(() => isIdle(mine));
  await worker.stop();
  const types: string[] = [];
  for await (const { type, body } of mine.events({ types: ["lease.taken", "model.failed"] }))
    types.push(type === "lease.taken" ? (body as { holder: string }).holder.replace(/@.*/, "") : type);
  assert.deepEqual(types, ["dead", "alive", "model.failed"]);
});

test("a session that was opened to expire is closed when nothing was written to it for so long", async () => {
  await using engine = engineWith(scripted(["done"]));
  const soon = await engine.open({ objective: "Soon over", expiresAfterIdleMs: 300 });
  const held = await engine.open({ objective: "Kept", expiresAfterIdleMs: 300 });
  await held.hold("audit");
  const busy = await openOne(engine, { expiresAfterIdleMs: 300 });
  await using _ = await engine.work();
  await until(async () => (await soon.fold()).standing.status === "closed");
  const events = [];
  for await (const event of soon.events({ types: ["session.closed"] })) events.push(event);
  assert.deepEqual(
    events.map(({ body, actor }) => [body, actor]),
    [[{ outcome: "expired" }, "system"]],
  );
  assert.match(JSON.stringify(events[0]?.content), /it was opened to expire after/);
  assert.equal((await held.fold()).standing.status, "open");
  await until(async () => (await busy.fold()).standing.status === "closed");
  assert.equal(await turnsOf(busy), 1);
});

test("a session past its deadline is suspended, also while it runs, and can be resumed", async () => {
  const script = scripted([
    async () => {
      await world.sleep(30);
      return [use("scratch", { key: "k", value: 1 })];
    },
  ]);
  await using engine = engineWith(script);
  await assert.rejects(openOne(engine, { labels: { deadline: "soon" } }), { code: "invalid" });
  const deadline = new Date(world.now() + 800).toISOString();
  const idle = await engine.open({ objective: "Idle", labels: { deadline } });
  const busy = await openOne(engine, { labels: { deadline } });
  await using _ = await engine.work();
  for (const session of [idle, busy]) {
    await until(async () => (await session.fold()).standing.labels.has("overdue"));
    const { status, why } = await session.state();
    assert.deepEqual(
      [status, why?.by, why?.reason],
      ["suspended", "error", `its deadline has passed: ${deadline}`],
    );
  }
  await until(async () => !(await busy.fold()).standing.lease.held);
  const asked = script.calls.length;
  assert.ok(asked > 0);
  await busy.activate();
  await until(() => script.calls.length > asked + 2);
  await assert.rejects(busy.label({ deadline: "tomorrow" }), { code: "invalid" });
  await busy.cancel();
});

test("a clock that jumps, back or ahead, does not stop sessions from running", async () => {
  let shiftMs = 0;
  const jumping: World = { ...world, now: () => world.now() + shiftMs };
  const store = kind().store({ world: jumping, workspace });
  await using engine = engineWith(scripted(["done"]), { store, world: jumping });
  await using _ = await engine.work();
  for (const jumpMs of [0, -86_400_000, 7 * 86_400_000, -3_600_000]) {
    shiftMs += jumpMs;
    const session = await openOne(engine);
    await until(() => isIdle(session), 10_000);
    await until(async () => (await engine.workers()).some(({ untilMs }) => untilMs > jumping.now()));
  }
});

test("stopping finishes the step, gives the lease back, and leaves the rest to others", async () => {
  const began = Promise.withResolvers<void>();
  const script = scripted([
    async () => {
      began.resolve();
      await world.sleep(50);
      return [use("scratch", { key: "k", value: 1 })];
    },
    "done",
  ]);
  const store = kind().store({ world, workspace });
  const engine = engineWith(script, { store });
  const session = await openOne(engine);
  const worker = await engine.work();
  await began.promise;
  await worker.stop();
  const { lease, turn, status } = (await session.fold()).standing;
  assert.deepEqual([lease.held, status, turn?.steps], [false, "running", 1]);
  assert.deepEqual(await engine.workers(), []);
  assert.equal(script.calls.length, 1);
  await using _ = await engine.work();
  await until(() => isIdle(session));
  assert.equal(await turnsOf(session), 1);
});

test("two workers of an engine and one of another share the sessions; each runs once", async () => {
  const store = kind().store({ world, workspace });
  const script = scripted(["done"]);
  const told: WorkerEvent[] = [];
  const tell = (one: WorkerEvent): void => void told.push(one);
  const engine = engineWith(script, { store, holder: "h" });
  const other = engineWith(script, { store, holder: "o" });
  const sessions = await Promise.all(Array.from({ length: 30 }, () => openOne(engine)));
  const workers = [
    await engine.work({ onEvent: tell }),
    await engine.work({ onEvent: tell }),
    await other.work({ onEvent: tell }),
  ];
  assert.deepEqual(
    workers.map(({ name }) => name),
    ["h", "h+2", "o"],
  );
  await until(() => allIdle(sessions));
  await Promise.all(workers.map((worker) => worker.stop()));
  const ended = told.flatMap((one) => (one.type === "ended" ? [one.session] : []));
  assert.equal(new Set(ended).size, 30);
  assert.equal(ended.length, 30);
  assert.deepEqual(
    told.filter((one) => one.type === "failed" || one.type === "trouble"),
    [],
  );
});

test("work done by another process meanwhile is not reported as run again", async () => {
  const inner = kind().store({ world, workspace });
  const script = scripted(["done"]);
  const quicker = engineWith(script, { store: inner, holder: "quicker" });
  const session = await openOne(quicker);
  const told: WorkerEvent[] = [];
  let takes = 0;
  const append: typeof inner.append = async (parts) => {
    const isTake = parts.some(({ lease }) => lease !== undefined && lease !== "release");
    if (isTake && takes++ === 0) await session.run();
    return inner.append(parts);
  };
  const late = engineWith(script, { store: { ...inner, append }, holder: "late" });
  await using worker = await late.work({ onEvent: (one) => void told.push(one) });
  await until(async () => takes > 1 && (await isIdle(session)));
  await worker.stop();
  assert.deepEqual([told, await turnsOf(session)], [[], 1]);
  await late.close();
});

test("an engine that is closed takes its workers with it", async () => {
  const told: WorkerEvent[] = [];
  const engine = engineWith(scripted(["done"]));
  const session = await openOne(engine);
  const worker = await engine.work({ onEvent: (one) => void told.push(one) });
  await until(() => isIdle(session));
  await engine.close();
  await worker.stop();
  assert.deepEqual(
    told.map((one) => one.type),
    ["began", "ended"],
  );
});

test("invalid options are refused at the start", async () => {
  await using engine = engineWith(scripted(["done"]));
  await assert.rejects(engine.work({ concurrency: 0 }), { code: "invalid" });
  await assert.rejects(engine.work({ limits: [{ running: 1 }] }), { code: "invalid" });
});
