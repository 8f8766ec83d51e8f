/** Streams a model call: its deltas go to subscribers at once, its answer is returned whole. */
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { ContextPart } from "../../core/context/part.ts";
import { errorText } from "../../core/first-error.ts";
import { ModelError, type ModelAnswer, type Model } from "../../model/port.ts";
import { readUsage } from "../../core/budget/reported-usage.ts";
import { readBlob } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { takeNote, type StreamedParts } from "./broken-call.ts";
import { momentOf } from "../read/lease-status.ts";

/** Rejects with `ModelError` only. An aborted signal takes effect at once, whatever the driver does. */
export async function listen(
  deps: Deps,
  session: SessionId,
  model: Model,
  call: {
    readonly parts: readonly ContextPart[];
    readonly outputTokensMax: number;
    readonly signal: AbortSignal;
    /** Deltas belong to the request at this position. Null: they have no subscribers. */
    readonly requestSeq: number | null;
    /** Filled with what arrived, for settling the call if it breaks off. */
    readonly streamed: StreamedParts;
  },
): Promise<ModelAnswer> {
  const { store, world, live } = deps;
  const over = new AbortController();
  const signal = AbortSignal.any([call.signal, over.signal]);
  const blob = (hash: string): Promise<Uint8Array> => readBlob(store, hash);
  const { parts, outputTokensMax, requestSeq, streamed } = call;
  const done = new AbortController();
  try {
    const stream = model.stream({ parts, outputTokensMax, blob, signal });
    for (;;) {
      const heard = new AbortController();
      const quiet = AbortSignal.any([heard.signal, done.signal]);
      const next = await Promise.race([
        stream.next(),
        stopped(call.signal, quiet),
        world.sleep(limit.modelSilenceMs, quiet).then(() => "silence" as const),
      ]);
      heard.abort();
      if (next === "stop") throw new ModelError("interrupted", "the model call was interrupted");
      if (next === "silence") throw new ModelError("dropped", "the model stream timed out");
      if (next.done === true) return { ...next.value, usage: readUsage(next.value.usage) };
      if (takeNote(streamed, next.value, momentOf(world)) && requestSeq !== null)
        live.publish(session, { type: "delta", requestSeq, delta: next.value });
    }
  } catch (error) {
    if (error instanceof ModelError) throw error;
    if (call.signal.aborted)
      throw new ModelError("interrupted", "the model call was interrupted", { cause: error });
    // A driver that breaks its contract must not take the session with it.
    const message = errorText(error);
    throw new ModelError("failed", message, { cause: error });
  } finally {
    if (requestSeq !== null) live.end(session, requestSeq);
    done.abort();
    over.abort();
  }
}

function stopped(signal: AbortSignal, done: AbortSignal): Promise<"stop"> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("stop");
    signal.addEventListener("abort", () => resolve("stop"), { once: true, signal: done });
  });
}

/** The bytes of a required blob. */
