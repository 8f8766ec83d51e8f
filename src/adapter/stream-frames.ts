/** Sends a stream of frames as the response to a request of a mount. */
import type { MountRequest } from "../server/http/mount.ts";

type Caller = Awaited<ReturnType<MountRequest["authorize"]>>;

interface FrameOptions {
  /** Headers besides the usual ones. */
  readonly headers?: Parameters<MountRequest["stream"]>[2];
  /** The last frame after an error. Without it the request fails. */
  readonly failed?: (error: unknown) => string;
}

/**
 * Sends frames until they end, or the client, its token or the server does: then the signal is aborted. False
 * when there is no stream (null): nothing was sent. `open` rejects before anything is sent.
 */
export async function streamFrames(
  given: MountRequest,
  caller: Caller,
  open: (signal: AbortSignal) => Promise<AsyncIterable<string> | null> | AsyncIterable<string>,
  { headers, failed }: FrameOptions = {},
): Promise<boolean> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, given.gone, given.stopping]);
  try {
    const frames = await open(signal);
    if (frames === null) return false;
    await given.stream(
      caller,
      async (sink) => {
        sink.signal.addEventListener("abort", () => ended.abort(), { once: true });
        try {
          for await (const frame of frames) {
            await sink.drained();
            if (sink.signal.aborted) return;
            sink.write(frame);
          }
        } catch (error) {
          if (failed === undefined) throw error;
          sink.write(failed(error));
        }
      },
      headers,
    );
    return true;
  } finally {
    ended.abort();
  }
}

/** Each of them as a frame. */
export async function* framed<T>(
  items: AsyncIterable<T>,
  frame: (item: T) => string,
): AsyncGenerator<string> {
  for await (const item of items) yield frame(item);
}
