/** The stretch of the log that the transcript shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RemoteSession } from "../../src/client/connect.ts";
import type { EventLog } from "../../src/console/view/session/event-log.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import {
  joined,
  makeTranscriptLoader,
  type TranscriptWindow,
  type TranscriptLoader,
} from "../../src/console/view/session/transcript-window.ts";

interface Asked {
  readonly fromSeq?: number;
  readonly toSeq?: number;
  readonly reverse?: boolean;
  readonly limit: number;
  readonly types: readonly string[];
}

/** A log of so many events, every tenth of which is an input; and how often it was read. */
function logOf(length: number) {
  const all = Array.from({ length: length + 5_000 }, (_, place) => ({
    seq: place + 1,
    type: place % 10 === 9 ? "input.received" : "lease.taken",
  })) as unknown as readonly SessionEvent[];
  const given = { length, fails: false, reads: 0, heardFrom: Infinity };
  async function* events({ fromSeq = 1, toSeq = Infinity, reverse = false, limit, types }: Asked) {
    given.reads += 1;
    if (given.fails) throw new Error("lost");
    const within = all.filter(
      ({ seq, type }) => seq >= fromSeq && seq <= Math.min(toSeq, given.length) && types.includes(type),
    );
    yield* (reverse ? within.toReversed() : within).slice(0, limit);
  }
  const peek = (seq: number): SessionEvent | undefined =>
    seq >= given.heardFrom && seq <= given.length ? all[seq - 1] : undefined;
  const loader = makeTranscriptLoader(
    { events } as unknown as RemoteSession,
    { peek } as unknown as EventLog,
  );
  return { given, loader };
}

/** When nothing is being read any more. */
async function rest({ isReading }: TranscriptLoader): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (isReading.get());
}

const bounds = ({ loaded }: TranscriptLoader): readonly unknown[] => {
  const { fromSeq, toSeq, events = [] } = loaded.get() ?? {};
  return [fromSeq, toSeq, events.length];
};

test("it begins at the end, and loads page by page to the beginning", async () => {
  const { given, loader } = logOf(6_000);
  loader.reach(6_000);
  await rest(loader);
  assert.deepEqual(bounds(loader), [3_610, 6_000, 240]);
  loader.older([]);
  await rest(loader);
  assert.deepEqual(bounds(loader), [1_210, 6_000, 480]);
  loader.older([]);
  await rest(loader);
  assert.deepEqual(bounds(loader), [1, 6_000, 600]);
  const { reads } = given;
  loader.older([]);
  await rest(loader);
  assert.equal(given.reads, reads);
});

test("live events are used as received, and missed ones are read", async () => {
  const { given, loader } = logOf(1_000);
  loader.reach(1_000);
  await rest(loader);
  given.heardFrom = 1_001;
  given.length = 1_020;
  loader.reach(1_020);
  assert.deepEqual([bounds(loader), given.reads], [[1, 1_020, 102], 1]);
  given.heardFrom = Infinity;
  given.length = 1_100;
  loader.reach(1_100);
  await rest(loader);
  assert.deepEqual([bounds(loader), given.reads], [[1, 1_100, 110], 2]);
});

test("jumping to a distant position loads it and drops distant entries", async () => {
  const { given, loader } = logOf(90_000);
  loader.reach(90_000);
  await rest(loader);
  assert.equal(loader.show(89_000, 90_000), true);
  assert.equal(loader.show(20_000, 90_000), false);
  await rest(loader);
  assert.deepEqual(bounds(loader), [17_610, 22_400, 480]);
  assert.equal(loader.show(20_000, 90_000), true);
  // What comes in at the end is not put beside it.
  given.length = 90_500;
  loader.reach(90_500);
  assert.deepEqual(bounds(loader), [17_610, 22_400, 480]);
  loader.newer(90_500);
  await rest(loader);
  assert.deepEqual(bounds(loader), [17_610, 24_800, 720]);
  loader.toEnd(90_500);
  await rest(loader);
  assert.deepEqual(bounds(loader), [88_110, 90_500, 240]);
});

test("an earlier position is read to there, with less while a slider is drawn", async () => {
  const { loader } = logOf(50_000);
  loader.reach(50_000);
  await rest(loader);
  loader.reach(10_000, true);
  await rest(loader);
  assert.deepEqual(bounds(loader), [9_410, 10_000, 60]);
  loader.reach(30_000, false);
  await rest(loader);
  assert.deepEqual(bounds(loader), [27_610, 30_000, 240]);
});

test("rewound entries are skipped until they are unfolded", async () => {
  const { loader } = logOf(20_000);
  loader.reach(20_000);
  await rest(loader);
  loader.older([[10_000, 17_609]]);
  await rest(loader);
  assert.deepEqual(bounds(loader), [7_600, 20_000, 480]);
  loader.within([10_000, 17_609]);
  await rest(loader);
  const events = loader.loaded.get()?.events ?? [];
  assert.equal(events.length, 480 + 500);
  assert.ok(events.every(({ seq }, place) => place === 0 || seq > (events[place - 1]?.seq ?? 0)));
});

test("a failed read shows, and is retried on request", async () => {
  const { given, loader } = logOf(100);
  given.fails = true;
  loader.reach(100);
  await rest(loader);
  assert.equal((loader.error.get() as Error).message, "lost");
  given.fails = false;
  loader.reach(100);
  await rest(loader);
  assert.deepEqual([loader.error.get(), bounds(loader)], [null, [1, 100, 10]]);
});

test("over the limit, events at the other end are dropped", () => {
  const windowOf = (fromSeq: number, toSeq: number): TranscriptWindow => ({
    fromSeq,
    toSeq,
    events: Array.from({ length: toSeq - fromSeq + 1 }, (_, place) => ({ seq: fromSeq + place })) as never,
  });
  const kept = ({ fromSeq, toSeq, events }: TranscriptWindow) => [fromSeq, toSeq, events.length];
  assert.deepEqual(kept(joined(windowOf(1, 3_000), windowOf(3_001, 6_000), "first")), [1, 5_000, 5_000]);
  assert.deepEqual(kept(joined(windowOf(1, 3_000), windowOf(3_001, 6_000), "second")), [1_001, 6_000, 5_000]);
  assert.deepEqual(kept(joined(windowOf(1, 10), windowOf(11, 20), "first")), [1, 20, 20]);
});
