/**
 * The model port: one stateless call of a model. Drivers (offline, the AI SDK) keep nothing between calls;
 * all that the model knows is in the parts of the call.
 */
import type { Metadata, ContextPart } from "../core/context/part.ts";

/** A call of a model: the context and the limits. */
export interface ModelCall {
  /** The rendered context. Of several `settings` or `tools` parts the last one counts. */
  readonly parts: readonly ContextPart[];
  /** No more than this may come back, whatever the model could do; it is what the budget has reserved. */
  readonly outputTokensMax: number;
  /** The bytes of an image or file that a part names by its hash. */
  readonly blob: (hash: string) => Promise<Uint8Array>;
  readonly signal: AbortSignal;
}

/** What is heard of an answer while it is made. Live only: it is never stored. */
export type ModelDelta =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** The model began to ask for this tool. */
  | { readonly type: "tool-call"; readonly tool: string };

/**
 * What is known of a call while it runs, for settling it if it breaks off. Nobody is shown it. Without it, a
 * call that breaks off is settled by the deltas alone.
 */
export type ModelProgress =
  /** What the provider has reported so far. `isWhole`: it counts all output up to now, hidden too. */
  | { readonly type: "usage"; readonly usage: TokenUsage; readonly isWhole: boolean }
  /** Arguments of a tool call, as they are streamed. */
  | { readonly type: "arguments"; readonly text: string }
  /** Whether output may be produced from here on, or was, that is not streamed. */
  | { readonly type: "hidden"; readonly hidden: boolean };

/** A block of a model's answer. */
export type AnswerBlock =
  | { readonly type: "text"; readonly text: string; readonly metadata?: Metadata }
  | { readonly type: "reasoning"; readonly text: string; readonly metadata?: Metadata }
  | {
      readonly type: "tool-call";
      /** The provider's own id of the call; may repeat, may be odd. */
      readonly call: string;
      readonly tool: string;
      readonly input: unknown;
      /** True when the arguments were not JSON; `input` is then their text. */
      readonly malformed?: boolean;
      readonly metadata?: Metadata;
    };

/** The reason why a model stopped. */
export type FinishReason = "stop" | "tool-calls" | "length" | "refusal" | "content-filter" | "other";

/** The tokens of a model call. */
export interface TokenUsage {
  /** All input tokens, the cached ones too. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

/** A model's complete answer. */
export interface ModelAnswer {
  readonly blocks: readonly AnswerBlock[];
  readonly finish: FinishReason;
  /** Null when the provider did not say. */
  readonly usage: TokenUsage | null;
  /** The body of the request as it was sent, for evidence; null when nothing went over a wire. */
  readonly sent: string | null;
}

/** Nano-dollars for one token. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  /** When this price was true: a date as in 2026-11-01. */
  readonly asOf: string;
}

/** What is known of a model: context window, prices, abilities. */
export interface ModelFacts {
  readonly windowTokens: number;
  readonly outputTokensMax: number;
  readonly images: boolean;
  /** Null: nobody knows, and so the cost is unknown. Never zero for want of knowledge. */
  readonly price: ModelPrice | null;
}

/** A model driver: one call, streamed. */
export interface Model {
  /** `provider/model`. */
  readonly name: string;
  readonly facts: ModelFacts;
  /** Yields deltas, returns the whole answer. Throws `ModelError` and nothing else. */
  stream(call: ModelCall): AsyncGenerator<ModelDelta | ModelProgress, ModelAnswer, void>;
}

/** The kinds of a `ModelError`. */
export type ModelErrorKind =
  /** The provider has too much to do (503, 529). */
  | "overloaded"
  | "rate-limited"
  /** The context does not fit the window: compaction helps, trying again does not. */
  | "overflow"
  /** The stream or the connection ended before the answer did. */
  | "dropped"
  /** The key is missing or refused. */
  | "auth"
  /** The provider does not accept the request, or does not know the model. */
  | "invalid"
  /** The caller's signal was aborted. */
  | "interrupted"
  /** What came back is not what the provider's documentation says. */
  | "garbled"
  /** An error of the provider's own (500). */
  | "failed";

const rejected: readonly ModelErrorKind[] = ["auth", "invalid", "overflow", "rate-limited", "overloaded"];
const retried: readonly ModelErrorKind[] = ["overloaded", "rate-limited", "dropped", "garbled", "failed"];

/** The failure of a model call. Its kind decides about a retry. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly kind: ModelErrorKind;
  /** How long the provider asked to be left alone. */
  readonly retryAfterMs: number | null;
  /** The provider rejected the request, or never got it: no tokens were used. */
  readonly isRejected: boolean;

  constructor(
    kind: ModelErrorKind,
    message: string,
    options: {
      readonly retryAfterMs?: number | null;
      readonly isRejected?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.isRejected = options.isRejected ?? rejected.includes(kind);
  }

  /** Whether the same request may well succeed later. */
  get retryable(): boolean {
    return retried.includes(this.kind);
  }
}

/** A model in a list, and whether it can be used. */
export interface ModelListing {
  readonly name: string;
  readonly facts: ModelFacts;
  /** Whether it can be used now; if not, `hint` says what is missing. */
  readonly ready: boolean;
  readonly hint: string | null;
  /** Where it is; given of a server whose models are not known, listed as `provider/*`. */
  readonly url?: string;
}

/** The models that can be had by name. */
export interface Models {
  /** The model a session uses that names none: of the first provider with a key, else `offline/offline`. */
  readonly byDefault: string;
  /** Rejects with `invalid` for a provider that is not known, with `unavailable` for a missing key. */
  model(name: string): Promise<Model>;
  list(): readonly ModelListing[];
}
