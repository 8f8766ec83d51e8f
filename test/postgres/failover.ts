/**
 * Fail-overs of PostgreSQL: a primary with a standby that follows it by streaming replication is killed under
 * load, the standby is promoted, and everybody is moved to it by a proxy, over and over. A server runs on
 * the store all the time: the feed, a webhook and the stream of every session are read. Synchronously nothing
 * that was acknowledged may be lost or be there twice. Asynchronously the standby is cut off for a while
 * before the kill, so a tail is lost: then each lost record is named by a suspension of its session,
 * everything that is new is told, and a stream of another history ends.
 */
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { SkeinError } from "../../src/core/error.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { openWebhooksOut } from "../../src/server/outbound/webhooks-out.ts";
import type { Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { makeRandom, type Random } from "../crash/random.ts";
import { workspace } from "../runtime/place.ts";
import { frames, served, type Served } from "../server/served.ts";
import { startProxy, type Proxy } from "./proxy.ts";
import { startPostgres, type Postgres } from "./server.ts";

export interface FailoverOptions {
  /** One a fail-over, in order. */
  readonly modes: readonly ("synchronous" | "asynchronous")[];
  readonly sessions: number;
  /** How long is written before each kill, and after it, at least. */
  readonly loadMs: number;
  /** How long an asynchronous standby is cut off before the kill. */
  readonly behindMs: number;
  readonly seed: number;
  readonly inMemory?: boolean;
  readonly progress?: (line: string) => void;
}

export interface FailoverReport {
  readonly seed: number;
  readonly ms: number;
  readonly failovers: number;
  readonly acknowledged: number;
  /** Of these, lost in asynchronous fail-overs. */
  readonly lost: number;
  /** Appends that failed, by the code of the error. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly records: number;
  readonly setBack: number;
  readonly rollbacks: number;
  readonly streamsEnded: number;
  readonly toldByFeed: number;
  readonly toldByWebhook: number;
  /** From the kill to the first acknowledged append on the new primary. */
  readonly recoveriesMs: readonly number[];
  readonly problems: readonly string[];
}

interface Acknowledged {
  readonly session: string;
  readonly seq: number;
  readonly text: string;
  /** How many asynchronous fail-overs there had been. */
  readonly losses: number;
}

const secretName = "FAILOVER_SECRET";
const settleMsMax = 30_000;
const world = realWorld();

export async function failOver(options: FailoverOptions): Promise<FailoverReport> {
  const startedMs = performance.now();
  const { modes, sessions: count, seed, inMemory = false } = options;
  const say = (line: string): void =>
    options.progress?.(`${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
  await using servers = new Servers(inMemory);
  const target = { port: (await servers.first()).port };
  await using proxy = await startProxy(target);
  const url = proxy.through(await servers.primary.newDatabase());
  const store = await postgresStore({ url, world, workspace });
  await using place = await served({ store });
  const { engine } = place;
  await using webhook = await listenForWebhook(engine);
  const writing = new Writing(await openAll(engine, count), makeRandom(seed));
  const feed = followFeed(place);
  const streams = writing.sessions.map((session) => followSession(place, session.id));
  const problems: string[] = [];
  const recoveriesMs: number[] = [];
  for (const mode of modes) {
    await sleep(options.loadMs);
    const killedMs = await killAndPromote({
      servers,
      proxy,
      target,
      mode,
      behindMs: options.behindMs,
      writing,
    });
    const writtenMs = await writing.next(settleMsMax);
    if (writtenMs === null) problems.push(`nothing was written within ${settleMsMax} ms of a fail-over`);
    else recoveriesMs.push(writtenMs - killedMs);
    say(`${mode}: ${writing.acknowledged.length} acknowledged so far`);
    await sleep(options.loadMs);
  }
  await writing.stop();
  say("what is there is compared with what was acknowledged and told");
  const audited = await audit({ store, writing, feed, streams, webhook, modes });
  return {
    seed,
    ms: performance.now() - startedMs,
    failovers: modes.length,
    acknowledged: writing.acknowledged.length,
    refusals: writing.refusals,
    setBack: writing.setBack,
    rollbacks: feed.rollbacks,
    streamsEnded: streams.reduce((sum, { ended }) => sum + ended, 0),
    toldByFeed: feed.told.size,
    toldByWebhook: webhook.told.size,
    recoveriesMs,
    ...audited,
    problems: [...problems, ...audited.problems],
  };
}

/** The servers of a campaign: a primary, and those that were killed, until the end. */
class Servers implements AsyncDisposable {
  readonly #all: Postgres[] = [];
  readonly #inMemory: boolean;

  constructor(inMemory: boolean) {
    this.#inMemory = inMemory;
  }

  get primary(): Postgres {
    return this.#all.at(-1) as Postgres;
  }

  async first(): Promise<Postgres> {
    this.#all.push(await startPostgres({ inMemory: this.#inMemory }));
    return this.primary;
  }

  /** Not the primary yet. */
  async standby(): Promise<Postgres> {
    const { primary } = this;
    const standby = await startPostgres({ inMemory: this.#inMemory, standbyOf: primary });
    await until("the standby streams", async () => (await replicationOf(primary)).state === "streaming");
    return standby;
  }

  async replace(standby: Postgres): Promise<void> {
    const dead = this.#all.splice(0);
    this.#all.push(standby);
    for (const one of dead) await one.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#all) await one.stop();
  }
}

async function replicationOf({ sql }: Postgres): Promise<Readonly<Record<string, unknown>>> {
  return (await sql("select state, sync_state from pg_stat_replication"))[0] ?? {};
}

interface FailingOver {
  readonly servers: Servers;
  readonly proxy: Proxy;
  readonly target: { port: number };
  readonly mode: FailoverOptions["modes"][number];
  readonly behindMs: number;
  readonly writing: Writing;
}

/** Resolves to the moment of the kill, once the standby takes connections. */
async function killAndPromote(given: FailingOver): Promise<number> {
  const { servers, proxy, target, mode, behindMs, writing } = given;
  const { primary } = servers;
  const standby = await servers.standby();
  if (mode === "synchronous") {
    await primary.sql("alter system set synchronous_standby_names = '*'");
    await primary.sql("select pg_reload_conf()");
    await until(
      "the standby is synchronous",
      async () => (await replicationOf(primary)).sync_state === "sync",
    );
    await writing.next(settleMsMax);
    await sleep(behindMs);
  } else {
    await standby.sql("alter system set primary_conninfo = ''");
    await standby.sql("select pg_reload_conf()");
    await until("the standby is cut off", async () => (await replicationOf(primary)).state === undefined);
    await sleep(behindMs);
  }
  const killedMs = performance.now();
  await primary.kill();
  proxy.refuse(true);
  proxy.cutAll();
  if (mode === "asynchronous") writing.losses += 1;
  await standby.promote();
  target.port = standby.port;
  proxy.refuse(false);
  await servers.replace(standby);
  return killedMs;
}

async function until(what: string, holds: () => Promise<boolean>, ms = settleMsMax): Promise<void> {
  for (const end = performance.now() + ms; !(await holds()); await sleep(20)) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
  }
}

/** A webhook is told of one event after the other: as long as the count grows, it is waited for. */
async function caughtUp(what: string, isDone: () => boolean, countOf: () => number): Promise<void> {
  for (let count = -1; !isDone();) {
    if (count === countOf()) throw new Error(`not within ${settleMsMax} ms: ${what}`);
    count = countOf();
    for (const end = performance.now() + settleMsMax; performance.now() < end && !isDone();) await sleep(100);
  }
}

async function openAll(engine: Engine, count: number): Promise<Session[]> {
  const opened: Session[] = [];
  for (let place = 0; place < count; place++)
    opened.push(await engine.open({ objective: `session ${place}` }));
  return opened;
}

/** Writes to every session, one append after the other, each with a text of its own. */
class Writing {
  readonly sessions: readonly Session[];
  readonly acknowledged: Acknowledged[] = [];
  readonly refusals: Record<string, number> = {};
  /** How often a session was found set back, by whoever wrote to it. */
  setBack = 0;
  losses = 0;
  readonly #random: Random;
  readonly #over = new AbortController();
  readonly #running: Promise<unknown>;
  #written = Promise.withResolvers<number>();

  constructor(sessions: readonly Session[], random: Random) {
    this.sessions = sessions;
    this.#random = random;
    this.#running = Promise.all(sessions.map((session) => this.#write(session)));
  }

  /** The moment of the next acknowledged append that was begun after this call; null when there is none. */
  async next(ms: number): Promise<number | null> {
    this.#written = Promise.withResolvers();
    return Promise.race([this.#written.promise, sleep(ms, null, { ref: false })]);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  async #write(session: Session): Promise<void> {
    for (let number = 0; !this.#over.signal.aborted; number++) {
      const text = `${session.id} ${number}`;
      const written = this.#written;
      try {
        const { losses } = this;
        const { seq } = await session.append(text);
        // What was answered by the server that was killed may be lost although the kill was counted since.
        this.acknowledged.push({ session: session.id, seq, text, losses });
        written.resolve(performance.now());
      } catch (error) {
        await this.#refused(session, error);
      }
      await sleep(this.#random.below(8));
    }
  }

  async #refused(session: Session, error: unknown): Promise<void> {
    const code = error instanceof SkeinError ? error.code : String(error);
    this.refusals[code] = (this.refusals[code] ?? 0) + 1;
    if (code !== "corrupt") return;
    this.setBack += 1;
    // As a person does who has seen what was lost.
    await session.activate().catch(() => undefined);
  }
}

interface Webhook extends AsyncDisposable {
  readonly told: Set<string>;
}

async function listenForWebhook(engine: Engine): Promise<Webhook> {
  const told = new Set<string>();
  const server: Server = createServer((request, response) => {
    told.add(String(request.headers["skein-delivery"]));
    request.resume().once("end", () => response.end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  process.env[secretName] = "a long secret of the campaign";
  const { port } = server.address() as AddressInfo;
  await engine.setHook("all", `http://127.0.0.1:${port}/`, {
    events: ["input.received"],
    secret: secretName,
  });
  const out = await openWebhooksOut(engine, {
    outbound: { allowPrivate: true },
    trouble: () => undefined,
    againMs: 50,
  });
  return {
    told,
    async [Symbol.asyncDispose]() {
      await out.stop();
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Told {
  readonly session: string;
  readonly seq: number;
  readonly hash: string;
}

const keyOf = ({ session, seq, hash }: Told): string => `${session}@${seq}.${hash.slice(0, 16)}`;

interface FeedReading {
  readonly told: Set<string>;
  rollbacks: number;
  twice: number;
  ended: string | null;
}

const stream = { accept: "text/event-stream" };

function followFeed(place: Served): FeedReading {
  const reading: FeedReading = { told: new Set(), rollbacks: 0, twice: 0, ended: null };
  const read = async (): Promise<void> => {
    for await (const { event, data } of frames(await place.fetch("/v1/feed?after=", { headers: stream }))) {
      if (event === "rollback") reading.rollbacks += 1;
      if (event === "problem") reading.ended = data ?? "";
      if (data === undefined || event === "rollback" || event === "problem" || event === "delta") continue;
      const key = keyOf(JSON.parse(data) as Told);
      if (reading.told.has(key)) reading.twice += 1;
      reading.told.add(key);
    }
  };
  read().catch(() => undefined);
  return reading;
}

interface StreamReading {
  readonly session: string;
  /** What the connection that is open now gave, in order. */
  given: Told[];
  /** How often it ended since the log was set back. */
  ended: number;
  readonly problems: string[];
}

/** Reads a session from its beginning; again from there after its log was set back. */
function followSession(place: Served, session: string): StreamReading {
  const reading: StreamReading = { session, given: [], ended: 0, problems: [] };
  const readOnce = async (): Promise<void> => {
    reading.given = [];
    const answer = await place.fetch(`/v1/sessions/${session}/events`, { headers: stream });
    for await (const { event, data = "{}" } of frames(answer)) {
      if (event === "problem") {
        const { code, detail } = JSON.parse(data) as { readonly code: string; readonly detail: string };
        if (code === "corrupt" && detail.includes("was rolled back")) reading.ended += 1;
        else if (code !== "unavailable") reading.problems.push(`${session}: its stream ended: ${detail}`);
      } else if (event !== "delta" && event !== "end") reading.given.push(JSON.parse(data) as Told);
    }
  };
  const readOn = async (): Promise<void> => {
    for (;;) {
      await readOnce();
      await sleep(20);
    }
  };
  // Ends with the server.
  readOn().catch(() => undefined);
  return reading;
}

interface Audited {
  readonly store: Store;
  readonly writing: Writing;
  readonly feed: FeedReading;
  readonly streams: readonly StreamReading[];
  readonly webhook: Webhook;
  readonly modes: FailoverOptions["modes"];
}

interface LogRead {
  readonly records: readonly (Told & { readonly type: string; readonly text: string })[];
  readonly tails: readonly { readonly fromSeq?: number; readonly toSeq: number }[];
}

async function audit(given: Audited): Promise<Pick<FailoverReport, "records" | "lost" | "problems">> {
  const { store, writing, feed, streams, webhook, modes } = given;
  const problems: string[] = streams.flatMap((one) => one.problems);
  const logs = new Map<string, LogRead>();
  for (const { id } of writing.sessions) logs.set(id, await readWhole(store, id));
  const lost = auditAcknowledged(writing, logs, problems);
  const all = [...logs.values()].flatMap(({ records }) => records);
  const isTold = (told: ReadonlySet<string>, types?: string) =>
    all.filter((one) => types === undefined || one.type === types).every((one) => told.has(keyOf(one)));
  for (const [what, isDone, countOf] of [
    ["the feed told every event", () => isTold(feed.told), () => feed.told.size],
    [
      "the webhook received every event",
      () => isTold(webhook.told, "input.received"),
      () => webhook.told.size,
    ],
    ["every stream gave the log as it is", () => streams.every((one) => isSame(one, logs)), () => 0],
  ] as const) {
    await caughtUp(what, isDone, countOf).catch((error: unknown) => problems.push(String(error)));
  }
  if (feed.ended !== null) problems.push(`the stream of the feed ended: ${feed.ended}`);
  const losses = modes.filter((mode) => mode === "asynchronous").length;
  if (losses === 0 && feed.rollbacks + feed.twice + writing.setBack > 0)
    problems.push(
      `nothing was lost, but ${feed.rollbacks} rollbacks and ${feed.twice} repetitions were delivered`,
    );
  if (losses > 0 && lost > 0 && feed.rollbacks === 0) problems.push("the feed told of no rollback");
  return { records: all.length, lost, problems };
}

const isSame = ({ session, given }: StreamReading, logs: ReadonlyMap<string, LogRead>): boolean => {
  const records = logs.get(session)?.records ?? [];
  return records.length === given.length && records.every(({ hash }, place) => given[place]?.hash === hash);
};

/** Gives how many were lost. */
function auditAcknowledged(writing: Writing, logs: ReadonlyMap<string, LogRead>, problems: string[]): number {
  let lost = 0;
  for (const { session, seq, text, losses } of writing.acknowledged) {
    const log = logs.get(session);
    const there = log?.records.filter((record) => record.text === text) ?? [];
    if (there.length > 1) problems.push(`${text} is there ${there.length} times`);
    if (there.length === 1 && there[0]?.seq !== seq)
      problems.push(`${text} is at ${there[0]?.seq}, not ${seq}`);
    if (there.length > 0) continue;
    lost += 1;
    const isNamed = log?.tails.some(({ fromSeq = 1, toSeq }) => fromSeq <= seq && seq <= toSeq) ?? false;
    if (losses === writing.losses) problems.push(`${text}, acknowledged at ${seq}, is lost`);
    else if (!isNamed) problems.push(`${text} is lost, and no suspension of its session names ${seq}`);
  }
  return lost;
}

async function readWhole(store: Store, session: string): Promise<LogRead> {
  const records: LogRead["records"][number][] = [];
  const tails: LogRead["tails"][number][] = [];
  for (let fromSeq = 1; ;) {
    const range = { fromSeq, toSeq: Infinity, limit: 1_000, contents: true };
    const page = await store.read(session as Session["id"], range);
    for (const { seq, hash, type, body, content } of page) {
      const said = content === null ? {} : (JSON.parse(content) as { blocks?: readonly { text?: string }[] });
      records.push({ session, seq, hash, type, text: said.blocks?.[0]?.text ?? "" });
      const { tail } = JSON.parse(body) as { tail?: LogRead["tails"][number] };
      if (type === "session.suspended" && tail !== undefined) tails.push(tail);
    }
    const last = page.at(-1);
    if (last === undefined) return { records, tails };
    fromSeq = last.seq + 1;
  }
}
