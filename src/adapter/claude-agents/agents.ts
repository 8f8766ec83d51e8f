/** Agents of the API: each version is also a version of a Skein agent, under which its sessions run. */
import { isGone } from "../drawer.ts";
import { SkeinError } from "../../core/error.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { agentId, agentName, slugOf } from "./ids.ts";
import { makeRegistry, type RegistryEntry } from "./registry.ts";
import { checkTools, customBindings, permissionsOf } from "./tools.ts";
import {
  fieldsOf,
  invalid,
  isFields,
  patchMetadata,
  textOf,
  textOrNull,
  timeText,
  type Fields,
} from "./values.ts";

/** A version of an agent. */
export interface ClaudeAgent extends RegistryEntry {
  readonly description: string | null;
  readonly model: Fields & { readonly id: string };
  readonly system: string | null;
  readonly tools: readonly Fields[];
  readonly mcpServers: readonly unknown[];
  readonly skills: readonly unknown[];
  /** The version of the Skein agent that runs it. */
  readonly runs: number;
}

type Settings = Pick<
  ClaudeAgent,
  "name" | "description" | "model" | "system" | "tools" | "mcpServers" | "skills" | "metadata"
>;

/** Makes `POST /v1/agents` and its siblings. */
export function makeAgents(engine: Engine) {
  const registry = makeRegistry<ClaudeAgent>(engine, "agent");

  /** An agent that was not created here: one of a file or of Skein's own API. */
  async function foreign(name: string, version?: number): Promise<ClaudeAgent | null> {
    try {
      const found = await engine.agent(name, version === undefined ? {} : { version });
      return fromSkein(found.definition, found.version, found.at);
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }

  async function find(id: string, version?: number): Promise<ClaudeAgent> {
    const name = agentName(id);
    const versions = name === null ? [] : await registry.versions(id);
    const found =
      versions.length > 0
        ? versions.at(version === undefined ? -1 : version - 1)
        : name === null
          ? null
          : await foreign(name, version);
    if (found === null || found === undefined || (version !== undefined && found.version !== version))
      throw new SkeinError(
        "not-found",
        `there is no agent ${id}${version === undefined ? "" : ` ${version}`}`,
      );
    return found;
  }

  async function put(id: string, version: number, settings: Settings, archivedAt: number | null) {
    const added = await engine.addAgent(definitionOf(agentName(id) ?? "agent", settings));
    return registry.put(id, version, { ...settings, runs: added.version, archivedAt });
  }

  return {
    find,
    async create(body: Fields): Promise<ClaudeAgent> {
      const settings = settingsOf(body, null);
      const slug = slugOf(settings.name);
      for (let number = 1; number <= 1_000; number++) {
        const name = number === 1 ? slug : `${slug}-${number}`;
        const isTaken = (await registry.versions(agentId(name))).length > 0 || (await foreign(name)) !== null;
        if (!isTaken && (await put(agentId(name), 1, settings, null))) return find(agentId(name));
      }
      throw new SkeinError("refused", `too many agents with the name ${settings.name}`);
    },
    async update(id: string, body: Fields): Promise<ClaudeAgent> {
      const before = await find(id);
      const { version } = body;
      if (version !== undefined && version !== before.version)
        throw new SkeinError(
          "conflict",
          `agent ${id}: expected version ${JSON.stringify(version)}, it is ${before.version}`,
        );
      await this.checkOwn(id);
      if (before.archivedAt !== null) throw new SkeinError("refused", `agent ${id} is archived`);
      const settings = settingsOf(body, before);
      if (JSON.stringify(settings) === JSON.stringify(settingsOf({}, before))) return before;
      if (await put(id, before.version + 1, settings, null)) return find(id);
      throw new SkeinError("conflict", `agent ${id}: another request changed it just now`);
    },
    async archive(id: string, nowMs: number): Promise<ClaudeAgent> {
      const before = await find(id);
      if (before.archivedAt !== null) return before;
      await this.checkOwn(id);
      const { runs } = before;
      await registry.put(id, before.version + 1, { ...settingsOf({}, before), runs, archivedAt: nowMs });
      return find(id);
    },
    async checkOwn(id: string): Promise<void> {
      if ((await registry.versions(id)).length > 0) return;
      throw new SkeinError("refused", `agent ${id}: it was not created by this API`, {
        hint: "change it where it is defined: skein agents add FILE",
      });
    },
    async list(): Promise<readonly ClaudeAgent[]> {
      const found: ClaudeAgent[] = [];
      for (const { name } of await engine.agents()) found.push(await find(agentId(name)));
      return found;
    },
    async versions(id: string): Promise<readonly ClaudeAgent[]> {
      const newest = await find(id);
      const own = await registry.versions(id);
      return own.length > 0 ? own.toReversed() : [newest];
    },
  };
}

export type Agents = ReturnType<typeof makeAgents>;

/** Settings as given, and as before where they are not. */
export function settingsOf(body: Fields, before: Settings | null): Settings {
  const given = <T>(key: string, read: (value: unknown) => T, otherwise: T): T =>
    body[key] === undefined ? otherwise : read(body[key]);
  if (body["multiagent"] !== undefined && body["multiagent"] !== null)
    throw invalid("multiagent: not supported", "open children with Skein's session tools: open, fork");
  if (Array.isArray(body["skills"]) && body["skills"].length > 0)
    throw invalid("skills: not supported", "put the text of a skill into system");
  if (Array.isArray(body["mcp_servers"]) && body["mcp_servers"].length > 0)
    throw invalid(
      "mcp_servers: not supported here",
      'bind servers in the environment: config.bind, kind "mcp"',
    );
  return {
    name: given("name", (value) => textOf(value, "name", 256), before?.name ?? "") || textOf("", "name", 256),
    description: given(
      "description",
      (value) => textOrNull(value, "description", 2_000),
      before?.description ?? null,
    ),
    model: body["model"] === undefined && before !== null ? before.model : modelOf(body["model"]),
    system: given("system", (value) => textOrNull(value, "system"), before?.system ?? null),
    tools: given("tools", checkTools, before?.tools ?? []),
    mcpServers: before?.mcpServers ?? [],
    skills: before?.skills ?? [],
    metadata: patchMetadata(before?.metadata ?? {}, body["metadata"]),
  };
}

function modelOf(model: unknown): ClaudeAgent["model"] {
  const fields = isFields(model) ? model : { id: model };
  return { ...fields, id: textOf(fields.id, "model", 200) };
}

/** `claude-x` is Anthropic's; a name with a slash is Skein's own. */
export const skeinModel = (id: string): string => (id.includes("/") ? id : `anthropic/${id}`);

function definitionOf(name: string, { description, system, model, tools }: Settings): AgentDefinition {
  const bind = customBindings(tools);
  const permissions = permissionsOf(tools);
  return {
    name,
    // An agent without a system prompt is allowed there; Skein's needs instructions.
    instructions: system ?? "You are a helpful assistant.",
    model: skeinModel(model.id),
    ...(description === null ? {} : { description }),
    ...(bind.length === 0 ? {} : { bind }),
    ...(permissions.length === 0 ? {} : { permissions: permissions as AgentDefinition["permissions"] & {} }),
  };
}

const fromSkein = (definition: AgentDefinition, version: number, at: number): ClaudeAgent => ({
  id: agentId(definition.name),
  version,
  runs: version,
  name: definition.name,
  description: definition.description ?? null,
  model: { id: definition.model ?? "default", speed: "standard" },
  system: definition.instructions,
  tools: [],
  mcpServers: [],
  skills: [],
  metadata: {},
  createdAt: at,
  updatedAt: at,
  archivedAt: null,
});

/** The agent in a session: without metadata and times. */
export const agentSnapshot = (agent: ClaudeAgent): Fields => ({
  id: agent.id,
  type: "agent",
  version: agent.version,
  name: agent.name,
  description: agent.description,
  model: agent.model,
  system: agent.system,
  tools: agent.tools,
  mcp_servers: agent.mcpServers,
  skills: agent.skills,
  multiagent: null,
  execution_identity: { type: "service_account" },
});

export const agentObject = (agent: ClaudeAgent): Fields => ({
  ...agentSnapshot(agent),
  metadata: agent.metadata,
  created_at: timeText(agent.createdAt),
  updated_at: timeText(agent.updatedAt),
  archived_at: agent.archivedAt === null ? null : timeText(agent.archivedAt),
});

/** What a session is to run as: an id, or an object with the id, a version and overrides. */
export async function readAgentParam(agents: Agents, param: unknown) {
  const fields: Fields = typeof param === "string" ? { id: param, type: "agent" } : fieldsOf(param, "agent");
  const { id, type, version } = fields;
  if (type !== "agent" && type !== "agent_with_overrides")
    throw invalid('agent.type: expected "agent" or "agent_with_overrides"');
  if (version !== undefined && version !== null && !Number.isInteger(version))
    throw invalid("agent.version: expected an integer");
  const agent = await agents.find(textOf(id, "agent.id"), (version ?? undefined) as number | undefined);
  if (agent.archivedAt !== null) throw new SkeinError("refused", `agent ${agent.id} is archived`);
  if (type === "agent") return { agent, overrides: null };
  const { model, system, tools } = fields;
  const kept = Object.entries({ model, system, tools }).filter(([, value]) => value !== undefined);
  return { agent, overrides: Object.fromEntries(kept) as Fields };
}
