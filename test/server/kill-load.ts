/**
 * A server that is killed and started again under load. Writers send each change with a key until it is
 * acknowledged; readers follow all the while. In the end nothing acknowledged may be missing, nothing
 * may be there twice, and each reader must have the exact log.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openEngine } from "../../src/index.ts";
import { makeRandom } from "../crash/random.ts";
import { digestOf, readAll, seqOf, type Reading } from "./reader.ts";
import { startServer, type ServerChild } from "./server-child.ts";

export interface KillOptions {
  readonly kills: number;
  readonly writers: number;
  readonly readers: number;
  readonly seed: number;
  /** A server lives at most so long. */
  readonly lifeMs: number;
  readonly progress?: (kills: number) => void;
}

export interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
  /** Requests that had to be sent again since no answer came. */
  readonly again: number;
  /** Of the acknowledged ones, those that had been written before the kill and were found by their key. */
  readonly duplicates: number;
  readonly opened: number;
  readonly events: number;
  readonly cuts: number;
  readonly ms: number;
  readonly problems: readonly string[];
}

interface Load {
  readonly place: { port: number; token: string };
  readonly over: AbortController;
  /** What was acknowledged: the text, and where it was said to stand. */
  readonly acknowledged: Map<string, { readonly session: string; readonly seq: number }>;
  readonly opened: Map<string, string>;
  readonly problems: string[];
  again: number;
  duplicates: number;
}

export async function killServer(options: KillOptions): Promise<KillReport> {
  const folder = await mkdtemp(join(tmpdir(), "skein-kill-"));
  const store = join(folder, "skein.db");
  const started = performance.now();
  try {
    const random = makeRandom(options.seed);
    let server = await startServer(store);
    const { port, token } = server;
    const load: Load = {
      place: { port, token },
      over: new AbortController(),
      acknowledged: new Map(),
      opened: new Map(),
      problems: [],
      again: 0,
      duplicates: 0,
    };
    const shared = await opening(load, "shared");
    const last = { seq: Infinity };
    const reading = Array.from({ length: options.readers }, (_, place) =>
      readAll(() => load.place, {
        path: `/v1/sessions/${shared}/events`,
        random: makeRandom(options.seed + place + 1),
        cut: null,
        isWhole: ({ lastId }) => seqOf(lastId) >= last.seq,
      }),
    );
    const writing = Array.from({ length: options.writers }, (_, writer) => write(load, shared, writer));
    for (let kills = 0; kills < options.kills; kills++) {
      await sleep(random.below(options.lifeMs));
      await server.kill();
      load.problems.push(...server.troubles);
      server = await again(store, port);
      options.progress?.(kills + 1);
    }
    // The last one lives until something was done with it, however slow the machine is.
    const enough = load.acknowledged.size + 4 * options.writers;
    while (load.acknowledged.size < enough && load.problems.length === 0) await sleep(20);
    load.over.abort();
    await Promise.all(writing);
    last.seq = Math.max(...[...load.acknowledged.values()].filter(isIn(shared)).map(({ seq }) => seq));
    // One more, so that whoever waits looks again.
    await appending(load, shared, { text: "the end", key: "the end" });
    const readings = await Promise.all(reading);
    await server.kill();
    const problems = [...load.problems, ...(await audit(store, load, { shared, readings }))];
    const { acknowledged, opened, again: repeated, duplicates } = load;
    return {
      kills: options.kills,
      acknowledged: acknowledged.size,
      again: repeated,
      duplicates,
      opened: opened.size,
      events: readings.reduce((all, { count }) => all + count, 0),
      cuts: readings.reduce((all, { cuts }) => all + cuts, 0),
      ms: performance.now() - started,
      problems,
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const isIn =
  (session: string) =>
  (one: { readonly session: string }): boolean =>
    one.session === session;

/** At the same port, as a supervisor would; the port may be held for a moment. */
async function again(store: string, port: number): Promise<ServerChild> {
  for (let tries = 0; ; tries++) {
    try {
      return await startServer(store, port);
    } catch (error) {
      if (tries === 20) throw error;
      await sleep(50);
    }
  }
}

/** Sends it with its key until it is answered. */
async function insist(load: Load, path: string, body: unknown, key: string): Promise<unknown> {
  for (;;) {
    try {
      const response = await fetch(`http://127.0.0.1:${load.place.port}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${load.place.token}`,
          "content-type": "application/json",
          "idempotency-key": key,
        },
        body: JSON.stringify(body),
      });
      const answer: unknown = await response.json();
      if (response.ok) return answer;
      if (response.status !== 503)
        load.problems.push(`${path}: ${response.status} ${JSON.stringify(answer)}`);
      if (response.status !== 503) return null;
    } catch {
      // Nobody listens, or the connection was cut before the answer.
    }
    load.again += 1;
    await sleep(20);
  }
}

async function opening(load: Load, name: string): Promise<string> {
  const answer = await insist(load, "/v1/sessions", { objective: name }, name);
  const { session = "" } = (answer ?? {}) as { readonly session?: string };
  load.opened.set(name, session);
  return session;
}

async function appending(
  load: Load,
  session: string,
  { text, key }: { readonly text: string; readonly key: string },
): Promise<void> {
  const answer = await insist(load, `/v1/sessions/${session}/append`, { records: text }, key);
  const { seq = 0, duplicate = false } = (answer ?? {}) as { seq?: number; duplicate?: boolean };
  load.acknowledged.set(text, { session, seq });
  if (duplicate) load.duplicates += 1;
}

/** To the session of all and to one of its own, of which it opens another now and then. */
async function write(load: Load, shared: string, writer: number): Promise<void> {
  let own = "";
  for (let count = 0; !load.over.signal.aborted; count++) {
    const text = `${writer} ${count} ${"x".repeat((count * 37) % 3_000)}`;
    if (count % 10 === 0) own = await opening(load, `own ${writer} ${count}`);
    await appending(load, count % 2 === 0 ? shared : own, { text, key: `${writer} ${count}` });
  }
}

async function audit(
  store: string,
  { acknowledged, opened }: Load,
  { shared, readings }: { readonly shared: string; readonly readings: readonly Reading[] },
): Promise<string[]> {
  const problems: string[] = [];
  await using engine = await openEngine({ store });
  const { rows } = await engine.query("SELECT session FROM sessions");
  if (rows.length !== opened.size) problems.push(`${opened.size} were opened, there are ${rows.length}`);
  const found = new Map<string, string>();
  for (const id of new Set(opened.values())) {
    const texts: string[] = [];
    for await (const event of (await engine.session(id)).events()) {
      texts.push(JSON.stringify(event));
      const { blocks = [] } = (event.content ?? {}) as { readonly blocks?: readonly { text?: string }[] };
      const text = blocks[0]?.text;
      if (text === undefined) continue;
      if (found.has(text)) problems.push(`twice: ${text.slice(0, 40)}`);
      found.set(text, `${id} ${event.seq}`);
    }
    if (id !== shared) continue;
    for (const [place, { count, digest, problem }] of readings.entries()) {
      if (problem !== null) problems.push(`reader ${place}: ${problem}`);
      else if (digest !== digestOf(texts.slice(0, count)) || count < texts.length - 1)
        problems.push(`reader ${place} has another log: ${count} of ${texts.length} events`);
    }
  }
  for (const [text, { session, seq }] of acknowledged)
    if (found.get(text) !== `${session} ${seq}`) problems.push(`lost: ${text.slice(0, 40)}`);
  const { ok } = await engine.verify();
  if (!ok) problems.push("the store does not verify");
  return problems;
}
