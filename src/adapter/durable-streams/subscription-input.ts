/** What a client asks of a subscription. */
import { SkeinError } from "../../core/error.ts";
import type { PushCalls } from "../push-calls.ts";
import { decodeName } from "./named-headers.ts";
import type { SubscriptionSettings } from "./subscription-state.ts";

const statuses = {
  INVALID_REQUEST: 400,
  WEBHOOK_URL_REJECTED: 400,
  FORBIDDEN: 403,
  SUBSCRIPTION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  SUBSCRIPTION_ALREADY_EXISTS: 409,
  FENCED: 409,
  ALREADY_CLAIMED: 409,
  NO_PENDING_WORK: 409,
  INVALID_OFFSET: 409,
} as const;

/** An error that the protocol has a name for. */
export class SubscriptionError extends Error {
  readonly code: keyof typeof statuses;
  readonly more: object;

  constructor(code: keyof typeof statuses, message: string, more: object = {}) {
    super(message);
    this.name = "SubscriptionError";
    this.code = code;
    this.more = more;
  }

  get status(): number {
    return statuses[this.code];
  }
}

const [leaseMsUsual, leaseMsMin, leaseMsMax] = [30_000, 1_000, 600_000];
const streamsMax = 1_000;
const invalid = (what: string): SubscriptionError => new SubscriptionError("INVALID_REQUEST", what);

/** The settings that a PUT asks for. */
export function readSettings(
  id: string,
  body: Readonly<Record<string, unknown>>,
  push: PushCalls | null,
): SubscriptionSettings {
  const { type, lease_ttl_ms: leaseMs = leaseMsUsual, wake_stream: wakeStream, description } = body;
  if (type !== "webhook" && type !== "pull-wake") throw invalid('type: expected "webhook" or "pull-wake"');
  const pattern = patternIn(body["pattern"]);
  const streams = body["streams"] === undefined ? [] : pathsIn(body["streams"]).toSorted();
  if (pattern === null && streams.length === 0) throw invalid("pattern: expected a pattern or streams");
  if (
    typeof leaseMs !== "number" ||
    !Number.isInteger(leaseMs) ||
    leaseMs < leaseMsMin ||
    leaseMs > leaseMsMax
  )
    throw invalid(`lease_ttl_ms: expected an integer from ${leaseMsMin} to ${leaseMsMax}`);
  if (description !== undefined && (typeof description !== "string" || description.length > 1_000))
    throw invalid("description: expected a text of at most 1,000 characters");
  const isPulled = type === "pull-wake";
  if (isPulled && typeof wakeStream !== "string") throw invalid("wake_stream: expected the name of a stream");
  return {
    id,
    type,
    pattern,
    streams,
    url: isPulled ? null : urlIn(body["webhook"], push),
    wakeStream: isPulled ? (pathsIn([wakeStream])[0] ?? null) : null,
    leaseMs,
    description: description ?? null,
  };
}

function patternIn(value: unknown): string | null {
  if (value === undefined || value === null || value === "") return null;
  if (typeof value !== "string" || value.length > 300)
    throw invalid("pattern: expected a text of at most 300 characters");
  return trimmed(value);
}

/** Without slashes at its ends. */
function trimmed(path: string): string {
  let [from, to] = [0, path.length];
  while (path.charAt(from) === "/") from += 1;
  while (to > from && path.charAt(to - 1) === "/") to -= 1;
  return path.slice(from, to);
}

/** Names of streams, each once. */
export function pathsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > streamsMax)
    throw invalid(`streams: expected a list of 1 to ${streamsMax} names`);
  const paths = value.map((one: unknown) => {
    const path = typeof one === "string" ? trimmed(one) : "";
    if (path === "" || path === "__ds" || path.startsWith("__ds/"))
      throw invalid("streams: expected names of streams");
    return decodeName(encodeURIComponent(path.toWellFormed()));
  });
  return [...new Set(paths)];
}

function urlIn(webhook: unknown, push: PushCalls | null): string {
  if (push === null)
    throw invalid("webhook: this server calls no webhooks of clients; start it with --push-secret NAME");
  const { url } = (typeof webhook === "object" && webhook !== null ? webhook : {}) as { url?: unknown };
  if (typeof url !== "string") throw invalid("webhook.url: expected a URL");
  try {
    push.checkUrl(url);
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    const { message, hint } = error;
    throw new SubscriptionError("WEBHOOK_URL_REJECTED", `webhook.${message}`, { hint });
  }
  return url;
}
