/**
 * An agent of OpenAI's Agents SDK that keeps its history in Skein: another process continues it. The
 * model is a script, so that it runs offline.
 *
 *   npx node --conditions=skein-source examples/openai-agents.ts
 */
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, Runner, Usage, type Model } from "@openai/agents";
import { openEngine } from "skein";
import { SkeinSession } from "skein/openai-agents";

const model: Model = {
  async getResponse({ input }) {
    const text = `I see ${input.length} items.`;
    const content = [{ type: "output_text" as const, text }];
    return {
      usage: new Usage(),
      output: [{ type: "message", role: "assistant", status: "completed", content }],
    };
  },
  getStreamedResponse() {
    throw new Error("not streamed");
  },
};
const agent = new Agent({ name: "Counter", model });
const runner = new Runner({ tracingDisabled: true });

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
const path = join(folder.path, "skein.db");

for (const question of ["Hello!", "And now?"]) {
  // Each round is what a new process would do.
  await using engine = await openEngine({ store: path });
  const session = new SkeinSession(engine, { sessionId: "customer-7" });
  console.log((await runner.run(agent, question, { session })).finalOutput);
}

await using engine = await openEngine({ store: path });
const [row] = (await engine.sessions({ labels: { adapter: "openai" } })).rows;
const log = await engine.session(row?.session ?? "");
for await (const { seq, type } of log.events({ types: ["x.openai.items"] })) console.log(`${seq} ${type}`);
