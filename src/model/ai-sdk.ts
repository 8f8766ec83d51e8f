/**
 * Models of Anthropic, OpenAI, Google and of any server that speaks Chat Completions, through the provider
 * packages of the AI SDK. Only their language models are used, one streamed call at a time: no retries, no
 * tool loop, no state at the provider. Each package is imported when it is first needed.
 *
 * Between contexts that grow at the end, so do system, tools and messages of the body that is sent. Two
 * things are not part of this: the marks of Anthropic's prompt cache, which move to the new end; and two
 * messages of the user in a row, which Anthropic and Chat Completions get as one message with more blocks.
 */
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
import { makePrompt, type Prompt, type Wire } from "./prompt.ts";
import { loadLanguageModel } from "./provider.ts";
import { withinReserve } from "./thinking-budget.ts";

export interface AiSdkOptions {
  /** `provider/model`. */
  readonly name: string;
  readonly wire: Wire;
  /** The address that the provider's paths are appended to, with the version of its API. */
  readonly url: string;
  /** Not all servers want one. */
  readonly key: string | undefined;
  /** How the key is set, for whoever reads that it was refused. */
  readonly keyPlace?: string;
  /** What errors must not tell besides it: the keys of other providers. */
  readonly otherKeys?: readonly string[];
  readonly facts: ModelFacts;
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
        // Whoever stops listening hangs up.
        stop.abort();
      }
    },
  };
}

/** What it says is kept in the log. */
function withoutKeys(error: ModelError, options: AiSdkOptions): ModelError {
  const { key, keyPlace, otherKeys = [] } = options;
  const { kind, retryAfterMs, isRejected, cause } = error;
  const said = hideKeys(error.message, key === undefined ? otherKeys : [key, ...otherKeys]);
  const told = kind === "auth" && keyPlace !== undefined ? `${said}; to use another key, ${keyPlace}` : said;
  return told === error.message ? error : new ModelError(kind, told, { retryAfterMs, isRejected, cause });
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
  const model = await loadLanguageModel({
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
      const told = progress.take(part);
      if (told !== null) yield told;
      const delta = reader.take(part);
      if (delta !== null) yield delta;
    }
  } finally {
    parts.cancel().catch(() => {});
  }
}

/** Null at the end. A connection that breaks after the provider said it was done changes nothing. */
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
    // The provider's own events, for the usage that it reports before the end.
    includeRawChunks: true,
    ...(prompt.tools.length === 0 ? {} : { tools: prompt.tools }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(reasoning === undefined ? {} : { reasoning }),
    providerOptions: optionsOf(options, reasoning),
  };
}

function optionsOf(options: AiSdkOptions, reasoning: Settings["reasoning"]): SharedV4ProviderOptions {
  switch (options.wire) {
    case "anthropic":
      // These refuse a thought of theirs when anything before it has changed.
      return reasonsByDefault.test(options.name) ? { anthropic: preservedThinking(options, reasoning) } : {};
    case "openai":
      // Nothing is kept there: reasoning comes back encrypted, which the library asks for by itself where the
      // model reasons, and is sent again in full.
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
 * A compaction, or tools bound later, change what stands before a thought that is kept. The provider is asked
 * to drop such a thought instead of refusing the request for ever.
 */
function preservedThinking(
  { name }: AiSdkOptions,
  reasoning: Settings["reasoning"],
): SharedV4ProviderOptions[string] {
  const blockBinding = { prefixMismatchBehavior: "drop_block" };
  if (reasoning !== "none") return { thinking: { type: "adaptive", display: "summarized", blockBinding } };
  // Where thinking can be reduced to notes between calls, this cannot be asked; so no thought is shown again.
  return name.includes("sonnet") ? { sendReasoning: false } : { thinking: { blockBinding } };
}

interface RecordingFetch {
  readonly fetch: typeof fetch;
  /** The first body that was sent, as it was sent. */
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
        throw new ModelError("garbled", `${where} answered with ${type}, not with a stream`);
      }
      return response;
    },
  };
}

/** Rejects at once when the signal is aborted, however long the promise takes. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(interrupted());
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", stop));
}
