/**
 * A program with several writers, each on connections of its own: they append batches to sessions of their
 * own and to sessions that all share, until as many records are written as they were ordered to.
 */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { makeSessionId, makeWorkspaceId, type SessionId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { draftOf, entryOf } from "../../src/store/conformance/bench.ts";
import type { Draft, Part, Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { makeRandom, type Random } from "../crash/random.ts";

export type FeedOrder =
  | { readonly do: "warm" }
  | {
      readonly do: "write";
      readonly url: string;
      readonly seed: number;
      readonly writers: number;
      /** Of each writer, at least. */
      readonly records: number;
      /** Sessions that all writers of all processes write to. */
      readonly shared: readonly SessionId[];
      /** How many records go together. */
      readonly batch: readonly [number, number];
    };

type WriteOrder = Extract<FeedOrder, { do: "write" }>;

/** Of each writer. */
const ownSessions = 8;
const sharedShare = 0.3;

const world = realWorld();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const newId = (): SessionId => makeSessionId({ nowMs: world.now(), random: world.random(10) });

class Writer {
  readonly #store: Store;
  readonly #order: WriteOrder;
  readonly #random: Random;
  readonly #own: SessionId[] = [];
  /** Where this writer left its own sessions. */
  readonly #heads = new Map<SessionId, number>();
  readonly #drafts: readonly Draft[];
  written = 0;

  constructor(store: Store, order: WriteOrder, seed: number) {
    this.#store = store;
    this.#order = order;
    this.#random = makeRandom(seed);
    // Hashing as many as a million salts would measure this program.
    this.#drafts = Array.from({ length: 100 }, (_, place) =>
      draftOf({ body: { place }, content: { text: `what was said, ${place} `.repeat(4) } }, world.digest),
    );
  }

  async run(): Promise<void> {
    for (let place = 0; place < ownSessions; place++) this.#own.push(newId());
    while (this.written < this.#order.records) await this.#append();
  }

  async #append(): Promise<void> {
    const [least, most] = this.#order.batch;
    const count = least + this.#random.below(most - least + 1);
    const chosen = this.#choose();
    const parts = chosen.map((session) => this.#part(session, Math.ceil(count / chosen.length)));
    const outcome = await this.#store.append(parts);
    if (outcome.kind !== "ok") throw new Error(`an append was answered by ${JSON.stringify(outcome)}`);
    for (const { session, headSeq, firstSeq } of outcome.parts) {
      if (this.#own.includes(session as SessionId)) this.#heads.set(session as SessionId, headSeq);
      this.written += headSeq - firstSeq + 1;
    }
  }

  /** One of its own, or up to three that others write to as well. */
  #choose(): readonly SessionId[] {
    const { shared } = this.#order;
    if (!this.#random.chance(sharedShare)) return [this.#random.pick(this.#own)];
    return [...new Set([0, 1, 2].map(() => this.#random.pick(shared)))].toSorted();
  }

  #part(session: SessionId, count: number): Part {
    const head = this.#heads.get(session);
    const begins = head === undefined && this.#own.includes(session);
    const from = this.#random.below(this.#drafts.length);
    const drafts = Array.from({ length: count }, (_, place) => this.#drafts[(from + place) % 100] as Draft);
    if (begins) return { session, expect: "absent", drafts, index: entryOf() };
    return { session, expect: head === undefined ? "exists" : { seq: head }, drafts };
  }
}

async function write(order: WriteOrder): Promise<void> {
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const writers: Writer[] = [];
  const stores: Store[] = [];
  for (let place = 0; place < order.writers; place++) {
    const store = await postgresStore({ url: order.url, world, workspace, durability: "process" });
    stores.push(store);
    writers.push(new Writer(store, order, order.seed + place));
  }
  const told = setInterval(() => say(`written ${sumOf(writers)}`), 500);
  await Promise.all(writers.map((writer) => writer.run()));
  clearInterval(told);
  for (const store of stores) await store.close();
  say(`done ${sumOf(writers)}`);
}

const sumOf = (writers: readonly Writer[]): number => writers.reduce((sum, { written }) => sum + written, 0);

async function main(): Promise<void> {
  const given = Promise.withResolvers<FeedOrder>();
  const input = createInterface({ input: process.stdin });
  input.on("line", (line) => given.resolve(JSON.parse(line) as FeedOrder));
  // Whoever gave the order is gone: nobody would ever end this one.
  input.on("close", () => process.exit(1));
  const order = await given.promise;
  if (order.do === "warm") flushCompileCache();
  else await write(order);
  process.exit(0);
}

await main();
