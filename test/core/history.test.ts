/** Properties of every history: snapshots, rewinds, forks, the inbox, and erased contents. */
import { fold } from "../../src/core/fold.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { staleChecks } from "../../src/core/check/check.ts";
import { sessionCatalog } from "../../src/core/catalog.ts";
import { readEvent } from "../../src/core/event.ts";
import type { Ranges } from "../../src/core/range.ts";
import { noPace } from "../../src/core/context/latency.ts";
import { emptyState, mindHash, parseSnapshot, snapshotText, type State } from "../../src/core/state.ts";
import { digest } from "./digest.ts";
import { given, plain } from "./given.ts";
import { histories, numberOf, ownInputs, type History } from "./history.ts";

const seqIn = fc.nat(1_000);

test("the generator leads lives with every event, rewinds of rewinds, and forks of forks", () => {
  const lives = fc.sample(histories(60), { seed: 11, numRuns: 300 });
  const seen = new Set(lives.flatMap(({ records }) => records.map(({ type }) => type)));
  assert.deepEqual(
    Object.keys(sessionCatalog).filter((type) => !seen.has(type)),
    [],
  );
  const redone = lives.filter(({ rewinds, states }) =>
    rewinds.some(({ seq, toSeq }) =>
      states[seq - 1]!.mind.lost.some(([from, to]) => from <= toSeq && toSeq <= to),
    ),
  );
  assert.ok(redone.length > 20, `${redone.length} lives with a redo`);
  assert.ok(lives.filter(({ forks }) => forks.length > 1).length > 20, "forks of forks");
  assert.ok(
    lives.filter(({ rewinds, forks }) => rewinds.some(({ toSeq }) => toSeq < (forks[0] ?? 0))).length > 5,
  );
});

test("folding from any snapshot equals folding from the start", () => {
  fc.assert(
    fc.property(histories(60), seqIn, (life, pick) => {
      const from = pick % life.states.length;
      const text = snapshotText(life.states[from]!);
      let state = parseSnapshot(text);
      assert.equal(snapshotText(state), text);
      for (const record of life.records.slice(from)) {
        state = fold(
          state,
          readEvent(record, false),
          (seq) => parseSnapshot(snapshotText(life.states[seq]!)).mind,
        );
      }
      assert.equal(snapshotText(state), snapshotText(life.states.at(-1)!));
    }),
    { numRuns: 300 },
  );
});

/** The standing without what a rewind may change. */
function standingOf({ standing }: State): unknown {
  const { status: _, why: __, turn: ___, sleep: ____, inbox: _____, ...rest } = standing;
  // A context begins anew with a rewind, with the tools that count and any renderer.
  // What a check found belongs to the mind that the rewind left.
  const checks = staleChecks(rest.checks);
  return plain({
    ...rest,
    checks,
    tools: rest.tools.slice(-1),
    renderer: null,
    plan: null,
    front: null,
    pace: noPace,
  });
}

test("a rewind gives the mind at its target and leaves the standing, also in rewinds of rewinds", () => {
  fc.assert(
    fc.property(histories(60), (life) => {
      for (const { seq, toSeq } of life.rewinds) {
        const [before, after, target] = [life.states[seq - 1]!, life.states[seq]!, life.states[toSeq]!];
        assert.equal(mindHash(digest, after.mind), mindHash(digest, target.mind));
        assert.deepEqual(plain({ ...after.mind, lost: [] }), plain({ ...target.mind, lost: [] }));
        assert.deepEqual(standingOf(after), standingOf(before));
        const { status, turn, sleep, why } = after.standing;
        assert.deepEqual([status, turn, sleep, why], ["open", null, null, null]);
        // What was lost at the target is still lost, and so is all in between.
        assert.deepEqual(
          membersOf(after.mind.lost),
          membersOf(target.mind.lost).union(membersOf([[toSeq + 1, seq - 1]])),
        );
      }
    }),
    { numRuns: 300 },
  );
});

/** The members of some ranges. */
const membersOf = (ranges: Ranges): ReadonlySet<number> =>
  new Set(ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, place) => from + place)));

/** None of the inputs with these numbers stands before the position. */
function assertFrom(life: History, numbers: ReadonlySet<number>, fromSeq: number, upTo: number): void {
  for (const record of ownInputs(life)) {
    if (record.seq <= upTo && numbers.has(numberOf(record))) assert.ok(fromSeq > 0 && record.seq >= fromSeq);
  }
}

test("a rewind lists exactly the inputs processed since", () => {
  fc.assert(
    fc.property(histories(60), (life) => {
      for (const { seq, taken } of life.rewinds) {
        const { inputs } = JSON.parse(life.records[seq - 1]!.body) as {
          inputs: { ranges: Ranges; fromSeq: number };
        };
        assert.deepEqual(membersOf(inputs.ranges), taken);
        if (seq > (life.forks.at(-1) ?? 0)) assertFrom(life, taken, inputs.fromSeq, seq);
      }
    }),
    { numRuns: 300 },
  );
});

test("the inbox is the set of unprocessed inputs, in any order of processing", () => {
  fc.assert(
    fc.property(histories(60), (life) => {
      for (const [seq, state] of life.states.entries()) {
        const { waiting, received, fromSeq } = state.standing.inbox;
        assert.deepEqual(membersOf(waiting), life.waiting[seq]);
        if (seq <= (life.forks.at(-1) ?? 0)) continue;
        assert.equal(received, ownInputs(life).filter((input) => input.seq <= seq).length);
        assertFrom(life, life.waiting[seq]!, fromSeq, seq);
        if (waiting.length === 0) assert.equal(fromSeq, 0);
      }
    }),
    { numRuns: 300 },
  );
});

test("a fork begins with the mind of the position it leaves", () => {
  let forks = 0;
  fc.assert(
    fc.property(histories(60), (life) => {
      for (const seq of life.forks) {
        forks++;
        assert.equal(life.records[seq - 1]!.type, "session.forked");
        assert.deepEqual(plain(life.states[seq]!.mind), plain(life.states[seq - 1]!.mind));
        const { inbox, used, labels, lease, turn, status } = life.states[seq]!.standing;
        assert.deepEqual(
          [inbox, used.tokens, labels.size, lease.held, turn, status],
          [{ waiting: [], received: 0, fromSeq: 0 }, 0, 0, false, null, "open"],
        );
      }
    }),
  );
  assert.ok(forks > 20, `${forks} forks`);
});

test("with all contents erased every state is the same", () => {
  fc.assert(
    fc.property(histories(60), (life) => {
      const bare: History = {
        ...life,
        records: life.records.map((record) => ({ ...record, content: null, salt: null })),
      };
      let state = emptyState;
      for (const record of bare.records) {
        state = fold(state, readEvent(record, true), (seq) => life.states[seq]!.mind);
      }
      assert.equal(snapshotText(state), snapshotText(life.states.at(-1)!));
    }),
  );
});

test("the mind's hash in turn.ended is the one that the fold gives there", () => {
  let ended = 0;
  fc.assert(
    fc.property(histories(60), (life) => {
      for (const record of life.records) {
        if (record.type !== "turn.ended") continue;
        ended++;
        const { mindHash: claimed } = JSON.parse(record.body) as { mindHash: string };
        assert.equal(claimed, mindHash(digest, life.states[record.seq]!.mind));
      }
    }),
  );
  assert.ok(ended > 50, `${ended} turns`);
});

test("a snapshot does not grow with the number of inputs and messages", () => {
  const input = given().and("input.received", { input: 1 }, { blocks: [] }).records[1]!;
  const note = given().write({ type: "x.note", body: {} }).records[1]!;
  const grow = (count: number): State => {
    let { state } = given();
    for (let place = 1; place <= count; place++) {
      const body = JSON.stringify({ input: place });
      for (const record of [{ ...input, body }, note]) {
        state = fold(state, readEvent({ ...record, seq: state.seq + 1 }, false), () => assert.fail());
      }
    }
    return state;
  };
  const [small, large] = [grow(100), grow(100_000)];
  assert.deepEqual(large.standing.inbox, { waiting: [[1, 100_000]], received: 100_000, fromSeq: 2 });
  assert.ok(snapshotText(large).length < snapshotText(small).length + 30);
  assert.ok(snapshotText(large).length < 3_000, `${snapshotText(large).length} bytes`);
});
