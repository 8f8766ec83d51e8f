/** Writes of the drawers beside an append of the same content, and what windows append to a turn. */
import { MemorySession } from "@openai/agents";
import { a2aMount } from "../src/adapter/a2a/mount.ts";
import { agUiMount } from "../src/adapter/ag-ui/mount.ts";
import { SkeinSessionStore } from "../src/adapter/claude-sdk/claude-sdk.ts";
import { SkeinSession } from "../src/adapter/openai-agents/openai-agents.ts";
import { openEngine, type Engine } from "../src/index.ts";
import { realWorld } from "../src/runtime/world.ts";
import { makeAuthorizer } from "../src/server/auth/authorize.ts";
import { serve } from "../src/server/http/server.ts";
import { oneTenant } from "../src/server/http/tenants.ts";
import { makeDirectory, median, number, timeMs, type Measure } from "./measure.ts";

export async function benchDrawers(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [...(await writes(directory.path("drawers.db"))), await windows(directory.path("windows.db"))];
}

const rounds = 400;
const warm = 100;
const text = "word ".repeat(200);

async function writes(path: string): Promise<Measure[]> {
  await using engine = await openEngine({ store: path });
  const session = new SkeinSession(engine, { sessionId: "bench" });
  const memory = new MemorySession({ sessionId: "bench" });
  const store = new SkeinSessionStore(engine);
  const key = { projectKey: "-bench", sessionId: "6f1c1f5e-0000-4000-8000-000000000000" };
  const item = (n: number) => ({ type: "message" as const, role: "user" as const, content: `${n} ${text}` });
  const entry = (n: number) => ({ type: "user", uuid: `u-${n}`, message: { role: "user", content: text } });
  return [
    await writeCost(engine, {
      name: "OpenAI Agents SDK addItems",
      adapter: "openai",
      write: (n) => session.addItems([item(n)]),
      vendor: (n) => memory.addItems([item(n)]),
    }),
    await writeCost(engine, {
      name: "Claude Agent SDK append",
      adapter: "claude-sdk",
      write: (n) => store.append(key, [entry(n)]),
    }),
  ];
}

interface DrawerWrite {
  readonly name: string;
  readonly adapter: string;
  readonly write: (round: number) => Promise<unknown>;
  /** The vendor's own store, in memory. */
  readonly vendor?: (round: number) => Promise<unknown>;
}

async function writeCost(engine: Engine, { name, adapter, write, vendor }: DrawerWrite): Promise<Measure> {
  const plain = await engine.open({ objective: "bench" });
  const times = { ours: [] as number[], appends: [] as number[], vendor: [] as number[] };
  // The records of a first pass. In the second nothing is read between the writes, which would slow the next.
  const records: { type: "x.bench.record"; body: unknown; content: unknown }[] = [];
  for (let round = 0; round < warm; round++) {
    await write(round);
    const [row] = (await engine.sessions({ labels: { adapter } })).rows;
    const newest = (await engine.session(row?.session ?? "")).events({ reverse: true, limit: 1 });
    const [event] = await Array.fromAsync(newest);
    records.push({ type: "x.bench.record", body: event?.body, content: event?.content });
  }
  for (let round = -warm; round < rounds; round++) {
    const record = records[(round + warm) % warm] ?? { type: "x.bench.record", body: {}, content: null };
    const append = () => timeMs(() => plain.append([record], { key: `b:${round}`, verbatim: true }));
    const ours = () => timeMs(() => write(round));
    // Each is first in every second round.
    const isFirst = round % 2 === 0;
    const early = isFirst ? await ours() : await append();
    const late = isFirst ? await append() : await ours();
    const vendorMs = vendor === undefined ? 0 : await timeMs(() => vendor(round));
    if (round < 0) continue;
    times.ours.push(isFirst ? early : late);
    times.appends.push(isFirst ? late : early);
    times.vendor.push(vendorMs);
  }
  const [oursMs, appendMs, vendorMs] = [median(times.ours), median(times.appends), median(times.vendor)];
  const beside = vendor === undefined ? "" : `; the vendor's own, in memory: ${number(vendorMs)} ms`;
  return {
    name: `${name} ÷ append of the same content`,
    value: oursMs / appendMs,
    unit: "×",
    bar: { most: 1.2 },
    detail: `${number(oursMs)} ms beside ${number(appendMs)} ms${beside}`,
  };
}

/** A turn asked through a window has as many records as one that the library asked. */
async function windows(path: string): Promise<Measure> {
  await using engine = await openEngine({ store: path });
  const world = realWorld();
  const { token } = await engine.addToken({ scopes: ["read", "write"] });
  const rate = { perSecond: 1e9, burst: 1e9 };
  const server = await serve({
    world,
    version: "0.0.0",
    mounts: [a2aMount, agUiMount],
    authorizer: (bound) => makeAuthorizer({ ...bound, world, rate, tenants: oneTenant(engine) }),
  });
  const post = async (route: string, body: object): Promise<void> => {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "a2a-version": "1.0",
    };
    const response = await fetch(`${server.url}${route}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (response.status !== 200) throw new Error(`${route}: status ${response.status}`);
    await response.text();
  };
  const recordsOf = async (ask: (id: string) => Promise<unknown>): Promise<number> => {
    const session = await engine.open({ objective: "bench", model: "offline/offline" });
    await ask(session.id);
    return (await session.head()).seq;
  };
  try {
    const plain = await recordsOf(async (id) => (await engine.session(id)).ask("hello").result);
    const parts = [{ text: "hello" }];
    const a2a = await recordsOf((contextId) =>
      post("/a2a/message:send", { message: { messageId: "m", role: "ROLE_USER", parts, contextId } }),
    );
    const messages = [{ id: "u", role: "user", content: "hello" }];
    const agUi = await recordsOf((threadId) => post("/ag-ui", { threadId, runId: "r", messages }));
    return {
      name: "records that a window appends to a turn (A2A, AG-UI)",
      value: Math.max(a2a, agUi) - plain,
      unit: "",
      bar: { most: 0 },
      detail: `${a2a} and ${agUi} beside ${plain}`,
    };
  } finally {
    await server.stop();
  }
}
