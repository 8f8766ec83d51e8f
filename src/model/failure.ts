/**
 * Provider failures as the port's errors. Providers report them in four ways: a status with a JSON body, an
 * error inside a started stream, a broken stream, and garbled bytes.
 */
import {
  APICallError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { errorText } from "../core/first-error.ts";
import { ModelError, type ModelErrorKind } from "./port.ts";

export function asModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (APICallError.isInstance(error)) return fromCall(error);
  if (LoadAPIKeyError.isInstance(error)) return new ModelError("auth", error.message, { cause: error });
  const isRefused = [UnsupportedFunctionalityError, InvalidArgumentError, InvalidPromptError].some((kind) =>
    kind.isInstance(error),
  );
  if (isRefused) return new ModelError("invalid", errorText(error), { cause: error });
  if (isNonsense(error)) return garbled(error);
  if (error instanceof Error) return fromException(error);
  return fromFrame(error);
}

export const interrupted = (): ModelError => new ModelError("interrupted", "the model call was interrupted");

export const dropped = (cause?: unknown): ModelError =>
  new ModelError("dropped", "the stream ended before the response was complete", { cause });

/** An unexpected HTTP response, or none at all. */
function fromCall(error: APICallError): ModelError {
  const { statusCode, cause } = error;
  if (isNonsense(cause)) return garbled(cause);
  if (statusCode === undefined)
    return new ModelError("dropped", error.message, { cause, isRejected: isUnsent(cause) });
  if (statusCode < 400) return dropped(cause);
  // An error response is never billed, whatever its status.
  return fromStatus(
    {
      status: statusCode,
      message: error.message,
      body: error.responseBody ?? "",
      headers: error.responseHeaders ?? {},
    },
    { isRejected: true },
  );
}

/** An error inside a stream: a plain object, in each provider's own shape. */
function fromFrame(frame: unknown): ModelError {
  const { message, statusCode, code, type, status } = Object(frame) as Readonly<Record<string, unknown>>;
  const said = typeof message === "string" ? message : "the provider reported an error in its stream";
  const words = [type, code, status].filter((word) => typeof word === "string").join(" ");
  return fromStatus({
    status: [statusCode, code].map(Number).find((number) => number >= 400 && number < 600) ?? guess(words),
    message: said,
    body: JSON.stringify(frame) ?? "",
    headers: {},
  });
}

const guesses: readonly (readonly [RegExp, number])[] = [
  [/overloaded|unavailable|slow_down/i, 503],
  [/rate_limit|too_many|quota|exhausted/i, 429],
  [/authentication|api_key|unauthorized/i, 401],
  [/permission/i, 403],
  [/invalid|bad_?request|context|exceed/i, 400],
  [/not_?found/i, 404],
];
const guess = (words: string): number => guesses.find(([pattern]) => pattern.test(words))?.[1] ?? 500;

interface ProviderFailure {
  readonly status: number;
  readonly message: string;
  readonly body: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

function fromStatus(failed: ProviderFailure, options: { readonly isRejected?: true } = {}): ModelError {
  const kind = kindOf(failed);
  const waitMs = retryAfterMs(failed);
  const said = failed.message === "" ? `the provider answered with status ${failed.status}` : failed.message;
  const wish = waitMs === null ? "" : ` (retry after ${lengthOf(waitMs)})`;
  return new ModelError(kind, `${said}${wish}`, { retryAfterMs: waitMs, ...options });
}

function lengthOf(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 120) return seconds === 1 ? "a second" : `${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}

/** The messages of Anthropic, OpenAI, Google, and of vLLM, llama.cpp, LM Studio, Mistral, xAI and Groq. */
const overflows: readonly RegExp[] = [
  /prompt is too long/i,
  /exceed(s|ed)? (the )?context limit/i,
  /context_length_exceeded|context length exceeded|exceed_context_size/i,
  /exceeds? the (model's )?(maximum )?(available )?context (window|size|length)/i,
  /maximum context length/i,
  /maximum (model|prompt) length/i,
  /context the overflows|greater than the context length/i,
  /reduce the length of the (messages|prompt|input)/i,
];
/** Two phrases in this order. One pattern with `.*` between them would take quadratic time. */
const overflowPairs: readonly (readonly [first: string, then: string])[] = [
  ["input token count ", "exceeds the maximum"],
  ["token ", "must be <="],
  ["tokens ", "must be <="],
];

function isOverflow(said: string): boolean {
  if (overflows.some((pattern) => pattern.test(said))) return true;
  const lower = said.toLowerCase();
  return overflowPairs.some(([first, then]) => {
    const at = lower.indexOf(first);
    return at !== -1 && lower.includes(then, at);
  });
}

function kindOf({ status, message, body }: ProviderFailure): ModelErrorKind {
  const said = `${message}\n${body}`;
  if (status === 413) return "overflow";
  if (status === 401 || status === 402 || status === 403) return "auth";
  if (status === 429) {
    // More than a minute's quota in one request: a retry does not help, a smaller request does.
    if (/request too large/i.test(said)) return "overflow";
    return /insufficient_quota/.test(said) ? "auth" : "rate-limited";
  }
  if (isOverflow(said)) return "overflow";
  if (status === 503 || status === 529 || /overloaded_error/.test(said)) return "overloaded";
  if (status >= 500) return "failed";
  if (status === 408) return "dropped";
  return /API_KEY_INVALID|API key not valid|credit balance is too low/i.test(said) ? "auth" : "invalid";
}

/** From `retry-after-ms`, `retry-after` in seconds or as a date, or Google's RetryInfo in the body. */
function retryAfterMs({ headers, body }: ProviderFailure): number | null {
  const exact = positive(headers["retry-after-ms"]);
  if (exact !== null) return exact;
  const after = headers["retry-after"];
  const seconds = positive(after);
  if (seconds !== null) return Math.ceil(seconds * 1000);
  // Counted from the provider's own clock: the local one may be wrong, and this layer has none.
  const wait = Date.parse(after ?? "") - Date.parse(headers["date"] ?? "");
  if (Number.isFinite(wait)) return Math.max(0, wait);
  const delay = positive(/"retryDelay":\s*"([\d.]+)s"/.exec(body)?.[1]);
  return delay === null ? null : Math.ceil(delay * 1000);
}

function positive(digits: string | undefined): number | null {
  return digits !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(digits) ? Number(digits) : null;
}

/** Network exceptions, and those of a library that got unexpected data. */
function fromException(error: Error): ModelError {
  if (/normalized Anthropic stream error/.test(error.message)) return garbled(error);
  const isNetwork =
    /^(AbortError|TimeoutError|ResponseAborted)$/.test(error.name) ||
    /terminated|fetch failed|network|socket|premature|other side closed/i.test(error.message) ||
    /^(E[A-Z]+|UND_ERR_\w+)$/.test(codeOf(error) ?? codeOf(error.cause) ?? "");
  if (isNetwork)
    return new ModelError("dropped", `the connection failed: ${error.message}`, {
      cause: error,
      isRejected: isUnsent(error),
    });
  return new ModelError("failed", error.message, { cause: error });
}

/** The connection was never made, so the request was never sent. */
function isUnsent(error: unknown): boolean {
  const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : undefined) ?? "";
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(code);
}

function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

function isNonsense(error: unknown): boolean {
  return [JSONParseError, TypeValidationError, InvalidResponseDataError].some((kind) =>
    kind.isInstance(error),
  );
}

function garbled(cause: unknown): ModelError {
  if (/ended without a finish reason/.test(errorText(cause))) return dropped(cause);
  const said = errorText(cause).split("\n")[0] ?? "";
  const shown = said.length > 200 ? `${said.slice(0, 199)}…` : said;
  return new ModelError("garbled", `the provider sent an invalid response: ${shown}`, { cause });
}
