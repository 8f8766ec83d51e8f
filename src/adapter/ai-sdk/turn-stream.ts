/** One turn as a stream of UI message chunks, from its updates. */
import type { UIMessageChunk } from "ai";
import { SkeinError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { isOf } from "../../core/transcript.ts";
import { isTurnOf, mayPause } from "../session-run.ts";
import { TurnProjection, type ChatProjectionOptions } from "./project.ts";
import type { StreamUpdate } from "./updates.ts";

/** Which turn to show, and how much of it the client has. */
export interface TurnTarget {
  /** The input whose turn it is. Absent: the first turn of the updates. */
  readonly inputSeq?: number | undefined;
  /** The client has the chunks of the events up to here: only later ones are sent. */
  readonly afterSeq?: number | undefined;
}

/** A keep-alive comment, between the chunks of a stream. */
export const keepAlive = "keep-alive";

export interface TurnSource extends ChatProjectionOptions {
  readonly updates: AsyncIterable<StreamUpdate>;
  /** Reads the files that an event shows, before it is projected. */
  readonly learn?: (event: SessionEvent) => Promise<void>;
  /** Whether the session is suspended, and no process runs it. */
  readonly atRest?: () => Promise<boolean>;
  /** The text of an error for the client. */
  readonly errorText?: (error: unknown) => string;
}

const neverAtRest = async (): Promise<boolean> => false;

type Chunk = UIMessageChunk | typeof keepAlive;

/** The chunks of one turn: until it ends, or waits for a person or a tool result. */
export async function* streamTurn(
  { updates, learn, atRest = neverAtRest, errorText = publicText, ...options }: TurnSource,
  { inputSeq, afterSeq = 0 }: TurnTarget = {},
): AsyncGenerator<Chunk, void> {
  const projection = new TurnProjection(options);
  let isAnnounced = afterSeq === 0;
  /** Whether the log was read to its end: before that, what waited may have been answered. */
  let isLive = false;
  /** Why the session was suspended last. */
  let why: string | null = null;

  function* announce(chunks: readonly UIMessageChunk[]): Generator<UIMessageChunk, void> {
    if (!isAnnounced && projection.startedSeq > 0) yield projection.start();
    isAnnounced = true;
    yield* chunks;
  }

  function* pause(): Generator<UIMessageChunk, void> {
    const isStarted = projection.startedSeq > 0;
    if (isStarted) yield* announce(projection.pause());
    if (isStarted && projection.waitsFor !== "error") return;
    yield { type: "error", errorText: why ?? "the session does not run: it is suspended or closed" };
  }

  for await (const update of updates) {
    if ("mark" in update) {
      if (update.mark === "failed") {
        if (projection.startedSeq > 0) yield* announce(projection.pause());
        yield { type: "error", errorText: errorText(update.error) };
        return;
      }
      if (await mayPause(update, projection, atRest)) return yield* pause();
      isLive = true;
      if (update.mark === "idle") yield keepAlive;
    } else if ("delta" in update) {
      yield* projection.delta(update);
    } else {
      if (isOf(update, "turn.started") && !isTurnOf(update.body.inputs, inputSeq)) continue;
      if (isOf(update, "session.suspended")) why = update.content?.reason ?? update.body.by;
      await learn?.(update);
      const chunks = projection.event(update);
      if (update.seq > afterSeq) yield* announce(chunks);
      if (projection.isOver) return yield* announce(update.seq > afterSeq ? [] : projection.pause());
      if (isLive && isOf(update, "lease.released") && projection.waitsFor !== null) return yield* pause();
    }
  }
}

/** Messages of the engine are meant for users. Others may hold what a client must not see. */
export const publicText = (error: unknown): string =>
  error instanceof SkeinError
    ? error.hint === undefined
      ? error.message
      : `${error.message} (${error.hint})`
    : "An error occurred.";
