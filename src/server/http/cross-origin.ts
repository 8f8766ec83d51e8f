/**
 * Where a request may come from. A foreign page must not reach this server through the browser of a logged-in
 * user: neither under a name that was made to point here (the host is checked), nor from its own origin (the
 * origin is checked, and other origins are allowed by name only).
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";

/** The relevant parts of a request. */
export interface GateRequest {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket?: { readonly remoteAddress?: string | undefined };
}

export interface GateOptions {
  /** The address that the server is bound to. */
  readonly host: string;
  readonly port: number;
  /** Other allowed origins, which are also names of this server, such as behind a proxy. */
  readonly origins?: readonly string[];
}

export interface Gate {
  /** Null when the request may proceed. */
  check(incoming: GateRequest): Problem | null;
  /** True for a page of this very server. False when nothing says so. */
  isOwn(incoming: GateRequest): boolean;
  /** True when the browser reports another site, whatever the origin. */
  isForeign(incoming: GateRequest): boolean;
  /** The URL of this server as the caller named it: an allowed origin, or http and the Host header. */
  urlOf(incoming: GateRequest): string;
  /** Response headers for a page of another, allowed origin. */
  corsHeaders(incoming: GateRequest): Readonly<Record<string, string>>;
  /** The response to a CORS preflight; a problem when it is not allowed. */
  preflight(
    incoming: GateRequest,
  ): { readonly status: 204; readonly headers: Readonly<Record<string, string>> } | Problem;
}

const loopbacks = ["127.0.0.1", "localhost", "[::1]"];
const wildcards = ["0.0.0.0", "::", ""];

/** True when only programs of this machine reach an address. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

/** The whole network reaches a non-loopback address: it must be explicit. */
export function checkBinding(host: string, { named }: { readonly named: boolean }): void {
  if (isLoopback(host) || named) return;
  throw new SkeinError("refused", `serve: host: ${quote(host)} is reachable from other machines`, {
    hint: "pass --host to allow it; clients need a token, and the connection should be encrypted",
  });
}

/** An origin as browsers spell it. */
export function checkOrigin(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.origin === given.replace(/\/$/, ""))
    return url.origin;
  throw new SkeinError("invalid", `origin: expected an origin, got ${quote(given)}`, {
    hint: "for example https://skein.example.com, without a path",
  });
}

export function makeGate({ host, port, origins: given = [] }: GateOptions): Gate {
  const origins = new Set(given.map(checkOrigin));
  const isOpen = wildcards.includes(host);
  const names = isLoopback(host) || isOpen ? loopbacks : [host.includes(":") ? `[${host}]` : host];
  const hosts = new Set([
    ...names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]),
    ...[...origins].map((origin) => new URL(origin).host),
  ]);

  /** A numeric address, and localhost, cannot have been made to point here. */
  function isKnown(name: string): boolean {
    if (hosts.has(name)) return true;
    const [, bare = name] = /^(.*?)(?::\d{1,5})?$/.exec(name) ?? [];
    return isOpen && (bare === "localhost" || isIP(bare.replace(/^\[(.*)\]$/, "$1")) !== 0);
  }

  const isSame = ({ headers: { origin, host: name = "" } }: GateRequest): boolean =>
    origin === `http://${name.toLowerCase()}` ||
    (origin !== undefined && origins.has(origin) && new URL(origin).host === name.toLowerCase());

  const isAllowed = (incoming: GateRequest): boolean =>
    incoming.headers.origin === undefined || isSame(incoming) || origins.has(incoming.headers.origin);

  function check(incoming: GateRequest): Problem | null {
    if (!isKnown((incoming.headers.host ?? "").toLowerCase())) {
      return makeProblem("misdirected", "the Host header names another server", {
        hint: "use the URL that the server was started with, or start it with --origin",
      });
    }
    if (isAllowed(incoming)) return null;
    return makeProblem("forbidden", "the Origin is not allowed", {
      hint: "start the server with --origin to allow it",
    });
  }

  function corsHeaders(incoming: GateRequest): Readonly<Record<string, string>> {
    const { origin } = incoming.headers;
    if (origin === undefined || isSame(incoming) || !origins.has(origin))
      return origins.size > 0 ? varies : {};
    return { ...varies, "access-control-allow-origin": origin, "access-control-expose-headers": exposed };
  }

  return {
    check,
    corsHeaders,
    isOwn: isSame,
    isForeign: ({ headers }) => !["same-origin", "none", undefined].includes(headers["sec-fetch-site"]),
    urlOf({ headers: { host: name = "" } }) {
      const given = name.toLowerCase();
      return [...origins].find((origin) => new URL(origin).host === given) ?? `http://${given}`;
    },
    preflight(incoming) {
      const problem = check(incoming);
      if (problem !== null) return problem;
      const cors = corsHeaders(incoming);
      if (cors["access-control-allow-origin"] === undefined) return { status: 204, headers: cors };
      const more = { "access-control-allow-methods": methods, "access-control-allow-headers": taken };
      return { status: 204, headers: { ...cors, ...more, "access-control-max-age": "600" } };
    },
  };
}

const varies = { vary: "Origin" };
const methods = "GET, HEAD, POST, DELETE";
const taken = "authorization, content-type, idempotency-key, if-match, last-event-id, skein-client";
const exposed = "etag, location, retry-after, ratelimit, ratelimit-policy";

/**
 * Headers of every response. A page may run only scripts of this server, cannot be framed, and sends no
 * referrer. `scripts`: hashes of inline scripts.
 */
export function safetyHeaders(scripts: readonly string[] = []): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'self'",
    `script-src ${["'self'", ...scripts.map((hash) => `'${hash}'`)].join(" ")}`,
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  };
}
