/** Reading contexts from a store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SessionId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { readContext } from "../../../src/runtime/context/context-reader.ts";
import { makeStateReader } from "../../../src/runtime/read/state-reader.ts";
import { cases, kind } from "../../kind.ts";
import type { Store } from "../../../src/store/port.ts";
import type { History } from "../../core/history.ts";
import { append, live, moves, now, type Life } from "../../core/context/life.ts";
import { workspaceId } from "../../core/given.ts";
import { samples } from "../../core/samples.ts";
import { keep } from "../kept-history.ts";
import { madeWorld } from "../made-world.ts";
import { makeEventCache, type ContextWorld } from "../../../src/runtime/read/event-cache.ts";

const limits: Record<string, number> = limit;

/** The life in a store of its own, with a reader that has never seen it. */
async function kept(life: Life): Promise<{ context: ContextWorld; session: SessionId; store: Store }> {
  const world = madeWorld();
  const store = kind().store({ world, workspace: workspaceId });
  const session = await keep(store, world, life as unknown as History);
  return { context: { store, states: makeStateReader(store), world }, session, store };
}

test("every process that opens a store rebuilds every context, over forks and rewinds", async () => {
  await fc.assert(
    fc.asyncProperty(moves(50, ["erase"]), async (given) => {
      const life = await live(given);
      const { context, session, store } = await kept(life);
      const cached = { ...context, cache: makeEventCache() };
      for (const { seq, parts } of life.requests) {
        for (const one of [context, cached]) {
          const read = await readContext(one, session, { atSeq: seq });
          assert.deepEqual([read.matches, read.parts], [true, parts], `at ${seq}`);
        }
      }
      await store.close();
    }),
    cases(60),
  );
});

test("what would be sent next holds the input that waits; in a turn, only what steers it", async () => {
  const life = await live([]);
  const said = (text: string) => ({ blocks: [{ type: "text" as const, text }] });
  append(life, { type: "input.received", body: { input: 1 }, content: said("First.") });
  append(life, { type: "turn.started", body: { inputs: [[3, 1]] } });
  append(life, { type: "input.received", body: { input: 2 }, content: said("For later.") });
  append(life, { type: "input.received", body: { input: 3, mode: "steer" }, content: said("Now!") });
  append(life, { type: "turn.ended", ...samples["turn.ended"] });
  const { context, session, store } = await kept(life);
  const heard = async (atSeq: number): Promise<unknown> => {
    const { parts, requestSeq, matches } = await readContext(context, session, { atSeq });
    assert.deepEqual([requestSeq, matches], [null, null]);
    const last = parts.at(-1);
    return last?.part === "message" && last.content.map((block) => (block.type === "text" ? block.text : ""));
  };
  assert.deepEqual(await heard(3), ["First."]);
  assert.deepEqual(await heard(6), ["First.", "Now!"]);
  assert.deepEqual(await heard(7), ["First.", "For later.", "Now!"]);
  await store.close();
});

test("shown parts count by what they show, and parts that are only sent do not count", async (t) => {
  const life = await live([]);
  const said = (length: number) => ({ blocks: [{ type: "text" as const, text: "y".repeat(length) }] });
  append(life, { type: "input.received", body: { input: 1 }, content: said(6_000) });
  append(life, { type: "turn.started", body: { inputs: [[3, 1]] } });
  append(life, { type: "input.received", body: { input: 2 }, content: said(6_000) });
  append(life, { type: "turn.ended", ...samples["turn.ended"] });
  const { context, session, store } = await kept(life);
  t.mock.property(limits, "wholeBytesMax", 10_000);
  for (const one of [context, { ...context, cache: makeEventCache() }]) {
    // In the turn the second one waits: it is read, and not shown.
    await readContext(one, session, { atSeq: 5, whole: true });
    await assert.rejects(readContext(one, session, { atSeq: 6, whole: true }), { code: "refused" });
    assert.match(JSON.stringify((await readContext(one, session, { atSeq: 6 })).parts), /y{6000}.*y{6000}/);
  }
  await store.close();
});

test("a context that erasure has changed says that it no longer matches", async () => {
  const request = { kind: "request", pick: 0, also: 1, flag: false } as const;
  const life = await live([{ ...request, kind: "begin" }, request]);
  const { context, session, store } = await kept(life);
  const [{ seq } = { seq: 0 }] = life.requests;
  assert.equal((await readContext(context, session, { atSeq: seq })).matches, true);
  const read: Store["read"] = async (log, range) =>
    (await store.read(log, range)).map((one) =>
      one.seq === 1 ? { ...one, content: null, salt: null } : one,
    );
  const after = await readContext({ ...context, store: { ...store, read } }, session, { atSeq: seq });
  assert.deepEqual([after.matches, after.requestSeq], [false, seq]);
  await store.close();
});

test("a request of a renderer that this program lacks is refused with what to do", async () => {
  const life = await live([]);
  const body = { ...samples["model.requested"].body, inputs: [], renderer: 99 };
  append(life, { type: "model.requested", body });
  const { context, session } = await kept(life);
  await assert.rejects(readContext(context, session, { atSeq: 3 }), {
    code: "invalid",
    message: /renderer: unknown version 99/,
  });
});

test("after a compaction, reads do not grow with the earlier transcript", async () => {
  const counted = async (turns: number): Promise<number> => {
    const life = await live([]);
    for (let turn = 0; turn < turns; turn++) {
      append(life, { type: "turn.started", body: { inputs: [] } });
      append(life, { type: "model.responded", ...samples["model.responded"] });
      append(life, { type: "turn.ended", ...samples["turn.ended"] });
    }
    const { items: _, ...body } = samples["transcript.compacted"].body;
    append(life, {
      type: "transcript.compacted",
      body: { ...body, toSeq: now(life).mind.toSeq },
      content: { summary: "S." },
    });
    append(life, { type: "turn.started", body: { inputs: [] } });
    let records = 0;
    const { store, context, session } = await kept(life);
    const read: Store["read"] = async (log, range) => {
      const page = await store.read(log, range);
      records += page.length;
      return page;
    };
    const states = { at: async () => now(life) };
    await readContext({ ...context, store: { ...store, read }, states }, session, { atSeq: now(life).seq });
    await store.close();
    return records;
  };
  assert.equal(await counted(200), await counted(2));
});

test("the cache keeps to its size, and clears on request", () => {
  const cache = makeEventCache(2_000);
  const session = "ses_00000000000000000000000000" as SessionId;
  const event = (seq: number) => ({ seq, contentBytes: 100 }) as Parameters<typeof cache.set>[1];
  for (let seq = 1; seq <= 9; seq++) cache.set(session, event(seq));
  const held = (): readonly number[] =>
    [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((seq) => cache.get(session, seq) !== undefined);
  assert.deepEqual(held(), [8, 9]);
  cache.forget();
  assert.deepEqual(held(), []);
});
