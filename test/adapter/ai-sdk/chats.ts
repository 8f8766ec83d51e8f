/** Chats of the unmodified client on an engine: by route handlers, without a socket in between. */
import assert from "node:assert/strict";
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { chatRoutes, type ChatRoutesOptions } from "../../../src/adapter/ai-sdk/ai-sdk.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { ModelError, type Model } from "../../../src/model/port.ts";
import type { OuterTool } from "../../../src/tool/port.ts";
import { engineWith, scripted, type Line, type Scripted } from "../../runtime/turn/scripted.ts";

export interface ChatPlace extends AsyncDisposable {
  readonly engine: Engine;
  readonly script: Scripted;
  /** Every request of the clients. */
  readonly requests: { readonly method: string; readonly path: string; readonly body: string }[];
  readonly fetch: typeof fetch;
  chat(id?: string, messages?: UIMessage[]): Chat<UIMessage>;
}

export interface ChatPlaceOptions extends Partial<Omit<ChatRoutesOptions, "engine">> {
  readonly lines?: readonly Line[];
  readonly script?: Scripted;
  readonly tools?: readonly OuterTool[];
  /** Called with the response, to change it. */
  readonly through?: (response: Response) => Response;
  readonly when?: ConstructorParameters<typeof Chat>[0]["sendAutomaticallyWhen"];
}

export function chatPlace(options: ChatPlaceOptions): ChatPlace {
  const { lines = [], tools = [], through, when, ...routes } = options;
  const script = options.script ?? scripted(lines);
  const engine = engineWith(script, { tools });
  const handlers = chatRoutes({ engine, ...routes });
  const requests: { method: string; path: string; body: string }[] = [];
  const asked: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const body = typeof init?.body === "string" ? init.body : "";
    requests.push({ method: request.method, path: new URL(request.url).pathname, body });
    const handler = handlers[request.method as "GET" | "POST" | "DELETE"];
    const response = await handler(request);
    return through === undefined ? response : through(response);
  };
  return {
    engine,
    script,
    requests,
    fetch: asked,
    chat: (id = "chat-1", messages = []) =>
      new Chat({
        id,
        messages,
        transport: new DefaultChatTransport({ api: "http://skein.test/api/chat", fetch: asked }),
        ...(when === undefined ? {} : { sendAutomaticallyWhen: when }),
      }),
    [Symbol.asyncDispose]: () => engine.close(),
  };
}

/** A model that says its words one by one, each when it is let. */
export function wordByWord(words: readonly string[], next: (word: number) => Promise<void>): Scripted {
  const facts = { windowTokens: 100_000, outputTokensMax: 4_000, images: true, price: null };
  const calls: Scripted["calls"] = [];
  const model = (name: string): Model => ({
    name,
    facts,
    async *stream(call) {
      calls.push(call);
      yield { type: "reasoning", text: "Hm." };
      for (const [place, text] of words.entries()) {
        await Promise.race([next(place), aborted(call.signal)]);
        if (call.signal.aborted) throw new ModelError("interrupted", "stopped");
        yield { type: "text", text };
      }
      const blocks = [
        { type: "reasoning", text: "Hm." },
        { type: "text", text: words.join("") },
      ] as const;
      return { blocks, finish: "stop", usage: { inputTokens: 10, outputTokens: 5 }, sent: null };
    },
  });
  return { calls, models: { byDefault: "test/words", model: async (name) => model(name), list: () => [] } };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => signal.addEventListener("abort", () => done(), { once: true }));

/** Resolves when something holds that is looked at now and then. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 5));
  }
  assert.fail("it did not come true within 5 seconds");
}

/** A message as JSON: fields that are undefined do not count. */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

export const texts = (messages: readonly UIMessage[]): string[] =>
  messages.map(
    ({ role, parts }) =>
      `${role}: ${parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("|")}`,
  );
