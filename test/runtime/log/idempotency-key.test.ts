/** Idempotency keys: a second change with the same key is not written, and gives the result of the first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { inFile, inMemory } from "../place.ts";

for (const [name, make] of [
  ["memory", async () => inMemory()],
  ["sqlite", inFile],
] as const) {
  test(`a key is good once in a session, and again in another (${name})`, async () => {
    await using place = await make();
    const [one, two] = [
      await place.engine.open({ objective: "o" }),
      await place.engine.open({ objective: "p" }),
    ];
    assert.deepEqual(await one.append("a", { key: "k" }), { seq: 2, headSeq: 2, duplicate: false });
    await one.append("between");
    assert.deepEqual(await one.append("b", { key: "k" }), { seq: 2, headSeq: 3, duplicate: true });
    assert.deepEqual(await one.record("fact", "f", 1, { key: "k" }), { seq: 2, headSeq: 3, duplicate: true });
    assert.equal((await two.append("a", { key: "k" })).duplicate, false);
    assert.equal((await one.append("c", { key: "K" })).duplicate, false);
    const texts = [];
    for await (const event of one.events({ types: ["input.received"] }))
      texts.push(JSON.stringify(event.content));
    assert.deepEqual(
      texts.map((text) => /"text":"(\w+)"/.exec(text)?.[1]),
      ["a", "between", "c"],
    );
  });

  test(`a key answers also after the session was closed, or has moved on (${name})`, async () => {
    await using place = await make();
    const session = await place.engine.open({ objective: "o" });
    await session.append("a", { key: "k", expect: { seq: 1 } });
    const again = { seq: 2, headSeq: 2, duplicate: true };
    assert.deepEqual(await session.append("a", { key: "k", expect: { seq: 1 } }), again);
    await session.close();
    assert.deepEqual(await session.append("a", { key: "k" }), { ...again, headSeq: 3 });
    await assert.rejects(session.append("a", { key: "other" }), { code: "refused" });
  });

  test(`a key that is used twice at once is written once (${name})`, async () => {
    await using place = await make();
    const session = await place.engine.open({ objective: "o" });
    const other = await new Engine({ store: place.store, world: place.world }).session(session.id);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, place) => (place % 2 === 0 ? session : other).append("a", { key: "k" })),
    );
    assert.deepEqual(
      answers.map(({ seq }) => seq),
      Array(20).fill(2),
    );
    assert.equal(answers.filter(({ duplicate }) => !duplicate).length, 1);
  });
}

test("a fork does not know its parent's keys", async () => {
  await using place = inMemory();
  const parent = await place.engine.open({ objective: "o" });
  await parent.append("a", { key: "k" });
  const fork = await parent.fork();
  assert.deepEqual(await fork.append("a", { key: "k" }), { seq: 4, headSeq: 4, duplicate: false });
});

test("the caller's key is not in the log, only its digest; a key has a limited length", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.append("a", { key: "invoice-4711" });
  const [record] = await place.store.read(session.id, { fromSeq: 2, toSeq: 2, limit: 1, contents: true });
  assert.equal(JSON.stringify(record).includes("4711"), false);
  assert.equal(record?.key, place.world.digest("", "default\ninvoice-4711").slice(0, 32));
  await session.append("a", { key: "k".repeat(limit.idempotencyKeyCharsMax) });
  for (const key of ["", "k".repeat(limit.idempotencyKeyCharsMax + 1)]) {
    await assert.rejects(session.append("a", { key }), { code: "invalid", message: /1 to 200 characters/ });
  }
});
