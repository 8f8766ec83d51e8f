/** Generated histories in real stores: slices, states at any position, forks, and contents that are gone. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { snapshotForm, snapshotText } from "../../../src/core/state.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { EventsOptions } from "../../../src/runtime/read/event-reader.ts";
import { histories } from "../../core/history.ts";
import { keep } from "../kept-history.ts";
import { madeWorld, startOfTime } from "../made-world.ts";
import { all, inFile, inMemory, type Place } from "../place.ts";

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

/** The life has records one millisecond apart; a little time before and after is asked for, too. */
const moment = fc.integer({ min: startOfTime - 2, max: startOfTime + 70 });
const slice: fc.Arbitrary<EventsOptions> = fc.record(
  {
    fromSeq: fc.integer({ min: 1, max: 70 }),
    toSeq: fc.integer({ min: 1, max: 70 }),
    since: fc.oneof(
      moment,
      moment.map((ms) => new Date(ms)),
    ),
    until: moment,
    types: fc.subarray([
      "x.rested",
      "item.recorded",
      "input.received",
      "turn.started",
      "session.opened",
      "no.such",
    ]),
    reverse: fc.boolean(),
    limit: fc.integer({ min: 0, max: 20 }),
  },
  { requiredKeys: [] },
);

for (const [name, make] of Object.entries(makers)) {
  test(`slices are the filtered whole (${name})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        histories(60),
        fc.array(slice, { minLength: 10, maxLength: 10 }),
        async (life, slices) => {
          await using place = await make();
          const session = await place.engine.session(await keep(place.store, place.world, life));
          const whole = await all(session.events());
          assert.deepEqual(
            whole.map(({ hash }) => hash),
            life.records.map(({ hash }) => hash),
          );
          for (const options of slices) {
            const {
              fromSeq = 1,
              toSeq = Infinity,
              since = 0,
              until = Infinity,
              types,
              reverse,
              limit,
            } = options;
            const wanted = whole
              .filter(({ seq }) => fromSeq <= seq && seq <= toSeq)
              .filter(({ at }) => Number(since) <= at && at < Number(until))
              .filter(({ type }) => types?.includes(type) ?? true);
            const expected = (reverse === true ? wanted.toReversed() : wanted).slice(0, limit);
            assert.deepEqual(await all(session.events(options)), expected, JSON.stringify(options));
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test(`the state at any position is the fold from the start, snapshots or not (${name})`, async () => {
    await fc.assert(
      fc.asyncProperty(histories(60), fc.array(fc.nat(1_000), { maxLength: 6 }), async (life, places) => {
        await using place = await make();
        const id = await keep(place.store, place.world, life);
        const check = async (session: Session): Promise<void> => {
          for (const [seq, state] of life.states.entries()) {
            if (seq > 0) assert.equal(snapshotText(await session.fold({ atSeq: seq })), snapshotText(state));
          }
        };
        await check(await place.engine.session(id));
        await place.store.clearDerived();
        for (const pick of places) {
          const state = life.states[1 + (pick % life.records.length)]!;
          await place.store.putSnapshot(id, {
            seq: state.seq,
            form: snapshotForm,
            text: snapshotText(state),
          });
        }
        await check(await new Engine({ store: place.store, world: place.world }).session(id));
        const report = await (await place.engine.session(id)).verify();
        assert.deepEqual([report.ok, report.records], [true, life.records.length]);
      }),
      { numRuns: 15 },
    );
  });
}

test("with all contents erased a session opens, folds alike, verifies, and costs the same", async () => {
  await fc.assert(
    fc.asyncProperty(histories(60), async (life) => {
      await using place = await inFile();
      const id = await keep(place.store, place.world, life);
      await place.engine.close();
      const raw = new DatabaseSync(place.path);
      raw.exec("UPDATE records SET content = NULL, salt = NULL");
      raw.close();
      const { engine } = await place.again(madeWorld());
      const session = await engine.session(id);
      for (const [seq, state] of life.states.entries()) {
        if (seq > 0) assert.equal(snapshotText(await session.fold({ atSeq: seq })), snapshotText(state));
      }
      const report = await session.verify();
      const had = life.records.filter(({ contentHash }) => contentHash !== null).length;
      // They are taken away by hand, so nothing says so; nothing else is wrong.
      const wrong = report.problems.filter(
        ({ problem }) => !problem.includes("nothing says that it was erased"),
      );
      assert.deepEqual([wrong, report.contents, report.erased], [[], 0, had]);
      const view = await session.state();
      assert.deepEqual(view.budget.used, life.states.at(-1)!.standing.used);
      assert.ok(view.items.every(({ erased, value }) => erased && value === null));
      const events = await all(session.events());
      assert.deepEqual(
        events.map(({ erased }) => erased),
        life.records.map(({ contentHash }) => contentHash !== null),
      );
      const over = ["archived", "moved"].includes(view.status);
      if (!over) assert.equal((await session.label({ still: "alive" })).seq, life.records.length + 1);
      await engine.close();
    }),
    { numRuns: 12 },
  );
});
