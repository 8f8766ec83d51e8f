/** The laws of merging, over generated lives of a parent and its forks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { MergeReport } from "../../../src/runtime/branch/merge.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, inMemory, type Place } from "../place.ts";

const tier = async (session: Session): Promise<unknown[]> =>
  (await session.items()).map(({ kind, key, value, status }) => [`${kind}/${key}`, value, status]);

const broughtNothing = ({ ok, taken, same, left, conflicts, written }: MergeReport): void =>
  assert.deepEqual(
    { ok, taken, same, left, conflicts, written },
    { ok: true, taken: [], same: [], left: [], conflicts: [], written: null },
  );

type Move = { readonly on: number; readonly act: number; readonly key: number; readonly value: number };
const move: fc.Arbitrary<Move> = fc.record({
  on: fc.nat(2),
  act: fc.nat(9),
  key: fc.nat(5),
  value: fc.nat(3),
});

async function lead(session: Session, { act, key, value }: Move): Promise<void> {
  const kind = (["fact", "decision", "task", "artifact"] as const)[key % 4]!;
  if (act < 6) return void (await session.record(kind, `k${key}`, value));
  const state = await session.fold();
  if (act < 8 && state.mind.items.has(`${kind}/k${key}`)) await session.retract(kind, `k${key}`);
  if (act === 8) await session.rewind(1 + (key % state.seq));
}

/** A parent that knows something, and two forks of it; all three go on. */
async function family(place: Place, moves: readonly Move[]): Promise<readonly [Session, Session, Session]> {
  const a = await place.engine.open({ objective: "o" });
  const early = moves.slice(0, moves.length / 3);
  for (const one of early) await lead(a, { ...one, act: one.act % 6 });
  const [b, c] = [await a.fork(), await a.fork()];
  for (const one of moves.slice(early.length)) await lead([a, b, c][one.on]!, one);
  return [a, b, c];
}

test("laws: idempotent; nothing from a fork that did nothing; no item is lost in silence", async () => {
  await using place = inMemory();
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 24 }), fc.boolean(), async (moves, theirs) => {
      const [a, b] = await family(place, moves);
      const idle = await a.fork();
      broughtNothing(await a.merge({ from: idle.id }));
      const [before, there] = [await a.items(), await b.items()];
      const report = await a.merge({ from: b.id, resolve: () => (theirs ? "theirs" : "ours") });
      const after = await a.items();
      const log = await all(a.events({ fromSeq: 1 + Math.max(0, ...before.map(({ seq }) => seq)) }));
      const retracted = new Set(
        log.filter(({ type }) => type === "item.retracted").map(({ body }) => nameOf(body as never)),
      );
      const resolved = new Set(report.resolved.map(({ name }) => name));
      const base = new Map(
        (report.base === null ? [] : await a.items({ atSeq: report.base.seq })).map((one) => [
          nameOf(one),
          one,
        ]),
      );
      const now = new Map(after.map((one) => [nameOf(one), one]));
      for (const one of before) {
        const name = nameOf(one);
        if (now.get(name)?.value === one.value) continue;
        const taken = report.taken.some(({ kind, key }) => `${kind}/${key}` === name);
        assert.ok(taken || resolved.has(name), `${name} went in silence`);
        if (!now.has(name)) assert.ok(retracted.has(name), `${name} is gone without a record`);
      }
      for (const one of there) {
        const name = nameOf(one);
        const untouched = base.get(name)?.seq === one.seq;
        if (untouched || resolved.has(name)) continue;
        const unchanged = base.get(name)?.value === one.value && base.get(name)?.status === one.status;
        if (!unchanged) assert.equal(now.get(name)?.value, one.value, `${name} did not come in`);
      }
      broughtNothing(await a.merge({ from: b.id }));
      assert.deepEqual(await a.items(), after);
    }),
    { numRuns: 60 },
  );
});

const nameOf = ({ kind, key }: { readonly kind: string; readonly key: string }): string => `${kind}/${key}`;

test("laws: without conflicts, B then C gives the same durable tier as C then B", async () => {
  await using place = inMemory();
  let met = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 3, maxLength: 18 }), async (moves) => {
      const [a, b, c] = await family(place, moves);
      const other = await a.fork();
      const reports = [
        await a.merge({ from: b.id }),
        await a.merge({ from: c.id }),
        await other.merge({ from: c.id }),
        await other.merge({ from: b.id }),
      ];
      if (reports.some(({ ok }) => !ok)) return;
      if (reports.every(({ taken }) => taken.length > 0)) met += 1;
      assert.deepEqual(await tier(a), await tier(other));
    }),
    { numRuns: 80 },
  );
  assert.ok(met > 5, `only ${met} cases where all merges brought something`);
});
