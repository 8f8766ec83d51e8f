/** What the wires of the test server have in common: what a model says, and how a provider would send it. */

/** One thing a model says, as a test writes it down. */
export type WireBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "refusal"; readonly text: string }
  /** `seal` is what the provider wants to see again: a signature, or the reasoning itself, encrypted. */
  | { readonly type: "reasoning"; readonly text: string; readonly seal: string }
  /** `input` is the text of the arguments as the model wrote it, JSON or not. */
  | {
      readonly type: "call";
      readonly id: string;
      readonly tool: string;
      readonly input: string;
      readonly seal?: string;
    };

export interface WireUsage {
  /** All input, the cached too. */
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly written?: number;
  readonly reasoning?: number;
}

export interface WireAnswer {
  readonly blocks: readonly WireBlock[];
  /** The provider's own word; what fits the blocks when left out. */
  readonly finish?: string;
  readonly usage?: WireUsage;
}

/** An answer that is no stream. */
export interface WireStatus {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or text as it is. */
  readonly body: unknown;
}

export type WireTrouble =
  | "rate-limited"
  | "overloaded"
  | "overflow"
  | "bad-key"
  | "unknown-model"
  | "bad-request"
  | "failed";

/** A provider's streaming format and its errors, as its public documentation has them. */
export interface WireFormat {
  /** What comes between the server's address and the paths. */
  readonly base: string;
  /** What requests are posted to. */
  readonly path: RegExp;
  /** The events of a stream, each as the text that goes over the wire. */
  readonly events: (answer: WireAnswer) => string[];
  /** The provider's words for each kind of trouble. */
  readonly troubles: Readonly<Record<WireTrouble, WireStatus>>;
  /** An error in a stream that began well: the provider is overloaded. */
  readonly lateTrouble: string;
  /** The parts of a request that must grow at the end only. */
  readonly read: (body: Readonly<Record<string, unknown>>) => WireContext;
}

export interface WireContext {
  readonly system: readonly unknown[];
  readonly tools: readonly unknown[];
  readonly messages: readonly unknown[];
}

export const defaultUsage: WireUsage = { input: 20, output: 10 };

/** A server-sent event; Anthropic and OpenAI name it, others do not. */
export function serverSent(content: unknown, name?: string): string {
  const title = name === undefined ? "" : `event: ${name}\n`;
  return `${title}data: ${typeof content === "string" ? content : JSON.stringify(content)}\n\n`;
}

/** In two or more pieces, as text arrives. */
export function pieces(text: string): string[] {
  return text.match(/[^]{1,7}/gu) ?? [];
}

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
