/** What a log says was erased is erased, and nothing else, whenever the processes that did it were killed. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { flaw, genesisHash } from "../../src/core/chain.ts";
import { makeSessionId, type LogId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { digest } from "../core/digest.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { bytesOfStore, foundIn } from "../store/canary.ts";
import { startChild } from "./child.ts";
import { saidAt, type EraseOrder, type Range } from "./erase-writer.ts";
import { freshSeed, makeRandom } from "./random.ts";

const rounds = 4;

const idOf = (count: number) =>
  makeSessionId({ nowMs: count, random: Uint8Array.from({ length: 10 }, () => 7) });

const start = (order: EraseOrder) => {
  const command = [process.execPath, join(import.meta.dirname, "erase-writer.ts"), JSON.stringify(order)];
  return startChild(command, { cache: join(dirname(order.path), "cache") });
};

interface Audit {
  /** What was said and is there, and what was said and is not. */
  readonly kept: Set<string>;
  readonly gone: Set<string>;
}

/** Reads all logs, holds them to the chain, and to what they say was erased. */
async function audited(store: Store, sessions: readonly LogId[]): Promise<Audit> {
  const erased = new Set<string>();
  const there = new Map<string, boolean>();
  for (const session of sessions) {
    const owners: LogId[] = [];
    let before = genesisHash;
    for (let fromSeq = 1; ;) {
      const page = await store.read(session, { fromSeq, toSeq: 1e9, limit: 1_000, contents: true });
      if (page.length === 0) break;
      for (const record of page) {
        const bytes = record.content === null ? null : Buffer.byteLength(record.content);
        assert.equal(flaw(digest, before, record, bytes), null, `${session} at ${record.seq}`);
        assert.equal(record.seq, fromSeq++);
        before = record.hash;
        owners.push(record.session);
        const said = saidAt(record.session, record.seq);
        if (record.contentHash !== null) there.set(said, record.content !== null);
        if (record.type !== "x.erased") continue;
        const { ranges } = JSON.parse(record.body) as { ranges: readonly Range[] };
        for (const [from, to] of ranges) {
          for (let seq = from; seq <= to; seq++) erased.add(saidAt(owners[seq - 1] ?? "", seq));
        }
      }
    }
  }
  const [kept, gone] = [new Set<string>(), new Set<string>()];
  for (const [said, isThere] of there) {
    assert.equal(isThere, !erased.has(said), isThere ? "not erased as it says" : "gone without a word");
    (isThere ? kept : gone).add(said);
  }
  return { kept, gone };
}

test("after kills at any moment everything reported as erased is erased, and nothing else", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const random = makeRandom(seed);
  const { path, remove } = newPath();
  const orders = [
    { path, session: idOf(1), parent: null, seed: 0 },
    { path, session: idOf(2), parent: { session: idOf(1), seq: 1 }, seed: 0 },
  ];
  const counts = { kept: 0, gone: 0, unscrubbed: 0 };
  for (let round = 0; round < rounds; round++) {
    // The fork begins once there is something to fork from.
    const children = orders
      .slice(0, round === 0 ? 1 : 2)
      .map((order) => start({ ...order, seed: random.below(2 ** 32) }));
    for (const child of children) await child.ready;
    await sleep(random.below(400));
    for (const child of children) {
      assert.ok(child.process.kill("SIGKILL"), "it ended by itself");
      const { stderr, signal } = await child.ended;
      assert.equal(signal, "SIGKILL", stderr);
      await sleep(random.below(60));
    }
    const store = await sqliteStore({ path, world: realWorld(), workspace, durability: "process" });
    const { rows: sessions } = await store.logs(null, 10);
    const { kept, gone } = await audited(store, sessions);
    counts.unscrubbed += Number((await store.stats()).unscrubbed);
    await store.scrub();
    assert.equal((await store.stats()).unscrubbed, false);
    assert.deepEqual(await audited(store, sessions), { kept, gone });
    assert.deepEqual(await store.check(), []);
    await store.close();
    const bytes = bytesOfStore(path);
    assert.deepEqual(foundIn(bytes, [...gone]), []);
    assert.equal(foundIn(bytes, [...kept]).length, kept.size);
    [counts.kept, counts.gone] = [kept.size, gone.size];
    if (round === 0) orders[1]!.parent = { session: idOf(1), seq: Math.min(20, kept.size + gone.size) };
  }
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.gone > 50 && counts.kept > 50 && counts.unscrubbed > 0, JSON.stringify(counts));
  remove();
});
