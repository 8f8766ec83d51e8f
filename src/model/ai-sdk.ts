/**
 * Models of Anthropic, OpenAI, Google and any Chat Completions server, through the provider packages of the
 * AI SDK. Only their language models are used, one streamed call at a time: no retries, no tool loop, no
 * state at the provider. Each package is imported on first use.
 *
 * When a context grows at the end, so do system, tools and messages of the request body. Two exceptions: the
 * marks of Anthropic's prompt cache, which move to the new end; and two consecutive user messages, which
 * Anthropic and Chat Completions get as one message with more blocks.
 */
import { present } from "../core/present.ts";
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { Settings } from "../core/context/part.ts";
import { readAnswer } from "./answer.ts";
import { asModelError, interrupted } from "./failure.ts";
import { hideKeys } from "./hidden-key.ts";
import {
  ModelError,
  type ModelAnswer,
  type ModelDelta,
  type Model,
  type ModelCall,
  type ModelFacts,
  type ModelProgress,
} from "./port.ts";
import { mayReason, readProgress, reasonsByDefault } from "./progress.ts";
import { makePrompt, type Prompt, type ProviderApi } from "./prompt.ts";
import { loadLanguageModel } from "./provider.ts";
import { withinReserve } from "./thinking-budget.ts";

export interface AiSdkOptions {
  /** `provider/model`. */
  readonly name: string;
  readonly wire: ProviderApi;
  /** The base URL of the provider's paths, with its API version. */
  readonly url: string;
  /** Not all servers need one. */
  readonly key: string | undefined;
  /** Where the key is set, for the error of a rejected key. */
  readonly keyPlace?: string;
  /** Other secrets to remove from errors: the keys of other providers. */
  readonly otherKeys?: readonly string[];
  readonly facts: ModelFacts;
  /** Absent: the provider's package makes it. */
  readonly load?: typeof loadLanguageModel;
}

export function aiSdkModel(options: AiSdkOptions): Model {
  return {
    name: options.name,
    facts: options.facts,
    async *stream(call) {
      const stop = new AbortController();
      try {
        return yield* streamOnce(options, call, AbortSignal.any([call.signal, stop.signal]));
      } catch (error) {
        throw call.signal.aborted ? interrupted() : withoutKeys(asModelError(error), options);
      } finally {
        // A consumer that stops closes the connection.
        stop.abort();
      }
    },
  };
}

/** The log keeps its message. */
function withoutKeys(error: ModelError, options: AiSdkOptions): ModelError {
  const { key, keyPlace, otherKeys = [] } = options;
  const { kind, retryAfterMs, isRejected, cause } = error;
  const said = hideKeys(error.message, key === undefined ? otherKeys : [key, ...otherKeys]);
  const text = kind === "auth" && keyPlace !== undefined ? `${said}; to use another key, ${keyPlace}` : said;
  return text === error.message ? error : new ModelError(kind, text, { retryAfterMs, isRejected, cause });
}

async function* streamOnce(
  options: AiSdkOptions,
  call: ModelCall,
  signal: AbortSignal,
): AsyncGenerator<ModelDelta | ModelProgress, ModelAnswer, void> {
  signal.throwIfAborted();
  const prompt = await unlessAborted(makePrompt(call, options.wire), signal);
  const post = recordingFetch(call.outputTokensMax);
  const [provider = ""] = options.name.split("/");
  const { load = loadLanguageModel } = options;
  const model = await load({
    provider,
    wire: options.wire,
    modelId: options.name.slice(provider.length + 1),
    url: options.url,
    key: options.key,
    fetch: post.fetch,
  });
  const request = callOptions(options, prompt, call.outputTokensMax, signal);
  const hidden = mayReason(options.wire, options.name, prompt.settings?.reasoning);
  yield { type: "hidden", hidden };
  const { stream } = await unlessAborted(Promise.resolve(model.doStream(request)), signal);
  const reader = readAnswer(prompt.toolOf);
  const progress = readProgress(options.wire);
  const parts = stream.getReader();
  try {
    for (;;) {
      const part = await unlessAborted(nextPart(parts, reader.finished), signal);
      if (part === null) return reader.answer(post.sent());
      const seen = progress.take(part);
      if (seen !== null) yield seen;
      const delta = reader.take(part);
      if (delta !== null) yield delta;
    }
  } finally {
    parts.cancel().catch(() => {});
  }
}

/** Null at the end. A connection that breaks after the provider finished changes nothing. */
async function nextPart(
  parts: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
  finished: boolean,
): Promise<LanguageModelV4StreamPart | null> {
  try {
    const { done, value } = await parts.read();
    return done ? null : value;
  } catch (error) {
    if (finished) return null;
    throw error;
  }
}

function callOptions(
  options: AiSdkOptions,
  prompt: Prompt,
  outputTokensMax: number,
  abortSignal: AbortSignal,
): LanguageModelV4CallOptions {
  const { temperature, reasoning } = prompt.settings ?? {};
  return {
    prompt: prompt.messages,
    maxOutputTokens: outputTokensMax,
    abortSignal,
    // The provider's raw events, for usage reported before the end.
    includeRawChunks: true,
    ...(prompt.tools.length === 0 ? {} : { tools: prompt.tools }),
    ...present({ temperature, reasoning }),
    providerOptions: optionsOf(options, reasoning),
  };
}

function optionsOf(options: AiSdkOptions, reasoning: Settings["reasoning"]): SharedV4ProviderOptions {
  switch (options.wire) {
    case "anthropic":
      // These reject their own thought if anything before it has changed.
      return reasonsByDefault.test(options.name) ? { anthropic: preservedThinking(options, reasoning) } : {};
    case "openai":
      // Nothing is stored there: reasoning comes back encrypted, which the library requests where the model
      // reasons, and is sent again in full.
      return { openai: { store: false } };
    case "google":
      return reasoning === undefined || reasoning === "none"
        ? {}
        : { google: { thinkingConfig: { includeThoughts: true } } };
    case "compatible":
      return {};
  }
}

/**
 * A compaction, or tools bound later, change what precedes a kept thought. This asks the provider to drop
 * such a thought instead of rejecting the request forever.
 */
function preservedThinking(
  { name }: AiSdkOptions,
  reasoning: Settings["reasoning"],
): SharedV4ProviderOptions[string] {
  const blockBinding = { prefixMismatchBehavior: "drop_block" };
  if (reasoning !== "none") return { thinking: { type: "adaptive", display: "summarized", blockBinding } };
  // Where thinking can be reduced to notes between calls, this option does not exist; so no thought is sent
  // back.
  return name.includes("sonnet") ? { sendReasoning: false } : { thinking: { blockBinding } };
}

interface RecordingFetch {
  readonly fetch: typeof fetch;
  /** The first request body, as sent. */
  readonly sent: () => string | null;
}

function recordingFetch(outputTokensMax: number): RecordingFetch {
  let sent: string | null = null;
  return {
    sent: () => sent,
    async fetch(input, init) {
      const body = typeof init?.body === "string" ? withinReserve(init.body, outputTokensMax) : undefined;
      sent ??= body ?? null;
      const response = await fetch(input, body === undefined ? init : { ...init, body });
      const type = response.headers.get("content-type") ?? "";
      if (response.ok && /^(text\/html|application\/json)/i.test(type)) {
        await response.body?.cancel();
        const where = input instanceof Request ? input.url : String(input);
        throw new ModelError("garbled", `${where}: expected an event stream, got ${type}`);
      }
      return response;
    },
  };
}

/** Rejects at once if the signal is aborted, however long the promise takes. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(interrupted());
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", stop));
}
