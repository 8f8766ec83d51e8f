/** The recording proxy before a provider, beside a direct call: milliseconds to the first byte. */
import { createServer, request as send, Agent } from "node:http";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import { openEngine } from "../src/index.ts";
import { proxyMount } from "../src/adapter/proxy/mount.ts";
import { lookUpModel } from "../src/cli/open/model-lookup.ts";
import { realWorld } from "../src/runtime/world.ts";
import { makeAuthorizer } from "../src/server/auth/authorize.ts";
import { serve } from "../src/server/http/server.ts";
import { oneTenant } from "../src/server/http/tenants.ts";
import { makeDirectory, median, number, timeMs, type Measure } from "./measure.ts";

const calls = 300;
const warm = 50;
const settleMs = 10;
const often = { perSecond: 1e9, burst: 1e9 };

export async function benchProxy(): Promise<Measure[]> {
  using directory = makeDirectory();
  const { port, close } = await startProvider();
  await using engine = await openEngine({ store: directory.path("proxy.db") });
  const world = realWorld();
  const { token } = await engine.addToken({ scopes: ["write"] });
  const clock = (): number => Math.round(performance.now());
  const upstreams = { anthropic: `http://127.0.0.1:${port}` };
  const server = await serve({
    world,
    version: "0.0.0",
    mounts: [proxyMount({ models: lookUpModel, clock, upstreams })],
    authorizer: (bound) => makeAuthorizer({ ...bound, world, rate: often, tenants: oneTenant(engine) }),
  });
  const agent = new Agent({ keepAlive: true });
  try {
    const times = { ours: [] as number[], plain: [] as number[] };
    for (let round = -warm; round < calls; round++) {
      const plain = await timeMs(() => firstByte(agent, `http://127.0.0.1:${port}/v1/messages`, round));
      const path = `/proxy/anthropic/${token}/v1/messages`;
      const ours = await timeMs(() => firstByte(agent, `${server.url}${path}`, round));
      // The outcome is recorded after the response: no model answers so fast that the next call waits for it.
      await sleep(settleMs);
      if (round >= 0) times.plain.push(plain);
      if (round >= 0) times.ours.push(ours);
    }
    const [oursMs, plainMs] = [median(times.ours), median(times.plain)];
    return [
      {
        name: "a call through the recording proxy, more than a direct one until the first byte",
        value: oursMs - plainMs,
        unit: "ms",
        bar: { most: 3 },
        detail: `${number(oursMs)} ms beside ${number(plainMs)} ms, ${calls} new conversations each`,
      },
    ];
  } finally {
    agent.destroy();
    await server.stop();
    await close();
  }
}

/** A new conversation: its session is opened before the call. */
function firstByte(agent: Agent, url: string, round: number): Promise<void> {
  const messages = [{ role: "user", content: `Question ${round}: what is the rate?` }];
  const body = JSON.stringify({ model: "claude-sonnet-5-5", max_tokens: 100, messages });
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = send(url, { method: "POST", agent, headers });
    sent.on("error", reject);
    sent.on("response", (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`));
      answer.once("data", () => resolve());
      answer.resume();
    });
    sent.end(body);
  });
}

/** Answers at once. */
async function startProvider(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const usage = { input_tokens: 10, output_tokens: 2 };
  const content = [{ type: "text", text: "4.1 %" }];
  const text = JSON.stringify({ id: "m", role: "assistant", content, stop_reason: "end_turn", usage });
  const server = createServer((incoming, response) => {
    incoming.resume().on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(text);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
