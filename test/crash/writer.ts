/**
 * The program that a crash test kills. It takes one order from its standard input, writes to the store until
 * it is killed or has done its steps, and says on its standard output what it is about to write and, as soon
 * as the promise has resolved and never before, what was acknowledged. Each line is handed to the kernel
 * before the program goes on, so nothing that it said is lost with it. The lines are described in ledger.ts.
 */
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { openEngine, SkeinError, type Engine, type Session } from "../../src/index.ts";
import type { Durability } from "../../src/entry/store.ts";
import { followSessions } from "./follower.ts";
import { tokensOf } from "./mark.ts";
import { makeRandom, type Random } from "./random.ts";
import { pickVerb, verbs, writeUnder, type Act, type Placed, type VerbName } from "./verb.ts";
import { readInput } from "./read-input.ts";

/** What the writer is to do: one line of JSON. */
export type Order =
  /** End at once, with the compiled program in the cache for those to come. */
  | { readonly do: "warm" }
  /** Only read. */
  | { readonly do: "follow"; readonly path: string }
  | {
      readonly do: "write";
      readonly path: string;
      /** Its number among all writers of the store: `w1`, `w2` … */
      readonly writer: string;
      readonly seed: number;
      /** One write after another, each a single append of these verbs, and then the end. */
      readonly steps?: { readonly count: number; readonly verbs: readonly VerbName[] };
      readonly durability?: Durability;
      /** After its steps the writer ends without closing the store. */
      readonly leave?: true;
      /** Keyed writes of writers that died before they were answered. */
      readonly again?: readonly Unanswered[];
    };

export interface Unanswered {
  readonly mark: string;
  readonly session: string;
  readonly parts: number;
}

type WriteOrder = Extract<Order, { do: "write" }>;

const sessionsMin = 3;
const sessionsMax = 6;
const atOnceMax = 6;

function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let from = 0; from < bytes.length;) from += writeSync(1, bytes, from);
}

function readOrder(): Order {
  const bytes = Buffer.alloc(65_536);
  let length = 0;
  while (!bytes.subarray(0, length).includes("\n")) {
    const count = readInput(bytes, length);
    if (count === 0) process.exit(0);
    length += count;
  }
  return JSON.parse(bytes.toString("utf8", 0, length)) as Order;
}

const reasonOf = ({ message, hint }: SkeinError): string => JSON.stringify([message, hint ?? null]);

class Writer {
  readonly #engine: Engine;
  readonly #order: WriteOrder;
  readonly #random: Random;
  readonly #sessions = new Map<string, Session>();
  #count = 0;

  constructor(engine: Engine, order: WriteOrder) {
    this.#engine = engine;
    this.#order = order;
    this.#random = makeRandom(order.seed);
  }

  /** Until somebody ends the process. */
  async forever(): Promise<void> {
    for (const one of this.#order.again ?? []) await this.#again(one);
    for (let round = 0; ; round++) {
      if (round % 50 === 0) await this.#look();
      while (this.#sessions.size < sessionsMin) await this.#write("open");
      const atOnce = this.#random.chance(0.5) ? 1 : 1 + this.#random.below(atOnceMax);
      await Promise.all(Array.from({ length: atOnce }, () => this.#write(pickVerb(this.#random))));
    }
  }

  async steps(count: number, names: readonly VerbName[]): Promise<void> {
    for (let step = 0; step < count; step++) {
      await this.#write(names[step % names.length] ?? "input");
    }
  }

  /** Takes up sessions of other writers, so that they meet. */
  async #look(): Promise<void> {
    const { rows } = await this.#engine.sessions({ status: "open", limit: sessionsMax });
    for (const { session } of rows) {
      if (this.#sessions.size >= sessionsMax) this.#forget(this.#random.pick([...this.#sessions.keys()]));
      const handle = await this.#found(session);
      if (handle !== null) this.#sessions.set(session, handle);
    }
  }

  /** Null where another writer has deleted the session since it was listed. */
  async #found(session: string): Promise<Session | null> {
    try {
      return await this.#engine.session(session);
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "not-found") throw error;
      return null;
    }
  }

  #forget(session: string): void {
    this.#sessions.delete(session);
  }

  /** Writes side by side may delete every session that is known: then there is only one to open. */
  async #write(name: VerbName): Promise<void> {
    const known = [...this.#sessions.values()];
    const verb = known.length === 0 ? "open" : name;
    // `open` does not look at the session it is given.
    const session = known.length === 0 ? ({ id: "-" } as Session) : this.#random.pick(known);
    const parts = verbs[verb].parts(this.#random);
    const done = await this.#attempt(verb, session, parts, (mark) =>
      verbs[verb].act(this.#given(session, mark, parts)),
    );
    if (verb === "clear" || verb === "delete") this.#forget(session.id);
    if (done === null) return;
    if (done.seq > 0 && this.#random.chance(0.2)) await this.#readBack(done);
    if (done.opened !== undefined) this.#sessions.set(done.session, done.opened);
    if (this.#sessions.size > sessionsMax) this.#forget([...this.#sessions.keys()][0] ?? "");
    const { lease } = done;
    if (lease === undefined) return;
    const under = 1 + this.#random.below(4);
    await this.#attempt("under", session, under, (mark) => writeUnder(lease, tokensOf(mark, under)));
    await this.#attempt("release", session, 0, async () => {
      await lease.release();
      return { session: session.id, seq: 0, headSeq: 0 };
    });
  }

  async #again({ mark, session, parts }: Unanswered): Promise<void> {
    say(`again ${mark}`);
    await this.#settle(mark, async () =>
      verbs.keyed.act(this.#given(await this.#engine.session(session), mark, parts)),
    );
  }

  #given(session: Session, mark: string, parts: number): Act {
    const tokens = tokensOf(mark, parts);
    return { engine: this.#engine, path: this.#order.path, session, mark, tokens, random: this.#random };
  }

  async #attempt(
    verb: string,
    session: Session,
    parts: number,
    act: (mark: string) => Promise<Placed>,
  ): Promise<Placed | null> {
    const mark = `${this.#order.writer}.${++this.#count}`;
    say(`try ${mark} ${verb} ${parts} ${session.id}`);
    return this.#settle(mark, () => act(mark));
  }

  async #settle(mark: string, act: () => Promise<Placed>): Promise<Placed | null> {
    try {
      const done = await act();
      say(`ok ${mark} ${done.session} ${done.seq} ${done.duplicate === true ? 0 : done.headSeq}`);
      return done;
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error;
      say(`no ${mark} ${error.code} ${reasonOf(error)}`);
      return null;
    }
  }

  /** Says what a reader in this process is given: from then on it may not change either. */
  async #readBack({ session, seq, headSeq }: Placed): Promise<void> {
    try {
      const handle = await this.#engine.session(session);
      for await (const event of handle.events({ fromSeq: seq, toSeq: headSeq })) {
        say(`saw ${event.session} ${event.seq} ${event.hash}`);
      }
    } catch (error) {
      // Another writer may have deleted the session since.
      if (!(error instanceof SkeinError) || error.code !== "not-found") throw error;
    }
  }
}

async function write(order: WriteOrder): Promise<void> {
  const { path, durability, steps } = order;
  const engine = await openEngine(durability === undefined ? { store: path } : { store: path, durability });
  say("opened");
  const writer = new Writer(engine, order);
  await (steps === undefined ? writer.forever() : writer.steps(steps.count, steps.verbs));
  if (order.leave === true) process.kill(process.pid, "SIGKILL");
  await engine.close();
  say("closed");
}

async function main(): Promise<void> {
  await import("../../src/store/sqlite/store.ts");
  say("ready");
  const order = readOrder();
  try {
    if (order.do === "warm") return flushCompileCache();
    await (order.do === "follow" ? followSessions(order.path, say) : write(order));
  } catch (error) {
    if (error instanceof SkeinError) {
      say(`failed ${error.code} ${reasonOf(error)}`);
    } else {
      say(`broke ${JSON.stringify(error instanceof Error ? error.stack : String(error))}`);
    }
  }
}

await main();
