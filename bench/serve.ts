/** The engine over HTTP beside a bare node:http server, under the same load from another process. */
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openEngine, type Engine } from "../src/index.ts";
import { realWorld } from "../src/runtime/world.ts";
import { makeAuthorizer } from "../src/server/auth/authorize.ts";
import { serve, type RunningServer } from "../src/server/http/server.ts";
import { oneTenant } from "../src/server/http/tenants.ts";
import { plainDatabase, plainRows } from "./append.ts";
import { inputOf, makeDirectory, median, number, samples, type Measure } from "./measure.ts";
import type { Load } from "./serve-load.ts";

const contentBytes = 1_024;
const connections = 64;
const rounds = 9;
const requests = 6_000;
const readers = 100;
const appends = 300;
const everyMs = 10;
const sessions = 100_000;
const run = promisify(execFile);
const loader = fileURLToPath(new URL("./serve-load.ts", import.meta.url));
const often = { perSecond: 1e9, burst: 1e9 };

export async function benchServe(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [
    ...(await appending(directory.path("append.db"), directory.path("hand.db"))),
    await following(directory.path("follow.db")),
    await listing(directory.path("list.db")),
  ];
}

async function put(load: Load): Promise<unknown> {
  const { stdout } = await run(process.execPath, [loader, JSON.stringify(load)], { maxBuffer: 1e8 });
  return JSON.parse(stdout) as unknown;
}

async function served(engine: Engine): Promise<{ readonly server: RunningServer; readonly token: string }> {
  const world = realWorld();
  const { token } = await engine.addToken({ scopes: ["admin"] });
  const server = await serve({
    world,
    version: "0.0.0",
    authorizer: (bound) => makeAuthorizer({ ...bound, world, rate: often, tenants: oneTenant(engine) }),
  });
  return { server, token };
}

type Answer = (path: string, records: string, reply: (seq: number) => void) => void;

/** Plain node:http that parses the body, and answers with the position it is told. */
async function plainServer(answer: Answer): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { records } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly records: string };
      answer(request.url ?? "", records, (seq) => {
        const text = JSON.stringify({ seq, headSeq: seq, duplicate: false });
        response.writeHead(200, {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
        });
        response.end(text);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

/** Answers, and that is all. */
function answerBare(): Answer {
  let seq = 1;
  return (_, records, reply) => reply((seq += records.length > 0 ? 1 : 0));
}

/** Before it answers it has written a row and a head by hand, with all who came in one turn. */
function answerByHand(database: DatabaseSync): Answer {
  const { begin, write, commit } = plainRows(database, connections);
  const heads = new Map<string, { readonly log: number; seq: number }>();
  let waiting: Parameters<Answer>[] = [];
  const flush = (): void => {
    const all = waiting;
    waiting = [];
    begin();
    const seqs = all.map(([path, records]) => {
      const head = heads.get(path) ?? { log: heads.size + 1, seq: 0 };
      heads.set(path, head);
      write(head.log, ++head.seq, records);
      return head.seq;
    });
    commit();
    for (const [place, [, , reply]] of all.entries()) reply(seqs[place] ?? 0);
  };
  return (...asked) => {
    if (waiting.push(asked) === 1) setImmediate(flush);
  };
}

async function appending(store: string, byHand: string): Promise<Measure[]> {
  await using engine = await openEngine({ store });
  const { server, token } = await served(engine);
  await using _ = server;
  await using bare = await plainServer(answerBare());
  using database = plainDatabase(byHand);
  await using hand = await plainServer(answerByHand(database));
  const paths = await Promise.all(
    Array.from({ length: connections }, async () => {
      const { id } = await engine.open({ objective: "bench" });
      return `/v1/sessions/${id}/append`;
    }),
  );
  const load = {
    kind: "flood",
    token,
    paths,
    body: JSON.stringify({ records: inputOf(contentBytes) }),
  } as const;
  const times: Record<"ours" | "plain" | "hand", number[]> = { ours: [], plain: [], hand: [] };
  const ports = { ours: server.port, plain: bare.port, hand: hand.port };
  for (let round = -3; round < rounds; round++) {
    for (const which of ["plain", "hand", "ours"] as const) {
      const { ms } = (await put({ ...load, port: ports[which], requests })) as { readonly ms: number };
      if (round >= 0) times[which].push(ms);
    }
  }
  const [oursMs, plainMs, handMs] = [median(times.ours), median(times.plain), median(times.hand)];
  const rate = (ms: number): string => `${number((requests / ms) * 1e3)}/s`;
  return [
    {
      name: "durable append over HTTP ÷ bare node:http",
      value: plainMs / oursMs,
      unit: "×",
      bar: { least: 0.6 },
      detail: `${rate(oursMs)} beside ${rate(plainMs)}, ${connections} connections, a session each`,
    },
    {
      name: "… ÷ node:http that writes the same rows by hand",
      value: handMs / oursMs,
      unit: "×",
      bar: null,
      detail: `${rate(handMs)} by hand, ${number(plainMs / handMs)} of bare`,
    },
  ];
}

async function following(store: string): Promise<Measure> {
  await using engine = await openEngine({ store });
  const { server, token } = await served(engine);
  await using _ = server;
  const { id } = await engine.open({ objective: "bench" });
  const body = JSON.stringify({ records: inputOf(contentBytes) });
  const load = { kind: "follow", path: `/v1/sessions/${id}`, body, readers, appends, everyMs } as const;
  const { delaysMs } = (await put({ ...load, port: server.port, token })) as {
    readonly delaysMs: readonly number[];
  };
  const sorted = delaysMs.toSorted((a, b) => a - b);
  const share = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return {
    name: `append sent to event read by ${readers} subscribers, 99th percentile`,
    value: share(0.99),
    unit: "ms",
    bar: { most: 10 },
    detail: `median ${number(share(0.5))} ms, the worst ${number(share(0.99999))} ms`,
  };
}

async function listing(store: string): Promise<Measure> {
  await using engine = await openEngine({ store, durability: "process" });
  for (let made = 0; made < sessions; made += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, place) => engine.open({ objective: `session ${made + place}` })),
    );
  }
  const { server, token } = await served(engine);
  await using _ = server;
  let query = "?limit=50";
  const times = await samples(101, async () => {
    const response = await fetch(`${server.url}/v1/sessions${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const page = (await response.json()) as { readonly rows: readonly unknown[]; readonly cursor: string };
    if (page.rows.length !== 50) throw new Error(`${response.status}, ${page.rows.length} rows`);
    query = `?${new URLSearchParams({ limit: "50", cursor: page.cursor }).toString()}`;
  });
  return {
    name: "a page of 50 sessions over HTTP",
    value: median(times),
    unit: "ms",
    bar: { most: 15 },
    detail: `of ${number(sessions)}, page after page; the worst ${number(Math.max(...times))} ms`,
  };
}
