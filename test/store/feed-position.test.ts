/** Positions of the feed across a rollback of the store: how far back reading starts again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { fallible } from "../runtime/fallible.ts";

const world = realWorld();

async function write(session: Session, count: number, text: string): Promise<void> {
  for (let done = 0; done < count; done += 100) {
    const records = Array.from({ length: 100 }, (_, place) => ({
      type: "x.note" as const,
      content: { text: `${text} ${done + place}` },
    }));
    await session.append(records);
  }
}

/** All that comes after a position, and where it was gone on from if not there. */
async function readOn(store: Store, after: string | null) {
  const hashes: string[] = [];
  let rolledBackTo: string | null | undefined;
  for (let position = after; ;) {
    const page: Awaited<ReturnType<Store["feed"]>> = await store.feed(position, 300);
    if (page.rolledBackTo !== undefined) ({ rolledBackTo } = page);
    if (page.records.length === 0) return { hashes, rolledBackTo, position: page.position };
    hashes.push(...page.records.map(({ hash }) => hash));
    ({ position } = page);
  }
}

test("reading starts again at most 2,000 records before the lost tail, and leaves nothing out", async () => {
  await using place = await fallible(world);
  const { store } = place;
  const session = await new Engine({ store, world }).open({ objective: "Long" });
  await write(session, 5_000, "kept");
  const kept = await readOn(store, null);
  await place.save();
  await write(session, 300, "lost");
  const lost = await readOn(store, kept.position);
  const end = await store.feedEnd();
  await place.fallBack();
  const other = await new Engine({ store, world }).open({ objective: "New" });
  // Past the number that was given out.
  await write(other, 600, "new");
  const all = (await readOn(store, null)).hashes;
  for (const after of [lost.position, end]) {
    const { hashes, rolledBackTo } = await readOn(store, after);
    assert.equal(typeof rolledBackTo, "string");
    assert.deepEqual(hashes, all.slice(all.length - hashes.length));
    const again = hashes.length - 601;
    assert.ok(again >= 0 && again <= 2_000, `${again} were read again`);
  }
  // What both histories have is gone on from as if nothing had happened.
  const { hashes, rolledBackTo } = await readOn(store, kept.position);
  assert.deepEqual([hashes.length, rolledBackTo], [601, undefined]);
});

test("a position of 0.4 can be resumed from, and one past the end is reported", async () => {
  await using place = await fallible(world);
  const { store } = place;
  const session = await new Engine({ store, world }).open({ objective: "Old" });
  await write(session, 200, "kept");
  assert.equal((await readOn(store, "100")).hashes.length, 101);
  assert.deepEqual((await readOn(store, "900")).rolledBackTo, null);
  await assert.rejects(store.feed("9!short", 1), { code: "invalid" });
});

test("the deletion of a session is not taken for a rollback", async () => {
  await using place = await fallible(world);
  const { store } = place;
  const engine = new Engine({ store, world });
  const [kept, gone] = [await engine.open({ objective: "Kept" }), await engine.open({ objective: "Gone" })];
  await write(kept, 1_200, "kept");
  await write(gone, 100, "gone");
  const { position } = await readOn(store, null);
  await gone.close();
  await engine.delete(gone.id);
  await store.sweep();
  const { hashes, rolledBackTo } = await readOn(store, position);
  assert.equal(rolledBackTo, undefined);
  const all = (await readOn(store, null)).hashes;
  assert.deepEqual(hashes, all.slice(all.length - hashes.length));
});
