/**
 * Detects an MCP server over HTTP that disappears during a call. The SDK's transport does not report a stream
 * that ends without its answer, so the call would wait for its timeout.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ToolWorld } from "./port.ts";

interface AnswerWatch {
  readonly fetch: typeof fetch;
  /** From now on fails calls that lost their stream, but never an answered one. */
  watch(client: Client, transport: Transport): void;
}

type RequestId = string | number;

/** The SDK's message after it stopped resuming a stream. */
const gaveUp = /^Maximum reconnection attempts/;
/** The SDK's code for a closed connection. */
const closed = -32_000;

const parseMs = 20;

export function watchAnswers(world: Pick<ToolWorld, "sleep">): AnswerWatch {
  /** Calls without an answer; true once their stream has ended and the SDK tries to resume it. */
  const waiting = new Map<RequestId, boolean>();
  let fail = (_: RequestId): void => undefined;

  async function ended(id: RequestId, isResumable: boolean): Promise<void> {
    // The end of the stream is still in the SDK's parser.
    await world.sleep(parseMs);
    if (!waiting.has(id)) return;
    if (isResumable) waiting.set(id, true);
    else fail(id);
  }

  return {
    async fetch(input, init) {
      const id = init?.method === "POST" ? requestIdIn(init.body) : undefined;
      if (id !== undefined) waiting.set(id, false);
      const response = await fetch(input, init).catch((error: unknown) => {
        if (id !== undefined) waiting.delete(id);
        throw error;
      });
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
      if (id === undefined || response.body === null || !response.ok || !isStream) return response;
      const { status, statusText, headers } = response;
      const body = watchStream(response.body, (isResumable) => void ended(id, isResumable));
      return new Response(body, { status, statusText, headers });
    },
    watch(client, transport) {
      waiting.clear();
      const { onmessage } = transport;
      fail = (id) => {
        waiting.delete(id);
        const message = "the connection was closed before the answer came";
        onmessage?.({ jsonrpc: "2.0", id, error: { code: closed, message } });
      };
      const hear: typeof onmessage = (message, ...more) => {
        if ("id" in message && !("method" in message) && message.id !== undefined) waiting.delete(message.id);
        onmessage?.(message, ...more);
      };
      const onerror = (error: Error): void => {
        if (!gaveUp.test(error.message)) return;
        for (const [id, isResuming] of waiting) if (isResuming) fail(id);
      };
      Object.assign(transport, { onmessage: hear });
      Object.assign(client, { onerror });
    },
  };
}

function requestIdIn(body: unknown): RequestId | undefined {
  if (typeof body !== "string") return undefined;
  const message = JSON.parse(body) as { readonly id?: RequestId; readonly method?: string };
  return message.method === undefined ? undefined : message.id;
}

/**
 * The same stream. `end` is called when it is over, and learns whether the server numbered its events for
 * resuming.
 */
function watchStream(
  body: ReadableStream<Uint8Array>,
  end: (isResumable: boolean) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let [tail, isResumable] = ["\n", false];
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          return end(isResumable);
        }
        const text = tail + Buffer.from(value).toString("latin1");
        isResumable ||= /[\r\n]id:/.test(text);
        tail = text.slice(-4);
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        end(isResumable);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
