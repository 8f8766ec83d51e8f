/**
 * Many readers of streams: most on a busy session and some on all logs, cut at random, each of which
 * must put the exact log together; and many that wait, which must cost little.
 */
import { request, type ClientRequest } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeRandom, type Random } from "../crash/random.ts";
import { digestOf, readAll, seqOf, type Reading } from "./reader.ts";
import { startServer, type ServerChild } from "./server-child.ts";

export interface CutOptions {
  readonly readers: number;
  readonly records: number;
  readonly seed: number;
  /** Each connection is cut at the latest then. */
  readonly cut: { readonly ms: number; readonly chars: number };
}

export interface CutReport {
  readonly events: number;
  readonly cuts: number;
  /** Of these in the middle of a frame. */
  readonly torn: number;
  readonly ms: number;
  readonly problems: readonly string[];
}

type Call = (method: string, path: string, body?: unknown) => Promise<unknown>;

const callerOf =
  ({ port, token }: { readonly port: number; readonly token: string }): Call =>
  async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.ok) return response.json();
    throw new Error(`${method} ${path} is answered ${response.status}: ${await response.text()}`);
  };

/** All events of all logs, each as the text of its JSON, by pages. */
async function feedOf(call: Call): Promise<string[]> {
  const texts: string[] = [];
  for (let after: string | null = ""; after !== null;) {
    const page = (await call("GET", `/v1/feed?limit=500&after=${encodeURIComponent(after)}`)) as {
      readonly events: readonly unknown[];
      readonly position: string;
    };
    texts.push(...page.events.map((event) => JSON.stringify(event)));
    after = page.events.length === 0 ? null : page.position;
  }
  return texts;
}

/** All events of a session, each as the text of its JSON, by pages. */
async function logOf(call: Call, id: string): Promise<string[]> {
  const texts: string[] = [];
  for (let fromSeq: number | null = 1; fromSeq !== null;) {
    const page = (await call("GET", `/v1/sessions/${id}/events?fromSeq=${fromSeq}&limit=500`)) as {
      readonly events: readonly unknown[];
      readonly next: number | null;
    };
    texts.push(...page.events.map((event) => JSON.stringify(event)));
    fromSeq = page.events.length === 0 ? null : page.next;
  }
  return texts;
}

export async function cutReaders(options: CutOptions): Promise<CutReport> {
  const folder = await mkdtemp(join(tmpdir(), "skein-streams-"));
  try {
    await using server = await startServer(join(folder, "skein.db"));
    return await cutAll(server, options);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function cutAll(server: ServerChild, options: CutOptions): Promise<CutReport> {
  const { readers, records, seed, cut } = options;
  const started = performance.now();
  const random = makeRandom(seed);
  const call = callerOf(server);
  const open = async (objective: string): Promise<string> =>
    ((await call("POST", "/v1/sessions", { objective })) as { readonly session: string }).session;
  const [session, beside] = [await open("Busy"), await open("Beside")];
  const append = (to: string, count: number): Promise<unknown> =>
    call("POST", `/v1/sessions/${to}/append`, { records: textOf(random, count) });
  const last = records + 1;
  const reading = Array.from({ length: readers }, (_, place) =>
    readAll(() => server, {
      path: isOfAll(place) ? "/v1/feed?after=" : `/v1/sessions/${session}/events`,
      random: makeRandom(seed + place + 1),
      cut,
      isWhole: ({ lastId }) => seqOf(lastId) === last && !lastId.includes(beside),
    }),
  );
  const writers = 8;
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let count = writer; count < records - 1; count += writers) {
        await append(session, count);
        if (random.chance(0.2)) await append(beside, count);
        if (random.chance(0.02)) await new Promise((resolve) => setTimeout(resolve, random.below(40)));
      }
    }),
  );
  // The last of all, so that whoever has it has everything.
  await append(session, records - 1);
  const readings = await Promise.all(reading);
  const [log, feed] = [await logOf(call, session), await feedOf(call)];
  const [ofOne, ofAll] = [log, feed].map((texts) => ({ digest: digestOf(texts), count: texts.length }));
  const problems = [
    ...readings.flatMap((one, place) => complaints(one, { place, ...(isOfAll(place) ? ofAll! : ofOne!) })),
    ...server.troubles,
    ...(log.length === records + 1 ? [] : [`the log has ${log.length} records`]),
  ];
  const sum = (pick: (one: Reading) => number): number => readings.reduce((all, one) => all + pick(one), 0);
  return {
    events: sum(({ count }) => count),
    cuts: sum(({ cuts }) => cuts),
    torn: sum(({ torn }) => torn),
    ms: performance.now() - started,
    problems,
  };
}

const isOfAll = (place: number): boolean => place % 4 === 3;

function complaints(
  reading: Reading,
  expected: { readonly place: number; readonly digest: string; readonly count: number },
): string[] {
  const name = `reader ${expected.place}`;
  if (reading.problem !== null) return [`${name}: ${reading.problem}`];
  if (reading.count !== expected.count) return [`${name} has ${reading.count} of ${expected.count} events`];
  return reading.digest === expected.digest ? [] : [`${name} has another log`];
}

/** Short ones, long ones, and some that are longer than what a socket takes at once. */
function textOf(random: Random, count: number): string {
  const length = random.pick([10, 10, 10, 200, 200, 2_000, 40_000]);
  return `${count} ${"ä\n\n".repeat(Math.ceil(length / 4))}`;
}

export interface IdleReport {
  readonly streams: number;
  readonly beforeBytes: number;
  readonly rssBytes: number;
  readonly problems: readonly string[];
}

/** So many streams on as many sessions, all of which wait; at the end each hears of one event. */
export async function idleStreams(streams: number): Promise<IdleReport> {
  const folder = await mkdtemp(join(tmpdir(), "skein-idle-"));
  const open: ClientRequest[] = [];
  try {
    await using server = await startServer(join(folder, "skein.db"));
    const call = callerOf(server);
    const ids: string[] = [];
    for (let made = 0; made < streams; made += 50) {
      const few = Array.from({ length: Math.min(50, streams - made) }, async () => {
        const { session } = (await call("POST", "/v1/sessions", { objective: "Idle" })) as {
          session: string;
        };
        return session;
      });
      ids.push(...(await Promise.all(few)));
    }
    const beforeBytes = await server.rssBytes();
    const heard = new Set<string>();
    for (let made = 0; made < streams; made += 50) {
      const few = ids.slice(made, made + 50).map((id) => openStream(server, id, open, () => heard.add(id)));
      await Promise.all(few);
    }
    const rssBytes = await server.rssBytes();
    for (const id of ids) await call("POST", `/v1/sessions/${id}/append`, { records: "one" });
    for (let tries = 0; tries < 1_000 && heard.size < streams; tries++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    const problems =
      heard.size === streams ? server.troubles : [`${heard.size} of ${streams} heard of the event`];
    return { streams, beforeBytes, rssBytes, problems };
  } finally {
    for (const one of open) one.destroy();
    await rm(folder, { recursive: true });
  }
}

/** Resolves when the first event was heard, which is there from the start. */
function openStream(
  { port, token }: ServerChild,
  id: string,
  open: ClientRequest[],
  second: () => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = { accept: "text/event-stream", authorization: `Bearer ${token}` };
  const path = `/v1/sessions/${id}/events`;
  const asked = request({ host: "127.0.0.1", port, path, headers, agent: false });
  open.push(asked);
  asked.on("error", reject);
  asked.on("response", (response) => {
    let text = "";
    response.on("error", () => null);
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("id: 1.")) resolve();
      if (/id: 2\..*\n.*\n.*\n\n/.test(text)) {
        text = "";
        second();
      }
    });
  });
  asked.end();
  return promise;
}
