/** What a caller gives that cannot be right is told to be so, and never that the server or its store is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../src/protocol/problem.ts";
import { served } from "./served.ts";

test("a damaged bundle is invalid input, wherever the damage is, and the error names it", async () => {
  await using from = await served();
  await using to = await served();
  const session = await from.engine.open({ objective: "Travel" });
  await session.record("fact", "k", "v".repeat(1_000));
  const bytes = Buffer.concat(await Array.fromAsync(from.engine.export(session.id)));
  const refuse = async (given: Uint8Array, what: string): Promise<void> => {
    const { status, body } = await to.call("engine.import", { bytes: given });
    const { code, detail } = body as Problem;
    assert.deepEqual([status, code], [400, "invalid"], `${what}: ${detail}`);
  };
  for (let length = 1; length < bytes.length; length += 37) {
    await refuse(bytes.subarray(0, length), `cut at ${length}`);
  }
  // Behind the first line, whose number would be that of a later version.
  for (let place = 15; place < bytes.length; place += 29) {
    const flipped = Buffer.from(bytes);
    flipped[place] = (flipped[place] ?? 0) ^ 1;
    await refuse(flipped, `byte ${place}`);
  }
  const { body } = await to.call("engine.import", { bytes: bytes.subarray(0, -1) });
  assert.match((body as Problem).detail, /^the bundle is damaged: the file is truncated$/);
  assert.deepEqual(to.troubles, []);
  assert.equal((await to.call("engine.import", { bytes })).status, 200);
});

test("tickets that wait for one another, or for none that is there, are refused", async () => {
  await using place = await served();
  const ask = async (...after: readonly (readonly string[])[]) => {
    const ids = ["a", "b"];
    const tickets = after.map((ones, at) => ({ id: ids[at], title: "t", text: "x", after: ones, line: 1 }));
    const params = { plan: { name: "p", tickets } };
    const { status, body } = await place.call("engine.tickets", { params });
    const run = await place.call("engine.runTickets", { params });
    assert.deepEqual([run.status, run.body], [status, body]);
    return `${status} ${(body as Problem).detail}`;
  };
  assert.match(await ask(["a"]), /^400 the plan:1: after: circular dependency: a after a$/);
  assert.match(await ask(["b"], ["a"]), /^400 the plan:1: after: circular dependency: a after b after a$/);
  assert.match(await ask(["c"]), /^400 the plan:1: after: ticket "a" names an unknown ticket "c"$/);
  assert.deepEqual(place.troubles, []);
});
