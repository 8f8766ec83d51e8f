/** All logs, or those of a family, as a stream: every event once, from a place of the feed on, and deltas. */
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { Engine } from "../runtime/engine.ts";
import type { LiveDelta } from "../runtime/live.ts";
import { parsePlace, placeText, stepFeed, type Family, type FeedPlace } from "./feed-place.ts";
import { eventFrame, type Hub } from "./hub.ts";
import { beatFrame, type Sink } from "./sink.ts";

export interface FeedStreamOptions {
  /** A place of the feed; without one it begins with what comes in now. */
  readonly after?: string | undefined;
  readonly family: Family | null;
  /** False: it ends with what there is now. */
  readonly follow?: boolean | undefined;
}

const pageRecords = 200;

/** Resolves when the stream is over, or nobody reads any more. */
export async function streamFeed(
  { engine, hub, sink }: { engine: Engine; hub: Hub; sink: Sink },
  { after, family, follow = true }: FeedStreamOptions,
): Promise<void> {
  const { store, live } = Engine.contextOf(engine);
  let place: FeedPlace =
    after === undefined ? { after: await store.feedEnd(), last: null } : parsePlace(after);
  let changed = Promise.withResolvers<void>();
  const wake = (): void => changed.resolve();
  const deltas = makeDeltas(wake, sink);

  /** What is new, up to the end of the feed. */
  async function readOn(): Promise<void> {
    for (let more = true; more && !sink.signal.aborted;) {
      const step = await stepFeed(engine, place, pageRecords);
      for (const { event, place: at } of step.events) {
        if (family !== null && !family.has(event)) continue;
        sink.write(eventFrame(event, at));
        if (sink.isFull) await sink.drained();
        if (sink.signal.aborted) return;
      }
      ({ next: place, more } = step);
      // Of a place without an event readers take note too, so that they need not read so much again.
      if (more) sink.write(`id: ${placeText(place)}\n\n`);
    }
  }

  const stops = [
    hub.watch(wake),
    hub.beat(() => {
      if (!sink.isFull) sink.write(beatFrame);
    }),
    ...(follow ? [live.listenAll((session, delta) => deltas.hear(session, delta, family))] : []),
  ];
  sink.signal.addEventListener("abort", wake, { once: true });
  try {
    while (!sink.signal.aborted) {
      changed = Promise.withResolvers();
      const heard = deltas.take();
      await readOn();
      if (!follow) return;
      // The requests that they belong to were written before they were heard, and so they were told.
      for (const frame of heard) if (!sink.isFull) sink.write(frame);
      await changed.promise;
    }
  } finally {
    for (const stop of stops) stop();
    sink.signal.removeEventListener("abort", wake);
  }
}

/** Deltas that wait until what was written before them is told. */
function makeDeltas(wake: () => void, sink: Sink) {
  let waiting: string[] = [];
  /** Answers that are not heard to the end. */
  const lost = new Map<SessionId, number>();
  return {
    hear(session: SessionId, delta: LiveDelta, family: Family | null): void {
      if (family !== null && !family.includes(session)) return;
      if (lost.get(session) === delta.requestSeq) return;
      if (sink.isFull || waiting.length >= limit.waitingDeltasMax) {
        lost.set(session, delta.requestSeq);
        return;
      }
      waiting.push(`event: delta\ndata: ${JSON.stringify({ session, ...delta })}\n\n`);
      wake();
    },
    take(): string[] {
      const taken = waiting;
      waiting = [];
      return taken;
    },
  };
}
