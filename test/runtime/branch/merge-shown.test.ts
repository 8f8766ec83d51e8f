/** A merge of what was looked at: up to a position of the other session, whatever it has said since. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, inFile, inMemory, type Place } from "../place.ts";

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

const factsOf = async (session: Session): Promise<unknown[]> =>
  (await session.items()).map(({ key, value }) => [key, value]);

for (const [name, make] of Object.entries(makers)) {
  test(`a merge takes the previewed state, without later records (${name})`, async () => {
    await using place = await make();
    const a = await place.engine.open({ objective: "Payroll" });
    await a.record("fact", "rate", 4);
    const b = await a.fork();
    await b.record("fact", "rate", 5);
    const { range } = await a.merge({ from: b.id, dryRun: true });
    const toSeq = range?.toSeq ?? 0;
    const { hash } = await b.head();
    await b.record("fact", "rate", 6);
    await b.record("fact", "more", true);
    const looked = await a.merge({ from: b.id, toSeq, dryRun: true });
    const made = await a.merge({ from: b.id, toSeq });
    assert.deepEqual([looked.range, made.range], [range, range]);
    assert.deepEqual(await factsOf(a), [["rate", 5]]);
    const merged = (await all(a.events({ types: ["session.merged"] }))).map(({ body }) => body);
    assert.partialDeepStrictEqual(merged, [{ toSeq, toHash: hash }]);
    assert.equal((await a.merge({ from: b.id, toSeq })).range, null);
    assert.equal((await a.merge({ from: b.id, toSeq: 1 })).range, null);
    await assert.rejects(a.merge({ from: b.id, toSeq: toSeq + 3 }), { code: "not-found" });
    const rest = await a.merge({ from: b.id });
    assert.deepEqual(rest.range, { fromSeq: toSeq + 1, toSeq: toSeq + 2 });
    assert.deepEqual(await factsOf(a), [
      ["more", true],
      ["rate", 6],
    ]);
    assert.ok((await a.verify()).ok);
    // Back at what it has merged already, nothing of the later is undone.
    assert.equal((await a.merge({ from: b.id, toSeq })).range, null);
  });
}
