/**
 * The Managed Agents API on your own server: an unmodified client whose tool runs here.
 *
 *     skein serve &                      # prints the address and the token
 *     SKEIN_URL=http://127.0.0.1:7717 SKEIN_TOKEN=skn_… node examples/claude-agents/main.ts
 */
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

const {
  SKEIN_URL = "http://127.0.0.1:7717",
  SKEIN_TOKEN = "",
  SKEIN_MODEL = "offline/offline",
} = process.env;
const client = new Anthropic({ baseURL: `${SKEIN_URL}/anthropic`, apiKey: SKEIN_TOKEN });

const schema = { type: "object" as const, properties: { city: { type: "string" as const } } };
const weather = betaTool({
  name: "weather",
  description: "The weather of a city.",
  inputSchema: schema,
  run: async ({ city }: { city?: string }) => `sunny in ${city ?? "town"}`,
});

const agent = await client.beta.agents.create({
  name: "Forecaster",
  model: SKEIN_MODEL,
  tools: [{ type: "custom", name: "weather", description: "The weather of a city.", input_schema: schema }],
});
const environment = await client.beta.environments.create({ name: "here", config: { type: "self_hosted" } });
const session = await client.beta.sessions.create({ agent: agent.id, environment_id: environment.id });
const text = 'use weather with {"city":"Oslo"}';
await client.beta.sessions.events.send(session.id, {
  events: [{ type: "user.message", content: [{ type: "text", text }] }],
});
const runner = client.beta.sessions.events.toolRunner(session.id, { tools: [weather], maxIdleMs: 200 });
for await (const call of runner) console.log(`ran ${call.name}`);
for await (const event of client.beta.sessions.events.list(session.id)) {
  if (event.type === "agent.message")
    console.log(event.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
}
