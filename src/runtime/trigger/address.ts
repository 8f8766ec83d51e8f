/**
 * Asking an address, safely: the name is resolved once and connected to as it was resolved; what is private,
 * of this machine or of none is refused unless it is allowed by name; every redirect is held to the same.
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

/** Whether anybody on the internet could ask it. One of IPv4 in the form of IPv6 is held to its own rules. */
export const isPublic = (address: string): boolean => !isPrivate(address.replace(/^::ffff:(?=\d+\.)/i, ""));

export interface Fetched {
  readonly status: number;
  readonly body: string;
}

/** Throws `invalid` for what is no address that can be checked. */
export function checkAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const wrong =
    url === null || (url.protocol !== "http:" && url.protocol !== "https:")
      ? `${quote(text)} is no http or https address`
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
): Promise<Fetched> {
  let url = checkAddress(text);
  for (let hops = 0; ; hops++) {
    const { location, ...fetched } = await fetchOnce(url, await resolved(url, allowed), signal);
    if (location === null || !redirects.has(fetched.status)) return fetched;
    if (hops === redirectsMax)
      throw new SkeinError("unavailable", `it leads on more than ${redirectsMax} times`);
    url = checkAddress(URL.canParse(location, url) ? new URL(location, url).href : location);
  }
}

interface Resolved {
  readonly address: string;
  readonly family: number;
}

async function resolved(url: URL, allowed: ReadonlySet<string>): Promise<Resolved> {
  const name = url.hostname.replace(/^\[|\]$/g, "");
  const literal = isIP(name);
  const found = literal === 0 ? await addressesOf(name) : [{ address: name, family: literal }];
  const isAllowed = allowed.has(url.host) || allowed.has(url.hostname);
  const [first] = found;
  if (first === undefined) throw new SkeinError("unavailable", `${name} has no address`);
  // One private address among others is enough to be led there.
  const inside = isAllowed ? undefined : found.find(({ address }) => !isPublic(address));
  if (inside === undefined) return first;
  throw new SkeinError("refused", `${url.host} is ${inside.address}, which is not a public address`, {
    hint: `a person may allow it: a binding of the session with options { "hosts": ["${url.host}"] }`,
  });
}

async function addressesOf(name: string): Promise<readonly Resolved[]> {
  try {
    return await lookup(name, { all: true });
  } catch (cause) {
    throw new SkeinError("unavailable", `${name} cannot be resolved`, { cause });
  }
}

function fetchOnce(
  url: URL,
  { address, family }: Resolved,
  signal: AbortSignal,
): Promise<Fetched & { readonly location: string | null }> {
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
          sent.destroy(new SkeinError("refused", `it gives more than ${limit.checkBytesMax} bytes`));
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
