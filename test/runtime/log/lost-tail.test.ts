/** A store that lost what it had acknowledged: found out by the chain, told, and left to a person. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import type { SkeinError } from "../../../src/core/error.ts";
import { snapshotForm, snapshotText } from "../../../src/core/state.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { WorkerEvent } from "../../../src/runtime/worker/worker.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Store } from "../../../src/store/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { fallible } from "../fallible.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

const world = realWorld();
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const end = world.now() + 10_000; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(5);
  }
};

async function eventsOf(session: Session): Promise<unknown[]> {
  const events = [];
  for await (const { type, body } of session.events())
    events.push(type === "session.suspended" ? body : type);
  return events;
}

const setBack = (session: Session, which: string) => ({
  code: "corrupt",
  message: `${session.id} was rolled back: the store lost its records ${which}`,
  hint: `a failover or a restored backup lost them. To continue: skein activate ${session.id}`,
});

test("a handle whose last records are lost writes nothing more of that history", async () => {
  await using place = await fallible();
  const engine = new Engine({ store: place.store, world });
  const session = await engine.open({ objective: "o" });
  await session.append("kept");
  await place.save();
  await session.append("gone");
  await session.append("gone too");
  await place.fallBack();
  await assert.rejects(session.append("after"), setBack(session, "3 to 4"));
  assert.deepEqual(await eventsOf(session), [
    "session.opened",
    "input.received",
    { by: "error", tail: { fromSeq: 3, toSeq: 4 } },
  ]);
  const state = await session.state();
  assert.deepEqual([state.status, state.why?.by], ["suspended", "set-back"]);
  assert.match(state.why?.reason ?? "", /no longer holds records 3 to 4, which it had acknowledged/);
  const [row] = await place.store.scheduled([session.id]);
  assert.deepEqual([row?.status, row?.due, row?.waits], ["suspended", null, "rollback"]);
  // Told once; from now on it is an ordinary session that stands still, and a person lets it go on.
  assert.equal((await session.append("noted")).seq, 4);
  await session.activate();
  assert.equal((await session.fold()).standing.status, "open");
  assert.equal((await session.verify()).ok, true);
});

test("another history of the same length is not taken for the one that was known", async () => {
  await using place = await fallible();
  const session = await new Engine({ store: place.store, world }).open({ objective: "o" });
  await place.save();
  await session.append("gone");
  await place.fallBack();
  const other = await new Engine({ store: place.store, world }).session(session.id);
  assert.equal((await other.append("instead")).seq, 2);
  await assert.rejects(session.append("after"), setBack(session, "2 to 2"));
  assert.deepEqual(await eventsOf(session), [
    "session.opened",
    "input.received",
    { by: "error", tail: { fromSeq: 2, toSeq: 2 } },
  ]);
});

for (const [how, more] of [
  ["the cached state", 0],
  ["the head that was noted", 1_001],
] as const) {
  test(`a longer history that does not follow from ${how} is found out on catching up`, async () => {
    await using place = await fallible();
    const engine = new Engine({ store: place.store, world });
    const session = await engine.open({ objective: "o" });
    await place.save();
    await session.append("gone");
    await place.fallBack();
    const other = await new Engine({ store: place.store, world }).session(session.id);
    for (const text of ["a", "b", "c"]) await other.append(text);
    for (let count = 0; count < more; count++) await engine.open({ objective: "another" });
    await assert.rejects(session.suspend(), setBack(session, "2 to 2"));
    assert.equal((await session.fold()).standing.why?.seq, 5);
  });
}

test("every process that knew the lost history gets an error, and it is suspended once", async () => {
  await using place = await fallible();
  const engines = [1, 2, 3].map(() => new Engine({ store: place.store, world }));
  const first = await engines[0]?.open({ objective: "o" });
  if (first === undefined) throw new Error("there are engines");
  await place.save();
  const handles = await Promise.all(engines.map((engine) => engine.session(first.id)));
  for (const handle of handles) await handle.append("gone");
  await place.fallBack();
  const [one, two, three] = handles as [Session, Session, Session];
  const ends = await Promise.allSettled([one.append("x"), two.append("x"), one.fold()]);
  assert.deepEqual(
    ends.map((end) => end.status === "rejected" && (end.reason as SkeinError).code),
    ["corrupt", "corrupt", false],
  );
  await one.activate();
  await assert.rejects(three.append("x"), { code: "corrupt" });
  assert.deepEqual(await eventsOf(first), [
    "session.opened",
    { by: "error", tail: { fromSeq: 2, toSeq: 2 } },
    "session.activated",
  ]);
  assert.equal((await three.append("on")).seq, 4);
});

test("a report that fails is repeated before any other work", async () => {
  await using place = await fallible();
  const session = await new Engine({ store: place.store, world }).open({ objective: "o" });
  await place.save();
  await session.append("gone");
  await place.fallBack();
  place.refuses = "append";
  await assert.rejects(
    session.fold().then(() => session.append("after")),
    { code: "unavailable" },
  );
  // The handle's own history is forgotten by now, and yet it does not go on with the other one.
  await assert.rejects(session.append("after"), { code: "unavailable" });
  place.refuses = null;
  await assert.rejects(session.append("after"), setBack(session, "2 to 2"));
  assert.equal((await session.fold()).standing.why?.by, "set-back");
});

test("closed and suspended sessions reject writes after a rollback", async () => {
  await using place = await fallible();
  const engine = new Engine({ store: place.store, world });
  const closed = await engine.open({ objective: "closed" });
  await closed.close();
  const asked = await engine.open({ objective: "suspended" });
  await asked.suspend({ reason: "lunch" });
  await place.save();
  await closed.label({ a: "gone" });
  await asked.append("gone");
  await place.fallBack();
  for (const session of [closed, asked])
    await assert.rejects(session.label({ b: "c" }), setBack(session, "3 to 3"));
  assert.deepEqual(await eventsOf(closed), ["session.opened", "session.closed"]);
  const standing = (await asked.fold()).standing;
  assert.deepEqual([standing.status, standing.why], ["suspended", { by: "set-back", seq: 3 }]);
  // Nothing but being activated lets it go on.
  await assert.rejects(asked.answer({ allow: true }), { code: "refused" });
  await asked.budget({ steps: 5 });
  assert.equal((await asked.fold()).standing.status, "suspended");
});

test("a session that is lost as a whole is not created again", async () => {
  await using place = await fallible();
  const engine = new Engine({ store: place.store, world });
  await place.save();
  const session = await engine.open({ objective: "o" });
  await place.fallBack();
  await assert.rejects(session.append("after"), { code: "not-found" });
  assert.equal((await engine.sessions()).rows.length, 0);
});

/** A tool that waits until it is let go, and an engine whose model calls it at once. */
function waitingTool(store: Parameters<typeof engineWith>[1] & object) {
  const began = Promise.withResolvers<AbortSignal>();
  const ends = Promise.withResolvers<string>();
  const tool = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({}),
    async run(_, { signal }) {
      began.resolve(signal);
      return ends.promise;
    },
  });
  const script = scripted([[use("wait", {})], "done"]);
  const engine = engineWith(script, { ...store, tools: [tool] });
  return { engine, script, began: began.promise, end: ends.resolve };
}

for (const when of ["before its turn", "in the middle of its turn"] as const) {
  test(`a running turn whose store fell back to a moment ${when} stops, and writes no result`, async () => {
    await using place = await fallible();
    const { engine, script, began, end } = waitingTool({ store: place.store });
    const session = await engine.open({ objective: "o", bind: [{ kind: "tool", name: "wait" }] });
    await session.input("go");
    if (when === "before its turn") await place.save();
    const running = session.run();
    running.catch(() => undefined);
    const signal = await began;
    if (when !== "before its turn") await place.save();
    const known = (await session.append("gone")).seq;
    const kept = when === "before its turn" ? 3 : known - 1;
    await place.fallBack();
    await until(() => signal.aborted);
    end("the result");
    await assert.rejects(running, setBack(session, `${kept + 1} to ${known}`));
    const events = await eventsOf(session);
    assert.deepEqual(events.slice(kept), [{ by: "error", tail: { fromSeq: kept + 1, toSeq: known } }]);
    assert.equal(events.includes("tool.settled"), false);
    assert.equal(script.calls.length, 1);
    assert.equal((await session.fold()).standing.status, "suspended");
    await engine.close();
  });
}

test("a result that arrives before the check is not written either", async () => {
  await using place = await fallible();
  const { engine, began, end } = waitingTool({ store: new Proxy(place.store, quiet) });
  const session = await engine.open({ objective: "o", bind: [{ kind: "tool", name: "wait" }] });
  await session.input("go");
  const running = session.run();
  running.catch(() => undefined);
  await began;
  await place.save();
  await session.append("gone");
  await place.fallBack();
  end("the result");
  await assert.rejects(running, { code: "corrupt" });
  assert.equal((await eventsOf(session)).includes("tool.settled"), false);
  await engine.close();
});

/** Nobody is told that something was appended. */
const quiet: ProxyHandler<Store> = {
  get: (target, name): unknown => (name === "watch" ? () => () => undefined : Reflect.get(target, name)),
};

test("a lease of the lost history is none of the one that is there, whatever its number", async () => {
  await using place = await fallible();
  const engine = new Engine({ store: place.store, world });
  const session = await engine.open({ objective: "o" });
  await place.save();
  const lease = await session.lease({ holder: "zombie" });
  await place.fallBack();
  const other = await new Engine({ store: place.store, world }).session(session.id);
  const theirs = await other.lease({ holder: "other" });
  assert.equal(theirs.epoch, lease.epoch);
  await assert.rejects(lease.append([{ type: "x.mine" }]), { code: "corrupt" });
  await assert.rejects(lease.append([{ type: "x.mine" }]), { code: "corrupt" });
  await lease.release();
  assert.deepEqual((await other.state()).lease, { holder: "other", epoch: theirs.epoch });
});

for (const grows of [false, true]) {
  const how = grows ? "that another history has overtaken" : "of a log that became shorter";
  test(`a follower ${how} gets an error, and suspends the session`, async () => {
    await using place = await fallible();
    const session = await new Engine({ store: place.store, world }).open({ objective: "o" });
    await place.save();
    await session.append("gone");
    // Another process, which only reads.
    const reader = await new Engine({ store: place.store, world }).session(session.id);
    const seen: number[] = [];
    const following = (async () => {
      for await (const { seq } of reader.events({ follow: true })) seen.push(seq);
    })();
    following.catch(() => undefined);
    await until(() => seen.length === 2);
    const other = await new Engine({ store: place.store, world }).session(session.id);
    await place.fallBack();
    if (grows) for (const text of ["a", "b"]) await other.append(text).catch(() => undefined);
    await assert.rejects(following, { code: "corrupt", message: /was rolled back/ });
    assert.deepEqual(seen, [1, 2]);
    const { standing } = await reader.fold();
    assert.deepEqual([standing.status, standing.why?.by], ["suspended", "set-back"]);
  });
}

test("a worker reports it, and neither runs nor wakes a session that was rolled back", async () => {
  await using place = await fallible();
  const { engine, script, began, end } = waitingTool({ store: place.store });
  const session = await engine.open({ objective: "o", bind: [{ kind: "tool", name: "wait" }] });
  await session.trigger("tick", { kind: "every", everyMs: 1_000 });
  const told: WorkerEvent[] = [];
  // What it held is not given back: nobody knows whose it is now.
  await using worker = await engine.work({ leaseMs: 1_000, onEvent: (one) => void told.push(one) });
  await session.input("go");
  await began;
  await place.save();
  await session.append("gone");
  await place.fallBack();
  end("the result");
  await until(() => told.some((one) => one.type === "failed"));
  const failed = told.find((one) => one.type === "failed");
  assert.match(
    String(failed?.type === "failed" && failed.error),
    /was rolled back: the store lost its records/,
  );
  await session.append("more to do");
  await world.sleep(1_500);
  assert.equal(script.calls.length, 1);
  assert.deepEqual(
    (await eventsOf(session)).filter((one) => one === "session.activated" || one === "trigger.fired"),
    [],
  );
  await session.activate();
  // A person said so: the call that was cut off is unknown now, as any other that a dead runner had started.
  await until(async () => (await session.fold()).standing.why?.by === "unknown");
  await worker.stop();
  await engine.close();
});

test("a snapshot of a lost history is skipped", async () => {
  await using place = await fallible();
  const session = await new Engine({ store: place.store, world }).open({ objective: "o" });
  for (const key of ["a", "b", "c"]) await session.record("fact", key, 1);
  await place.save();
  await session.record("fact", "gone", 1);
  const { hash } = await session.head();
  const text = snapshotText(await session.fold());
  await place.fallBack();
  // It was on its way when the store fell back.
  const late = { seq: 5, form: snapshotForm, text: `${text.slice(0, -1)},"hash":"${hash}"}` };
  await place.store.putSnapshot(session.id, late);
  const other = await new Engine({ store: place.store, world }).session(session.id);
  await other.append("instead");
  const keys = async (): Promise<string[]> => (await other.items()).map(({ key }) => key);
  assert.deepEqual(await keys(), ["a", "b", "c"]);
  await other.append("and on");
  assert.deepEqual(await keys(), ["a", "b", "c"]);
  await other.record("fact", "d", 1);
  assert.deepEqual(await keys(), ["a", "b", "c", "d"]);
});

test("lost workspace records are dropped, and the next writer gets one error", async () => {
  await using place = await fallible();
  const engine = new Engine({ store: place.store, world });
  await engine.remember({ scope: "workspace", kind: "fact", key: "kept", value: 1 });
  await place.save();
  await engine.remember({ scope: "workspace", kind: "fact", key: "gone", value: 1 });
  await place.fallBack();
  const entries = async (): Promise<string[]> => (await engine.memory()).map(({ key }) => key);
  assert.deepEqual(await entries(), ["kept"]);
  const again = () => engine.remember({ scope: "workspace", kind: "fact", key: "again", value: 1 });
  await assert.rejects(again(), { code: "corrupt", message: /workspace log was rolled back/ });
  await again();
  assert.deepEqual((await entries()).toSorted(), ["again", "kept"]);
});

test("a writer whose acknowledged record is lost gets an error before its next write", async () => {
  let lost = 0;
  const act = fc.record({ who: fc.nat(2), what: fc.constantFrom("append", "read", "label") });
  const acts = (least: number) => fc.array(act, { minLength: least, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(acts(0), acts(1), acts(1), async (before, between, after) => {
      await using place = await fallible();
      const engines = [0, 1, 2].map(() => new Engine({ store: place.store, world }));
      const { id } = await (engines[0] as Engine).open({ objective: "o" });
      const handles = await Promise.all(engines.map((engine) => engine.session(id)));
      const run = async ({ who, what }: { who: number; what: string }): Promise<void> => {
        const handle = handles[who] as Session;
        if (what === "read") await handle.fold();
        else if (what === "label") await handle.label({ [`k${who}`]: "v" });
        else await handle.append("text");
      };
      for (const one of before) await run(one);
      await place.save();
      const kept = (await (handles[0] as Session).head()).seq;
      for (const one of between) await run(one);
      const knew = new Set(between.filter(({ what }) => what !== "read").map(({ who }) => who));
      await place.fallBack();
      const told = new Set<number>();
      for (const one of after) {
        const end = await run(one).then(
          () => "ok",
          ({ code }: SkeinError) => code,
        );
        if (one.what === "read") continue;
        const isFirst = knew.has(one.who) && !told.has(one.who);
        assert.equal(end, isFirst ? "corrupt" : "ok");
        if (isFirst) told.add(one.who);
      }
      lost += told.size;
      const tails = (await eventsOf(handles[0] as Session)).filter((one) => typeof one === "object");
      assert.equal(tails.length, told.size > 0 ? 1 : 0);
      const tail = (tails[0] as { tail: { fromSeq?: number } } | undefined)?.tail;
      assert.ok((tail?.fromSeq ?? 0) <= kept + 1, `${tail?.fromSeq} after ${kept}`);
      assert.equal((await (handles[0] as Session).verify()).ok, true);
    }),
    { numRuns: 25 },
  );
  assert.ok(lost > 5, `${lost} were told`);
});
