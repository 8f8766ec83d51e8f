/** Packing in one process, and what others know of it: heads, keys, steps that come too late or fail. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { makeSessionId } from "../../../src/core/ids.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { draftOf } from "../../../src/store/conformance/conformance.ts";
import { faultyStore } from "../faulty.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import type { Part, Store } from "../../../src/store/port.ts";
import { digest } from "../../core/digest.ts";
import { newPath, workspace } from "../../runtime/place.ts";
import { beforeEachRun } from "./statement.ts";

const session = makeSessionId({ nowMs: 1, random: Uint8Array.from({ length: 10 }, () => 7) });
const index = { status: "open", agent: null, name: null, objective: null, priority: 5, labels: {} } as const;
const everything = Number.MAX_SAFE_INTEGER;

const drafts = (count: number, word: string) =>
  Array.from({ length: count }, (_, place) =>
    draftOf({ body: { place }, content: `${word} ${place}`, key: `${word} ${place}` }, digest),
  );

async function withTwo(work: (one: Store, two: Store, path: string) => Promise<void>): Promise<void> {
  const { path, remove } = newPath();
  const start = () => sqliteStore({ path, world: realWorld(), workspace, durability: "process" });
  const [one, two] = [await start(), await start()];
  try {
    await one.append([{ session, expect: "absent", drafts: drafts(10, "first"), index }]);
    await work(one, two, path);
  } finally {
    await one.close();
    await two.close();
    remove();
  }
}

const seqsIn = async (store: Store): Promise<number[]> => {
  const range = { fromSeq: 1, toSeq: everything, limit: 1_000, contents: false };
  return (await store.read(session, range)).map(({ seq }) => seq);
};
const upTo = (count: number): number[] => Array.from({ length: count }, (_, place) => place + 1);

test("an append with an outdated head is refused after records were packed", async () => {
  await withTwo(async (one, two) => {
    // The first append of each teaches it the head; the next would be a single statement.
    await one.append([{ session, expect: { seq: 10 }, drafts: drafts(1, "one") }]);
    await two.append([{ session, expect: { seq: 11 }, drafts: drafts(9, "two") }]);
    assert.equal((await two.pack(session, everything)).records, 19);
    const late: Part = { session, expect: { seq: 11 }, drafts: [draftOf({ body: {} }, digest)] };
    assert.deepEqual(await one.append([late]), { kind: "conflict", session, headSeq: 20 });
    assert.deepEqual(await seqsIn(one), upTo(20));
    assert.deepEqual(await one.check(), []);
  });
});

test("a key that another process packed meanwhile is still a duplicate", async () => {
  await withTwo(async (one, two) => {
    await one.append([{ session, expect: { seq: 10 }, drafts: drafts(2, "one") }]);
    await two.pack(session, everything);
    const [again] = drafts(1, "first");
    assert.ok(again);
    assert.deepEqual(await one.append([{ session, expect: { seq: 12 }, drafts: [again] }]), {
      kind: "duplicate",
      session,
      key: again.key,
      seq: 1,
    });
    assert.equal(await one.keyed(session, again.key ?? ""), 1);
  });
});

test("two processes that pack and append in turn keep one log", async () => {
  await withTwo(async (one, two) => {
    for (let round = 0; round < 12; round++) {
      const store = round % 2 === 0 ? one : two;
      const packing = Promise.all([one.pack(session, everything), two.pack(session, everything)]);
      const outcome = await store.append([
        { session, expect: "exists", drafts: drafts(5, `round ${round}`) },
      ]);
      assert.equal(outcome.kind, "ok");
      await packing;
      assert.deepEqual(await seqsIn(one), await seqsIn(two));
    }
    assert.deepEqual(await seqsIn(two), upTo(70));
    assert.equal((await one.stats()).segments, 1, "small segments were not joined");
    assert.deepEqual(await one.check(), []);
  });
});

test("packing that is not done leaves everything as it was, and is done the next time", async () => {
  await withTwo(async (one) => {
    const faulty = faultyStore(one, {
      plan: ({ op, count }) => (op === "pack" && count === 1 ? "unavailable" : "pass"),
    });
    await assert.rejects(faulty.pack(session, everything), { code: "unavailable" });
    assert.equal(await one.packedTo(session), 0);
    assert.equal((await faulty.pack(session, everything)).records, 9);
    assert.deepEqual(await seqsIn(one), upTo(10));
  });
});

test("what fails within a step is undone with it, and nothing is packed by half", async () => {
  await withTwo(async (one, _, path) => {
    for (const part of ["INSERT INTO segments", "INSERT INTO packed_keys", "DELETE FROM records"]) {
      const undo = beforeEachRun((sql) => {
        if (sql.trimStart().startsWith(part)) throw new Error(`no ${part} today`);
      });
      try {
        await assert.rejects(one.pack(session, everything), { message: `no ${part} today` });
      } finally {
        undo();
      }
      assert.deepEqual(await seqsIn(one), upTo(10));
      const raw = new DatabaseSync(path, { readOnly: true });
      for (const table of ["segments", "packed_places", "packed_keys"]) {
        assert.deepEqual({ ...raw.prepare(`SELECT count(*) AS count FROM ${table}`).get() }, { count: 0 });
      }
      raw.close();
    }
    assert.equal((await one.pack(session, everything)).records, 9);
    assert.deepEqual(await one.check(), []);
  });
});
