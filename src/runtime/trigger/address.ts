/**
 * Requests a URL safely: the name is resolved once and connected to as resolved; private, local and reserved
 * addresses are refused unless a binding names the host; every redirect follows the same rules.
 */
import { lookup } from "node:dns/promises";
import { request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { errorText } from "../../core/first-error.ts";
import { isPrivate } from "../../platform/outbound.ts";

const redirectsMax = 3;
const redirects = new Set([301, 302, 303, 307, 308]);

/** True for an address on the public internet. IPv4 in the form of IPv6 follows the rules of IPv4. */
export const isPublic = (address: string): boolean => !isPrivate(address.replace(/^::ffff:(?=\d+\.)/i, ""));

export interface FetchResult {
  readonly status: number;
  readonly body: string;
}

/** Throws `invalid` for a URL that cannot be checked. */
export function checkAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const wrong =
    url === null || (url.protocol !== "http:" && url.protocol !== "https:")
      ? `expected an http or https URL, got ${quote(text)}`
      : url.username !== "" || url.password !== ""
        ? "an address with a password would be kept in the log"
        : null;
  if (wrong === null && url !== null) return url;
  throw new SkeinError("invalid", wrong ?? "", { hint: "for example https://example.com/feed.xml" });
}

export async function fetchChecked(
  text: string,
  allowed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<FetchResult> {
  let url = checkAddress(text);
  for (let hops = 0; ; hops++) {
    const { location, ...fetched } = await fetchOnce(url, await resolved(url, allowed), signal);
    if (location === null || !redirects.has(fetched.status)) return fetched;
    if (hops === redirectsMax) throw new SkeinError("unavailable", `more than ${redirectsMax} redirects`);
    url = checkAddress(URL.canParse(location, url) ? new URL(location, url).href : location);
  }
}

interface ResolvedHost {
  readonly address: string;
  readonly family: number;
}

async function resolved(url: URL, allowed: ReadonlySet<string>): Promise<ResolvedHost> {
  const name = url.hostname.replace(/^\[|\]$/g, "");
  const literal = isIP(name);
  const found = literal === 0 ? await addressesOf(name) : [{ address: name, family: literal }];
  const isAllowed = allowed.has(url.host) || allowed.has(url.hostname);
  const [first] = found;
  if (first === undefined) throw new SkeinError("unavailable", `${name} has no IP address`);
  // One private address among several is enough to refuse the name.
  const inside = isAllowed ? undefined : found.find(({ address }) => !isPublic(address));
  if (inside === undefined) return first;
  throw new SkeinError("refused", `${url.host} resolves to ${inside.address}, a private address`, {
    hint: `to allow it, bind the resource with options { "hosts": ["${url.host}"] }`,
  });
}

async function addressesOf(name: string): Promise<readonly ResolvedHost[]> {
  try {
    return await lookup(name, { all: true });
  } catch (cause) {
    throw new SkeinError("unavailable", `${name} cannot be resolved`, { cause });
  }
}

function fetchOnce(
  url: URL,
  { address, family }: ResolvedHost,
  signal: AbortSignal,
): Promise<FetchResult & { readonly location: string | null }> {
  const options: RequestOptions = {
    method: "GET",
    agent: false,
    signal,
    headers: { accept: "*/*", "user-agent": "skein" },
    lookup: (_, how, done) => {
      if (how.all === true) done(null, [{ address, family }]);
      else done(null, address, family);
    },
  };
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown): void =>
      reject(
        cause instanceof SkeinError ? cause : new SkeinError("unavailable", errorText(cause), { cause }),
      );
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const sent = send(url, options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > limit.checkBytesMax)
          sent.destroy(new SkeinError("refused", `the response exceeds ${limit.checkBytesMax} bytes`));
      });
      response.on("error", failed);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          location: response.headers.location ?? null,
          body: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    sent.on("error", failed);
    sent.end();
  });
}
