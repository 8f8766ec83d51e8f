/** A session as people have them: real prose, cut into messages, in the records that real turns write. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { defineTool, openEngine, type Engine, type Session } from "../src/index.ts";
import type { Model, Models } from "../src/entry/model.ts";
import { z } from "zod";

/** Of the documentation that lies in node_modules: as much as there is, up to so many characters. */
const proseMax = 4_000_000;

function proseIn(directory: string, found: string[], depth = 0): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && depth < 6) proseIn(path, found, depth + 1);
    const wanted = entry.isFile() && /\.md$/i.test(entry.name) && !/license/i.test(entry.name);
    if (wanted && statSync(path).size < 400_000) found.push(path);
  }
}

/** Paragraphs, each once, in an order that is the same in every run. */
function paragraphs(): string[] {
  const files: string[] = [];
  proseIn(new URL("../node_modules", import.meta.url).pathname, files);
  const texts = new Set<string>();
  let length = 0;
  for (const file of files.toSorted()) {
    for (const paragraph of readFileSync(file, "utf8").split(/\n{2,}/)) {
      const text = paragraph.trim();
      if (text.length < 60 || text.length > 4_000 || length > proseMax) continue;
      if (!texts.has(text)) length += text.length;
      texts.add(text);
    }
  }
  return [...texts];
}

/** Messages of about so many characters, one after the other out of all the prose there is. */
export function makeProse(): (length: number) => string {
  const all = paragraphs();
  let next = 0;
  return (length) => {
    let text = "";
    while (text.length < length) text += `${text === "" ? "" : "\n\n"}${all[next++ % all.length] ?? ""}`;
    return text.slice(0, length).toWellFormed();
  };
}

/** Lengths as they come in real work: most are short, some are long. */
const lengths = [120, 300, 80, 900, 200, 1_600, 60, 450];

export interface ProseEngine {
  readonly engine: Engine;
  turn(session: Session): Promise<void>;
}

/** An engine whose model answers with prose, and asks for a tool in two of three turns. */
export async function openProse(path: string): Promise<ProseEngine> {
  const prose = makeProse();
  let turns = 0;
  const look = defineTool({
    name: "look_up",
    description: "Looks something up in the documentation.",
    input: z.object({ topic: z.string() }),
    effect: "read",
    run: () => prose((lengths[turns % lengths.length] ?? 100) * 3),
  });
  const model = (name: string): Model => ({
    name,
    facts: {
      windowTokens: 200_000,
      outputTokensMax: 4_000,
      images: false,
      price: { input: 3_000, output: 15_000, asOf: "2026-11-01" },
    },
    // oxlint-disable-next-line require-yield -- this model says everything at once
    async *stream({ parts }) {
      const last = parts.at(-1);
      const asked = JSON.stringify(last).includes("tool-result");
      const calls = !asked && turns % 3 !== 0;
      const text = prose(lengths[(turns + 3) % lengths.length] ?? 100);
      const call = {
        type: "tool-call",
        call: `call_${turns}`,
        tool: "look_up",
        input: { topic: text.slice(0, 40) },
      };
      return {
        blocks: calls
          ? [{ type: "text", text: text.slice(0, 100) }, call as never]
          : [{ type: "text", text }],
        finish: calls ? "tool-calls" : "stop",
        usage: { inputTokens: 1_000 + turns, outputTokens: Math.ceil(text.length / 4) },
        sent: null,
      };
    },
  });
  const models: Models = { byDefault: "bench/prose", model: async (name) => model(name), list: () => [] };
  const engine = await openEngine({ store: path, durability: "process", models, tools: [look], env: {} });
  await engine.addAgent({ name: "bench", instructions: "Answer.", compaction: { auto: false } });
  return {
    engine,
    async turn(session) {
      turns += 1;
      await session.input(prose(lengths[turns % lengths.length] ?? 100));
      await session.run();
    },
  };
}
