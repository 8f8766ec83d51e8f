/**
 * What planning a context costs, and retrieval: a turn whose input is about something that a compaction left
 * out, at 100,000 events beside 1,000, with as many items and the same window.
 */
import { openEngine, type Engine, type Session } from "../src/index.ts";
import type { Model, Models } from "../src/entry/model.ts";
import { makeDirectory, median, number, timeMs, type Measure } from "./measure.ts";

const long = Number(process.env["SKEIN_BENCH_RETRIEVE_EVENTS"] ?? 100_000);
const short = 1_000;
const compactEvery = 40;
const measuredTurns = 40;
const items = 300;
const plannedTimes = 30;

export async function benchRetrieve(): Promise<Measure[]> {
  using directory = makeDirectory();
  const times: Record<"long" | "short", number[]> = { long: [], short: [] };
  const first: Record<"long" | "short", number> = { long: 0, short: 0 };
  const planned: Record<"long" | "short", number[]> = { long: [], short: [] };
  let parts = 0;
  for (const [name, events] of [["short", short] as const, ["long", long] as const]) {
    const path = directory.path(`${name}.db`);
    const id = await grow(path, events);
    // A fresh engine: nothing is indexed or cached.
    await using engine = await openBench(path);
    const session = await engine.session(id);
    // The log ends with a compaction, so that each of these plans the context anew.
    await session.context();
    for (let time = 0; time < plannedTimes; time++) planned[name].push(await timeMs(() => session.context()));
    first[name] = await timeMs(() => ask(session, 1));
    for (let turn = 2; turn <= measuredTurns; turn++)
      times[name].push(await timeMs(() => ask(session, turn)));
    for await (const { body } of session.events({ types: ["context.retrieved"] }))
      parts += (body as { entries: unknown[] }).entries.length;
  }
  const [longMs, shortMs] = [median(times.long), median(times.short)];
  const [longPlanMs, shortPlanMs] = [median(planned.long), median(planned.short)];
  return [
    {
      name: `planning a context of ${items} items, ${number(long)} events ÷ ${number(short)}`,
      value: longPlanMs / shortPlanMs,
      unit: "×",
      bar: { most: 1.2 },
      detail: `${number(longPlanMs)} ms beside ${number(shortPlanMs)} ms, rendered and counted`,
    },
    {
      name: `a turn with retrieval, ${number(long)} events ÷ ${number(short)}`,
      value: longMs / shortMs,
      unit: "×",
      bar: { most: 1.2 },
      detail: `${number(longMs)} ms beside ${number(shortMs)} ms; ${parts} parts brought in`,
    },
    {
      name: "… the first turn of a fresh engine",
      value: first.long / first.short,
      unit: "×",
      bar: null,
      detail: `${number(first.long)} ms beside ${number(first.short)} ms: ${items} items are indexed`,
    },
  ];
}

/** Words as often as those of a language: the second half as often as the first, and so on (Zipf). */
const vocabulary = 20_000;
const wordOf = (place: number): string => `w${((place * 7_919) % 60_013).toString(36)}ord`;
const sentence = (seed: number): string =>
  Array.from({ length: 40 }, (_, place) => {
    const chance = ((seed * 2_654_435_761 + place * 40_503_001) % 1_000_003) / 1_000_003;
    return wordOf(Math.floor(vocabulary ** chance));
  }).join(" ");

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
