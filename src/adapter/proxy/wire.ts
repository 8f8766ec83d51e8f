/** What the formats of the providers have in common, as far as the recorder needs it. No I/O. */
import type { ReportedUsage } from "../../core/budget/reported-usage.ts";

/** A tool call that an answer requests. */
export interface WireCall {
  readonly id: string | null;
  readonly name: string;
  readonly input: unknown;
}

/** The result of a tool call. */
export interface WireResult {
  readonly id: string | null;
  readonly name: string | null;
  readonly output: unknown;
  readonly isError: boolean;
}

/** One message of a conversation. What has no place here is counted in `other`. */
export interface WireMessage {
  /** `context`: given by the program, not by a person. */
  readonly role: "user" | "assistant" | "context";
  readonly texts: readonly string[];
  readonly reasoning: readonly string[];
  readonly images: readonly { readonly mediaType: string; readonly base64: string }[];
  readonly calls: readonly WireCall[];
  readonly results: readonly WireResult[];
  /** Types of parts that have no place above. */
  readonly other: readonly string[];
}

/** A request to a model. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  /** All but the messages. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly outputTokensMax: number | null;
  /** Answers that it asks for at once. */
  readonly outputs: number;
  /** The answer that the provider keeps and this request continues. */
  readonly previous: string | null;
}

/** What an answer said, as far as it came. */
export interface WireAnswer {
  readonly message: WireMessage;
  readonly finish: string | null;
  readonly usage: ReportedUsage | null;
  /** The usage is final. Else the call was cut off. */
  readonly isWhole: boolean;
  readonly id: string | null;
  /** The provider's error inside a successful response. */
  readonly error: string | null;
}

/** Reads one response: the whole body, or the events of a stream as they arrive. */
export interface WireAnswerReader {
  body(json: unknown): void;
  event(data: unknown): void;
  answer(): WireAnswer;
}

/** The error of a provider, in its own form. */
export interface WireError {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why the proxy itself answers. */
export type ProxyRefusal =
  | "budget"
  | "unauthorized"
  | "forbidden"
  | "invalid"
  | "too-large"
  | "unavailable"
  | "not-found";

/** One provider's API. */
export interface ProviderWire {
  readonly provider: string;
  /** Its public address. */
  readonly upstream: string;
  /** Reads a request; null: the path is not a model call; it is forwarded unrecorded. */
  request(path: string, json: unknown): ModelRequest | null;
  /** True when the path is a model call whose response has answers. */
  readonly isCall: (path: string) => boolean;
  reader(path: string): WireAnswerReader;
  /** The model may have billed output that neither the answer nor its usage shows. */
  mayHide(model: string, answer: WireAnswer): boolean;
  refuse(why: ProxyRefusal, message: string): WireError;
}

export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const objectsIn = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.filter(isJson) : [];
export const textIn = (value: unknown): string => (typeof value === "string" ? value : "");
export const countIn = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
/** A place in a list that a stream names. Null: no answer has so many parts. */
export const indexIn = (value: unknown): number | null => {
  const index = countIn(value);
  return index < 10_000 ? index : null;
};
/** Nothing of the answer was seen, or it began with reasoning. */
export const isUnseen = ({ message: { texts, calls, reasoning, other } }: WireAnswer): boolean =>
  reasoning.length > 0 || other.includes("redacted_thinking") || texts.length + calls.length === 0;
export const without = (json: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name)));

/** A JSON text, or the text itself where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Collects a message part by part. */
export class MessageBuilder {
  readonly #role: WireMessage["role"];
  readonly texts: string[] = [];
  readonly reasoning: string[] = [];
  readonly images: { mediaType: string; base64: string }[] = [];
  readonly calls: WireCall[] = [];
  readonly results: WireResult[] = [];
  readonly other: string[] = [];

  constructor(role: WireMessage["role"]) {
    this.#role = role;
  }

  text(text: unknown): void {
    if (typeof text === "string" && text !== "") this.texts.push(text);
  }

  message(): WireMessage {
    const { texts, reasoning, images, calls, results, other } = this;
    return { role: this.#role, texts, reasoning, images, calls, results, other };
  }
}

const statuses: Readonly<Record<ProxyRefusal, number>> = {
  budget: 429,
  unauthorized: 401,
  forbidden: 403,
  invalid: 400,
  "too-large": 413,
  unavailable: 503,
  "not-found": 404,
};
/** A refusal that the same request meets again. The client may retry the others. */
export const retryHeaders = (why: ProxyRefusal): Readonly<Record<string, string>> =>
  why === "unavailable" ? {} : { "x-should-retry": "false" };
export const statusOf = (why: ProxyRefusal): number => statuses[why];
