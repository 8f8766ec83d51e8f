/**
 * The model port: one stateless call of a model. Drivers (offline, the AI SDK) keep nothing between calls;
 * everything the model knows is in the parts of the call.
 */
import type { TurnExecutor } from "../core/turn/executor.ts";
import type { Metadata, ContextPart } from "../core/context/part.ts";

/** A call of a model: the context and the limits. */
export interface ModelCall {
  /** The rendered context. Of several `settings` or `tools` parts the last one counts. */
  readonly parts: readonly ContextPart[];
  /** The output limit, below the model's own; it is what the budget has reserved. */
  readonly outputTokensMax: number;
  /** The bytes of an image or file that a part names by its hash. */
  readonly blob: (hash: string) => Promise<Uint8Array>;
  readonly signal: AbortSignal;
}

/** A piece of an answer while it is generated. Live only: it is never stored. */
export type ModelDelta =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** The model began a call of this tool. */
  | { readonly type: "tool-call"; readonly tool: string };

/**
 * Progress of a running call, for settling it if it breaks. Not shown to users. Without it, a broken call is
 * settled by the deltas alone.
 */
export type ModelProgress =
  /** The usage reported so far. `isWhole`: it counts all output up to now, including hidden output. */
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
      /** The provider's own call id; may repeat, may be odd. */
      readonly call: string;
      readonly tool: string;
      readonly input: unknown;
      /** True if the arguments were not JSON; `input` is then their text. */
      readonly malformed?: boolean;
      readonly metadata?: Metadata;
    };

/** The reason why a model stopped. */
export type FinishReason = "stop" | "tool-calls" | "length" | "refusal" | "content-filter" | "other";

/** The tokens of a model call. */
export interface TokenUsage {
  /** All input tokens, including cached ones. */
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
  /** Null if the provider did not report it. */
  readonly usage: TokenUsage | null;
  /** The request body as sent, as evidence; null without a network request. */
  readonly sent: string | null;
}

/** Nano-dollars for one token. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  /** When this price was valid: a date such as 2026-11-01. */
  readonly asOf: string;
}

/** What is known of a model: context window, prices, abilities. */
export interface ModelFacts {
  readonly windowTokens: number;
  /**
   * The length up to which it works well, and where that figure is from: a publication, a measurement of the
   * user's own, or Skein's rule. Absent: the rule's.
   */
  readonly effective?: { readonly tokens: number; readonly source: string };
  readonly outputTokensMax: number;
  readonly images: boolean;
  /** Null: unknown, and so is the cost. Never zero for lack of knowledge. */
  readonly price: ModelPrice | null;
}

/** A model driver: one call, streamed. */
export interface Model {
  /** `provider/model`. */
  readonly name: string;
  readonly facts: ModelFacts;
  /** Yields deltas, returns the whole answer. Throws only `ModelError`. */
  stream(call: ModelCall): AsyncGenerator<ModelDelta | ModelProgress, ModelAnswer, void>;
  /** Another agent that runs whole turns; `stream` is then never called. */
  readonly executor?: TurnExecutor;
}

/** The kinds of a `ModelError`. */
export type ModelErrorKind =
  /** The provider is overloaded (503, 529). */
  | "overloaded"
  | "rate-limited"
  /** The context does not fit the context window: compaction helps, a retry does not. */
  | "overflow"
  /** The stream or the connection ended before the answer did. */
  | "dropped"
  /** The key is missing or rejected. */
  | "auth"
  /** The provider rejects the request, or does not know the model. */
  | "invalid"
  /** The caller's signal was aborted. */
  | "interrupted"
  /** The response does not match the provider's documentation. */
  | "garbled"
  /** An internal error of the provider (500). */
  | "failed";

const rejected: readonly ModelErrorKind[] = ["auth", "invalid", "overflow", "rate-limited", "overloaded"];
const retried: readonly ModelErrorKind[] = ["overloaded", "rate-limited", "dropped", "garbled", "failed"];

/** The failure of a model call. Its kind decides about a retry. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly kind: ModelErrorKind;
  /** The retry delay that the provider requested. */
  readonly retryAfterMs: number | null;
  /** The provider rejected the request, or never received it: no tokens were used. */
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

  /** Whether the same request may succeed later. */
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
  /** Its URL; given for a server with unknown models, listed as `provider/*`. */
  readonly url?: string;
}

/** The models available by name. */
export interface Models {
  /** The default model of a session: of the first provider with a key, otherwise `offline/offline`. */
  readonly byDefault: string;
  /** Rejects with `invalid` for an unknown provider, with `unavailable` for a missing key. */
  model(name: string): Promise<Model>;
  list(): readonly ModelListing[];
  /** Ranks by meaning what an input is about; absent: by words alone. */
  readonly embedder?: Embedder;
}

/** Turns texts into vectors. */
export interface Embedder {
  /** `provider/model`. */
  readonly name: string;
  /** One vector for each text, in order. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]>;
}
