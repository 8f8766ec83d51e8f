/** Readers that are slow, or gone: each event comes once and in order, and nothing is read for nobody. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { familyOf } from "../../src/server/stream/feed-cursor.ts";
import { streamFeed } from "../../src/server/stream/feed-stream.ts";
import { makeHub } from "../../src/server/stream/hub.ts";
import { streamSession } from "../../src/server/stream/session-stream.ts";
import type { Sink } from "../../src/server/stream/sink.ts";
import { all, inMemory } from "../runtime/place.ts";

/** A sink that is full after every so many frames, until the next turn of the event loop. */
function slowSink(room: number): Sink & { readonly ids: string[]; leave(): void } {
  const over = new AbortController();
  const ids: string[] = [];
  let taken = 0;
  const write = (frame: string): void => {
    const [, id] = /^id: (.*)\nevent/.exec(frame) ?? [];
    if (id !== undefined) ids.push(withoutHash(id));
    taken += 1;
  };
  return {
    ids,
    signal: over.signal,
    get isFull() {
      return taken >= room;
    },
    write,
    share: (frame) => write(frame.text),
    drained: () =>
      new Promise((resolve) => {
        if (taken < room) return resolve();
        if (room > 0) setImmediate(() => resolve(void (taken = 0)));
        else over.signal.addEventListener("abort", () => resolve(), { once: true });
      }),
    end: () => undefined,
    leave: () => over.abort(),
  };
}

/** Ids end in digits of the hash: "7.0123…" of a session, "…~7~0123…" of the feed. */
const withoutHash = (id: string): string => id.replace(/(?<=^\d+)\.[0-9a-f]{16}$|~[0-9a-f]{8}$/, "");
const beginning = { place: { after: null, last: null }, rolledBack: false };
const failing = (error: unknown): never => assert.fail(String(error));

async function filled(engine: Engine, count: number): Promise<Session> {
  const session = await engine.open({ objective: "Much" });
  for (let number = 0; number < count; number++)
    await session.append({ type: number % 3 === 0 ? "x.third" : "x.other", content: { number } });
  return session;
}

test("however few a reader takes at a time, it has every event once", async (t) => {
  await using place = inMemory();
  const { engine } = place;
  const session = await filled(engine, 60);
  await engine.open({ objective: "Another" });
  const hub = makeHub(engine, failing);
  t.after(() => hub.stop());
  for (const room of [1, 2, 3, 7, 50, 1_000]) {
    const whole = slowSink(room);
    await streamSession({ engine, hub, session, sink: whole }, { fromSeq: 1, follow: false });
    assert.deepEqual(
      whole.ids,
      Array.from({ length: 61 }, (_, seq) => `${seq + 1}`),
      `${room}`,
    );
    const some = slowSink(room);
    const types = ["x.third"];
    await streamSession({ engine, hub, session, sink: some }, { fromSeq: 1, follow: false, types });
    assert.deepEqual(
      some.ids,
      Array.from({ length: 20 }, (_, third) => `${third * 3 + 2}`),
      `${room}`,
    );
    const feed = slowSink(room);
    await streamFeed({ engine, hub, sink: feed }, { resumed: beginning, family: null, follow: false });
    const seen = feed.ids.map((id) => id.split("~").slice(1).join("~"));
    const there = (await engine.feed({ limit: 1_000 })).events.map(
      (event) => `${event.session}~${event.seq}`,
    );
    assert.deepEqual(seen, there, `${room}`);
  }
});

test("of a family among others a slow reader has every event once, too", async (t) => {
  await using place = inMemory();
  const { engine } = place;
  const [session, other] = [await filled(engine, 0), await engine.open({ objective: "Another" })];
  for (let number = 0; number < 60; number++)
    await (number % 5 < 2 ? session : other).append({ type: "x.note", content: { number } });
  const hub = makeHub(engine, failing);
  t.after(() => hub.stop());
  for (const room of [1, 2, 3, 7, 1_000]) {
    const sink = slowSink(room);
    const family = await familyOf(engine, session.id);
    await streamFeed({ engine, hub, sink }, { resumed: beginning, family, follow: false });
    const seqs = sink.ids.map((id) => Number(id.split("~").at(-1)));
    assert.deepEqual(
      seqs,
      Array.from({ length: 25 }, (_, seq) => seq + 1),
      `${room}`,
    );
  }
});

test("when a reader is closed, reading for it stops", async (t) => {
  await using place = inMemory();
  const { engine } = place;
  const session = await filled(engine, 20);
  const hub = makeHub(engine, failing);
  t.after(() => hub.stop());
  let reads = 0;
  const watched = {
    id: session.id,
    head: () => session.head(),
    events(options) {
      reads += 1;
      return session.events(options);
    },
  } as Session;
  const sink = slowSink(0);
  const streaming = streamSession({ engine, hub, session: watched, sink }, { fromSeq: 1 });
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  sink.leave();
  await streaming;
  assert.equal(reads, 0);
  assert.equal((await all(session.events())).length, 21);
});
