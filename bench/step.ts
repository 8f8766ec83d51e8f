/**
 * What a step costs besides the model: at 100,000 events as at 100 with the same window, and the bytes that
 * turns leave behind.
 */
import { statSync } from "node:fs";
import { openEngine, type Engine, type Session } from "../src/index.ts";
import type { Model, Models } from "../src/entry/model.ts";
import { inputOf, makeDirectory, median, number, timeMs, type Measure } from "./measure.ts";

const long = 100_000;
const short = 100;
const compactEvery = 40;
const measuredTurns = 40;

export async function benchStep(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [await overhead(directory.path("step.db")), await bytes(directory)];
}

async function overhead(path: string): Promise<Measure> {
  await using engine = await openBench(path);
  const longOne = await grown(engine, long);
  const shortOne = await grown(engine, short);
  // The same window in both: each begins with a summary of the same length, and grows turn by turn.
  const times: { readonly long: number[]; readonly short: number[] } = { long: [], short: [] };
  for (const session of [longOne, shortOne]) await session.compress({ strategy: "summarize" });
  for (let turn = 0; turn < measuredTurns; turn++) {
    times.short.push(await timeMs(() => takeTurn(shortOne)));
    times.long.push(await timeMs(() => takeTurn(longOne)));
  }
  const [longMs, shortMs] = [median(times.long), median(times.short)];
  return {
    name: "a step without the model, 100,000 events ÷ 100",
    value: longMs / shortMs,
    unit: "×",
    bar: { most: 1.5 },
    detail: `${number(longMs)} ms beside ${number(shortMs)} ms a turn of one step`,
  };
}

async function bytes(directory: { path(name: string): string }): Promise<Measure> {
  const grow = async (path: string, turns: number): Promise<void> => {
    await using engine = await openBench(path);
    const session = await engine.open({ objective: "Grow", agent: "bench" });
    for (let turn = 1; turn <= turns; turn++) {
      await takeTurn(session);
      if (turn % compactEvery === 0) await session.compress({ strategy: "summarize" });
    }
  };
  // Of the closed file: the log that is written ahead has the same size in both.
  const sizeAfter = async (turns: number): Promise<number> => {
    const path = directory.path(`${turns}.db`);
    await grow(path, turns);
    return statSync(path).size;
  };
  const few = await sizeAfter(100);
  const many = await sizeAfter(1_000);
  return {
    name: "bytes at 1,000 turns ÷ at 100 turns",
    value: many / few,
    unit: "×",
    bar: { most: 11 },
    detail: `${number(many / 1_048_576)} MiB beside ${number(few / 1_048_576)} MiB`,
  };
}

/** A session of so many events, compacted on the way as a long one is. */
async function grown(engine: Engine, events: number): Promise<Session> {
  const session = await engine.open({ objective: `${events} events`, agent: "bench" });
  for (let turn = 1; (await session.head()).seq < events; turn++) {
    await takeTurn(session);
    if (turn % compactEvery === 0) await session.compress({ strategy: "summarize" });
  }
  return session;
}

async function takeTurn(session: Session): Promise<void> {
  await session.input(inputOf(400));
  await session.run();
}

/** Durability is not what is measured here. */
async function openBench(path: string): Promise<Engine> {
  const engine = await openEngine({ store: path, durability: "process", models, env: {} });
  await engine.addAgent({ name: "bench", instructions: "Answer.", compaction: { auto: false } });
  return engine;
}

const answer = inputOf(400);
const model = (name: string): Model => ({
  name,
  facts: { windowTokens: 200_000, outputTokensMax: 4_000, images: false, price: null },
  // oxlint-disable-next-line require-yield -- this model says everything at once
  async *stream() {
    return {
      blocks: [{ type: "text", text: answer }],
      finish: "stop",
      usage: { inputTokens: 100, outputTokens: 100 },
      sent: null,
    };
  },
});
const models: Models = { byDefault: "bench/instant", model: async (name) => model(name), list: () => [] };
