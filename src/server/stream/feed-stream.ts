/**
 * All logs, or those of a family, as a stream: every event once, from a cursor of the feed on, and deltas. A
 * reader reads for itself until it has caught up; from there on all readers at the same position share reads,
 * until one of them is slow.
 */
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import {
  placeText,
  stepFeed,
  type FamilyFilter,
  type FeedPlace,
  type FeedStep,
  type FeedResume,
} from "./feed-cursor.ts";
import type { Hub } from "./hub.ts";
import { heartbeatFrame, type Sink } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

export interface FeedStreamOptions {
  /** Where a reader continues; without it the stream begins with new events. */
  readonly resumed?: FeedResume | undefined;
  readonly family: FamilyFilter | null;
  /** False: it ends with the newest event. */
  readonly follow?: boolean | undefined;
}

const pageRecords = 200;

/** Resolves when the stream is over, or the client has disconnected. */
export async function streamFeed(
  { engine, hub, sink }: { engine: Engine; hub: Hub; sink: Sink },
  { resumed, family, follow = true }: FeedStreamOptions,
): Promise<void> {
  const { store, live } = internalsOf(engine);
  let place: FeedPlace = resumed?.place ?? { after: await store.feedEnd(), last: null };
  // A reader that disconnects before the first event knows where to continue.
  if (resumed === undefined) sink.write(`id: ${placeText(place)}\n\n`);
  else if (resumed.rolledBack) sink.write(rollbackFrame(place));
  let changed = Promise.withResolvers<void>();
  const wake = (): void => changed.resolve();
  const deltas = makeDeltas(() => {
    // Its request is written; an earlier read may not contain it.
    hub.anew();
    wake();
  }, sink);
  /** True when it has caught up, and may share reads. */
  let isLevel = false;
  /** How many are read at once: as many as the reader has taken, and more as long as it takes them all. */
  let atOnce = 1;
  /** Delivered events after `place`, and the number of records up to the last of them. */
  const delivered = new Set<string>();
  let passed = 0;

  /** Delivers the new events of a page; false when the reader has no room for the rest of it. */
  function give(entries: FeedStep["entries"]): boolean {
    let given = 0;
    for (const [index, entry] of entries.entries()) {
      if (delivered.has(entry.place) || (family !== null && !family.has(entry.event))) continue;
      sink.share(entry.frame);
      delivered.add(entry.place);
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

  /** New events, up to the end of the feed. */
  async function readOn(): Promise<void> {
    for (let more = true; more;) {
      await sink.drained();
      if (sink.signal.aborted) return;
      const step = isLevel ? await hub.step(place.after) : await stepFeed(engine, place, passed + atOnce);
      if (step.rolledBackTo !== undefined) {
        place = { after: step.rolledBackTo, last: null };
        [isLevel, passed] = [false, 0];
        delivered.clear();
        deltas.forget();
        sink.write(rollbackFrame(place));
        continue;
      }
      // The rest of a page would wait in memory: it is read again when there is room.
      if (!give(step.entries)) continue;
      // Readers also store a cursor without an event, so that they need not read so much again.
      if (step.more && delivered.size === 0) sink.write(`id: ${placeText(step.next)}\n\n`);
      ({ next: place, more } = step);
      isLevel ||= !more && follow;
      delivered.clear();
      passed = 0;
    }
  }

  const hear = (session: SessionId, delta: LiveDelta): void => {
    if (family === null || family.includes(session)) deltas.hear(session, delta);
  };
  const stops = [
    hub.watch(wake),
    hub.onHeartbeat(() => {
      if (!sink.isFull) sink.write(heartbeatFrame);
    }),
    ...(follow ? [live.subscribeAll(hear)] : []),
  ];
  sink.signal.addEventListener("abort", wake, { once: true });
  try {
    while (!sink.signal.aborted) {
      changed = Promise.withResolvers();
      const heard = deltas.all();
      await readOn();
      if (!follow) return;
      // Their requests were written before the deltas arrived: they were delivered, or skipped.
      deltas.give(heard);
      await changed.promise;
    }
  } finally {
    for (const stop of stops) stop();
    sink.signal.removeEventListener("abort", wake);
  }
}

/** Reports that the store was rolled back. Its id is where the repeated events start. */
const rollbackFrame = (place: FeedPlace): string =>
  `id: ${placeText(place)}\nevent: rollback\ndata: ${JSON.stringify({ after: place.after })}\n\n`;

interface QueuedDelta {
  readonly session: LogId;
  readonly requestSeq: number;
  readonly frame: string;
}

/** Deltas, each after its request. */
function makeDeltas(wake: () => void, sink: Sink) {
  let waiting: QueuedDelta[] = [];
  /** Delivered requests without an answer. */
  const asked = new Map<LogId, number>();
  /** The last whole answer, of recently delivered ones. */
  const answered = new Map<LogId, number>();
  /** Answers that are not delivered to the end: half of one would be taken for all of it. */
  const lost = new Map<LogId, number>();

  function give(some: readonly QueuedDelta[]): void {
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
    /** Called with each delivered event. */
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
    /** Positions of a lost history say nothing about the current one. */
    forget(): void {
      waiting = [];
      for (const known of [asked, answered, lost]) known.clear();
    },
    /** The currently waiting ones: a reader that has advanced delivers them with `give`. */
    all: (): readonly QueuedDelta[] => [...waiting],
    give: (some: readonly QueuedDelta[]): void => give(some.filter((one) => waiting.includes(one))),
  };
}
