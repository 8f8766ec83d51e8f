/** Unknown is kept: foreign records pass through, those of a newer Skein make a session read-only. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { snapshotText } from "../../../src/core/state.ts";
import type { Place } from "../place.ts";
import { all, inFile, inMemory } from "../place.ts";
import { writeRaw } from "../raw.ts";

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

for (const [name, make] of Object.entries(makers)) {
  for (const newer of [
    { type: "turn.mused", body: { any: "thing" }, content: { said: "new words" } },
    { type: "item.recorded", body: { kind: "hunch", key: "k" }, content: { value: 1 }, v: 3 },
  ]) {
    const what = `${newer.type} version ${newer.v ?? 1}`;
    test(`${what} makes a session read-only, readable and forkable (${name})`, async () => {
      await using place = await make();
      const { engine } = place;
      const session = await engine.open({ objective: "o" });
      await session.record("fact", "before", 1);
      await writeRaw(place, session.id, [newer]);
      await writeRaw(place, session.id, [
        { type: "scratch.set", body: { key: "after" }, content: { value: 2 } },
      ]);
      const state = await session.state();
      assert.deepEqual(state.newer, { type: newer.type, v: newer.v ?? 1, seq: 3 });
      assert.deepEqual([state.seq, state.items.length, state.scratch], [4, 1, { after: 2 }]);
      const [event] = await all(session.events({ fromSeq: 3, limit: 1 }));
      assert.deepEqual([event?.body, event?.content], [newer.body, newer.content]);
      const readOnly = {
        code: "refused",
        message: /read-only: a newer Skein wrote record 3/,
        hint: /or later/,
      };
      const writes = [
        () => session.append("x"),
        () => session.record("fact", "k", 1),
        () => session.close(),
        () => session.rewind(1),
        () => session.label({ a: "b" }),
        () => session.lease({ holder: "h" }),
        () => session.clear(),
      ];
      for (const write of writes) await assert.rejects(write(), readOnly);
      assert.equal((await session.head()).seq, 4);
      assert.equal((await session.verify()).ok, true);
      // Before that record everything is understood, and a fork from there can be written to.
      const fork = await session.fork({ atSeq: 2 });
      await fork.append("going on");
      assert.equal((await fork.state()).newer, null);
      await engine.rebuild();
      assert.equal((await engine.sessions()).rows.length, 2);
    });
  }

  test(`foreign records and extra fields pass through untouched (${name})`, async () => {
    await using place = await make();
    const session = await place.engine.open({ objective: "o" });
    const before = JSON.parse(snapshotText(await session.fold())) as object;
    const foreign = [
      { type: "x.other", body: { a: [1, null] }, content: "text", v: 7 },
      { type: "x.other.more", body: "a body that is a text" },
      { type: "x.n-1", body: 5, content: null },
    ];
    await writeRaw(place, session.id, foreign);
    const events = await all(session.events({ fromSeq: 2 }));
    assert.deepEqual(
      events.map(({ type, v, body, content }) => ({ type, v, body, content })),
      foreign.map(({ type, v, body, content }) => ({ type, v: v ?? 1, body, content })),
    );
    const after = JSON.parse(snapshotText(await session.fold())) as { seq: number; at: number };
    assert.deepEqual(after, { ...before, seq: 4, at: after.at });
    const extra = {
      type: "item.recorded",
      body: { kind: "fact", key: "k", later: { deep: [1] } },
      content: { value: 1, too: 2 },
    };
    await writeRaw(place, session.id, [extra]);
    const [event] = await all(session.events({ fromSeq: 5 }));
    assert.deepEqual([event?.body, event?.content], [extra.body, extra.content]);
    const [record] = await place.store.read(session.id, { fromSeq: 5, toSeq: 5, limit: 1, contents: true });
    assert.deepEqual(
      [record?.body, record?.content],
      [JSON.stringify(extra.body), JSON.stringify(extra.content)],
    );
    assert.equal((await session.items())[0]?.value, 1);
    await session.append("still writable");
  });
}
