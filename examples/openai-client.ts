/**
 * The `openai` client, unmodified, on sessions of Skein: a function that the client executes, and a stream.
 * This program is the client, `skein serve` the server.
 *
 *   npx node --conditions=skein-source examples/openai-client.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
// On the command line: skein serve --store skein.db
const main = join(import.meta.dirname, "../src/cli/main.ts");
const args = [main, "serve", "--store", join(folder.path, "skein.db"), "--port", "0", "--json"];
const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
try {
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const { url, tokenFile } = JSON.parse(line.toString()) as { url: string; tokenFile: string };
  const client = new OpenAI({
    baseURL: `${url}/openai/v1`,
    apiKey: readFileSync(tokenFile, "utf8").trim(),
  });

  const model = "offline/offline"; // "gpt-…" is a model of OpenAI, "anthropic/…" one of another provider
  const tools: OpenAI.Responses.FunctionTool[] = [
    {
      type: "function",
      name: "weather",
      description: "Says what the weather is like in a city.",
      parameters: { type: "object", properties: { city: { type: "string" } } },
      strict: false,
    },
  ];
  const asked = await client.responses.create({ model, tools, input: 'call weather {"city":"Bern"}' });
  const outputs = asked.output.flatMap((item) =>
    item.type === "function_call"
      ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "clear" }]
      : [],
  );
  const stream = client.responses.stream({ model, tools, input: outputs, previous_response_id: asked.id });
  stream.on("response.output_text.delta", ({ delta }) => process.stdout.write(delta));
  const { id, status } = await stream.finalResponse();
  console.log(`\n${status}, ${(await client.responses.inputItems.list(id)).data.length} input item`);
} finally {
  server.kill();
  await once(server, "exit");
}
