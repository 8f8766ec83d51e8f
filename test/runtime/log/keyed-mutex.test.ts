/** Waiting lines: the order of what is done about the same things, whatever else goes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeKeyedMutex } from "../../../src/runtime/log/keyed-mutex.ts";

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test("work on the same keys runs one after the other, in the order of the calls", async () => {
  const asked = fc.record({
    things: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 3 }),
    turns: fc.nat(3),
    isFailing: fc.boolean(),
    /** Turns from the one before it. */
    later: fc.nat(2),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(asked, { maxLength: 20 }), async (list) => {
      const inLine = makeKeyedMutex();
      const under = new Set<string>();
      const done = new Map<"a" | "b" | "c" | "d", number[]>();
      const all: Promise<unknown>[] = [];
      for (const [number, { things, turns, isFailing, later }] of list.entries()) {
        for (let wait = 0; wait < later; wait++) await turn();
        const work = async (): Promise<number> => {
          for (const thing of things) {
            assert.ok(!under.has(thing), `two at once about ${thing}`);
            under.add(thing);
          }
          for (let wait = 0; wait < turns; wait++) await turn();
          for (const thing of things) {
            under.delete(thing);
            done.set(thing, [...(done.get(thing) ?? []), number]);
          }
          if (isFailing) throw new Error("as it should");
          return number;
        };
        all.push(inLine(things, work).catch((error: Error) => error.message));
      }
      const answers = await Promise.all(all);
      assert.deepEqual(
        answers,
        list.map(({ isFailing }, number) => (isFailing ? "as it should" : number)),
      );
      for (const [thing, numbers] of done) {
        const expected = list.flatMap(({ things }, number) => (things.includes(thing) ? [number] : []));
        assert.deepEqual(numbers, expected);
      }
    }),
    { numRuns: 300 },
  );
});

test("thousands of things leave no trace, and those that are waited for keep their order", async () => {
  const inLine = makeKeyedMutex();
  const order: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = inLine(["held", "other"], async () => {
    await promise;
    order.push("first");
  });
  for (let thing = 0; thing < 5_000; thing++) await inLine([`thing ${thing}`], async () => undefined);
  const second = inLine([`thing 1`, "held"], async () => void order.push("second"));
  await turn();
  assert.deepEqual(order, []);
  resolve();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "second"]);
});

test("work that asks for thousands of other things keeps its own place", async () => {
  const inLine = makeKeyedMutex();
  const order: string[] = [];
  const first = inLine(["held"], async () => {
    order.push("begins");
    await Promise.all(Array.from({ length: 3_000 }, (_, n) => inLine([`${n}`], async () => undefined)));
    await turn();
    order.push("ends");
  });
  const second = inLine(["held"], async () => void order.push("after"));
  await Promise.all([first, second]);
  assert.deepEqual(order, ["begins", "ends", "after"]);
});
