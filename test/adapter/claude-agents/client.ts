/** The unmodified client of the Managed Agents API on a server of its own. */
import Anthropic from "@anthropic-ai/sdk";
import { claudeAgentsMount } from "../../../src/adapter/claude-agents/mount.ts";
import { served, type Served, type ServedOptions } from "../../server/served.ts";

export type StreamEvent = Anthropic.Beta.Sessions.BetaManagedAgentsStreamSessionEvents;
export type ListedEvent = Anthropic.Beta.Sessions.BetaManagedAgentsSessionEvent;

export const clientOf = (url: string, apiKey: string): Anthropic =>
  new Anthropic({ apiKey, baseURL: `${url}/anthropic`, maxRetries: 0 });

export interface ClaudePlace extends AsyncDisposable {
  readonly place: Served;
  readonly client: Anthropic;
}

export async function claudeServed(options: ServedOptions = {}): Promise<ClaudePlace> {
  const place = await served({ mounts: [claudeAgentsMount], ...options });
  return {
    place,
    client: clientOf(place.server.url, place.token),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

export const message = (text: string) => ({
  type: "user.message" as const,
  content: [{ type: "text" as const, text }],
});

export const customTool = (name: string) => ({
  type: "custom" as const,
  name,
  description: `Does ${name}.`,
  input_schema: { type: "object" as const, properties: { n: { type: "number" as const } } },
});

export interface Opening {
  readonly tools?: Anthropic.Beta.AgentCreateParams["tools"];
  readonly config?: Anthropic.Beta.EnvironmentCreateParams["config"];
  readonly more?: Partial<Anthropic.Beta.SessionCreateParams>;
}

/** An agent, an environment and a session. */
export async function open(client: Anthropic, { tools = [], config, more = {} }: Opening = {}) {
  const agent = await client.beta.agents.create({ name: "Helper", model: "test/scripted", tools });
  const environment = await client.beta.environments.create({
    name: "here",
    config: config ?? ({ type: "cloud" } as never),
  });
  const session = await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
    ...more,
  });
  return { agent, environment, session };
}

/** Reads a stream up to an event. */
export async function readUntil(
  stream: AsyncIterable<StreamEvent>,
  isLast: (event: StreamEvent) => boolean,
): Promise<StreamEvent[]> {
  const found: StreamEvent[] = [];
  for await (const event of stream) {
    found.push(event);
    if (isLast(event)) break;
  }
  return found;
}

/** Idle with nothing to wait for. */
export const isTurnEnd = (event: StreamEvent): boolean =>
  event.type === "session.status_idle" && event.stop_reason.type !== "requires_action";
export const isIdle = (event: StreamEvent): boolean => event.type === "session.status_idle";

export const typesOf = (events: readonly { readonly type: string }[]): string[] =>
  events.map(({ type }) => type);

export async function listed(client: Anthropic, id: string, params: object = {}): Promise<ListedEvent[]> {
  const found: ListedEvent[] = [];
  for await (const event of client.beta.sessions.events.list(id, params)) found.push(event);
  return found;
}
