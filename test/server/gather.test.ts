/** Changes that come in together go on together, and nobody waits for long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeGather } from "../../src/server/http/batch.ts";

/** Turns of an event loop that are taken one by one. */
function turns() {
  let next: (() => void)[] = [];
  return {
    defer: (work: () => void): void => void next.push(work),
    async take(): Promise<void> {
      const now = next;
      next = [];
      for (const work of now) work();
      await Promise.resolve();
    },
  };
}

test("one that is alone waits for a single turn", async () => {
  const { defer, take } = turns();
  const gone: string[] = [];
  void makeGather(defer)
    .join()
    .then(() => gone.push("a"));
  assert.deepEqual(gone, []);
  await take();
  assert.deepEqual(gone, ["a"]);
});

test("while each turn brings another they wait, and the first that brings none lets all go", async () => {
  const { defer, take } = turns();
  const { join } = makeGather(defer);
  const gone: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    void join().then(() => gone.push(turn));
    if (turn > 0) await take();
    assert.deepEqual(gone, []);
  }
  await take();
  assert.deepEqual(gone, [0, 1, 2, 3]);
});

test("with any number of calls, none waits for more than sixteen turns", async () => {
  const { defer, take } = turns();
  const { join } = makeGather(defer);
  let first = 0;
  void join().then(() => (first = -first));
  for (let turn = 1; turn <= 16; turn++) {
    first = turn;
    void join();
    await take();
  }
  assert.equal(first, -16);
});
