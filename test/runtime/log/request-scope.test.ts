/** A call from outside: its key makes it once in effect, its expectation is checked in the write itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { all, inMemory } from "../place.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";

const gone = { code: "conflict" };

test("a change is written only if the session is where it was expected", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "Expected" });
  const other = await engine.open({ objective: "Other" });
  const asking = async (seq: number) =>
    internalsOf(engine)
      .forRequest({ expect: { session: session.id, seq } })
      .session(session.id);
  assert.equal((await (await asking(1)).rename("a")).seq, 2);
  const calls = [
    async () => (await asking(1)).rename("b"),
    async () => (await asking(1)).close(),
    async () => (await asking(1)).record("fact", "k", 1),
    async () => (await asking(1)).append("x"),
    async () => (await asking(1)).send(other.id, "x"),
    async () => (await asking(1)).clear(),
    async () => (await asking(1)).rewind(1),
    async () =>
      internalsOf(engine)
        .forRequest({ expect: { session: session.id, seq: 1 } })
        .delete(session.id),
  ];
  for (const call of calls) await assert.rejects(call, gone, String(call));
  assert.equal((await session.head()).seq, 2);
  await (await asking(2)).send(other.id, "x");
  assert.equal((await session.head()).seq, 3);
});

test("of two calls with one key the second gets the result of the first", async () => {
  await using place = inMemory();
  const { engine } = place;
  const asking = (): Engine => internalsOf(engine).forRequest({ key: "k" });
  const session = await asking().open({ objective: "Once" });
  assert.equal((await asking().open({ objective: "Once" })).id, session.id);
  assert.notEqual((await engine.open({ objective: "Once" })).id, session.id);
  const forks = [];
  for (const key of ["f", "f", "g"])
    forks.push(await (await internalsOf(engine).forRequest({ key }).session(session.id)).fork());
  assert.equal(forks[0]?.id, forks[1]?.id);
  assert.notEqual(forks[0]?.id, forks[2]?.id);
  const cleared = [];
  for (const key of ["c", "c"])
    cleared.push(await (await internalsOf(engine).forRequest({ key }).session(session.id)).clear());
  assert.equal(cleared[0]?.id, cleared[1]?.id);
  const again = await (await internalsOf(engine).forRequest({ key: "n" }).session(forks[0]!.id)).rename("n");
  const once = await (await internalsOf(engine).forRequest({ key: "n" }).session(forks[0]!.id)).rename("n");
  assert.deepEqual([again.duplicate, once.duplicate, once.seq], [false, true, again.seq]);
  assert.equal((await all(forks[0]!.events({ types: ["session.renamed"] }))).length, 1);
});

test("key and expectation apply to the first change only, not to what follows from it", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "First" });
  const asking = internalsOf(engine).forRequest({ key: "k", expect: { session: session.id, seq: 1 } });
  const held = await asking.session(session.id);
  await held.rename("a");
  await held.rename("b");
  assert.equal((await session.head()).seq, 3);
  assert.equal(internalsOf(engine).forRequest({}), engine);
});
