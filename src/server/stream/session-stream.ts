/**
 * One session as a stream: every event once and in order, from a position on, and live deltas. It reads pages
 * of the log until it has caught up; from there on it is handed new events. A slow reader is not buffered: it
 * continues with pages when it has room again.
 */
import { sessionNotFound } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { readEventsPage } from "../../runtime/read/event-reader.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import { stillHolds, type KnownHead } from "../../runtime/read/known-heads.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { Hub } from "./hub.ts";
import { heartbeatFrame, eventFrame, eventId, type SharedFrame, type Sink } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

export interface SessionStreamOptions {
  readonly fromSeq: number;
  /** The reader's last record; the stream fails when the log does not hold it. */
  readonly last?: KnownHead | undefined;
  readonly toSeq?: number | undefined;
  readonly types?: readonly string[] | undefined;
  /** The maximum number of events. */
  readonly count?: number | undefined;
  /** False: it ends with the newest event. */
  readonly follow?: boolean | undefined;
  readonly deltas?: boolean | undefined;
  /** Settles when the stream should end, with its last position. */
  readonly endsAt?: Promise<number> | undefined;
  /** The stream ends with the first event of this type, and returns it. */
  /** Events of these types come without their contents. */
  readonly withheld?: ReadonlySet<string> | undefined;
  readonly endsWith?: SessionEvent["type"] | undefined;
}

const pageRecords = 100;

/** Resolves when it is over, or the client has disconnected; with the event that ended it, if one did. */
export async function streamSession(
  { engine, hub, session, sink }: { engine: Engine; hub: Hub; session: Session; sink: Sink },
  options: SessionStreamOptions,
): Promise<SessionEvent | null> {
  const { types, follow = true, deltas = true } = options;
  let ending: SessionEvent | null = null;
  const wants = types === undefined ? null : new Set(types);
  let atSeq = options.fromSeq - 1;
  let endSeq = options.toSeq ?? Infinity;
  let left = options.count ?? Infinity;
  /** True when it has caught up, so that it may be handed new events. */
  let live = false;
  let dirty = false;
  /** How many are read at once: as many as the reader has taken, and more as long as it takes them all. */
  let atOnce = 1;
  let woken = Promise.withResolvers<void>();
  const early = makeEarly();
  /** A delta after its whole answer is too late. */
  let answeredSeq = 0;
  /** The newest known record: the log must still hold it at every read. */
  let met: KnownHead | null = options.last ?? null;
  const { live: heardHere, store, writer } = internalsOf(engine);

  const wake = (): void => woken.resolve();
  const look = (): void => {
    dirty = true;
    live = false;
    wake();
  };
  const isOver = (): boolean => sink.signal.aborted || atSeq >= endSeq || left <= 0;

  function give(event: SessionEvent, frame: SharedFrame | null): void {
    atSeq = event.seq;
    if (event.type === options.endsWith) [ending, endSeq] = [event, atSeq];
    if (wants === null || wants.has(event.type)) {
      if (options.withheld?.has(event.type) === true)
        sink.write(eventFrame({ ...event, content: undefined }, eventId(event)));
      else if (frame === null) sink.write(eventFrame(event, eventId(event)));
      else sink.share(frame);
      left -= 1;
    }
    if (event.type === "model.responded" || event.type === "model.failed") answeredSeq = event.seq;
    for (const delta of early.upTo(atSeq)) if (delta.requestSeq > answeredSeq) sink.write(deltaFrame(delta));
  }

  function heard(event: SessionEvent, frame: SharedFrame): void {
    const isKnown = event.seq < atSeq ? met === null : event.hash === met?.hash;
    if (event.seq <= atSeq && isKnown) return;
    // An event at an already delivered position: the log may be of another history.
    if (!live || event.seq !== atSeq + 1 || sink.isFull) return look();
    met = { seq: event.seq, hash: event.hash };
    give(event, frame);
    if (isOver()) wake();
  }

  async function catchUp(): Promise<void> {
    for (;;) {
      await sink.drained();
      if (isOver()) return;
      const head = await store.head(session.id);
      if (head === undefined) throw sessionNotFound(session.id);
      const toSeq = Math.min(head.seq, endSeq);
      const range = { fromSeq: atSeq + 1, toSeq, limit: atOnce, ...(types === undefined ? {} : { types }) };
      const page =
        atSeq < toSeq ? await readEventsPage(store, session.id, range) : { events: [], next: null };
      // After the page was read: another server may have taken over meanwhile.
      if (met !== null && !(await stillHolds(store, head, met)))
        throw await writer.suspendRolledBack(session.id, met);
      met = { seq: head.seq, hash: head.hash };
      if (atSeq >= toSeq) return;
      let read = 0;
      let isSlow = false;
      for (const event of page.events) {
        read += 1;
        give(event, null);
        if (isOver()) return;
        // The rest of the page would wait in memory: it is read again when there is room.
        isSlow = sink.isFull;
        if (isSlow) break;
      }
      // Unwanted events were skipped.
      if (!isSlow && page.next === null) atSeq = Math.max(atSeq, toSeq);
      atOnce = isSlow ? read : Math.min(atOnce * 2, pageRecords);
    }
  }

  function hear(delta: LiveDelta): void {
    if (delta.requestSeq <= answeredSeq) return;
    if (sink.isFull) early.lose(delta);
    else if (delta.requestSeq > atSeq) early.keep(delta);
    else if (!early.hasLost(delta)) sink.write(deltaFrame(delta));
  }

  const stops = [
    hub.onHeartbeat(() => {
      if (!sink.isFull) sink.write(heartbeatFrame);
    }),
    ...(follow ? [hub.listen(session.id, { heard, behind: look })] : []),
    ...(follow && deltas ? [heardHere.subscribe(session.id, hear)] : []),
  ];
  sink.signal.addEventListener("abort", wake, { once: true });
  const finishing = options.endsAt?.then((seq) => (endSeq = Math.min(endSeq, seq)));
  finishing?.then(wake, wake);
  try {
    for (;;) {
      dirty = false;
      woken = Promise.withResolvers();
      await catchUp();
      if (isOver() || !follow) return ending;
      if (dirty) continue;
      live = true;
      await woken.promise;
      live = false;
    }
  } finally {
    for (const stop of stops) stop();
    sink.signal.removeEventListener("abort", wake);
  }
}

const deltaFrame = (delta: LiveDelta): string => `event: delta\ndata: ${JSON.stringify(delta)}\n\n`;

/** Deltas that arrived before their request, and answers that are not delivered to the end. */
function makeEarly() {
  const waiting: LiveDelta[] = [];
  let lostSeq = 0;
  return {
    keep(delta: LiveDelta): void {
      if (delta.requestSeq === lostSeq) return;
      if (waiting.length < limit.waitingDeltasMax) waiting.push(delta);
      else this.lose(delta);
    },
    /** Half of an answer would be taken for all of it: its rest is dropped too. */
    lose(delta: LiveDelta): void {
      lostSeq = delta.requestSeq;
    },
    hasLost: (delta: LiveDelta): boolean => delta.requestSeq === lostSeq,
    *upTo(seq: number): Generator<LiveDelta> {
      while (waiting[0] !== undefined && waiting[0].requestSeq <= seq) yield waiting.shift() as LiveDelta;
    },
  };
}
