/** Holds: what is under one is neither erased nor deleted, whatever its status. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { bundleOf, inPieces } from "../transfer/bundled.ts";
import { all, inMemory } from "../place.ts";
import { twoInMemory } from "../two-stores.ts";

test("a hold applies until it is lifted, and both give the reason", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.hold("case 4711", { reason: "asked for by the court" });
  await session.hold("audit");
  assert.deepEqual(
    [...(await session.fold()).standing.holds.entries()],
    [
      ["audit", 3],
      ["case 4711", 2],
    ],
  );
  await session.lift("case 4711", { reason: "the case is closed" });
  assert.deepEqual([...(await session.fold()).standing.holds.keys()], ["audit"]);
  const told = (await all(session.events({ fromSeq: 2 }))).map(({ type, body, content }) => [
    type,
    body,
    content,
  ]);
  assert.deepEqual(told, [
    ["hold.set", { name: "case 4711" }, { reason: "asked for by the court" }],
    ["hold.set", { name: "audit" }, undefined],
    ["hold.lifted", { name: "case 4711" }, { reason: "the case is closed" }],
  ]);
});

test("a session under a hold is not deleted", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.hold("case");
  const refusal = { code: "refused", message: `${session.id} is under legal hold "case"` };
  await assert.rejects(place.engine.delete(session.id), refusal);
  await session.lift("case");
  await place.engine.delete(session.id);
  await assert.rejects(session.head(), { code: "not-found" });
});

test("closed and archived sessions can be held", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.close();
  await session.hold("one");
  await session.archive();
  await session.hold("two");
  await session.lift("one");
  assert.deepEqual([...(await session.fold()).standing.holds.keys()], ["two"]);
});

test("a missing hold cannot be lifted, and invalid names are refused", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await assert.rejects(session.lift("case"), { code: "not-found", message: /no hold "case"/ });
  await assert.rejects(session.hold(""), { code: "invalid" });
  await assert.rejects(session.hold("a\nb"), { code: "invalid" });
  await assert.rejects(session.hold("a", { reason: "r".repeat(limit.reasonCharsMax + 1) }), {
    code: "invalid",
  });
  await assert.rejects(session.hold("a", { because: "x" } as never), { code: "invalid" });
  assert.equal((await session.head()).seq, 1);
});

test(`a session is under at most ${limit.holdsMax} holds`, async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  for (let count = 0; count < limit.holdsMax; count++) await session.hold(`hold ${count}`);
  await assert.rejects(session.hold("one more"), { code: "refused", hint: /^lift one first/ });
  await session.hold("hold 7", { reason: "said again" });
});

test("a hold does not go with a fork", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.hold("case");
  const fork = await session.fork();
  assert.equal((await fork.fold()).standing.holds.size, 0);
});

test("a hold moves with its session, and the copy left behind can be deleted and erased", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const root = await a.engine.open({ objective: "the parent" });
  const fork = await root.fork();
  await fork.hold("case");
  const bundle = await bundleOf(a, fork.id, { move: true });
  await b.engine.import(inPieces(bundle));
  const there = await b.engine.session(fork.id);
  assert.deepEqual([...(await there.fold()).standing.holds.keys()], ["case"]);
  const refusal = { code: "refused", message: `${fork.id} is under legal hold "case"` };
  await assert.rejects(b.engine.delete(fork.id), refusal);
  const { forks } = await root.erase();
  assert.deepEqual(
    forks.map(({ session, elsewhere }) => [session, elsewhere]),
    [[fork.id, true]],
  );
  await a.engine.delete(fork.id);
  await assert.rejects(fork.head(), { code: "not-found" });
});

test("a copy of a session that is under a hold can be deleted", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const session = await a.engine.open({ objective: "o" });
  await session.hold("case");
  await b.engine.import(inPieces(await bundleOf(a, session.id)));
  await b.engine.delete(session.id);
  await assert.rejects(b.engine.session(session.id), { code: "not-found" });
});

test("policies delete the copy left by a session that moved under a hold", async () => {
  await using homes = twoInMemory();
  const { a } = homes;
  const session = await a.engine.open({ objective: "o" });
  await session.hold("case");
  await bundleOf(a, session.id, { move: true });
  await a.engine.setPolicy("gone", { do: "delete", after: "0s", match: { status: ["moved"] } });
  const { done } = await a.engine.retain();
  assert.deepEqual(
    done.map((one) => [one.session, one.do]),
    [[session.id, "delete"]],
  );
});
