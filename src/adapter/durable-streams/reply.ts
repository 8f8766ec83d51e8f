/** One response of the protocol. */
import type { MountRequest } from "../../server/http/mount.ts";

/** Sends a response. It is JSON unless the headers say otherwise. */
export function reply(
  given: MountRequest,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer = "",
): void {
  const { response } = given;
  const type = body.length === 0 ? {} : { "content-type": "application/json" };
  const length = status === 204 || status === 304 ? {} : { "content-length": Buffer.byteLength(body) };
  const cache = { "cache-control": "no-store" };
  response.writeHead(status, { ...given.headers, ...type, ...cache, ...length, ...headers });
  response.end(given.request.method === "HEAD" ? undefined : body);
}
