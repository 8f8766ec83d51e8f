/** Messages of a sender whose store was restored from a backup: numbers come twice, messages do not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { fallible, type Fallible } from "../fallible.ts";
import { all } from "../place.ts";
import { twoInMemory } from "../two-stores.ts";

const world = realWorld();
const receiverPlace = "mem://receiver";

interface Pair extends AsyncDisposable {
  readonly sender: Fallible;
  /** A new engine on the sender's store, as after a restart. */
  restarted(): Engine;
  readonly receiver: Engine;
  isAway: boolean;
}

async function pair(): Promise<Pair> {
  const sender = await fallible(world);
  const homes = twoInMemory();
  const { store } = homes.b;
  const own = {
    sender,
    receiver: homes.b.engine,
    isAway: false,
    restarted: () =>
      new Engine({
        store: sender.store,
        world,
        place: "mem://sender",
        openStore: async () => {
          if (own.isAway) throw new SkeinError("unavailable", "out of reach");
          return { ...store, close: async () => undefined };
        },
      }),
    async [Symbol.asyncDispose]() {
      await homes[Symbol.asyncDispose]();
      await sender[Symbol.asyncDispose]();
    },
  };
  return own;
}

async function received(engine: Engine, id: string): Promise<readonly (readonly [number, string])[]> {
  const events = await all((await engine.session(id)).events({ types: ["message.received"] }));
  return events.map(({ body, content }) => {
    const text = (content as { blocks: { text: string }[] }).blocks[0]?.text ?? "";
    return [(body as { number: number }).number, text];
  });
}

test("a message whose number was used before the restore is received", async () => {
  await using place = await pair();
  const to = await place.receiver.open({ objective: "receives" });
  const from = await place.restarted().open({ objective: "sends" });
  const send = { at: receiverPlace };
  await from.send(to.id, "one", send);
  await place.sender.save();
  await from.send(to.id, "two", send);
  await from.send(to.id, "three", send);
  await place.sender.fallBack();
  const restored = await place.restarted().session(from.id);
  assert.equal((await restored.send(to.id, "after the restore", send)).delivered, true);
  assert.equal((await restored.send(to.id, "and another", send)).delivered, true);
  assert.deepEqual(await received(place.receiver, to.id), [
    [1, "one"],
    [2, "two"],
    [3, "three"],
    [4, "after the restore"],
    [5, "and another"],
  ]);
});

test("messages that had arrived since the backup are not received twice", async () => {
  await using place = await pair();
  const to = await place.receiver.open({ objective: "receives" });
  const from = await place.restarted().open({ objective: "sends" });
  const send = { at: receiverPlace };
  place.isAway = true;
  for (const text of ["one", "two"]) await from.send(to.id, text, send);
  await place.sender.save();
  place.isAway = false;
  assert.equal((await from.send(to.id, "three", send)).delivered, true);
  await place.sender.fallBack();
  place.isAway = true;
  const engine = place.restarted();
  const restored = await engine.session(from.id);
  assert.equal((await restored.send(to.id, "after the restore", send)).delivered, false);
  place.isAway = false;
  const { delivered, refused, waiting } = await engine.deliver();
  assert.deepEqual({ delivered, refused, waiting }, { delivered: 3, refused: 0, waiting: [] });
  const texts = (await received(place.receiver, to.id)).map(([, text]) => text);
  assert.deepEqual(texts, ["one", "two", "three", "after the restore"]);
});
