/** Agents and environments as the API has them: a drawer for each, which holds its versions. */
import { makeDrawers, type Drawers } from "../drawer.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { ClaudeMetadata } from "./values.ts";

/** An agent or environment at one version. */
export interface RegistryEntry {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly metadata: ClaudeMetadata;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly archivedAt: number | null;
}

type RegistryValue<T> = Omit<T, "id" | "version" | "createdAt" | "updatedAt">;

export interface Registry<T extends RegistryEntry> {
  /** All versions, the first first; empty when the object does not exist. */
  versions(id: string): Promise<readonly T[]>;
  /** Writes a version. False when it exists already: another request was first. */
  put(id: string, version: number, value: RegistryValue<T>): Promise<boolean>;
  ids(): Promise<readonly string[]>;
  delete(id: string): Promise<boolean>;
}

/** The objects of one kind. They are redacted like everything else that a server writes. */
export function makeRegistry<T extends RegistryEntry>(
  engine: Engine,
  kind: "agent" | "environment",
): Registry<T> {
  const drawers: Drawers = makeDrawers(engine, {
    adapter: "claude-agents",
    kind,
    nouns: ["version"],
    objective: (id) => `Keeps the ${kind} ${id} of the Managed Agents API.`,
    redact: true,
  });
  return {
    async versions(id) {
      const drawer = await drawers.find(id);
      const found: T[] = [];
      if (drawer === null) return found;
      for await (const { noun, value, at, erased } of drawer.read(1)) {
        if (noun !== "version" || erased) continue;
        const createdAt = found[0]?.createdAt ?? at;
        const times = { id, version: found.length + 1, createdAt, updatedAt: at };
        found.push({ ...(value as RegistryValue<T>), ...times } as T);
      }
      return found;
    },
    async put(id, version, value) {
      const drawer = await drawers.open(id);
      const { duplicate } = await drawer.append([{ noun: "version", body: { version }, value }], {
        key: `version-${version}`,
      });
      return !duplicate;
    },
    async ids() {
      const found: string[] = [];
      for await (const { outer } of drawers.list()) found.push(outer);
      return found.toSorted();
    },
    delete: (id) => drawers.delete(id),
  };
}
