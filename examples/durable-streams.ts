/**
 * A stream of your own over the Durable Streams protocol, with the unmodified client, and a subscription that
 * a worker claims: this program is both, `skein serve` the server.
 *
 *   npx node --conditions=skein-source examples/durable-streams.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DurableStream } from "@durable-streams/client";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
// On the command line: skein serve --store skein.db
const main = join(import.meta.dirname, "../src/cli/main.ts");
const args = [main, "serve", "--store", join(folder.path, "skein.db"), "--port", "0", "--json"];
const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
try {
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const { url, tokenFile } = JSON.parse(line.toString()) as { url: string; tokenFile: string };
  const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
  const root = `${url}/streams/v1/stream`;
  const send = async (method: string, path: string, body: object, token = authorization) => {
    const headers = { authorization: token, "content-type": "application/json" };
    const response = await fetch(`${root}/${path}`, { method, headers, body: JSON.stringify(body) });
    return (await response.json().catch(() => null)) as Claim;
  };
  interface Claim {
    readonly wake_id: string;
    readonly generation: number;
    readonly token: string;
    readonly streams: readonly { readonly path: string; readonly tail_offset: string }[];
  }

  await send("PUT", "wakes", []);
  const settings = { type: "pull-wake", pattern: "orders/*", wake_stream: "wakes" };
  await send("PUT", "__ds/subscriptions/orders", settings);
  const handle = await DurableStream.create({
    url: `${root}/orders/2026`,
    headers: { authorization },
    contentType: "application/json",
  });
  await handle.append(JSON.stringify({ id: 1, item: "tea" }));
  await handle.append(JSON.stringify({ id: 2, item: "cups" }));

  const claim = await send("POST", "__ds/subscriptions/orders/claim", { worker: "worker-1" });
  const acks = [];
  for (const { path, tail_offset: offset } of claim.streams) {
    const stream = new DurableStream({ url: `${root}/${path}`, headers: { authorization } });
    const orders = await (await stream.stream({ live: false })).json();
    console.log(`${path}:`, JSON.stringify(orders));
    acks.push({ stream: path, offset });
  }
  const { wake_id, generation, token } = claim;
  const done = { wake_id, generation, acks, done: true };
  console.log(await send("POST", "__ds/subscriptions/orders/ack", done, `Bearer ${token}`));
} finally {
  server.kill();
  await once(server, "exit");
}
