/** Moving a session to another store: nothing is lost, and it never lives twice, whoever dies on the way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { StoredRecord } from "../../../src/core/chain.ts";
import type { SessionId } from "../../../src/core/ids.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { MoveReport } from "../../../src/runtime/transfer/move.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { cases, stride } from "../../kind.ts";
import { madeWorld } from "../made-world.ts";
import { all } from "../place.ts";
import { lifeOf, livedIn, mortal, statusIn, twoInFiles, twoInMemory, type Home } from "../two-stores.ts";

const recordsIn = async ({ engine }: Home, id: SessionId): Promise<StoredRecord[]> =>
  all((await engine.session(id)).records());

/** Everything about a session that is stored, and what is made of it. */
async function pictureOf(session: Session): Promise<unknown> {
  const { mind, standing } = await session.fold();
  return {
    records: await all(session.records()),
    mind,
    labels: standing.labels,
    items: await session.items(),
  };
}

const isLive = (status: string | null): boolean => status !== null && status !== "moved" && status !== "copy";

for (const [name, make] of [
  ["memory", twoInMemory],
  ["files", twoInFiles],
] as const) {
  test(`in ${name}: a session moves with its ancestors, blobs and items, and continues`, async () => {
    await using homes = await make();
    const { a, b } = homes;
    const { fork } = await livedIn(a);
    const before = (await pictureOf(fork)) as { records: StoredRecord[] };
    const report = (await fork.migrate({ to: b.store })) as MoveReport;
    const there = await b.engine.session(fork.id);
    const records = await all(there.records());
    assert.deepEqual(records.slice(0, before.records.length), before.records);
    assert.deepEqual(
      records.slice(before.records.length).map(({ type }) => type),
      ["session.moved", "session.arrived"],
    );
    assert.deepEqual(
      [report.seq, report.hash, report.workspace],
      [records.at(-1)?.seq, records.at(-1)?.hash, b.store.workspace],
    );
    assert.deepEqual(await there.items(), await fork.items());
    assert.deepEqual([await statusIn(a, fork.id), await statusIn(b, fork.id)], ["moved", "open"]);
    assert.equal((await there.verify()).ok, true);
    assert.equal((await b.engine.verify()).ok, true);
    await assert.rejects(fork.append("too late"), { code: "refused", hint: /moved to/ });
    await there.append("goes on");
    const { rows } = await b.engine.sessions();
    assert.deepEqual(
      rows.map(({ session, objective, status }) => [session, objective, status]),
      [[fork.id, "What if it rises?", "open"]],
    );
    const twice = (await fork.migrate({ to: b.store })) as MoveReport;
    assert.deepEqual([twice.move, twice.records], [report.move, 0]);
  });

  test(`in ${name}: a round trip keeps every hash, also with forks made there`, async () => {
    await using homes = await make();
    const { a, b } = homes;
    const { root, fork } = await livedIn(a);
    await root.migrate({ to: b.store });
    const there = await b.engine.session(root.id);
    await there.record("fact", "learned", "elsewhere");
    const child = await there.fork();
    await child.append("a fork of what was written there");
    await child.migrate({ to: a.store });
    const known = await recordsIn(b, root.id);
    await there.migrate({ to: a.store });
    const back = await recordsIn(a, root.id);
    assert.deepEqual(back.slice(0, known.length), known);
    assert.deepEqual([await statusIn(a, root.id), await statusIn(b, root.id)], ["open", "moved"]);
    await root.append("home");
    for (const { id } of [root, fork, child]) {
      assert.equal((await (await a.engine.session(id)).verify()).ok, true);
    }
    assert.equal((await a.engine.verify()).ok, true);
    assert.equal((await a.engine.search("elsewhere")).length > 0, true);
  });
}

/** A move that is to be killed, with all that happened before it. */
interface Plan {
  readonly id: SessionId;
  readonly from: Home;
  readonly to: Home;
}

const plans: Readonly<Record<string, (a: Home, b: Home) => Promise<Plan>>> = {
  "a move away": async (a, b) => ({ id: (await livedIn(a)).fork.id, from: a, to: b }),
  "a move back": async (a, b) => {
    const { id } = (await livedIn(a)).root;
    await (await a.engine.session(id)).migrate({ to: b.store });
    await (await b.engine.session(id)).record("fact", "learned", "elsewhere");
    return { id, from: b, to: a };
  },
};

/** Kills the move at that many calls of the stores, does it again, and says whether it was ever killed. */
async function killed(plan: keyof typeof plans, steps: number, when: "before" | "after"): Promise<boolean> {
  await using homes = twoInMemory();
  const { id, from, to } = await plans[plan]!(homes.a, homes.b);
  const before = await recordsIn(from, id);
  const life = lifeOf(steps);
  const engine = new Engine({ store: mortal(from.store, life, when), world: madeWorld("mortal") });
  try {
    await (await engine.session(id)).migrate({ to: mortal(to.store, life, when) });
  } catch (error) {
    assert.ok(life.dead, String(error));
  }
  const where = `${plan}, ${when} step ${steps}`;
  const live = [await statusIn(from, id), await statusIn(to, id)].filter(isLive);
  assert.ok(live.length <= 1, `two live copies: ${where}`);
  await (await from.engine.session(id)).migrate({ to: to.store });
  assert.deepEqual([await statusIn(from, id), await statusIn(to, id)], ["moved", "open"], where);
  const records = await recordsIn(to, id);
  assert.deepEqual(records.slice(0, before.length), before, where);
  const types = records.slice(before.length).map(({ type }) => type);
  assert.deepEqual(types, ["session.moved", "session.arrived"], where);
  assert.equal((await to.engine.verify()).ok, true, where);
  return life.dead;
}

for (const plan of Object.keys(plans)) {
  test(`${plan} that dies at any step, on either side, is finished by doing it again`, async () => {
    for (const when of ["before", "after"] as const) {
      let steps = 1;
      while (await killed(plan, steps, when)) steps += stride();
      assert.ok(steps > 20 && steps < 500, `${steps} steps were seen`);
    }
  });
}

test("two moves at once to one store are one; to two stores one of them is refused", async () => {
  await using homes = twoInMemory();
  await using others = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  const one = await Promise.all([fork.migrate({ to: b.store }), fork.migrate({ to: b.store })]);
  assert.equal(new Set(one.map((report) => (report as MoveReport).move)).size, 1);
  const arrived = (await recordsIn(b, fork.id)).filter(({ type }) => type === "session.arrived");
  assert.equal(arrived.length, 1);
  const two = await Promise.allSettled([root.migrate({ to: b.store }), root.migrate({ to: others.b.store })]);
  const refusals = two.flatMap((one) => (one.status === "rejected" ? [one.reason as { code: string }] : []));
  assert.deepEqual(
    refusals.map(({ code }) => code),
    ["conflict"],
  );
  const live = [await statusIn(a, root.id), await statusIn(b, root.id), await statusIn(others.b, root.id)];
  assert.equal(live.filter(isLive).length, 1, live.join(", "));
});

test("writes acknowledged during a move are never lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 12 }), async (pauses) => {
      await using homes = twoInMemory();
      const { a, b } = homes;
      const { root } = await livedIn(a);
      const kept: string[] = [];
      const writing = (async () => {
        for (const [place, pause] of pauses.entries()) {
          for (let wait = 0; wait < pause; wait++) await new Promise((resolve) => setImmediate(resolve));
          const text = `beside ${place}`;
          await root.append(text).then(
            () => kept.push(text),
            (error: unknown) => assert.equal((error as { code?: unknown }).code, "refused"),
          );
        }
      })();
      await Promise.all([writing, root.migrate({ to: b.store })]);
      const said = (await recordsIn(b, root.id)).filter(({ content }) => content?.includes("beside"));
      assert.equal(said.length, kept.length);
      const there = await b.engine.session(root.id);
      await there.migrate({ to: a.store });
      assert.equal((await (await a.engine.session(root.id)).verify()).ok, true);
    }),
    cases(25),
  );
});

test("a move to the same store, of a copy, or to a store that cannot be written is harmless", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  await assert.rejects(root.migrate({ to: a.store }), { code: "refused", message: /already in that store/ });
  await assert.rejects(root.migrate({}), { code: "invalid" });
  await assert.rejects(root.migrate({ to: "./x.db" }), { code: "refused" });
  const full = mortal(b.store, { left: 1, dead: true, steps: 0 }, "before");
  await assert.rejects(root.migrate({ to: full }), { code: "unavailable" });
  assert.equal(await statusIn(a, root.id), "open");
  await b.engine.import(a.engine.export(fork.id));
  const copy = await b.engine.session(fork.id);
  await assert.rejects(copy.migrate({ to: a.store }), { code: "refused", message: /a read-only copy/ });
  await a.engine.delete(fork.id);
  await assert.rejects(copy.migrate({ to: a.store }), { code: "refused" });
});

test("a session that runs, or whose lease is held, is not moved", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root } = await livedIn(a);
  const lease = await root.lease({ holder: "somebody" });
  await assert.rejects(root.migrate({ to: b.store }), { code: "conflict", message: /running on somebody/ });
  await lease.release();
  await root.migrate({ to: b.store });
  assert.equal(await statusIn(b, root.id), "open");
});

test("a session that also left the other store is not listed as living there", async () => {
  await using homes = twoInMemory();
  await using others = twoInMemory();
  const { a, b } = homes;
  const c = others.a;
  const { root } = await livedIn(a);
  await root.migrate({ to: b.store });
  await (await b.engine.session(root.id)).migrate({ to: c.store });
  const before = await recordsIn(b, root.id);
  const where = `the store whose workspace is ${c.store.workspace}`;
  await assert.rejects(root.migrate({ to: b.store }), {
    code: "refused",
    message: `${root.id} was moved again, from that store to ${where}`,
  });
  assert.deepEqual(await recordsIn(b, root.id), before);
  assert.equal(await statusIn(c, root.id), "open");
});

test("a moved session, and a copy, name the store to continue in", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  const engine = new Engine({ store: a.store, world: a.world, openStore: async () => unclosed(b.store) });
  await (await engine.session(root.id)).migrate({ to: "../other place/b.db" });
  const hint = 'it was moved to "../other place/b.db"; open it there, or fork it here';
  await assert.rejects(root.append("no"), { code: "refused", hint });
  await assert.rejects(root.migrate({ model: "scripted/demo" }), { code: "refused", hint });
  await all(a.engine.export(fork.id, { move: true }));
  await assert.rejects(fork.close(), { code: "refused", hint: /store that its bundle was imported into/ });
  const open = await a.engine.open({ objective: "copied" });
  await b.engine.import(a.engine.export(open.id));
  const copy = await b.engine.session(open.id);
  const message = `${open.id} is a read-only copy of a session in another store`;
  for (const write of [() => copy.append("no"), () => copy.archive(), () => copy.reopen()]) {
    await assert.rejects(write(), { code: "refused", message, hint: "fork it to continue here" });
  }
});

const unclosed = (store: Home["store"]): Home["store"] => ({ ...store, close: async () => undefined });
