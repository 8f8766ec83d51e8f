/** A scrub that is killed while another process writes the file anew is still due, and done by the next. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { makeSessionId } from "../../src/core/ids.ts";
import { realWorld, type World } from "../../src/runtime/world.ts";
import { draftOf } from "../../src/store/conformance/conformance.ts";
import type { IndexEntry, Store } from "../../src/store/port.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { digest } from "../core/digest.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { bytesOfStore, canaryOf, foundIn } from "../store/canary.ts";
import { startChild } from "./child.ts";
import { freshSeed, makeRandom } from "./random.ts";
import { begun } from "./scrub-writer.ts";

const session = makeSessionId({ nowMs: 1, random: new Uint8Array(10) });
const index: IndexEntry = {
  status: "open",
  agent: null,
  name: null,
  objective: null,
  priority: 5,
  labels: {},
};
const filler = "lorem ipsum dolor sit amet consectetur ".repeat(150);
const appends = 12;
const each = 200;

const opens = (path: string, world: World = realWorld()): Promise<Store> =>
  sqliteStore({ path, world, workspace, durability: "process" });

/** A store that is too large to be written anew in the process itself, with some of it erased. */
async function erasedStore(path: string, seed: number) {
  const random = makeRandom(seed);
  const store = await opens(path);
  const canaries: string[] = [];
  for (let count = 0; count < appends; count++) {
    const drafts = Array.from({ length: each }, () => {
      canaries.push(canaryOf(random));
      return draftOf({ content: `${canaries.at(-1)} ${filler.slice(0, random.below(6_000))}` }, digest);
    });
    await store.append([
      { session, expect: { seq: count * each }, drafts, ...(count === 0 ? { index } : {}) },
    ]);
  }
  const drafts = [draftOf({ type: "x.erased" }, digest)];
  await store.append([{ session, expect: "exists", drafts, erase: [[100, 500]] }]);
  const isGone = (_: string, place: number): boolean => place >= 99 && place < 500;
  return {
    store,
    gone: canaries.filter(isGone),
    kept: canaries.filter((one, place) => !isGone(one, place)),
  };
}

test("a scrub that is killed is still due, and done by the next opener", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const random = makeRandom(seed);
  const { path, remove } = newPath();
  const { store, gone, kept } = await erasedStore(path, seed);
  await store.close();
  for (let round = 0; round < 2; round++) {
    const command = [process.execPath, join(import.meta.dirname, "scrub-writer.ts"), path];
    const child = startChild(command, { cache: join(dirname(path), "cache") });
    await child.ready;
    assert.deepEqual(child.lines, [begun]);
    // The process that writes the file needs longer to start than this; it may go on by itself.
    await sleep(random.below(30));
    assert.ok(child.process.kill("SIGKILL"), "it ended by itself");
    await child.ended;
    const next = await opens(path);
    assert.equal((await next.stats()).unscrubbed, true);
    await next.close();
  }
  const next = await opens(path);
  await next.scrub();
  assert.equal((await next.stats()).unscrubbed, false);
  assert.deepEqual(await next.check(), []);
  await next.close();
  const bytes = bytesOfStore(path);
  assert.deepEqual(foundIn(bytes, gone), []);
  assert.equal(foundIn(bytes, kept).length, kept.length);
  remove();
});

test("a scrub whose other process is killed is still due, and appends wait for it", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const { path, remove } = newPath();
  const { store: first, gone } = await erasedStore(path, seed);
  await first.close();
  const world = realWorld();
  let killed = 0;
  const apart: World["apart"] = (file, message, signal) => {
    const ending = new AbortController();
    void sleep(60).then(() => ending.abort());
    killed += 1;
    return world.apart?.(file, message, AbortSignal.any([signal, ending.signal])) ?? Promise.resolve(null);
  };
  const store = await opens(path, { ...world, apart });
  const scrubbed = store.scrub();
  const written = store.append([{ session, expect: "exists", drafts: [draftOf({}, digest)] }]);
  await assert.rejects(scrubbed, { code: "unavailable", message: /interrupted/ });
  assert.equal((await written).kind, "ok");
  assert.equal(killed, 1);
  assert.equal((await store.stats()).unscrubbed, true);
  await store.close();
  const next = await opens(path);
  const headSeq = appends * each + 2;
  const scrubbing = next.scrub();
  const later = await next.append([{ session, expect: { seq: headSeq }, drafts: [draftOf({}, digest)] }]);
  assert.equal(later.kind, "ok");
  await scrubbing;
  assert.equal((await next.stats()).unscrubbed, false);
  assert.deepEqual(foundIn(bytesOfStore(path), gone), []);
  await next.close();
  remove();
});
