/** Reading while somebody draws a slider: never more than one request, and the last place is always shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { latestReader } from "../../src/console/view/time/latest.ts";

/** A server that answers when it is told to. */
function slowServer() {
  const asked: number[] = [];
  const waiting: { readonly place: number; readonly done: (fails: boolean) => void }[] = [];
  let most = 0;
  return {
    asked,
    most: () => most,
    load: (place: number) =>
      new Promise<string>((resolve, reject) => {
        asked.push(place);
        waiting.push({
          place,
          done: (fails) => (fails ? reject(new Error(`no ${place}`)) : resolve(`state ${place}`)),
        });
        most = Math.max(most, waiting.length);
      }),
    async answer(fails = false): Promise<void> {
      waiting.shift()?.done(fails);
      await new Promise((resolve) => setImmediate(resolve));
    },
    isIdle: () => waiting.length === 0,
  };
}

const never = (): never => assert.fail("it was not to be told");

test("positions that were left before their request are never requested", async () => {
  const server = slowServer();
  const told: string[] = [];
  const reader = latestReader({ load: server.load, tell: (_, value) => told.push(value), fail: never });
  for (const place of [1, 2, 3, 4]) reader.ask(place);
  await server.answer();
  await server.answer();
  assert.deepEqual(server.asked, [1, 4]);
  assert.deepEqual(told, ["state 1", "state 4"]);
  assert.ok(server.isIdle());
});

test("going back to a place that was read shows it at once", async () => {
  const server = slowServer();
  const told: string[] = [];
  const reader = latestReader({ load: server.load, tell: (_, value) => told.push(value), fail: never });
  reader.ask(1);
  await server.answer();
  reader.ask(2);
  reader.ask(1);
  assert.deepEqual(told, ["state 1", "state 1"]);
  await server.answer();
  assert.equal(told.at(-1), "state 1");
});

test("the last result shown is always the last one requested", async () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant("answer" as const)), {
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const server = slowServer();
      let shown: number | null = null;
      const reader = latestReader({
        load: server.load,
        tell: (place) => (shown = place),
        fail: never,
      });
      let last: number | null = null;
      for (const step of script) {
        if (step === "answer") await server.answer();
        else reader.ask((last = step));
      }
      for (let round = 0; round < 3; round++) await server.answer();
      assert.equal(shown, last);
      assert.ok(server.most() <= 1);
    }),
    { numRuns: 200 },
  );
});

test("a failure shows if nothing newer was requested, and the next position is read", async () => {
  const server = slowServer();
  const failed: unknown[] = [];
  const told: number[] = [];
  const reader = latestReader({
    load: server.load,
    tell: (place) => told.push(place),
    fail: (error) => failed.push((error as Error).message),
  });
  reader.ask(1);
  reader.ask(2);
  await server.answer(true);
  await server.answer();
  reader.ask(3);
  await server.answer(true);
  assert.deepEqual([told, failed], [[2], ["no 3"]]);
});

test("after the end nothing is reported, and nothing is cached", async () => {
  const server = slowServer();
  const reader = latestReader({ load: server.load, tell: never, fail: never });
  reader.ask(1);
  reader.stop();
  await server.answer();
  assert.equal(reader.known(1), undefined);
});
