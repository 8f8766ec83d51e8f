/** Streams of UI message chunks as responses. */
import type { UIMessageChunk } from "ai";
import type { SessionRun } from "../../runtime/turn/ask.ts";
import { isOf } from "../../core/transcript.ts";
import { keepAlive, streamTurn } from "./turn-stream.ts";
import { makeFiles, type MessagesOptions } from "./messages.ts";
import type { StreamUpdate } from "./updates.ts";

/** The headers of a UI message stream. */
export const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
} as const;

export const doneFrame = "data: [DONE]\n\n";

/** JSON has no line breaks, so no text can end its frame. */
export const chunkFrame = (chunk: UIMessageChunk | typeof keepAlive): string =>
  chunk === keepAlive ? ": keep-alive\n\n" : `data: ${JSON.stringify(chunk)}\n\n`;

/** A response that streams chunks. Closing it cancels nothing. */
export function chunkResponse(
  chunks: AsyncGenerator<UIMessageChunk | typeof keepAlive, void>,
  {
    headers = {},
    stop,
  }: { readonly headers?: Readonly<Record<string, string>>; readonly stop?: () => void } = {},
): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      controller.enqueue(encoder.encode(done === true ? doneFrame : chunkFrame(value)));
      if (done !== true) return;
      controller.close();
      stop?.();
    },
    async cancel() {
      stop?.();
      await chunks.return();
    },
  });
  const all = new Headers(headers);
  for (const [name, value] of Object.entries(streamHeaders)) all.set(name, value);
  return new Response(body, { headers: all });
}

/** Options of `toUIMessageStreamResponse`. */
export interface RunResponseOptions extends MessagesOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The text of an error for the client. Default: messages of the engine, and one text for all others. */
  readonly errorText?: (error: unknown) => string;
}

/**
 * A run as the response that `useChat` expects. The run continues when the client disconnects.
 */
export function toUIMessageStreamResponse(run: SessionRun, options: RunResponseOptions = {}): Response {
  const { headers } = options;
  return chunkResponse(toUIMessageChunks(run, options), headers === undefined ? {} : { headers });
}

/** The same as chunks. */
export async function* toUIMessageChunks(
  run: SessionRun,
  { errorText, ...options }: RunResponseOptions = {},
): AsyncGenerator<UIMessageChunk, void> {
  const files = makeFiles(options);
  const updates = updatesOf(run);
  const first = await updates.next();
  if (first.done === true) return;
  const session = "session" in first.value ? first.value.session : "";
  const isInput = "seq" in first.value && isOf(first.value, "input.received");
  const inputSeq = isInput && "seq" in first.value ? first.value.seq : undefined;
  async function* all(): AsyncGenerator<StreamUpdate> {
    if (first.done !== true) yield first.value;
    yield* updates;
  }
  const source = { session, updates: all(), urlOf: files.urlOf, learn: files.learn };
  const turn = streamTurn({ ...source, ...(errorText === undefined ? {} : { errorText }) }, { inputSeq });
  for await (const chunk of turn) if (chunk !== keepAlive) yield chunk;
}

async function* updatesOf(run: SessionRun): AsyncGenerator<StreamUpdate> {
  try {
    yield* run;
    yield { mark: "ran" };
  } catch (error) {
    yield { mark: "failed", error };
  }
}
