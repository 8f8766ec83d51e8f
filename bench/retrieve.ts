/**
 * What planning a context costs, and retrieval: a turn whose input is about something that a compaction left
 * out, at 100,000 events beside 1,000, with as many items and the same window; in stores of their own, and in
 * one store. They are measured in processor time and in rounds, so that what else the machine does meets all
 * of them; `spread` is the lowest and the highest ratio of a round.
 */
import { openEngine, type Engine, type Session } from "../src/index.ts";
import type { Model, Models } from "../src/entry/model.ts";
import { makeDirectory, median, number, type Measure } from "./measure.ts";

const long = Number(process.env["SKEIN_BENCH_RETRIEVE_EVENTS"] ?? 100_000);
const short = 1_000;
const compactEvery = 40;
const measuredTurns = 75;
const items = 300;
const plannedTimes = 75;
const rounds = 5;
/** Turns at the end that nothing is brought in for: so the windows are alike. */
const lastTurns = 40;

export async function benchRetrieve(): Promise<Measure[]> {
  using directory = makeDirectory();
  const [alone, own, shared] = ["short.db", "long.db", "both.db"].map((name) => directory.path(name));
  if (alone === undefined || own === undefined || shared === undefined) throw new Error("no paths");
  const [shortId, longId] = [await grow(alone, short), await grow(own, long)];
  const neighbors = await beside(shared);
  await using shortEngine = await openBench(alone);
  await using longEngine = await openBench(own);
  await using sharedEngine = await openBench(shared);
  const sessions = {
    short: await shortEngine.session(shortId),
    long: await longEngine.session(longId),
    neighbor: await sharedEngine.session(neighbors),
  };
  const planned = await byTurns(plannedTimes, sessions, (session) => session.context());
  const tokens = {
    short: (await sessions.short.context()).tokens,
    long: (await sessions.long.context()).tokens,
  };
  // Fresh engines: nothing is indexed or cached.
  const first = await byTurns(1, sessions, (session) => ask(session, 1));
  const turns = await byTurns(measuredTurns, sessions, (session, turn) => ask(session, turn + 1));
  const parts = { short: await broughtIn(sessions.short), long: await broughtIn(sessions.long) };
  return [
    ratioOf(`planning a context of ${items} items, ${number(long)} events ÷ ${number(short)}`, {
      times: [planned.long, planned.short],
      most: 1.2,
      note: `${tokens.long} and ${tokens.short} tokens, rendered and counted`,
    }),
    ratioOf(`a turn with retrieval, ${number(long)} events ÷ ${number(short)}`, {
      times: [turns.long, turns.short],
      most: 1.2,
      note: `${parts.long} and ${parts.short} parts brought in`,
    }),
    ratioOf(`… of ${number(short)} events, beside a session of ${number(long)} ÷ alone`, {
      times: [turns.neighbor, turns.short],
      most: 1.2,
      note: "in one store, of the same words",
    }),
    ratioOf("… the first turn of a fresh engine", {
      times: [first.long, first.short],
      most: null,
      note: `${items} items are indexed`,
    }),
  ];
}

type Times = Record<"short" | "long" | "neighbor", number[]>;

async function byTurns(
  count: number,
  sessions: Readonly<Record<keyof Times, Session>>,
  work: (session: Session, turn: number) => Promise<unknown>,
): Promise<Times> {
  const times: Times = { short: [], long: [], neighbor: [] };
  const size = Math.ceil(count / rounds);
  for (let round = 0; round * size < count; round++)
    for (const name of ["short", "long", "neighbor"] as const)
      for (let turn = round * size + 1; turn <= Math.min(count, (round + 1) * size); turn++)
        times[name].push(await processorMs(() => work(sessions[name], turn)));
  return times;
}

/** Of this process: what else runs on the machine hardly changes it. */
async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function ratioOf(
  name: string,
  {
    times: [these, those],
    most,
    note,
  }: { readonly times: readonly [number[], number[]]; readonly most: number | null; readonly note: string },
): Measure {
  const [one, other] = [median(these), median(those)];
  const size = Math.ceil(these.length / rounds);
  const ratios = Array.from({ length: rounds }, (_, round) =>
    [these, those].map((times) => median(times.slice(round * size, (round + 1) * size))),
  ).flatMap(([a, b]) => (a !== undefined && b !== undefined && b > 0 ? [a / b] : []));
  const spread =
    these.length < rounds ? "" : `; spread ${rounded(ratios, Math.min)} to ${rounded(ratios, Math.max)}`;
  return {
    name,
    value: one / other,
    unit: "×",
    bar: most === null ? null : { most },
    detail: `${number(one)} ms beside ${number(other)} ms; ${note}${spread}`,
  };
}

const rounded = (ratios: readonly number[], pick: (...of: number[]) => number): string =>
  pick(...ratios).toFixed(2);

async function broughtIn(session: Session): Promise<number> {
  let parts = 0;
  for await (const { body } of session.events({ types: ["context.retrieved"] }))
    parts += (body as { entries: unknown[] }).entries.length;
  return parts;
}

/** Words as often as those of a language: the second half as often as the first, and so on (Zipf). */
const vocabulary = 20_000;
const wordOf = (place: number): string => `w${((place * 7_919) % 60_013).toString(36)}ord`;
const sentence = (seed: number): string =>
  Array.from({ length: 40 }, (_, place) => {
    const chance = ((seed * 2_654_435_761 + place * 40_503_001) % 1_000_003) / 1_000_003;
    return wordOf(Math.floor(vocabulary ** chance));
  }).join(" ");

/** A store with a long session, and a short one that it returns. */
async function beside(path: string): Promise<string> {
  await grow(path, long);
  return grow(path, short);
}

async function grow(path: string, events: number): Promise<string> {
  await using engine = await openBench(path);
  const session = await engine.open({ objective: `${events} events`, agent: "bench" });
  for (let item = 0; item < items; item++)
    await session.record(
      "fact",
      `item-${item}-${wordOf(500 + item)}`,
      `${sentence(item)} ${sentence(item + 1)}`,
    );
  for (let turn = 1; (await session.head()).seq < events; turn++) {
    await session.input(`Turn ${turn}: ${sentence(turn)}`);
    await session.run();
    if (turn % compactEvery === 0) await session.compress({ strategy: "summarize" });
  }
  for (let turn = 1; turn <= lastTurns; turn++) {
    await session.input(
      `${turn}. ${Array.from({ length: 40 }, (_, place) => `q${turn}z${place}`).join(" ")}`,
    );
    await session.run();
  }
  await session.compress({ strategy: "summarize" });
  return session.id;
}

async function ask(session: Session, turn: number): Promise<void> {
  const [one, other] = [wordOf(500 + ((turn * 5) % items)), wordOf(100 + turn * 37)];
  await session.input(`What about item ${turn * 5} ${one}, and what was said of ${other} ${one}?`);
  await session.run();
}

/** Durability is not what is measured here. */
async function openBench(path: string): Promise<Engine> {
  const engine = await openEngine({ store: path, durability: "process", models, env: {} });
  await engine.addAgent({ name: "bench", instructions: "Answer.", compaction: { auto: false } });
  return engine;
}

const model = (name: string): Model => ({
  name,
  facts: { windowTokens: 200_000, outputTokensMax: 4_000, images: false, price: null },
  // oxlint-disable-next-line require-yield -- this model says everything at once
  async *stream() {
    return {
      blocks: [{ type: "text", text: "It was done as it was asked for." }],
      finish: "stop",
      usage: { inputTokens: 100, outputTokens: 100 },
      sent: null,
    };
  },
});
const models: Models = { byDefault: "bench/instant", model: async (name) => model(name), list: () => [] };
