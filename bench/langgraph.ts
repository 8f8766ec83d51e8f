/** A checkpoint of LangGraph beside an append of the same bytes, and the room of a growing thread. */
import { readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { emptyCheckpoint, MemorySaver, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { SkeinSaver } from "../src/adapter/langgraph/langgraph.ts";
import { openEngine, type Engine } from "../src/index.ts";
import { makeDirectory, median, number, timeMs, type Measure } from "./measure.ts";

export async function benchLanggraph(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [await putCost(directory.path("put.db")), await growth(directory.path("grown.db"))];
}

const metadata = { source: "loop", step: 1, parents: {} } as const;
const thread = { thread_id: "bench", checkpoint_ns: "" };

const checkpointOf = (turn: number, messages: readonly string[]): Checkpoint => ({
  ...emptyCheckpoint(),
  id: uuid6(turn),
  channel_values: { messages, turn },
  channel_versions: { messages: turn, turn },
});

/** The content of the newest record of a thread. */
async function newestContent(engine: Engine): Promise<unknown> {
  const [row] = (await engine.sessions({ labels: { adapter: "langgraph" } })).rows;
  const events = (await engine.session(row?.session ?? "")).events({ reverse: true, limit: 1 });
  for await (const { content } of events) return content;
  return null;
}

/** Each put is a message of 1,000 letters more; the serializer alone is measured with it and taken off. */
async function putCost(path: string): Promise<Measure> {
  await using engine = await openEngine({ store: path });
  const [saver, { serde }] = [new SkeinSaver(engine), new MemorySaver()];
  const plain = await engine.open({ objective: "bench" });
  const times: { puts: number[]; serializer: number[]; appends: number[] } = {
    puts: [],
    serializer: [],
    appends: [],
  };
  let parent = {};
  // A window of messages: the serializer must not outgrow what is measured.
  let messages: readonly string[] = [];
  for (let turn = 1; turn <= 500; turn++) {
    messages = turn % 20 === 0 ? [] : [...messages, `${turn} `.padEnd(1_000, "word ")];
    const checkpoint = checkpointOf(turn, messages);
    const config = { configurable: { ...thread, ...parent } };
    const putMs = await timeMs(() => saver.put(config, checkpoint, metadata, checkpoint.channel_versions));
    const { channel_values: values, ...rest } = checkpoint;
    const serializerMs = await timeMs(async () => {
      for (const one of [rest, metadata, turn, ...(values["messages"] as string[])])
        await serde.dumpsTyped(one);
    });
    const content = await newestContent(engine);
    const appendMs = await timeMs(() => plain.append({ type: "x.bench.checkpoint", body: {}, content }));
    parent = { checkpoint_id: checkpoint.id };
    if (turn <= 100) continue;
    times.puts.push(putMs);
    times.serializer.push(serializerMs);
    times.appends.push(appendMs);
  }
  const [putMs, serializerMs, appendMs] = [times.puts, times.serializer, times.appends].map(median);
  const own = (putMs ?? 0) - (serializerMs ?? 0);
  return {
    name: "LangGraph put, without its serializer ÷ append of the same bytes",
    value: own / (appendMs ?? 0),
    unit: "×",
    bar: { most: 1.2 },
    detail:
      `${number(own)} ms beside ${number(appendMs ?? 0)} ms; ` +
      `the serializer takes ${number(serializerMs ?? 0)} ms`,
  };
}

const fileBytes = (path: string): number =>
  readdirSync(dirname(path))
    .filter((name) => path.endsWith(name) || name.startsWith("grown.db"))
    .reduce((bytes, name) => bytes + statSync(`${dirname(path)}/${name}`).size, 0);

/** Beside what a saver writes that stores the whole list at each step. */
async function growth(path: string): Promise<Measure> {
  const turns = 400;
  const engine = await openEngine({ store: path });
  const saver = new SkeinSaver(engine);
  const { serde } = new MemorySaver();
  const messages: string[] = [];
  let parent = {};
  let whole = 0;
  for (let turn = 1; turn <= turns; turn++) {
    messages.push(`${turn} `.padEnd(1_000, "word "));
    const checkpoint = checkpointOf(turn, [...messages]);
    await saver.put(
      { configurable: { ...thread, ...parent } },
      checkpoint,
      metadata,
      checkpoint.channel_versions,
    );
    whole += (await serde.dumpsTyped(checkpoint))[1].length;
    parent = { checkpoint_id: checkpoint.id };
  }
  await engine.close();
  const bytes = fileBytes(path);
  return {
    name: "room of a LangGraph thread of 400 turns ÷ a whole checkpoint at each",
    value: bytes / whole,
    unit: "×",
    bar: { most: 0.1 },
    detail:
      `${number(bytes / 1e6)} MB beside ${number(whole / 1e6)} MB; ` +
      `${number(bytes / turns / 1e3)} KB a turn`,
  };
}
