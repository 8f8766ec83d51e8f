/**
 * Logs of several segments, packed, erased, forked, deleted and swept at random, beside a memory store that
 * does the same. The seed is printed; SKEIN_PACK_SEED repeats a run, and SKEIN_PACK_ROUNDS makes it longer.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSessionId, type SessionId } from "../../../src/core/ids.ts";
import { draftOf } from "../../../src/store/conformance/conformance.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import type { Part, ReadRange, Store } from "../../../src/store/port.ts";
import { digest } from "../../core/digest.ts";
import { numbersFrom } from "../../flip/chance.ts";
import { madeWorld } from "../../runtime/made-world.ts";
import { newPath, workspace } from "../../runtime/place.ts";
import { freshSeed } from "../../crash/random.ts";

const rounds = Number(process.env["SKEIN_PACK_ROUNDS"] ?? 2);
const steps = 40;
const index = { status: "open", agent: null, name: null, objective: null, priority: 5, labels: {} } as const;
const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: count, random: Uint8Array.from({ length: 10 }, () => 7) });

type Next = (below: number) => number;

const drafts = (next: Next, count: number, from: number) =>
  Array.from({ length: count }, (_, place) => {
    const content = `${from + place} ${"so it goes ".repeat(next(700))}`;
    const key = next(3) === 0 ? { key: `${from + place}` } : {};
    return draftOf(
      { type: `x.t${next(3)}`, body: { place }, ...(next(4) > 0 ? { content } : {}), ...key },
      digest,
    );
  });

/** The same call on both; what comes of it must be the same. */
async function both<T>(stores: readonly Store[], call: (store: Store) => Promise<T>): Promise<T> {
  const [one, other] = await Promise.all(stores.map(call));
  assert.deepEqual(one, other);
  return one!;
}

interface Run {
  readonly stores: readonly [Store, Store];
  readonly next: Next;
  readonly sessions: SessionId[];
  made: number;
}

async function begin(run: Run, parent?: Part["parent"]): Promise<void> {
  const session = idOf(++run.made);
  const given = drafts(run.next, parent === undefined ? 300 : 60, run.made * 10_000);
  const part: Part = { session, expect: "absent", drafts: given, index, ...(parent && { parent }) };
  await both(run.stores, (store) => store.append([part]));
  run.sessions.push(session);
}

async function step(run: Run, place: number): Promise<void> {
  const { stores, next, sessions } = run;
  const session = sessions[next(sessions.length)]!;
  const head = (await stores[0].head(session))?.seq ?? 1;
  switch (next(9)) {
    case 0:
    case 1:
    case 2:
      return void (await Promise.all(stores.map((store) => store.pack(session, 1 + next(head * 2)))));
    case 3: {
      const from = 1 + next(head);
      const erase = [
        [from, Math.min(head, from + next(60))],
        [1 + next(head), head],
      ].slice(0, 1 + next(2));
      const ranges = erase.map(
        ([a = 1, b = 1]) => [Math.min(a, b), Math.min(Math.max(a, b), a + 80)] as const,
      );
      const part: Part = {
        session,
        expect: "exists",
        drafts: drafts(next, 1, place * 100_000),
        erase: ranges,
      };
      return void (await both(stores, (store) => store.append([part])));
    }
    case 4:
      return begin(run, { session, seq: 1 + next(head) });
    case 5:
      if (sessions.length < 3) return begin(run);
      sessions.splice(sessions.indexOf(session), 1);
      await both(stores, (store) => store.append([{ session, expect: "exists", drafts: [], drop: true }]));
      return both(stores, (store) => store.sweep());
    default: {
      const part: Part = {
        session,
        expect: "exists",
        drafts: drafts(next, 1 + next(80), place * 100_000 + 500),
      };
      return void (await both(stores, (store) => store.append([part])));
    }
  }
}

async function compare({ stores, sessions, next }: Run): Promise<void> {
  for (const session of sessions) {
    const head = await both(stores, (store) => store.head(session));
    const last = head?.seq ?? 1;
    const fromSeq = 1 + next(last);
    const range: ReadRange = {
      fromSeq,
      toSeq: fromSeq + next(400),
      limit: 1 + next(300),
      contents: next(2) === 0,
      reverse: next(2) === 0,
      ...(next(2) === 0 ? { types: ["x.t1"] } : {}),
    };
    await both(stores, (store) => store.read(session, range));
    await both(stores, (store) => store.read(session, { ...range, fromSeq: 1, toSeq: last, limit: 1_000 }));
    const key = draftOf({ key: `${10_000 + next(300)}` }, digest).key ?? "";
    await both(stores, (store) => store.keyed(session, key));
    const at = (head?.at ?? 0) - next(50);
    await both(stores, (store) => store.seqAt(session, at));
  }
  await both(stores, async (store) => {
    const { records, contentBytes, sessions: count } = await store.stats();
    return { records, contentBytes, count };
  });
}

async function feedOf(store: Store): Promise<string[]> {
  const found: string[] = [];
  for (let position: string | null = null; ;) {
    const page = await store.feed(position, 333);
    if (page.records.length === 0) return found;
    found.push(
      ...page.records.map(({ session, seq, hash, content }) => `${session} ${seq} ${hash} ${content}`),
    );
    ({ position } = page);
  }
}

test("long logs that are packed at random are as they are in memory", async (context) => {
  const seed = Number(process.env["SKEIN_PACK_SEED"] ?? freshSeed());
  context.diagnostic(`seed ${seed}`);
  for (let round = 0; round < rounds; round++) {
    const next = numbersFrom(seed + round);
    const world = madeWorld();
    const { path, remove } = newPath();
    const sqlite = await sqliteStore({ path, world, workspace, durability: "process" });
    const run: Run = { stores: [memoryStore({ world, workspace }), sqlite], next, sessions: [], made: 0 };
    await begin(run);
    await begin(run);
    try {
      for (let place = 1; place <= steps; place++) {
        world.pass(next(20));
        await step(run, place);
        if (place % 4 === 0) await compare(run);
      }
      await both(run.stores, feedOf);
      assert.deepEqual(await sqlite.check(), []);
      context.diagnostic(
        `${(await sqlite.stats()).segments} segments, ${(await sqlite.stats()).records} records`,
      );
    } catch (error) {
      context.diagnostic(`round ${round}: SKEIN_PACK_SEED=${seed + round}`);
      throw error;
    } finally {
      for (const store of run.stores) await store.close();
      remove();
    }
  }
});
