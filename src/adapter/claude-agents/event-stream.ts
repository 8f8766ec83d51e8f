/** `GET /v1/sessions/{id}/events/stream`: events from now on, and previews of unfinished messages. */
import type { SessionEvent } from "../../core/event.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { ModelDelta } from "../../runtime/turn/live.ts";
import type { Sink } from "../../server/stream/sink.ts";
import { isGone } from "../drawer.ts";
import { markQueued, safeStart, stateBefore } from "./event-list.ts";
import { messageId, thinkingId } from "./ids.ts";
import { projectedTypes, EventProjection, type ClaudeEvent } from "./project.ts";
import { timeText, type Fields } from "./values.ts";

const pingMs = 15_000;

const frameOf = (type: string, data: Fields, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

const eventFrameOf = (event: ClaudeEvent): string => frameOf(event.type, event, event.id);

/** Prepares a stream before its response begins, so that nothing after this call is missed. */
export async function openEventStream(engine: Engine, session: Session, previews: readonly string[]) {
  const headSeq = (await session.head()).seq;
  const fromSeq = await safeStart(session, headSeq + 1);
  const projection = new EventProjection(session.id, await stateBefore(session, fromSeq));
  return (sink: Sink): Promise<void> =>
    new EventStream(engine, session, { sink, headSeq, previews, projection }).run(fromSeq);
}

interface StreamPlace {
  readonly sink: Sink;
  readonly headSeq: number;
  readonly previews: readonly string[];
  readonly projection: EventProjection;
}

class EventStream {
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #given: StreamPlace;
  readonly #ended = new AbortController();
  /** Deltas of requests whose record was not read yet. */
  readonly #early = new Map<number, ModelDelta[]>();
  readonly #started = new Set<string>();
  #seenSeq: number;

  constructor(engine: Engine, session: Session, given: StreamPlace) {
    this.#engine = engine;
    this.#session = session;
    this.#given = given;
    this.#seenSeq = given.headSeq;
  }

  async run(fromSeq: number): Promise<void> {
    const { sink } = this.#given;
    const signal = AbortSignal.any([sink.signal, this.#ended.signal]);
    const unsubscribe = this.#given.previews.length === 0 ? () => undefined : this.#subscribe();
    const pinging = this.#ping(signal);
    try {
      sink.write(": open\n\n");
      const options = { fromSeq, types: projectedTypes, follow: true, signal };
      for await (const event of this.#session.events(options)) if (await this.#event(event)) break;
    } catch (error) {
      if (!isGone(error)) throw error;
      this.#deleted();
    } finally {
      unsubscribe();
      this.#ended.abort();
      await pinging;
    }
  }

  /** True when the session is over. */
  async #event(event: SessionEvent): Promise<boolean> {
    const { sink, headSeq, projection } = this.#given;
    const events = projection.push(event);
    if (event.seq <= headSeq) return false;
    const shown =
      event.type === "input.received" ? markQueued(events, event, await this.#session.fold()) : events;
    for (const one of shown) {
      await sink.drained();
      if (sink.signal.aborted) return true;
      sink.write(eventFrameOf(one));
    }
    this.#seenSeq = event.seq;
    const early = this.#early.get(event.seq);
    this.#early.delete(event.seq);
    for (const delta of early ?? []) this.#delta(event.seq, delta);
    return event.type === "session.closed";
  }

  #subscribe(): () => void {
    const { live } = internalsOf(this.#engine);
    const own = new Set<number>();
    const stops = [
      live.subscribeWithBacklog(this.#session.id, ({ requestSeq, deltas }) => {
        own.add(requestSeq);
        for (const delta of deltas) this.#delta(requestSeq, delta);
      }),
      // Of another process: answers that begin from now on.
      live.subscribe(this.#session.id, ({ requestSeq, delta }) => {
        if (!own.has(requestSeq) && requestSeq > this.#given.headSeq) this.#delta(requestSeq, delta);
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** A preview. One that a slow reader has no room for is left out: the event itself follows. */
  #delta(requestSeq: number, delta: ModelDelta): void {
    if (requestSeq > this.#seenSeq) {
      this.#early.set(requestSeq, [...(this.#early.get(requestSeq) ?? []), delta]);
      return;
    }
    const type = delta.type === "text" ? "agent.message" : "agent.thinking";
    const { sink, previews } = this.#given;
    if (delta.type === "tool-call" || !previews.includes(type) || sink.isFull || sink.signal.aborted) return;
    const id = (delta.type === "text" ? messageId : thinkingId)(this.#session.id, requestSeq);
    if (!this.#started.has(id)) {
      this.#started.add(id);
      sink.write(frameOf("event_start", { type: "event_start", event: { id, type } }));
    }
    if (delta.type !== "text") return;
    const content = { type: "content_delta", index: 0, content: { type: "text", text: delta.text } };
    sink.write(frameOf("event_delta", { type: "event_delta", event_id: id, delta: content }));
  }

  #deleted(): void {
    const { world } = internalsOf(this.#engine);
    const id = `sevt_${this.#session.id.slice(4)}_deleted`;
    const processed_at = timeText(world.now());
    this.#given.sink.write(eventFrameOf({ id, type: "session.deleted", processed_at }));
  }

  async #ping(signal: AbortSignal): Promise<void> {
    const { world } = internalsOf(this.#engine);
    while (!signal.aborted) {
      await world.sleep(pingMs, signal);
      if (!signal.aborted && !this.#given.sink.isFull)
        this.#given.sink.write(frameOf("ping", { type: "ping" }));
    }
  }
}
