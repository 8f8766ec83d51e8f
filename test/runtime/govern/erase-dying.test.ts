/** Erasure by a process that dies at any call of the store, and beside others who go on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as range from "../../../src/core/range.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, inFile, inMemory, type Place } from "../place.ts";
import { lifeOf, mortal } from "../two-stores.ts";

/** A session, a fork of it, and one that holds copies; and where the item stands. */
async function family({ engine }: Place): Promise<readonly Session[]> {
  const session = await engine.open({ objective: "o" });
  await session.record("fact", "rate", "four");
  await session.promote("fact", "rate", { scope: "workspace" });
  const fork = await session.fork();
  const other = await engine.open({ objective: "p", memory: false });
  await session.send(other.id, "the rate is four");
  await other.merge({ from: session.id, summary: "four" });
  return [session, fork, other];
}

/** What is gone from a session, and that its log says exactly this, once. */
async function assertTold(session: Session): Promise<void> {
  const gone = (await all(session.records())).flatMap(({ seq, content, contentHash }) =>
    contentHash !== null && content === null ? [seq] : [],
  );
  const { ranges, records } = (await session.fold()).standing.erased;
  const places = gone.reduce((all, seq) => range.add(all, [seq, seq]), [] as range.Ranges);
  assert.deepEqual([range.subtract(places, ranges), records], [[], gone.length]);
}

for (const when of ["before", "after"] as const) {
  test(`a process that dies ${when} any call leaves truthful logs, and the next one finishes`, async () => {
    for (let steps = 1; ; steps++) {
      await using place = inMemory();
      const sessions = await family(place);
      const [session] = sessions;
      const life = lifeOf(steps);
      const dying = new Engine({ store: mortal(place.store, life, when), world: place.world });
      const id = session?.id ?? "";
      const erase = async (engine: Engine) =>
        (await engine.session(id)).erase({ ranges: [[2, 2]], copies: true });
      await erase(dying).catch((error: unknown) => assert.ok(life.dead, String(error)));
      assert.deepEqual((await place.engine.verify()).problems, [], `${steps} steps`);
      const report = await erase(place.engine);
      assert.equal(report.scrubbed, true);
      for (const one of sessions) await assertTold(one);
      const { erased, problems } = await place.engine.verify();
      // The item, the summary and the item that were merged, and what is remembered.
      assert.deepEqual([erased, problems], [4, []], `${steps} steps`);
      assert.deepEqual((await erase(place.engine)).copies, []);
      if (!life.dead) {
        assert.ok(life.steps > 20, "there were calls to die at");
        return;
      }
    }
  });
}

test("with concurrent forks, inputs and erasures every log stays truthful", async () => {
  await using place = await inFile();
  const other = await place.again();
  const session = await place.engine.open({ objective: "o" });
  const inputs = Array.from(
    { length: 60 },
    (_, number) => ({ type: "input.received", text: `${number}` }) as const,
  );
  await session.append(inputs);
  const theirs = await other.engine.session(session.id);
  const work: Promise<unknown>[] = [];
  for (let from = 2; from < 60; from += 6) {
    work.push(
      session.erase({ ranges: [[from, from + 2]] }),
      theirs.erase({ ranges: [[from + 1, from + 4]] }),
    );
    work.push(theirs.fork({ atSeq: from + 1 }), session.fork(), theirs.append("more"));
  }
  await Promise.all(work);
  assert.deepEqual((await place.engine.verify()).problems, []);
  await session.erase({ ranges: [[2, 60]] });
  for (const { session: id } of await place.store.forks(session.id)) {
    const { ranges } = (await (await place.engine.session(id)).fold()).standing.erased;
    const head = await place.store.head(id);
    const wanted = range.clip([[2, 60]], head?.parent?.seq ?? 0);
    assert.deepEqual(range.subtract(wanted, ranges), []);
  }
  await place.engine.delete(session.id);
  assert.deepEqual((await place.engine.verify()).problems, []);
  await other.engine.close();
});
