/**
 * A program that writes to many sessions at once while its PostgreSQL is killed and its connections are cut.
 * It takes one order, and writes until its standard input says "stop". What it is about to write and what was
 * acknowledged goes into its ledger, each line handed to the kernel before it goes on; see
 * test/crash/ledger.ts. On its standard output it gives signs of life, and at the end its counts.
 */
import { openSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { openEngine, SkeinError, type Engine, type Session } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Outcome, Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { tokensOf } from "../crash/mark.ts";
import { makeRandom, type Random } from "../crash/random.ts";
import { writeUnder, type Placed } from "../crash/verb.ts";
import { pickVerb, verbs, type VerbName } from "./kill-verb.ts";

export type KillOrder =
  | { readonly do: "warm" }
  | {
      readonly do: "write";
      readonly url: string;
      readonly ledger: string;
      /** `w1`, `w2` … */
      readonly writer: string;
      readonly sessions: number;
      readonly seed: number;
      /** Between two writes of a session at most. */
      readonly pauseMs: number;
    };

type WriteOrder = Extract<KillOrder, { do: "write" }>;

export interface SlowWrite {
  readonly verb: string;
  readonly ms: number;
}

export interface WriterCounts {
  /** What the store answered, before anybody looked into it. */
  readonly outcomes: Readonly<Record<Outcome["kind"], number>>;
  /** What callers were told for good. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly slowest: SlowWrite;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** A sign of life is given at most so often. */
const beatMs = 20;
const strangersMax = 20;
/** How often a process looks for sessions of others. */
const lookMs = 3_000;

class Writer {
  readonly #engine: Engine;
  readonly #order: WriteOrder;
  readonly #workspace: string;
  readonly #random: Random;
  readonly #ledger: number;
  readonly #refusals: Record<string, number> = {};
  #strangers: string[] = [];
  #count = 0;
  #beatAt = 0;
  #slowest: SlowWrite = { verb: "none", ms: 0 };
  stopped = false;

  constructor(engine: Engine, order: WriteOrder, workspace: string) {
    this.#engine = engine;
    this.#order = order;
    this.#workspace = workspace;
    this.#random = makeRandom(order.seed);
    this.#ledger = openSync(order.ledger, "a");
  }

  get counts(): Omit<WriterCounts, "outcomes"> {
    return { refusals: this.#refusals, slowest: this.#slowest };
  }

  async run(): Promise<void> {
    const loops = Array.from({ length: this.#order.sessions }, () => this.#loop());
    await Promise.all([...loops, this.#look()]);
  }

  #note(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    for (let from = 0; from < bytes.length;) from += writeSync(this.#ledger, bytes, from);
  }

  /** Takes up sessions of other processes now and then, so that they meet. */
  async #look(): Promise<void> {
    for (let passedMs = 0; !this.stopped; passedMs += 100) {
      await sleep(100);
      if (passedMs % lookMs !== 0) continue;
      const { rows } = await this.#engine.sessions({ status: "open", limit: strangersMax });
      this.#strangers = rows.map(({ session }) => session);
    }
  }

  /** One session after another: a fork or the next of a cleared one is gone on with. */
  async #loop(): Promise<void> {
    let session: Session | null = null;
    while (!this.stopped) {
      await sleep(this.#random.next() * this.#order.pauseMs);
      if (session === null) {
        session = (await this.#write("open", { id: "-" } as Session))?.opened ?? null;
        continue;
      }
      const isOther = this.#strangers.length > 0 && this.#random.chance(0.1);
      const verb = pickVerb(this.#random);
      const on: Session = isOther ? await this.#engine.session(this.#someone()) : session;
      const done = await this.#write(verb, on);
      // Another may have closed it.
      if (verb === "close" || (done === null && this.#random.chance(0.2))) await this.#write("reopen", on);
      if (done?.opened !== undefined && !isOther && this.#random.chance(verb === "fork" ? 0.3 : 1))
        session = done.opened;
    }
  }

  #someone(): string {
    return this.#strangers.length === 0 ? "-" : this.#random.pick(this.#strangers);
  }

  async #write(verb: VerbName, session: Session): Promise<Placed | null> {
    const parts = verbs[verb].parts(this.#random);
    const other = this.#someone();
    if (verb === "send" && (other === "-" || other === session.id)) return null;
    const done = await this.#attempt(verb, session, parts, (mark) =>
      verbs[verb].act({
        engine: this.#engine,
        path: "",
        workspace: this.#workspace,
        session,
        other,
        mark,
        tokens: tokensOf(mark, parts),
        random: this.#random,
      }),
    );
    const lease = done?.lease;
    if (done === null || lease === undefined) return done;
    const under = 1 + this.#random.below(4);
    await this.#attempt("under", session, under, (mark) => writeUnder(lease, tokensOf(mark, under)));
    await this.#attempt("release", session, 0, async () => {
      await lease.release();
      return { session: session.id, seq: 0, headSeq: 0 };
    });
    return done;
  }

  async #attempt(
    verb: string,
    session: Session,
    parts: number,
    act: (mark: string) => Promise<Placed>,
  ): Promise<Placed | null> {
    const mark = `${this.#order.writer}.${++this.#count}`;
    const startedMs = performance.now();
    this.#note(`try ${mark} ${verb} ${parts} ${session.id}`);
    try {
      const done = await act(mark);
      this.#note(`ok ${mark} ${done.session} ${done.seq} ${done.duplicate === true ? 0 : done.headSeq}`);
      this.#beat();
      return done;
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error;
      this.#refusals[error.code] = (this.#refusals[error.code] ?? 0) + 1;
      this.#note(`no ${mark} ${error.code} ${JSON.stringify([error.message, error.hint ?? null])}`);
      return null;
    } finally {
      const ms = Math.round(performance.now() - startedMs);
      if (ms > this.#slowest.ms) this.#slowest = { verb, ms };
    }
  }

  #beat(): void {
    const now = Date.now();
    if (now - this.#beatAt < beatMs) return;
    this.#beatAt = now;
    say(`went ${now} ${this.#count}`);
  }
}

/** The same store, with its answers counted. */
function counted(store: Store): { readonly store: Store; readonly outcomes: WriterCounts["outcomes"] } {
  const outcomes = { ok: 0, conflict: 0, fenced: 0, duplicate: 0, unknown: 0 };
  const append: Store["append"] = async (parts) => {
    const outcome = await store.append(parts);
    outcomes[outcome.kind] += 1;
    return outcome;
  };
  return { store: { ...store, append }, outcomes };
}

async function write(order: WriteOrder, stop: Promise<void>): Promise<void> {
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const { store, outcomes } = counted(await postgresStore({ url: order.url, world, workspace }));
  const engine = await openEngine({ store });
  const writer = new Writer(engine, order, store.workspace);
  say("opened");
  void stop.then(() => (writer.stopped = true));
  await writer.run();
  await engine.close();
  say(`done ${JSON.stringify({ outcomes, ...writer.counts } satisfies WriterCounts)}`);
}

async function main(): Promise<void> {
  const given = Promise.withResolvers<KillOrder>();
  const stop = Promise.withResolvers<void>();
  const input = createInterface({ input: process.stdin });
  input.on("line", (line) =>
    line === "stop" ? stop.resolve() : given.resolve(JSON.parse(line) as KillOrder),
  );
  // Whoever gave the order is gone: nobody would ever end this one.
  input.on("close", () => process.exit(1));
  const order = await given.promise;
  if (order.do === "warm") flushCompileCache();
  else await write(order, stop.promise);
  process.exit(0);
}

await main();
