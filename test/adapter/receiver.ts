/** A receiver of webhooks on loopback: keeps what arrives, and answers as told. */
import { createPublicKey, verify } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** `answer`: status and body for the n-th call, from 0. */
export async function startReceiver(answer: (n: number) => readonly [number, unknown?] = () => [204]) {
  const received: Received[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer((request, response) => void take(request, response));

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString();
    const [status, body] = answer(received.length);
    received.push({ headers: request.headers, text });
    arrived.resolve();
    arrived = Promise.withResolvers();
    response.writeHead(status);
    response.end(body === undefined ? "" : JSON.stringify(body));
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    /** The n-th call, from 0, as JSON. */
    async json(n: number): Promise<Record<string, unknown>> {
      while (received.length <= n) await arrived.promise;
      return JSON.parse(received[n]?.text ?? "") as Record<string, unknown>;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Whether a call was signed by one of these keys. */
export function isSigned({ headers, text }: Received, keys: readonly object[]): boolean {
  const pattern = /^t=(\d+),kid=([^,]+),ed25519=([\w-]+)$/;
  const [, at, kid, signature = ""] = pattern.exec(String(headers["webhook-signature"])) ?? [];
  const key = keys.find((one) => "kid" in one && one.kid === kid);
  if (key === undefined) return false;
  const publicKey = createPublicKey({ key: { ...key }, format: "jwk" });
  return verify(null, Buffer.from(`${at}.${text}`), publicKey, Buffer.from(signature, "base64url"));
}
