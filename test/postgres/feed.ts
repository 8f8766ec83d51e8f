/**
 * The feed under many writers: transactions that take up to a second, or are rolled back in the end, among
 * many that are short. Readers follow from the beginning; each must see every record of every log once, in
 * the order of the log, whatever order the transactions end in.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { makeSessionId, makeWorkspaceId, type SessionId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { draftOf, entryOf } from "../../src/store/conformance/bench.ts";
import type { Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { startChild, type Child } from "../crash/child.ts";
import type { FeedOrder } from "./feed-writer.ts";

export interface FeedOptions {
  /** Of the database of the campaign alone. */
  readonly url: string;
  readonly writers: number;
  /** Among how many they are divided. */
  readonly processes: number;
  readonly records: number;
  readonly readers: number;
  readonly batch: readonly [number, number];
  /** Of all transactions that write, how many are held open before they end, and how many rolled back. */
  readonly heldShare: number;
  readonly rolledBackShare: number;
  readonly seed: number;
  readonly progress?: (line: string) => void;
}

export interface ReaderReport {
  readonly records: number;
  readonly pages: number;
  /** From when a record was written to when the reader had it. */
  readonly lagsMs: readonly number[];
}

export interface FeedReport {
  readonly ms: number;
  readonly writtenMs: number;
  readonly written: number;
  readonly logs: number;
  readonly held: number;
  readonly rolledBack: number;
  readonly readers: readonly ReaderReport[];
  readonly problems: readonly string[];
}

const world = realWorld();
const program = [process.execPath, join(import.meta.dirname, "feed-writer.ts")];
const sharedSessions = 12;
/** Connections of each writer. */
const connections = 1;
const problemsMax = 20;

const openStore = (url: string): Promise<Store> =>
  postgresStore({
    url,
    world,
    workspace: makeWorkspaceId({ nowMs: world.now(), random: world.random(10) }),
    durability: "process",
  });

export async function followFeed(options: FeedOptions): Promise<FeedReport> {
  const startedMs = performance.now();
  const { url, progress } = options;
  const directory = await mkdtemp(join(tmpdir(), "skein-feed-"));
  const cache = join(directory, "cache");
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const stores = await openAll(url, options.readers);
  const children: Child[] = [];
  try {
    const shared = await openShared(stores[0]);
    await makeSlow(sql, options);
    await order(startChild(program, { cache }), { do: "warm" });
    const problems: string[] = [];
    const over = new AbortController();
    const readers = stores.map((store, place) => new Reader(store, `reader ${place + 1}`, problems));
    const reading = readers.map((reader) => reader.run(over.signal));
    const begunMs = performance.now();
    children.push(...startWriters(options, shared, cache));
    const told = setInterval(() => {
      const seconds = ((performance.now() - begunMs) / 1_000).toFixed(0).padStart(5);
      const written = children.reduce((sum, { lines }) => sum + lastCount(lines), 0);
      progress?.(
        `${seconds} s  ${written} written, ${readers.map(({ records }) => records).join(" and ")} read`,
      );
    }, 5_000);
    const ended = await Promise.all(children.map(({ ended: end }) => end));
    for (const { code, stderr } of ended) if (code !== 0) problems.push(`a writer ended: ${code} ${stderr}`);
    const writtenMs = performance.now() - begunMs;
    const { heads, total } = await headsOf(sql);
    await caughtUp(readers, total, problems);
    clearInterval(told);
    over.abort();
    await Promise.all(reading);
    for (const reader of readers) reader.compare(heads);
    const [slow] = await sql<{ held: number; rolled: number }[]>`
      select held.last_value::int - 1 as held, rolled.last_value::int - 1 as rolled
      from public.held, public.rolled`;
    return {
      ms: performance.now() - startedMs,
      writtenMs,
      written: total,
      logs: heads.size,
      held: slow?.held ?? 0,
      rolledBack: slow?.rolled ?? 0,
      readers: readers.map(({ records, pages, lagsMs }) => ({ records, pages, lagsMs })),
      problems: problems.slice(0, problemsMax),
    };
  } finally {
    for (const { process: child } of children) child.kill("SIGKILL");
    for (const store of stores) await store.close();
    await sql.end({ timeout: 1 });
    await rm(directory, { recursive: true, force: true });
  }
}

async function openAll(url: string, count: number): Promise<readonly Store[]> {
  const stores: Store[] = [];
  for (let place = 0; place < count; place++) stores.push(await openStore(`${url}?connections=2`));
  return stores;
}

async function openShared(store: Store | undefined): Promise<readonly SessionId[]> {
  const ids = Array.from({ length: sharedSessions }, () =>
    makeSessionId({ nowMs: world.now(), random: world.random(10) }),
  );
  const drafts = [draftOf({ content: "begun" }, world.digest)];
  await store?.append(
    ids.map((session) => ({ session, expect: "absent" as const, drafts, index: entryOf() })),
  );
  return ids;
}

/**
 * When a transaction that moved a head is about to commit, some wait for up to a second with all they have
 * written, and some fail in a way after which the store begins them again.
 */
async function makeSlow(sql: postgres.Sql, { heldShare, rolledBackShare }: FeedOptions): Promise<void> {
  await sql.unsafe(`
    CREATE SEQUENCE public.held; CREATE SEQUENCE public.rolled;
    SELECT nextval('public.held'), nextval('public.rolled');
    CREATE FUNCTION public.dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE chance float := random();
    BEGIN
      IF chance < ${heldShare} THEN
        PERFORM nextval('public.held'), pg_sleep(random());
      ELSIF chance < ${heldShare + rolledBackShare} THEN
        PERFORM nextval('public.rolled'), pg_sleep(random() / 4);
        RAISE EXCEPTION 'rolled back by chance' USING ERRCODE = '40001';
      END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR UPDATE ON skein.heads
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.dawdle()`);
}

async function order(child: Child, given: FeedOrder): Promise<void> {
  child.process.stdin?.write(`${JSON.stringify(given)}\n`);
  if (given.do !== "warm") return;
  const { code, stderr } = await child.ended;
  if (code !== 0) throw new Error(`the writer does not start: ${stderr}`);
}

function startWriters(options: FeedOptions, shared: readonly SessionId[], cache: string): Child[] {
  const { processes, writers, records, batch, seed } = options;
  return Array.from({ length: processes }, (_, place) => {
    const child = startChild(program, { cache });
    void order(child, {
      do: "write",
      url: `${options.url}?connections=${connections}`,
      seed: seed + place * 1_000,
      writers: writers / processes,
      records: Math.ceil(records / writers),
      shared,
      batch,
    });
    return child;
  });
}

const lastCount = (lines: readonly string[]): number => Number(lines.at(-1)?.split(" ")[1] ?? 0);

type Heads = ReadonlyMap<string, { readonly seq: number; readonly hash: string }>;

async function headsOf(sql: postgres.Sql): Promise<{ readonly heads: Heads; readonly total: number }> {
  const rows = await sql<{ session: string; seq: number; hash: string }[]>`
    select session, seq::int, encode(hash, 'hex') as hash from skein.heads`;
  const total = rows.reduce((sum, { seq }) => sum + seq, 0);
  return { heads: new Map(rows.map(({ session, seq, hash }) => [session, { seq, hash }])), total };
}

/** Waits until every reader has as many as there are, or none of them gets any further. */
async function caughtUp(readers: readonly Reader[], total: number, problems: string[]): Promise<void> {
  for (let before = -1, stillMs = 0; stillMs < 10_000;) {
    const now = readers.reduce((sum, { records }) => sum + records, 0);
    if (readers.every(({ records }) => records >= total)) return;
    stillMs = now === before ? stillMs + 50 : 0;
    before = now;
    await sleep(50);
  }
  problems.push(
    `of ${total} records, the readers saw ${readers.map(({ records }) => records).join(" and ")}`,
  );
}

/** Follows the feed: reads while there is anything, then waits for a notice. */
class Reader {
  readonly #store: Store;
  readonly #name: string;
  readonly #problems: string[];
  readonly #ends = new Map<string, { seq: number; hash: string }>();
  readonly lagsMs: number[] = [];
  records = 0;
  pages = 0;

  constructor(store: Store, name: string, problems: string[]) {
    this.#store = store;
    this.#name = name;
    this.#problems = problems;
  }

  async run(signal: AbortSignal): Promise<void> {
    let told = Promise.withResolvers<void>();
    const unwatch = this.#store.watch(() => told.resolve());
    signal.addEventListener("abort", () => told.resolve());
    for (let position: string | null = null; !signal.aborted;) {
      const next = told;
      const page = await this.#store.feed(position, 1_000);
      ({ position } = page);
      if (page.records.length === 0) {
        await next.promise;
        told = Promise.withResolvers();
        continue;
      }
      this.pages += 1;
      for (const { session, seq, hash } of page.records) this.#take(session, seq, hash);
      const [first] = page.records;
      if (first !== undefined) this.lagsMs.push(this.#store.now() - first.at);
    }
    unwatch();
  }

  #take(session: string, seq: number, hash: string): void {
    const before = this.#ends.get(session)?.seq ?? 0;
    if (seq !== before + 1) this.#say(`after ${before} of ${session} came ${seq}`);
    this.#ends.set(session, { seq, hash });
    this.records += 1;
  }

  /** Where each log ends, the reader has come to its end. */
  compare(heads: Heads): void {
    for (const [session, { seq, hash }] of heads) {
      const end = this.#ends.get(session);
      if (end?.seq !== seq || end.hash !== hash) this.#say(`${session} ends at ${seq}, it saw ${end?.seq}`);
    }
    for (const session of this.#ends.keys()) if (!heads.has(session)) this.#say(`there is no ${session}`);
  }

  #say(problem: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(`${this.#name}: ${problem}`);
  }
}
