/** Leases: taken, refused while held, taken over when they ran out; whoever lost one is fenced. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { isWithin, momentOf } from "../../../src/runtime/read/lease-status.ts";
import type { SessionLease } from "../../../src/runtime/turn/lease.ts";
import { madeWorld } from "../made-world.ts";
import { inFile, inMemory, type Place } from "../place.ts";

for (const [name, make] of [
  ["memory", async () => inMemory()],
  ["sqlite", inFile],
] as const) {
  const opened = async () => {
    const place: Place = await make();
    const session = await place.engine.open({ objective: "o" });
    // As another process would have it: it knows nothing that this one knows.
    const other = await new Engine({ store: place.store, world: place.world }).session(session.id);
    return { place, session, other };
  };
  const held = { code: "conflict", message: "the session is running on one", hint: /released or expires/ };

  test(`others get a lease only after it is released or expired (${name})`, async () => {
    const { place, session, other } = await opened();
    const lease = await session.lease({ holder: "one" });
    assert.deepEqual([lease.epoch, lease.holder, lease.leaseMs], [2, "one", 15_000]);
    await assert.rejects(other.lease({ holder: "two" }), held);
    assert.deepEqual((await session.state()).lease, { holder: "one", epoch: 2 });
    await lease.release();
    await lease.release();
    assert.equal((await other.lease({ holder: "two" })).epoch, 4);
    await place[Symbol.asyncDispose]();
  });

  test(`a lease that ran out is taken over, and its zombie is fenced (${name})`, async () => {
    const { place, session, other } = await opened();
    const zombie = await session.lease({ holder: "one", leaseMs: 2_000 });
    await zombie.append([{ type: "x.before" }]);
    place.world.pass(1_999);
    await assert.rejects(other.lease({ holder: "two" }), held);
    place.world.pass(1);
    const lease = await other.lease({ holder: "two" });
    const fenced = { code: "fenced", hint: /another worker runs the session now/ };
    await assert.rejects(zombie.append([{ type: "x.after" }]), fenced);
    await assert.rejects(zombie.renew(), fenced);
    await zombie.release();
    assert.deepEqual((await other.state()).lease, { holder: "two", epoch: lease.epoch });
    await lease.append([{ type: "x.mine" }]);
    const types = [];
    for await (const { type } of session.events({ fromSeq: 2 })) types.push(type);
    assert.deepEqual(types, ["lease.taken", "x.before", "lease.taken", "x.mine"]);
    await place[Symbol.asyncDispose]();
  });

  test(`an expired lease that was not taken over still holds, and can be renewed (${name})`, async () => {
    const { place, session, other } = await opened();
    const lease = await session.lease({ holder: "one", leaseMs: 1_000 });
    place.world.pass(60_000);
    await lease.append([{ type: "x.late" }]);
    await lease.renew();
    place.world.pass(999);
    await assert.rejects(other.lease({ holder: "two" }), held);
    place.world.pass(1);
    await other.lease({ holder: "two" });
    await assert.rejects(lease.renew(), { code: "fenced" });
    await place[Symbol.asyncDispose]();
  });

  test(`of many who take at once one gets it (${name})`, async () => {
    const { place, session, other } = await opened();
    const answers = await Promise.allSettled(
      Array.from({ length: 10 }, (_, place) =>
        (place % 2 === 0 ? session : other).lease({ holder: `h${place}` }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 1);
    const events = [];
    for await (const event of session.events({ types: ["lease.taken"] })) events.push(event);
    assert.equal(events.length, 1);
    await place[Symbol.asyncDispose]();
  });

  test(`renewing writes no event, and releasing ends with the scope (${name})`, async () => {
    const { place, session } = await opened();
    {
      await using lease = await session.lease({ holder: "one" });
      const { seq } = await session.head();
      await lease.renew();
      assert.equal((await session.head()).seq, seq);
    }
    assert.equal((await session.state()).lease, null);
    await place[Symbol.asyncDispose]();
  });
}

test("input needs no lease, also while another process holds it", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const lease = await session.lease({ holder: "one" });
  assert.equal((await session.append("from outside")).seq, 3);
  assert.equal((await lease.append([{ type: "x.mine" }])).seq, 4);
});

test("a deleted session fences its runner", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const lease = await session.lease({ holder: "one" });
  await place.engine.delete(session.id);
  await assert.rejects(lease.append([{ type: "x.mine" }]), { code: "not-found" });
  await assert.rejects(lease.renew(), { code: "fenced" });
});

test("a failed release is reported, except for a lost lease; a second one does nothing", async () => {
  const place = inMemory();
  const lease = await (await place.engine.open({ objective: "o" })).lease({ holder: "one" });
  const deleted = await place.engine.open({ objective: "o" });
  const last = await deleted.lease({ holder: "one" });
  await place.engine.delete(deleted.id);
  await assert.rejects(last.release(), { code: "not-found" });
  await lease.release();
  await place[Symbol.asyncDispose]();
  await lease.release();
});

test("a new holder is alone once the lease of an earlier one would have run out", async () => {
  const world = madeWorld();
  let isGone = false;
  await using place = inMemory({ ...world, isGone: () => isGone });
  const session = await place.engine.open({ objective: "o" });
  const steady = (): number => momentOf(place.world).steadyMs;
  const taken = async (): Promise<SessionLease> =>
    (await place.engine.session(session.id)).lease({ holder: "one", leaseMs: 2_000 });
  const first = await taken();
  assert.equal(first.aloneFromMs, steady());
  place.world.pass(2_500);
  const second = await taken();
  assert.equal(second.aloneFromMs, steady() + 2_000);
  assert.deepEqual(second.asked, momentOf(place.world));
  await second.release();
  assert.equal((await taken()).aloneFromMs, steady());
  // The process that held it is no more: nobody is left to wait for.
  isGone = true;
  assert.equal((await taken()).aloneFromMs, steady());
});

test("a lease has a holder, and a length between its limits", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  for (const leaseMs of [limit.leaseMsMin - 1, limit.leaseMsMax + 1, Number.NaN, 1_500.5]) {
    await assert.rejects(session.lease({ holder: "one", leaseMs }), { code: "invalid" }, String(leaseMs));
  }
  await assert.rejects(session.lease({ holder: "" }), { code: "invalid" });
  await assert.rejects(session.lease({ holder: "one", leasems: 5_000 } as never), {
    code: "invalid",
    hint: 'did you mean "leaseMs"?',
  });
  assert.equal((await session.head()).seq, 1);
});

test("a holder that stood still is not sure of its lease, whichever of its clocks is wrong", () => {
  const asked = { wallMs: 10_000, steadyMs: 50 };
  const sure = (wallMs: number, steadyMs: number): boolean =>
    isWithin({ now: () => wallMs, steady: () => steadyMs }, asked, 2_000);
  assert.equal(sure(11_999, 2_049), true);
  assert.equal(sure(9_000, 2_050), false);
  assert.equal(sure(12_000, 60), false);
  // Without a steady clock the other one is all there is.
  assert.equal(isWithin({ now: () => 52 }, { wallMs: 50, steadyMs: 50 }, 2), false);
});
