/**
 * Calls to untrusted URLs: the name is resolved once, its addresses are checked against the private ranges,
 * and the connection goes to exactly that address. Redirects are not followed; time and response size are
 * limited.
 */
import { lookup as lookUp } from "node:dns/promises";
import { request as requestPlain, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestSecure } from "node:https";
import { BlockList, isIP } from "node:net";
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";

export interface Outbound {
  readonly world: {
    now(): number;
    steady?(): number;
    sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
  };
  /** Whether addresses of this machine and of private networks may be called, too. */
  readonly allowPrivate: boolean;
  /** All addresses of a name. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface PostResult {
  readonly status: number;
  readonly ms: number;
  /** The body, if it was asked for and is no longer than `readMax`. */
  readonly body?: Buffer;
}

/** Validates a URL that may be logged. Never repeats its input. */
export function checkUrl(text: unknown): URL {
  const url = typeof text === "string" && text.length <= limit.hookUrlCharsMax ? URL.parse(text) : null;
  const isFine = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (isFine && url.hostname !== "") return url;
  throw new SkeinError("invalid", "url: expected an http:// or https:// URL without a user name", {
    hint: "for example https://example.com/hook",
  });
}

/** Resolves to any response. Rejects without one, or if the address is forbidden. */
export async function post(
  outbound: Outbound,
  to: string,
  {
    body,
    headers,
    signal,
    readMax = 0,
  }: {
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
    /** Reads a body of at most so many bytes. By default it is not read. */
    readonly readMax?: number;
  },
): Promise<PostResult> {
  const { world } = outbound;
  const clock = (): number => world.steady?.() ?? world.now();
  const url = checkUrl(to);
  const startedMs = clock();
  const late = new AbortController();
  const done = new AbortController();
  const stop = (): void => late.abort();
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  void world.sleep(limit.hookMs, done.signal).then(stop);
  try {
    const address = await Promise.race([addressFor(outbound, url.hostname), rejectOn(late.signal)]);
    const sent = await send(url, address, { body, headers, readMax, signal: late.signal });
    return { ...sent, ms: clock() - startedMs };
  } catch (error) {
    if (error instanceof SkeinError) throw error;
    const why = late.signal.aborted ? `nothing came back in ${limit.hookMs} ms` : (error as Error).message;
    throw new SkeinError("unavailable", `connection to ${url.origin} failed: ${why}`, { cause: error });
  } finally {
    done.abort();
    signal?.removeEventListener("abort", stop);
  }
}

const rejectOn = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const stop = (): void => reject(new Error("timed out"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

/** The first of its addresses, if none of them is private. */
async function addressFor(
  { allowPrivate, resolve = resolveName }: Outbound,
  host: string,
): Promise<ResolvedAddress> {
  const bare = host.replace(/^\[|\]$/g, "");
  const found = isIP(bare) === 0 ? await resolve(bare) : [{ address: bare, family: isIP(bare) }];
  const [first] = found;
  if (first === undefined) throw new Error("the host name does not resolve");
  if (allowPrivate || !found.some(({ address }) => isPrivate(address))) return first;
  throw new SkeinError("refused", `${host} is a private address`, {
    hint: 'to allow it, pass --allow-private to "skein serve" or "skein hooks test"',
  });
}

const resolveName = (host: string): Promise<readonly ResolvedAddress[]> => lookUp(host, { all: true });

function send(
  url: URL,
  { address, family }: ResolvedAddress,
  given: {
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly readMax: number;
    readonly signal: AbortSignal;
  },
): Promise<Pick<PostResult, "status" | "body">> {
  const { promise, resolve, reject } = Promise.withResolvers<Pick<PostResult, "status" | "body">>();
  const options: RequestOptions = {
    method: "POST",
    headers: { ...given.headers, "content-length": Buffer.byteLength(given.body) },
    signal: given.signal,
    agent: false,
    maxHeaderSize: limit.requestHeaderBytesMax,
    // The connection goes to the checked address, whatever the name resolves to now.
    lookup: (_host, { all }, found) =>
      all === true ? found(null, [{ address, family }]) : found(null, address, family),
  };
  const call = (url.protocol === "https:" ? requestSecure : requestPlain)(url, options, (response) => {
    const status = response.statusCode ?? 0;
    if (given.readMax > 0) return readUpTo(response, given.readMax, (body) => resolve({ status, ...body }));
    resolve({ status });
    // The body is not read.
    response.destroy();
  });
  call.on("error", reject);
  call.end(given.body);
  return promise;
}

/** A body that breaks off, or is too long, counts as none: the status has arrived. */
function readUpTo(
  response: IncomingMessage,
  most: number,
  done: (read: { readonly body?: Buffer }) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= most) chunks.push(chunk);
    else response.destroy();
  });
  // What was buffered still arrives after `destroy`.
  response.on("end", () => done(bytes > most ? {} : { body: Buffer.concat(chunks) }));
  response.on("close", () => done({}));
  response.on("error", () => done({}));
}

/** Separate, because a list would take an IPv4 address for the IPv6 address that wraps it. */
const [blocked, blocked6] = [new BlockList(), new BlockList()];
const ranges: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];
/** Only public addresses may be called, and none that wraps another address. */
const ranges6: readonly (readonly [string, number])[] = [
  ["::", 3],
  ["4000::", 2],
  ["8000::", 1],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];
for (const [net, prefix] of ranges) blocked.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of ranges6) blocked6.addSubnet(net, prefix, "ipv6");

/** Whether the host of a URL is such an address in digits. */
export function isPrivateHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "");
  return isIP(bare) !== 0 && isPrivate(bare);
}

/** Loopback, private, link-local, shared, mapped, translated, reserved: anything that is not public. */
export function isPrivate(address: string): boolean {
  const [bare = ""] = address.split("%", 1);
  if (isIP(bare) === 6) return blocked6.check(bare, "ipv6");
  return isIP(bare) === 0 || blocked.check(bare, "ipv4");
}
