/** Readers of all logs who have caught up read together; each still has every event once and in order. */
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { familyOf, parsePlace, type FamilyFilter } from "../../src/server/stream/feed-cursor.ts";
import { streamFeed } from "../../src/server/stream/feed-stream.ts";
import { makeHub, type Hub } from "../../src/server/stream/hub.ts";
import type { Sink } from "../../src/server/stream/sink.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { freshSeed, makeRandom } from "../crash/random.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { workspace } from "../runtime/place.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

interface Place extends AsyncDisposable {
  readonly engine: Engine;
  readonly hub: Hub;
}

/** A store in memory in which some is done otherwise. */
function placeWith(otherwise: (store: Store) => Partial<Store>): Place {
  const world = madeWorld();
  const inner = memoryStore({ world, workspace });
  const engine = new Engine({ store: { ...inner, ...otherwise(inner) }, world });
  const hub = makeHub(engine, (error) => assert.fail(String(error)));
  return {
    engine,
    hub,
    async [Symbol.asyncDispose]() {
      hub.stop();
      await engine.close();
    },
  };
}

interface Reader {
  readonly frames: string[];
  readonly over: Promise<void>;
  leave(): void;
}

interface ReaderOptions {
  readonly after?: string;
  readonly family?: FamilyFilter;
  /** It takes so many frames at a time, and no more until it was waited for it. */
  readonly room?: number;
}

function read({ engine, hub }: Place, { after, family, room = Infinity }: ReaderOptions = {}): Reader {
  const resumed = after === undefined ? undefined : { place: parsePlace(after), rolledBack: false };
  const leaving = new AbortController();
  const frames: string[] = [];
  let taken = 0;
  const write = (frame: string): void => {
    frames.push(frame);
    taken += 1;
  };
  const sink: Sink = {
    signal: leaving.signal,
    get isFull() {
      return taken >= room;
    },
    write,
    share: ({ text }) => write(text),
    async drained() {
      if (taken < room) return;
      await turn();
      taken = 0;
    },
    end: () => undefined,
  };
  const over = streamFeed({ engine, hub, sink }, { resumed, family: family ?? null });
  return { frames, over, leave: () => leaving.abort() };
}

const idOf = (frame: string): string | undefined => /^id: (.*)/.exec(frame)?.[1];
/** Which events, without the place that each was read from. */
const eventsIn = (frames: readonly string[]): string[] =>
  frames.flatMap((frame) =>
    frame.includes("\nevent: ") ? [idOf(frame)?.split("~").slice(1, 3).join("~") ?? ""] : [],
  );
const settled = async (): Promise<void> => {
  for (let count = 0; count < 20; count++) await turn();
};

test("new events are read once for all readers that have caught up, filtered or not", async () => {
  let reads = 0;
  await using place = placeWith(({ feed }) => ({
    feed(...asked) {
      reads += 1;
      return feed(...asked);
    },
  }));
  const session = await place.engine.open({ objective: "Busy" });
  const family = async (): Promise<FamilyFilter> => familyOf(place.engine, session.id);
  const readers = [
    ...Array.from({ length: 40 }, () => read(place)),
    ...(await Promise.all(Array.from({ length: 10 }, async () => read(place, { family: await family() })))),
  ];
  await settled();
  reads = 0;
  for (let number = 1; number <= 20; number++) {
    await session.append(`${number}`);
    await settled();
  }
  // One that has it, and one that finds no more.
  assert.ok(reads <= 2 * 20, `${reads}`);
  const expected = Array.from({ length: 20 }, (_, number) => `${session.id}~${number + 2}`);
  for (const { frames } of readers) assert.deepEqual(eventsIn(frames), expected);
  for (const one of readers) one.leave();
  await Promise.all(readers.map(({ over }) => over));
});

test("one that turns out slow reads few at a time again, and none over and over", async () => {
  let records = 0;
  await using place = placeWith(({ feed }) => ({
    async feed(...asked) {
      const page = await feed(...asked);
      records += page.records.length;
      return page;
    },
  }));
  const session = await place.engine.open({ objective: "Much" });
  const reader = read(place, { room: 1 });
  await settled();
  const count = 100;
  records = 0;
  await session.append(
    Array.from({ length: count }, (_, number) => ({ type: "x.note", content: { number } })),
  );
  for (let tries = 0; tries < 1_000 && eventsIn(reader.frames).length < count; tries++) await turn();
  const expected = Array.from({ length: count }, (_, number) => `${session.id}~${number + 2}`);
  assert.deepEqual(eventsIn(reader.frames), expected);
  assert.ok(records < 5 * count, `${records}`);
  reader.leave();
  await reader.over;
});

test("fast, slow, of a family, cut at random: each has every event once and in order", async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const random = makeRandom(seed);
  // Answers are late, so that things are written while readings are under way.
  await using place = placeWith(({ feed }) => ({
    async feed(...asked) {
      const page = await feed(...asked);
      for (let left = random.below(4); left > 0; left--) await turn();
      return page;
    },
  }));
  const sessions: Session[] = [];
  for (const objective of ["One", "Two", "Three"]) sessions.push(await place.engine.open({ objective }));
  const [kin] = sessions as [Session];
  const whole = async (): Promise<string[]> =>
    (await place.engine.feed({ limit: 1_000 })).events.map(({ session, seq }) => `${session}~${seq}`);
  const end = { event: "" };
  const isWhole = (got: readonly string[]): boolean => end.event !== "" && got.at(-1) === end.event;

  async function readAll(isOfFamily: boolean): Promise<string[]> {
    const got: string[] = [];
    for (let after = ""; !isWhole(got);) {
      const family = isOfFamily ? { family: await familyOf(place.engine, kin.id) } : {};
      const room = random.pick([1, 3, 20, Infinity, Infinity]);
      const reader = read(place, { after, room, ...family });
      const turns = random.below(60);
      for (let count = 0; count < turns; count++) await turn();
      reader.leave();
      await reader.over;
      got.push(...eventsIn(reader.frames));
      after = reader.frames.map(idOf).findLast((id) => id !== undefined) ?? after;
    }
    return got;
  }
  const reading = Array.from({ length: 12 }, (_, number) => readAll(number % 3 === 0));
  for (let number = 0; number < 300; number++) {
    await random.pick(sessions).append(`${number}`);
    for (let left = random.below(4); left > 0; left--) await turn();
  }
  const { seq } = await kin.append("last");
  end.event = `${kin.id}~${seq}`;
  const everything = await whole();
  for (const [number, got] of (await Promise.all(reading)).entries()) {
    const expected = number % 3 === 0 ? everything.filter((one) => one.startsWith(kin.id)) : everything;
    assert.deepEqual(got, expected, `seed ${seed}, reader ${number}`);
  }
});

/** Where in a stream an event and a delta of it stand. */
const placesOf = (frames: readonly string[], event: string): readonly [number, number] => [
  frames.findIndex((frame) => idOf(frame)?.includes(`${event}~`) ?? false),
  frames.findIndex((frame) => frame.startsWith("event: delta") && frame.includes("mine")),
];

const deltaOf = (requestSeq: number, text: string) =>
  ({ type: "delta", requestSeq, delta: { type: "text", text } }) as const;

/** One whose readings are answered only when the gate lets them through, with what there was before. */
function gatedPlace(otherwise: Partial<Store> = {}): Place & { hold(): () => void } {
  let gate = Promise.resolve();
  const place = placeWith(({ feed }) => ({
    ...otherwise,
    async feed(...asked) {
      const page = await feed(...asked);
      await gate;
      return page;
    },
  }));
  return {
    ...place,
    hold() {
      const held = Promise.withResolvers<void>();
      gate = held.promise;
      return held.resolve;
    },
  };
}

test("a delta that arrives during a read waits for the next one", async () => {
  await using place = gatedPlace();
  const { live } = internalsOf(place.engine);
  const session = await place.engine.open({ objective: "Late" });
  const reader = read(place);
  await settled();
  const release = place.hold();
  live.publish(session.id, deltaOf(1, "of before"));
  await settled();
  const { seq } = await session.append("asked");
  live.publish(session.id, deltaOf(seq, "mine"));
  release();
  await settled();
  const [event, delta] = placesOf(reader.frames, `~${session.id}~${seq}`);
  assert.ok(event !== -1 && event < delta, reader.frames.join(""));
  reader.leave();
  await reader.over;
});

test("a reading that began before something was written is not shared after it", async () => {
  await using place = gatedPlace();
  const { live } = internalsOf(place.engine);
  const session = await place.engine.open({ objective: "Told" });
  const other = await place.engine.open({ objective: "Beside" });
  const everybody = read(place);
  const kin = read(place, { family: await familyOf(place.engine, session.id) });
  await settled();
  const release = place.hold();
  // Only one of them hears this one, and reads.
  live.publish(other.id, deltaOf(1, "of before"));
  await settled();
  const { seq } = await session.append("new");
  await settled();
  release();
  await settled();
  for (const { frames } of [everybody, kin]) assert.deepEqual(eventsIn(frames), [`${session.id}~${seq}`]);
  for (const one of [everybody, kin]) one.leave();
  await Promise.all([everybody.over, kin.over]);
});

test("a read that began before a delta arrived is not shared after it", async () => {
  // As when another process writes: deltas come, and the notice of what was written is late.
  await using place = gatedPlace({ watch: () => () => undefined });
  const { live } = internalsOf(place.engine);
  const session = await place.engine.open({ objective: "Elsewhere" });
  const other = await place.engine.open({ objective: "Beside" });
  const everybody = read(place);
  const kin = read(place, { family: await familyOf(place.engine, session.id) });
  await settled();
  const release = place.hold();
  // Only one of them hears this one, and reads.
  live.publish(other.id, deltaOf(1, "of before"));
  await settled();
  const { seq } = await session.append("asked");
  live.publish(session.id, deltaOf(seq, "mine"));
  await settled();
  release();
  await settled();
  for (const { frames } of [everybody, kin]) {
    const [event, delta] = placesOf(frames, `~${session.id}~${seq}`);
    assert.ok(event !== -1 && event < delta, frames.join(""));
  }
  for (const one of [everybody, kin]) one.leave();
  await Promise.all([everybody.over, kin.over]);
});
