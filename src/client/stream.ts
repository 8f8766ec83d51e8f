/**
 * Streams that survive their connections: after a disconnect, the next connection continues after the last
 * returned position. Nothing is lost, and nothing repeated.
 */
import { SkeinError } from "../protocol/library.ts";
import type { OperationId } from "../call/operations.ts";
import { errorOf, Problem } from "../protocol/problem.ts";
import type { LiveDelta } from "../runtime/turn/live.ts";
import type { RunResult } from "../runtime/turn/runner.ts";
import type { StreamFrame } from "./frames.ts";
import { brokenOff, ResponseLost } from "./client-error.ts";
import { waitBefore, type WireRequest, type Wire } from "./wire.ts";
import type { SessionEvent } from "../core/event.ts";

/** Failed connections in a row before the stream gives up. */
const triesMax = 20;

/** An item of a stream: an event with its position, a delta, or why a run ended. */
export type StreamItem =
  | { readonly what: "event"; readonly event: SessionEvent; readonly position: string }
  | { readonly what: "delta"; readonly delta: LiveDelta & { readonly session?: string } }
  | { readonly what: "rollback"; readonly after: string | null }
  | { readonly what: "ran"; readonly ran: RunResult };

/** Ends with the server's last frame, or when the signal is aborted. */
export async function* followStream(
  wire: Wire,
  id: OperationId,
  asked: WireRequest,
): AsyncGenerator<StreamItem> {
  const answers = makeAnswers();
  let lastId = asked.lastId ?? null;
  let tries = 0;
  const alive = (): void => void (tries = 0);
  for (;;) {
    let cause: unknown;
    try {
      for await (const frame of wire.frames(id, { ...asked, ...placeOf(id, asked, lastId), alive })) {
        if (frame.event === "end") return;
        if (frame.id !== null) lastId = frame.id;
        const item = readFrame(frame);
        if (item === null || answers.isHalf(item)) continue;
        yield item;
        if (item.what === "ran") return;
      }
    } catch (error) {
      if (!(error instanceof ResponseLost)) throw error;
      ({ cause } = error);
    }
    if (tries >= triesMax) throw gone(cause);
    answers.cut();
    await wire.world.sleep(waitBefore(tries, wire.world), asked.signal);
    if (asked.signal?.aborted === true) throw brokenOff();
    tries += 1;
  }
}

/** Where to continue. A feed position may be empty, which a header cannot say. */
function placeOf(id: OperationId, { params }: WireRequest, lastId: string | null): WireRequest {
  if (lastId === null) return {};
  return id === "engine.feed" ? { params: { ...params, after: lastId } } : { lastId };
}

const gone = (cause: unknown): SkeinError =>
  new SkeinError("unavailable", "the stream was cut, and reconnecting failed", {
    hint: "the run continues on the server; resume from the last position",
    cause,
  });

function readFrame({ id, event, data }: StreamFrame): StreamItem | null {
  // A position without an event.
  if (data === "") return null;
  const value = JSON.parse(data) as unknown;
  if (event === "problem") throw errorOf(Problem.parse(value));
  if (event === "ran") return { what: "ran", ran: value as RunResult };
  if (event === "rollback") return { what: "rollback", ...(value as { readonly after: string | null }) };
  if (event === "delta") return { what: "delta", delta: value as LiveDelta };
  return id === null ? null : { what: "event", event: wholeEvent(value as SessionEvent), position: id };
}

/** JSON has no `undefined`: a missing content becomes explicit. */
export const wholeEvent = (event: SessionEvent): SessionEvent => ({ ...event, content: event.content });

/**
 * The answers in progress. After a disconnect, deltas of an answer are missing: later ones would look like
 * the whole, so they are dropped. The finished message arrives in any case.
 */
function makeAnswers() {
  const asked = new Map<string, number>();
  const half = new Map<string, number>();
  return {
    isHalf(item: StreamItem): boolean {
      if (item.what === "delta") {
        const { session, requestSeq } = item.delta;
        if (session !== undefined) return half.get(session) === requestSeq;
        return [...half.values()].includes(requestSeq);
      }
      // Positions of a lost history mean nothing in the current one.
      if (item.what === "rollback") for (const known of [asked, half]) known.clear();
      if (item.what !== "event") return false;
      const { type, session, seq } = item.event;
      if (type === "model.requested") asked.set(session, seq);
      else if (type === "model.responded" || type === "model.failed") {
        asked.delete(session);
        half.delete(session);
      }
      return false;
    },
    cut(): void {
      for (const [session, seq] of asked) half.set(session, seq);
    },
  };
}
