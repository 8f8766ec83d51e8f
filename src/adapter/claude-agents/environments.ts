/**
 * Environments: where a session's tools run. In a cloud environment Skein runs them, with the bindings that
 * an operator gave it; in a self-hosted one a worker of the client runs the agent toolset.
 */
import { SkeinError } from "../../core/error.ts";
import type { Binding } from "../../core/tool/commands.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { World } from "../../runtime/world.ts";
import { makeRegistry, type RegistryEntry } from "./registry.ts";
import {
  fieldsOf,
  invalid,
  listOf,
  patchMetadata,
  textOf,
  textOrNull,
  timeText,
  type Fields,
} from "./values.ts";

export interface ClaudeEnvironment extends RegistryEntry {
  readonly description: string | null;
  readonly config: Fields & { readonly type: "cloud" | "self_hosted" };
}

/** Makes `POST /v1/environments` and its siblings. */
export function makeEnvironments(engine: Engine, world: Pick<World, "now" | "random">) {
  const registry = makeRegistry<ClaudeEnvironment>(engine, "environment");

  async function find(id: string): Promise<ClaudeEnvironment> {
    const found = /^env_[0-9a-f]{24}$/.test(id) ? (await registry.versions(id)).at(-1) : undefined;
    if (found === undefined) throw new SkeinError("not-found", `there is no environment ${id}`);
    return found;
  }

  async function change(before: ClaudeEnvironment, more: Partial<ClaudeEnvironment>) {
    const { name, description, config, metadata, archivedAt } = { ...before, ...more };
    const value = { name, description, config, metadata, archivedAt };
    if (await registry.put(before.id, before.version + 1, value)) return find(before.id);
    throw new SkeinError("conflict", `environment ${before.id}: another request changed it just now`);
  }

  return {
    find,
    async create(body: Fields): Promise<ClaudeEnvironment> {
      const id = `env_${Buffer.from(world.random(12)).toString("hex")}`;
      await registry.put(id, 1, {
        name: textOf(body["name"], "name", 256),
        description: textOrNull(body["description"], "description", 2_000),
        config: configOf(body["config"]),
        metadata: patchMetadata({}, body["metadata"]),
        archivedAt: null,
      });
      return find(id);
    },
    async update(id: string, body: Fields): Promise<ClaudeEnvironment> {
      const before = await find(id);
      const { name, description, config } = body;
      return change(before, {
        ...(name === undefined ? {} : { name: textOf(name, "name", 256) }),
        ...(description === undefined ? {} : { description: textOrNull(description, "description", 2_000) }),
        ...(config === undefined ? {} : { config: configOf(config) }),
        metadata: patchMetadata(before.metadata, body["metadata"]),
      });
    },
    async archive(id: string): Promise<ClaudeEnvironment> {
      const before = await find(id);
      return before.archivedAt === null ? change(before, { archivedAt: world.now() }) : before;
    },
    async delete(id: string): Promise<Fields> {
      await find(id);
      await registry.delete(id);
      return { id, type: "environment_deleted" };
    },
    async list(): Promise<readonly ClaudeEnvironment[]> {
      const found: ClaudeEnvironment[] = [];
      for (const id of await registry.ids()) found.push(await find(id));
      return found;
    },
  };
}

export type Environments = ReturnType<typeof makeEnvironments>;

function configOf(config: unknown): ClaudeEnvironment["config"] {
  const fields = config === undefined || config === null ? { type: "cloud" } : fieldsOf(config, "config");
  const { type } = fields;
  if (type !== "cloud" && type !== "self_hosted")
    throw invalid('config.type: expected "cloud" or "self_hosted"');
  return { ...fields, type };
}

/** The bindings of a cloud environment: `config.bind`, as in Skein's own API. */
export const boundBy = ({ config }: ClaudeEnvironment): readonly Binding[] =>
  config.type === "cloud" && config["bind"] !== undefined
    ? (listOf(config["bind"], "config.bind") as readonly Binding[])
    : [];

export const environmentObject = (environment: ClaudeEnvironment): Fields => ({
  id: environment.id,
  type: "environment",
  name: environment.name,
  description: environment.description,
  config: environment.config,
  metadata: environment.metadata,
  created_at: timeText(environment.createdAt),
  updated_at: timeText(environment.updatedAt),
  archived_at: environment.archivedAt === null ? null : timeText(environment.archivedAt),
});
