/** What a new session carries: how fast it is chosen of what 1,000 sessions left, and how well. */
import { openEngine, type Engine } from "../src/index.ts";
import { Memory } from "../src/core/memory/memory.ts";
import { rankMemory } from "../src/core/memory/choice.ts";
import { Relevance } from "../src/core/memory/relevance.ts";
import { entries, objectives, rate } from "./memory-labels.ts";
import { makeDirectory, median, number, samples, timeMs, type Measure } from "./measure.ts";

const sessions = 1_000;
const itemsEach = 5;
const agent = {
  name: "keeper",
  instructions: "Keep the shop running.",
  memory: { promote: [{ scope: "agent" }] },
} as const;

export async function benchMemory(): Promise<Measure[]> {
  using directory = makeDirectory();
  const path = directory.path("memory.db");
  await write(path);
  const coldMs = await cold(path);
  await using engine = await openEngine({ store: path, durability: "process" });
  const open = (about: string, memory: boolean) =>
    engine.open({ objective: about, agent: agent.name, memory });
  await open("Warm up: the deployment of search", true);
  const tokens: number[] = [];
  const times = await samples(objectives.length, async (run) => {
    const session = await open(objectives[run]?.text ?? "", true);
    for await (const { type, body } of session.events({ types: ["memory.carried"] }))
      if (type === "memory.carried") tokens.push((body as { tokens: number }).tokens);
  });
  const plain = await samples(objectives.length, (run) => open(objectives[run]?.text ?? "", false));
  const most = times.toSorted((a, b) => a - b).at(-3) ?? 0;
  return [
    {
      name: "opening a session that carries of 5,000 things",
      value: median(times),
      unit: "ms",
      bar: { most: 20 },
      detail: `${number(most)} ms at the 95th percentile, ${number(median(plain))} ms without memory`,
    },
    {
      name: "… by an engine that was just opened",
      value: coldMs,
      unit: "ms",
      bar: null,
      detail: "the log of the workspace is read, and the tokenizer loaded",
    },
    {
      name: "… the most tokens that one carries",
      value: Math.max(...tokens),
      unit: "",
      bar: { most: 1_000 },
      detail: `${tokens.length} of ${objectives.length} carry something`,
    },
    ...labelled(),
  ];
}

/** Every session records some things, each about a subject of the labelled set, in words of its own. */
async function write(path: string): Promise<void> {
  await using engine = await openEngine({ store: path, durability: "process" });
  await engine.addAgent(agent);
  for (let made = 0; made < sessions; made++) await oneSession(engine, made);
}

async function oneSession(engine: Engine, made: number): Promise<void> {
  const session = await engine.open({ objective: `ticket ${made}`, agent: agent.name, memory: false });
  for (let item = 0; item < itemsEach; item++) {
    const place = made * itemsEach + item;
    const entry = entries[place % entries.length];
    if (entry === undefined) throw new Error("there are no entries");
    const { kind, key, value, because } = entry;
    const where = `region${place % 97} ticket${made}`;
    await session.record(kind, `${key}-${made}-${item}`, `${value} (${where})`, {
      because: because ?? `seen in ${where}`,
    });
  }
}

async function cold(path: string): Promise<number> {
  await using engine = await openEngine({ store: path, durability: "process" });
  return await timeMs(() => engine.open({ objective: "Roll back the deployment", agent: agent.name }));
}

/** The labelled set by itself, without anything else that is remembered. */
function labelled(): Measure[] {
  const memory = new Memory();
  const relevance = new Relevance();
  for (const [place, { kind, key, value, because = "" }] of entries.entries()) {
    const body = { scope: "workspace", kind, key };
    const record = { seq: place + 1, at: place, type: "memory.promoted", actor: "system", body };
    const id = memory.apply(record);
    if (id !== null) relevance.set(id, { key, value, because });
  }
  const choice = { owners: { agent: null, user: null }, scopes: ["workspace"] as const };
  const { precision, recall } = rate((objective) =>
    rankMemory(memory, relevance, objective, choice).map(({ entry }) => entry.key),
  );
  const detail = `${entries.length} things, ${objectives.length} objectives, labelled by hand`;
  return [
    { name: "carried that is relevant (precision)", value: precision, unit: "", bar: { least: 0.7 }, detail },
    { name: "relevant that is carried (recall)", value: recall, unit: "", bar: { least: 0.9 }, detail },
  ];
}
