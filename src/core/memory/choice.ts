/**
 * The memory that a new session carries: by scope, by relevance to its objective, and the newer of two
 * equals. The preferences of the person who opens it come first.
 */
import type { MemoryOwners, Memory } from "./memory.ts";
import type { MemoryRef, MemoryScope } from "./name.ts";
import { ownerIn } from "./memory.ts";
import { memoryText } from "../context/frame.ts";
import { kindRank } from "../item/kind.ts";
import type { Relevance, RelevanceHit } from "./relevance.ts";
import { relevantHits } from "./verdict.ts";
import { isStoredAgent, type AgentDefinition } from "../workspace/agent.ts";

export interface CarryRules {
  readonly tokensMax: number;
  readonly scopes: readonly MemoryScope[];
}

export interface MemoryCandidate {
  readonly entry: MemoryRef;
  /** Why it is carried, in a few words. */
  readonly why: string;
  /** Whether it is relevant to the objective. False for preferences that are carried anyway. */
  readonly isRelevant: boolean;
}

/** One carried entry, as `memory.carried` stores it. */
export interface CarriedEntry {
  readonly scope: MemoryScope | "project";
  readonly kind: string;
  readonly key: string;
  readonly value: unknown;
  readonly why: string;
  readonly origin?: { readonly session: string; readonly seq: number };
}

/** An entry that a session carried, and that no longer holds. */
export interface WithdrawnEntry {
  readonly scope: MemoryScope | "project";
  readonly kind: string;
  readonly key: string;
  /** `changed`: its new value did not fit. */
  readonly why: "forgotten" | "erased" | "changed";
}

const carryDefaults = {
  tokensMax: 1_000,
  scopes: ["user", "agent", "workspace"],
} as const satisfies CarryRules;

/** The rules of an agent; null: its sessions carry nothing. */
export function carryRules(definition: unknown): CarryRules | null {
  const agent: AgentDefinition | null = isStoredAgent(definition) ? definition : null;
  const carry = agent?.memory?.carry ?? {};
  return carry === false ? null : { ...carryDefaults, ...carry };
}

/** Which earlier sessions of the same person a model may look into. */
export function memorySessions(definition: unknown): "none" | "agent" | "user" {
  const agent: AgentDefinition | null = isStoredAgent(definition) ? definition : null;
  return agent?.memory?.sessions ?? "none";
}

/** Preferences that are carried regardless of the objective: the newest of them. */
export const preferencesMax = 12;
/** Kinds of the agent's entries that hold whatever a session is about: as many of the newest. */
const standing: readonly string[] = ["constraint", "preference"];
/** Entries considered for the available room. */
const candidatesMax = 200;

/** In the order in which they get room. */
export function rankMemory(
  memory: Memory,
  relevance: Relevance,
  about: string,
  { owners, scopes }: { readonly owners: MemoryOwners; readonly scopes: readonly MemoryScope[] },
): MemoryCandidate[] {
  const mayCarry = (id: string): boolean => {
    const entry = memory.get(id);
    return entry !== undefined && scopes.includes(entry.scope) && isOwn(entry, owners);
  };
  const scored = new Map(relevantHits(relevance, about, mayCarry).map((one) => [one.id, one]));
  const chosen: { entry: MemoryRef; relevant: RelevanceHit | undefined }[] = [];
  for (const [id, relevant] of scored) {
    const entry = memory.get(id);
    if (entry !== undefined) chosen.push({ entry, relevant });
  }
  for (const scope of ["user", "agent"] as const) {
    const owner = ownerIn(scope, owners);
    if (!scopes.includes(scope) || owner === null) continue;
    const [others, decisions]: [MemoryRef[], MemoryRef[]] = [[], []];
    for (const [id, entry] of memory.entries()) {
      if (entry.scope !== scope || entry.owner !== owner || scored.has(id)) continue;
      if (isCarriedAnyway(entry)) others.push(entry);
      // A new session starts with decisions; an open one gets what its input is about.
      else if (entry.kind === "decision") decisions.push(entry);
    }
    for (const some of [others, decisions]) {
      const newest = some.toSorted((a, b) => b.seq - a.seq).slice(0, preferencesMax);
      chosen.push(...newest.map((entry) => ({ entry, relevant: undefined })));
    }
  }
  return chosen
    .toSorted(
      (a, b) =>
        Number(b.entry.scope === "user") - Number(a.entry.scope === "user") ||
        Number(isStanding(b.entry)) - Number(isStanding(a.entry)) ||
        (b.relevant?.score ?? 0) - (a.relevant?.score ?? 0) ||
        kindRank(a.entry.kind) - kindRank(b.entry.kind) ||
        b.entry.seq - a.entry.seq,
    )
    .slice(0, candidatesMax)
    .map(({ entry, relevant }) => ({
      entry,
      why: whyOf(entry, relevant),
      isRelevant: relevant !== undefined,
    }));
}

/** Whether it holds whatever a session is about. */
const isStanding = ({ scope, kind }: Pick<MemoryRef, "scope" | "kind">): boolean =>
  scope === "agent" && standing.includes(kind);

export const isOwn = ({ scope, owner }: Pick<MemoryRef, "scope" | "owner">, owners: MemoryOwners): boolean =>
  scope === "workspace" || (owner !== null && owner === ownerIn(scope, owners));

const whose: Readonly<Record<MemoryScope, string>> = {
  agent: "this agent's",
  user: "the user's preference",
  workspace: "the workspace's",
};

function whyOf({ scope }: MemoryRef, relevant: RelevanceHit | undefined): string {
  const words = (relevant?.words ?? []).slice(0, 3);
  return words.length === 0 ? whose[scope] : `${whose[scope]}, on ${words.join(", ")}`;
}

/** Whose it is, for a reason. */
export const whoseIn = (scope: MemoryScope): string => whose[scope];

/** What is carried without being relevant: what a user remembers, and what holds for an agent. */
export const isCarriedAnyway = (entry: Pick<MemoryRef, "scope" | "kind">): boolean =>
  entry.scope === "user" || isStanding(entry);

/** A value that must not read as what holds: `rejected: …`. */
export const carriedValue = ({ status }: Pick<MemoryRef, "status">, value: unknown): unknown =>
  status === undefined ? value : `${status}: ${typeof value === "string" ? value : JSON.stringify(value)}`;

/** One entry as a line. */
export const memoryLine = (item: CarriedEntry): string => carriedText([item]).split("\n").slice(1).join("\n");

/** The text that the renderer makes of carried entries. */
export const carriedText = (items: readonly CarriedEntry[]): string =>
  memoryText({ items }, 0, Number.POSITIVE_INFINITY);
