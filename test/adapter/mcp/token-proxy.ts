/** A proxy on loopback that adds a token: for programs that cannot send one. */
import { once } from "node:events";
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * Host and Origin go on as they came, except that the proxy's own name becomes the server's: what the server
 * makes of foreign names stays visible.
 */
export async function startTokenProxy(target: string, token: string) {
  const { host, port } = new URL(target);
  const server = createServer((incoming, outgoing) => forward(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = (server.address() as AddressInfo).port;

  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const rename = (value: string): string => value.replace(`:${own}`, `:${port}`);
    const { host: named = host, origin } = incoming.headers;
    const headers = {
      ...incoming.headers,
      host: rename(named),
      ...(origin === undefined ? {} : { origin: rename(origin) }),
      authorization: `Bearer ${token}`,
    };
    const { method = "GET", url = "/" } = incoming;
    const onward = ask(target, { method, path: url, headers, setHost: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on("error", () => outgoing.destroy());
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }

  return {
    url: `http://localhost:${own}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
