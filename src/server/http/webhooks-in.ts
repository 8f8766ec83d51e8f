/**
 * Inbound webhooks: `POST /v1/hooks/{token}`. The token alone allows to fire its trigger, and nothing else.
 * The engine verifies signatures and detects repeated deliveries.
 */
import type { IncomingMessage } from "node:http";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { World } from "../../runtime/world.ts";
import { readBytesUpTo } from "./body.ts";
import type { SideRoute } from "./server.ts";
import { ProblemError } from "./problem.ts";
import { makeRate } from "../auth/rate-limit.ts";
import { sendText } from "./reply.ts";

export const hooksPath = "/v1/hooks/";

/** No tenant and token together are longer. */
const pieceCharsMax = 300;

export interface WebhooksInOptions {
  readonly world: Pick<World, "now" | "steady">;
  /** The engine of a tenant; null when there is none. */
  readonly tenants: (tenant: string) => Promise<Engine | null>;
  /** The tenant of webhooks that name none. */
  readonly tenant?: string;
}

export function makeWebhooksIn(options: WebhooksInOptions): SideRoute {
  const { world, tenants, tenant: usual = "default" } = options;
  const clock = (): number => world.steady?.() ?? world.now();
  const often = { clock, keysMin: 10_000 };
  const known = makeRate({ ...often, perSecond: limit.requestsPerSecond, burst: limit.requestBurst });
  const strangers = makeRate({
    ...often,
    perSecond: limit.strangersPerSecond,
    burst: limit.strangersBurst,
  });

  async function call(request: IncomingMessage, piece: string): Promise<object> {
    const { tenant, token } = readPiece(piece, usual);
    const body = await readBytesUpTo(request, limit.webhookBytesMax);
    const engine = token === null ? null : await tenants(tenant);
    if (engine === null || token === null) throw unknown();
    return engine.webhook(token, { body, headers: headersOf(request) });
  }

  return async (request, response, { target, headers }) => {
    if (!target.path.startsWith(hooksPath)) return false;
    if (request.method !== "POST")
      throw new ProblemError({ ...makeProblem("wrong-method", "allowed methods: POST"), allow: "POST" });
    const piece = target.path.slice(hooksPath.length);
    const { waitMs } = known.take(piece.slice(0, pieceCharsMax));
    if (waitMs > 0) throw tooOften(waitMs);
    try {
      const answer = await call(request, piece);
      sendText(response, 202, JSON.stringify(answer), {
        ...headers,
        "content-type": "application/json; charset=utf-8",
        "cache-control": "no-store",
      });
    } catch (error) {
      if (!isUnknown(error)) throw error;
      // Invalid tokens are rate limited by address; a valid one never is.
      const { waitMs: penaltyMs } = strangers.take(request.socket.remoteAddress ?? "");
      throw penaltyMs > 0 ? tooOften(penaltyMs) : unknown();
    }
    return true;
  };
}

/** `{token}`, or `{tenant}~{token}` for another tenant than the server's own. */
function readPiece(piece: string, usual: string): { readonly tenant: string; readonly token: string | null } {
  const [first = "", second, more] = piece.split("~");
  if (more !== undefined) return { tenant: usual, token: null };
  return second === undefined ? { tenant: usual, token: first } : { tenant: first, token: second };
}

const isUnknown = (error: unknown): boolean =>
  (error instanceof SkeinError && error.code === "not-found") ||
  (error instanceof ProblemError && error.problem.code === "not-found");

/** The same error, whatever is wrong with a token. */
const unknown = (): ProblemError => new ProblemError(makeProblem("not-found", "webhook not found"));

const tooOften = (waitMs: number): ProblemError => {
  const problem: Problem = makeProblem("rate-limited", "rate limit exceeded");
  return new ProblemError({ ...problem, retryAfterMs: waitMs });
};

/** A repeated header counts with its first value. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? (value[0] ?? "") : (value ?? ""),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}
