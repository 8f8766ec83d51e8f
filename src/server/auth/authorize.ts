/**
 * Authenticates and authorizes. A token names its tenant, its principal, and its scopes; a logged-in page has
 * the token in its cookie. Every request without a valid token gets the same refusal, before any lookup, so
 * that no response reveals whether a thing exists.
 */
import { makeCache } from "../../core/cache.ts";
import { hash } from "node:crypto";
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { hashToken, type HashedToken, type TokenHolder } from "../../runtime/workspace/token-reader.ts";
import type { World } from "../../runtime/world.ts";
import { need } from "../http/invocation.ts";
import { makeCookies } from "../http/cookie.ts";
import { makeGate, type GateRequest, type Gate, type GateOptions } from "../http/cross-origin.ts";
import { makeRate, rateHeaders, type RateSize, type RateTaken } from "./rate-limit.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** An authenticated caller. */
export interface Caller {
  /** Acts as the token's principal. */
  readonly engine: Engine;
  readonly tenant: string;
  readonly scopes: readonly TokenScope[];
  readonly actor: string;
  /** The id of their token. */
  readonly token: string;
  /** When their token expires; null: never. */
  readonly expiresAt: number | null;
  /** The only session that their token is valid for; null: all. */
  readonly session: SessionId | null;
  /** What is left of the token's rate limit. */
  readonly rate: RateTaken;
  /** True while the token is valid. For long requests: a stream ends when it is not. */
  stands(): Promise<boolean>;
}

export interface AuthorizerOptions extends GateOptions {
  readonly world: Pick<World, "now" | "steady" | "random">;
  /** The engine of a tenant; null when there is none. It must not create one on request. */
  readonly tenants: (tenant: string) => Promise<Engine | null>;
  /** 32 bytes that seal logins. Random by default: then they end with the server. */
  readonly cookieKey?: Uint8Array;
  /** For each token. */
  readonly rate?: RateSize;
}

/** A request as far as a token may forbid it. */
export interface GuardedRequest {
  /** A scope of null: any valid token. */
  readonly operation: { readonly scope: TokenScope | null };
  /** As the path names it; absent or empty: no single session. */
  readonly session?: string;
}

export interface Authorizer {
  readonly gate: Gate;
  authorize(incoming: GateRequest, requested: GuardedRequest): Promise<Caller | Problem>;
  /**
   * The engine of a tenant, for a token that is not of Skein's own form: `check` says whether it is valid
   * there. Whatever is wrong, the problem is that of an invalid token.
   */
  admit(
    incoming: GateRequest,
    tenant: string,
    check: (engine: Engine) => Promise<boolean>,
  ): Promise<Engine | Problem>;
  /** Exchanges a token in the header `Authorization` for a cookie. */
  login(incoming: GateRequest): Promise<{ readonly setCookie: string } | Problem>;
  logout(incoming: GateRequest): { readonly setCookie: string } | Problem;
}

const digest = (_prefix: string, text: string): string => hash("sha256", text, "hex");

export const isProblem = (answer: object): answer is Problem => "code" in answer && "detail" in answer;

/** Response headers of a problem. */
export function problemHeaders(problem: Problem): Readonly<Record<string, string>> {
  if (problem.status === 401) return { "www-authenticate": 'Bearer realm="skein"' };
  const { retryAfterMs: waitMs, requestsPerSecond: perSecond, requestBurst: burst } = problem;
  if (problem.status !== 429 && problem.status !== 503) return {};
  const known = typeof perSecond === "number" && typeof burst === "number" ? { perSecond, burst } : null;
  return {
    "retry-after": `${Math.max(1, Math.ceil((typeof waitMs === "number" ? waitMs : 0) / 1_000))}`,
    ...(known && rateHeaders({ ...known, left: 0 })),
  };
}

/** The same, whatever is wrong: it reveals no tokens. */
const unauthorized = (): Problem =>
  makeProblem("unauthorized", "not authenticated: the token is missing or invalid", {
    hint: 'send "Authorization: Bearer skn_…"; "skein tokens add" creates a token',
  });

const tooOften = (waitMs: number): Problem => ({
  ...makeProblem("rate-limited", "rate limit exceeded", { hint: `retry in ${waitMs} ms` }),
  retryAfterMs: waitMs,
});

/** A valid token may know its own limit. */
const tokenTooOften = ({ waitMs, perSecond, burst }: RateTaken): Problem => ({
  ...makeProblem("rate-limited", `rate limit exceeded: ${perSecond} requests a second with this token`, {
    hint: `retry in ${waitMs} ms, or use a token with more: "skein tokens add --requests-per-second"`,
  }),
  retryAfterMs: waitMs,
  requestsPerSecond: perSecond,
  requestBurst: burst,
});

/** A full bucket is what a token may do in two seconds. */
const sizeOf = ({ requestsPerSecond: perSecond }: TokenHolder): RateSize | null =>
  perSecond === null ? null : { perSecond, burst: perSecond * 2 };

const noPage = (): Problem =>
  makeProblem("forbidden", "cross-origin request with a session cookie", {
    hint: "send the header Skein-Client: 1 from a page of this server, or use a token",
  });

export function makeAuthorizer(options: AuthorizerOptions): Authorizer {
  const { world, tenants, port } = options;
  const { perSecond, burst } = options.rate ?? {
    perSecond: limit.requestsPerSecond,
    burst: limit.requestBurst,
  };
  const clock = (): number => world.steady?.() ?? world.now();
  const gate = makeGate(options);
  const key = options.cookieKey ?? world.random(32);
  const cookies = makeCookies({ port, key, world, holdsMs: limit.loginMs });
  /** Parsed tokens, by the hashes of their texts. Their validity is checked each time. */
  const read = makeCache<string, HashedToken>(limit.tokensMax);
  const actors = new WeakMap<TokenHolder, { readonly of: Engine; readonly engine: Engine }>();
  const known = makeRate({ perSecond, burst, clock, keysMin: limit.tokensMax * 10 });
  const strangers = makeRate({
    perSecond: limit.strangersPerSecond,
    burst: limit.strangersBurst,
    clock,
    keysMin: 10_000,
  });

  async function holderOf(text: string | null): Promise<{ engine: Engine; holder: TokenHolder } | null> {
    if (text === null) return null;
    const name = digest("", text);
    const token = read.get(name) ?? hashToken({ digest }, text);
    const engine = token === null ? null : await tenants(token.tenant);
    if (token === null || engine === null) return null;
    const holder = await internalsOf(engine).tokens.checkHashed(token);
    if (holder === null) return null;
    // Only valid ones, so that strangers cannot evict them.
    read.set(name, token);
    return { engine, holder };
  }

  /** The engine for the holder of a token, cached as long as that is unchanged. */
  function acting(engine: Engine, holder: TokenHolder): Engine {
    const kept = actors.get(holder);
    if (kept?.of === engine) return kept.engine;
    const own = internalsOf(engine.as(holder.actor)).forRequest({
      need: (scope, what) => need(holder, scope, what),
    });
    actors.set(holder, { of: engine, engine: own });
    return own;
  }

  /** Requests without a valid token are rate limited by address; others are not. */
  function refuse(incoming: GateRequest): Problem {
    const { waitMs } = strangers.take(incoming.socket?.remoteAddress ?? "");
    return waitMs === 0 ? unauthorized() : tooOften(waitMs);
  }

  /** A foreign page can make a browser send the cookie, but not the header, nor the origin. */
  function isMeant(incoming: GateRequest): boolean {
    if (gate.isForeign(incoming)) return false;
    if (incoming.method === "GET" || incoming.method === "HEAD") return true;
    return incoming.headers["skein-client"] === "1" && gate.isOwn(incoming);
  }

  async function authorize(
    incoming: GateRequest,
    { operation, session: named }: GuardedRequest,
  ): Promise<Caller | Problem> {
    const problem = gate.check(incoming);
    if (problem !== null) return problem;
    const byHeader = incoming.headers.authorization !== undefined;
    const text = byHeader ? bearerIn(incoming) : cookies.open(incoming.headers.cookie);
    const found = await holderOf(text);
    if (found === null || text === null) return refuse(incoming);
    const { engine, holder } = found;
    const rate = known.take(holder.id, sizeOf(holder));
    if (rate.waitMs > 0) return tokenTooOften(rate);
    if (!byHeader && !isMeant(incoming)) return noPage();
    const { id: token, scopes, tenant, actor, expiresAt, session } = holder;
    if (operation.scope !== null && !allows(scopes, operation.scope)) {
      return makeProblem("forbidden", `the token lacks the scope "${operation.scope}"`, {
        hint: `it has ${scopes.join(", ")}; create another: "skein tokens add --scope ${operation.scope}"`,
      });
    }
    if (session !== null && operation.scope !== null && named !== session) {
      return makeProblem("forbidden", `the token is valid only for session ${session}`, {
        hint: "name that session by its whole id, or use another token",
      });
    }
    const stands = async (): Promise<boolean> => (await holderOf(text)) !== null;
    return { engine: acting(engine, holder), tenant, scopes, actor, token, expiresAt, session, rate, stands };
  }

  return {
    gate,
    authorize,
    async admit(incoming, tenant, check) {
      const problem = gate.check(incoming);
      if (problem !== null) return problem;
      const engine = await tenants(tenant);
      return engine !== null && (await check(engine)) ? engine : refuse(incoming);
    },
    async login(incoming) {
      const problem = gate.check(incoming) ?? (isPage(incoming, gate) ? null : noPage());
      if (problem !== null) return problem;
      const text = bearerIn(incoming);
      if (text === null || (await holderOf(text)) === null) return refuse(incoming);
      const secure = incoming.headers.origin?.startsWith("https:") ?? false;
      return { setCookie: cookies.seal(text, { secure }) };
    },
    logout: (incoming) =>
      gate.check(incoming) ?? (isPage(incoming, gate) ? { setCookie: cookies.cleared } : noPage()),
  };
}

/** Login and logout are for pages of this server, and for programs outside a browser. */
const isPage = (incoming: GateRequest, gate: Gate): boolean =>
  incoming.headers["skein-client"] === "1" &&
  !gate.isForeign(incoming) &&
  (incoming.headers.origin === undefined || gate.isOwn(incoming));

/** The usual spelling, and the permitted ones. The result may be invalid. */
function bearerIn({ headers: { authorization = "" } }: GateRequest): string | null {
  if (authorization.startsWith("Bearer skn_") && authorization.length <= 200) return authorization.slice(7);
  return /^bearer +(\S{1,200})$/i.exec(authorization)?.[1] ?? null;
}
