/**
 * All logs, or those of a family, as a stream: every event once, from a place of the feed on, and deltas. A
 * reader reads for itself until it has caught up; from there on all who have read equally far read together,
 * until one of them is slow.
 */
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import {
  placeText,
  stepFeed,
  type Family,
  type FeedPlace,
  type FeedStep,
  type Resumed,
} from "./feed-cursor.ts";
import type { Hub } from "./hub.ts";
import { beatFrame, type Sink } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

export interface FeedStreamOptions {
  /** Where a reader goes on; without it the stream begins with what comes in now. */
  readonly resumed?: Resumed | undefined;
  readonly family: Family | null;
  /** False: it ends with what there is now. */
  readonly follow?: boolean | undefined;
}

const pageRecords = 200;

/** Resolves when the stream is over, or nobody reads any more. */
export async function streamFeed(
  { engine, hub, sink }: { engine: Engine; hub: Hub; sink: Sink },
  { resumed, family, follow = true }: FeedStreamOptions,
): Promise<void> {
  const { store, live } = internalsOf(engine);
  let place: FeedPlace = resumed?.place ?? { after: await store.feedEnd(), last: null };
  // Whoever is cut before the first event knows where to go on.
  if (resumed === undefined) sink.write(`id: ${placeText(place)}\n\n`);
  else if (resumed.rolledBack) sink.write(rollbackFrame(place));
  let changed = Promise.withResolvers<void>();
  const wake = (): void => changed.resolve();
  const deltas = makeDeltas(() => {
    // The request that it belongs to is written; a reading that began before may not have it.
    hub.anew();
    wake();
  }, sink);
  /** Whether it has all there was, and may read together with others. */
  let isLevel = false;
  /** How many are read at once: as many as the reader has taken, and more as long as it takes them all. */
  let atOnce = 1;
  /** Those after `place` that were given out, and how many records lie up to the last of them. */
  const told = new Set<string>();
  let passed = 0;

  /** Gives what is new of a page; false when the reader has no room for the rest of it. */
  function give(entries: FeedStep["entries"]): boolean {
    let given = 0;
    for (const [index, entry] of entries.entries()) {
      if (told.has(entry.place) || (family !== null && !family.has(entry.event))) continue;
      sink.share(entry.frame);
      told.add(entry.place);
      deltas.after(entry.event);
      given += 1;
      if (!sink.isFull) continue;
      isLevel = false;
      atOnce = given;
      passed = index + 1;
      return passed === entries.length;
    }
    atOnce = Math.min(atOnce * 2, pageRecords);
    return true;
  }

  /** What is new, up to the end of the feed. */
  async function readOn(): Promise<void> {
    for (let more = true; more;) {
      await sink.drained();
      if (sink.signal.aborted) return;
      const step = isLevel ? await hub.step(place.after) : await stepFeed(engine, place, passed + atOnce);
      if (step.rolledBackTo !== undefined) {
        place = { after: step.rolledBackTo, last: null };
        [isLevel, passed] = [false, 0];
        told.clear();
        deltas.forget();
        sink.write(rollbackFrame(place));
        continue;
      }
      // The rest of a page would wait in memory: it is read again when there is room.
      if (!give(step.entries)) continue;
      // Of a place without an event readers take note too, so that they need not read so much again.
      if (step.more && told.size === 0) sink.write(`id: ${placeText(step.next)}\n\n`);
      ({ next: place, more } = step);
      isLevel ||= !more && follow;
      told.clear();
      passed = 0;
    }
  }

  const hear = (session: SessionId, delta: LiveDelta): void => {
    if (family === null || family.includes(session)) deltas.hear(session, delta);
  };
  const stops = [
    hub.watch(wake),
    hub.beat(() => {
      if (!sink.isFull) sink.write(beatFrame);
    }),
    ...(follow ? [live.listenAll(hear)] : []),
  ];
  sink.signal.addEventListener("abort", wake, { once: true });
  try {
    while (!sink.signal.aborted) {
      changed = Promise.withResolvers();
      const heard = deltas.all();
      await readOn();
      if (!follow) return;
      // The requests that they belong to were written before they were heard: they were told, or passed by.
      deltas.give(heard);
      await changed.promise;
    }
  } finally {
    for (const stop of stops) stop();
    sink.signal.removeEventListener("abort", wake);
  }
}

/** Tells that the store was rolled back. Its id is where the events that come again start. */
const rollbackFrame = (place: FeedPlace): string =>
  `id: ${placeText(place)}\nevent: rollback\ndata: ${JSON.stringify({ after: place.after })}\n\n`;

interface Waiting {
  readonly session: LogId;
  readonly requestSeq: number;
  readonly frame: string;
}

/** Deltas, each after the request that it belongs to. */
function makeDeltas(wake: () => void, sink: Sink) {
  let waiting: Waiting[] = [];
  /** Requests that were told of and are not answered. */
  const asked = new Map<LogId, number>();
  /** The last answer that was told whole, of those that were told of lately. */
  const answered = new Map<LogId, number>();
  /** Answers that are not heard to the end: half of one would be taken for all of it. */
  const lost = new Map<LogId, number>();

  function give(some: readonly Waiting[]): void {
    waiting = waiting.filter((one) => !some.includes(one));
    for (const { frame } of some) if (!sink.isFull) sink.write(frame);
  }

  return {
    hear(session: SessionId, delta: LiveDelta): void {
      const { requestSeq } = delta;
      if (lost.get(session) === requestSeq || requestSeq <= (answered.get(session) ?? 0)) return;
      if (sink.isFull || waiting.length >= limit.waitingDeltasMax) {
        lost.set(session, requestSeq);
        return;
      }
      const frame = `event: delta\ndata: ${JSON.stringify({ session, ...delta })}\n\n`;
      if (asked.get(session) === requestSeq) return sink.write(frame);
      waiting.push({ session, requestSeq, frame });
      wake();
    },
    /** Told of an event that was given out. */
    after({ type, session, seq }: SessionEvent): void {
      if (type === "model.requested") {
        asked.set(session, seq);
        give(waiting.filter((one) => one.session === session && one.requestSeq <= seq));
      } else if (type === "model.responded" || type === "model.failed") {
        asked.delete(session);
        lost.delete(session);
        answered.delete(session);
        answered.set(session, seq);
        if (answered.size > limit.waitingDeltasMax) answered.delete(answered.keys().next().value as LogId);
      }
    },
    /** Positions of a history that is gone say nothing of the one that is there. */
    forget(): void {
      waiting = [];
      for (const known of [asked, answered, lost]) known.clear();
    },
    /** Those that wait now: whoever has read on since gives them with `give`. */
    all: (): readonly Waiting[] => [...waiting],
    give: (some: readonly Waiting[]): void => give(some.filter((one) => waiting.includes(one))),
  };
}
