/**
 * Streams that outlive their connections: whenever one is cut, the next goes on after the last position that
 * was given out. Nothing is left out, and nothing is given twice.
 */
import { SkeinError } from "../protocol/library.ts";
import type { OperationId } from "../call/operations.ts";
import { errorOf, Problem } from "../protocol/problem.ts";
import type { LiveDelta } from "../runtime/turn/live.ts";
import type { RunResult } from "../runtime/turn/runner.ts";
import type { Frame } from "./frames.ts";
import { brokenOff, Lost } from "./client-error.ts";
import { waitBefore, type Asked, type Wire } from "./wire.ts";
import type { SessionEvent } from "../core/event.ts";

/** How often a connection is made in vain before the stream is given up. */
const triesMax = 20;

/** What a stream tells: an event with its position, a delta, or why a run ended. */
export type Told =
  | { readonly what: "event"; readonly event: SessionEvent; readonly position: string }
  | { readonly what: "delta"; readonly delta: LiveDelta & { readonly session?: string } }
  | { readonly what: "rollback"; readonly after: string | null }
  | { readonly what: "ran"; readonly ran: RunResult };

/** Ends with the server's last word, or when the signal is aborted. */
export async function* tellOn(wire: Wire, id: OperationId, asked: Asked): AsyncGenerator<Told> {
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
        const told = toldBy(frame);
        if (told === null || answers.isHalf(told)) continue;
        yield told;
        if (told.what === "ran") return;
      }
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      ({ cause } = error);
    }
    if (tries >= triesMax) throw gone(cause);
    answers.cut();
    await wire.world.sleep(waitBefore(tries, wire.world), asked.signal);
    if (asked.signal?.aborted === true) throw brokenOff();
    tries += 1;
  }
}

/** Where to go on. A place of the feed may be empty, which no header says. */
function placeOf(id: OperationId, { params }: Asked, lastId: string | null): Asked {
  if (lastId === null) return {};
  return id === "engine.feed" ? { params: { ...params, after: lastId } } : { lastId };
}

const gone = (cause: unknown): SkeinError =>
  new SkeinError("unavailable", "the stream was cut, and the server is not reached any more", {
    hint: "nothing was cancelled: go on from the last position when the server is back",
    cause,
  });

function toldBy({ id, event, data }: Frame): Told | null {
  // A position without an event.
  if (data === "") return null;
  const value = JSON.parse(data) as unknown;
  if (event === "problem") throw errorOf(Problem.parse(value));
  if (event === "ran") return { what: "ran", ran: value as RunResult };
  if (event === "rollback") return { what: "rollback", ...(value as { readonly after: string | null }) };
  if (event === "delta") return { what: "delta", delta: value as LiveDelta };
  return id === null ? null : { what: "event", event: wholeEvent(value as SessionEvent), position: id };
}

/** JSON has no `undefined`: an event without a content says so. */
export const wholeEvent = (event: SessionEvent): SessionEvent => ({ ...event, content: event.content });

/**
 * Which answers are under way. Of one during which the connection was cut, deltas are missing: what comes of
 * it later would be taken for all of it, so it is left out. The finished message comes in any case.
 */
function makeAnswers() {
  const asked = new Map<string, number>();
  const half = new Map<string, number>();
  return {
    isHalf(told: Told): boolean {
      if (told.what === "delta") {
        const { session, requestSeq } = told.delta;
        if (session !== undefined) return half.get(session) === requestSeq;
        return [...half.values()].includes(requestSeq);
      }
      // Positions of a history that is gone say nothing of the one that is there.
      if (told.what === "rollback") for (const known of [asked, half]) known.clear();
      if (told.what !== "event") return false;
      const { type, session, seq } = told.event;
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
