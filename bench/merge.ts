/** Merging touches only the items: how long the two logs are must not matter. */
import { openEngine, type Engine, type Session } from "../src/index.ts";
import { inputOf, makeDirectory, median, number, timeMs, type Measure } from "./measure.ts";

const long = 100_000;
const short = 1_000;
/** Items that a merge brings, and that both sessions know besides. */
const changed = 50;
const known = 200;
const rounds = 21;

export async function benchMerge(): Promise<Measure[]> {
  using directory = makeDirectory();
  const path = directory.path("merge.db");
  const pairs: Pairs = await write(path);
  const times = { long: [] as number[], short: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.short.push(await once(path, pairs.short, round));
    times.long.push(await once(path, pairs.long, round));
  }
  const [longMs, shortMs] = [median(times.long), median(times.short)];
  return [
    {
      name: "merge of 100,000 events each ÷ of 1,000 each",
      value: longMs / shortMs,
      unit: "×",
      bar: { most: 1.5 },
      detail: `${number(longMs)} ms beside ${number(shortMs)} ms, ${changed} items of ${known + changed}`,
    },
  ];
}

interface Pair {
  readonly into: string;
  readonly from: string;
}

interface Pairs {
  readonly long: Pair;
  readonly short: Pair;
}

/** In each pair a session and a fork of it, which both go on for as many events. */
async function write(path: string): Promise<Pairs> {
  await using engine = await openEngine({ store: path, durability: "process" });
  const pair = async (count: number): Promise<Pair> => {
    const into = await engine.open({ objective: `${count} events` });
    for (let key = 0; key < known; key++) await into.record("fact", `known ${key}`, key);
    const from = await into.fork({ atSeq: (await into.head()).seq });
    for (const session of [into, from]) await fill(session, count);
    return { into: into.id, from: from.id };
  };
  return { short: await pair(short), long: await pair(long) };
}

async function fill(session: Session, count: number): Promise<void> {
  const text = inputOf(1_024);
  for (let left = count - (await session.head()).seq; left > 0; left -= 1_000) {
    const records = Array.from(
      { length: Math.min(left, 1_000) },
      () => ({ type: "input.received", text }) as const,
    );
    await session.append(records);
  }
}

/** A fresh engine each time, so that nothing is known of the sessions. */
async function once(path: string, { into, from }: Pair, round: number): Promise<number> {
  await using engine: Engine = await openEngine({ store: path, durability: "process" });
  const [target, source] = [await engine.session(into), await engine.session(from)];
  for (let key = 0; key < changed; key++) await source.record("fact", `changed ${key}`, { round, key });
  await using fresh = await openEngine({ store: path, durability: "process" });
  const session = await fresh.session(target.id);
  return await timeMs(async () => {
    const { taken, written } = await session.merge({ from });
    if (taken.length !== changed || written === null) throw new Error(`${taken.length} items came in`);
  });
}
