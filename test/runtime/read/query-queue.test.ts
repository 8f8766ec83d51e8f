/** Queries of one store: few at once, the others in order, and nobody keeps the others out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { makeQueryLine } from "../../../src/runtime/read/query-queue.ts";

/** Queries by name, which end when they are told to. */
function stand() {
  const line = makeQueryLine();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, actor: string, signal?: AbortSignal): Promise<string> =>
    line({ actor, signal }, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string, asked: Promise<string>): Promise<void> => {
    ends.get(name)?.();
    assert.equal(await asked, name);
  };
  return { ask, begun, end };
}

test("two queries run at once, the others wait in order, new callers first", async () => {
  const { ask, begun, end } = stand();
  const one = ["a1", "a2", "a3", "a4"].map((name) => ask(name, "a"));
  const other = ask("b1", "b");
  await Promise.resolve();
  assert.deepEqual(begun, ["a1", "a2"]);
  await end("a1", one[0]!);
  assert.deepEqual(begun, ["a1", "a2", "b1"]);
  await end("a2", one[1]!);
  await end("b1", other);
  assert.deepEqual(begun, ["a1", "a2", "b1", "a3", "a4"]);
  await end("a3", one[2]!);
  await end("a4", one[3]!);
  assert.equal(limit.queriesMax, 2);
});

test("a caller may queue a quarter of the limit, all callers the whole limit", async () => {
  const { ask } = stand();
  const quarter = limit.queriesWaitingMax / 4;
  const running = [ask("r1", "r"), ask("r2", "r")];
  const waiting: Promise<string>[] = [];
  for (const actor of ["a", "b", "c", "d"]) {
    for (let count = 0; count < quarter; count++) waiting.push(ask(`${actor}${count}`, actor));
    const message = new RegExp(`: ${quarter} of yours wait`);
    await assert.rejects(ask("more", actor), { code: "unavailable", message });
  }
  await assert.rejects(ask("more", "e"), { code: "unavailable", message: /32 in total/ });
  assert.deepEqual([running.length, waiting.length], [2, 32]);
});

test("a cancelled caller does not run, and blocks no other", async () => {
  const { ask, begun, end } = stand();
  const first = [ask("a1", "a"), ask("a2", "a")];
  const leaving = new AbortController();
  const gone = ask("b1", "b", leaving.signal);
  const last = ask("c1", "c");
  leaving.abort();
  await assert.rejects(gone, { code: "unavailable" });
  await assert.rejects(ask("b2", "b", leaving.signal), { code: "unavailable" });
  await end("a1", first[0]!);
  assert.deepEqual(begun, ["a1", "a2", "c1"]);
  await end("a2", first[1]!);
  await end("c1", last);
});
