/**
 * Agents: named, versioned roles. A definition says who the agent is and how its sessions run;
 * `agentDefaults` supplies the rest. Versions are events of the workspace's log
 * (runtime/workspace/agents.ts), runtime/workspace/agent-file.ts reads files, and this file validates a
 * definition.
 */
import { ItemKind } from "../item/events.ts";
import { isBuiltInKind, itemKinds } from "../item/kind.ts";
import { nearest, SkeinError } from "../error.ts";
import { AgentName, Count, Json, Key, Millis, ModelName, Reason, ToolPattern } from "../schema.ts";
import * as z from "zod";
import type { Digest } from "../chain.ts";
import { checkShape, type InputOrigin } from "../text/shape.ts";
import { quote } from "../ids.ts";
import { present } from "../present.ts";
import { limit } from "../limit.ts";
import { wrongShares, type ContextShares } from "../context/tiers.ts";
import { zoneDefaults, type ZoneThresholds } from "../context/zone.ts";
import { zoneActions, type ZonePolicy } from "../context/zone-policy.ts";

const Instructions = z
  .string()
  .max(limit.instructionsCharsMax, `instructions have at most ${limit.instructionsCharsMax} characters`)
  .regex(/\S/, "instructions cannot be empty");
const Share = z.number().min(0, "a share is from 0 to 1").max(1, "a share is from 0 to 1");
const Threshold = z.strictObject({
  share: Share.nullable().exactOptional(),
  tokens: Count.nullable().exactOptional(),
  turns: Count.nullable().exactOptional(),
  ageMs: Millis.nullable().exactOptional(),
  /** What is done when the context enters the zone, in this order. */
  actions: z.array(z.enum(zoneActions)).max(zoneActions.length).readonly().exactOptional(),
});
/** A share of the window by itself, or with a floor and a ceiling. */
const TierShare = z
  .union([
    Share,
    z.strictObject({
      share: Share.exactOptional(),
      floorTokens: Count.exactOptional(),
      ceilingTokens: Count.nullable().exactOptional(),
    }),
  ])
  .exactOptional();
const Rule = z.strictObject({
  tool: ToolPattern,
  rule: z.enum(["allow", "ask", "deny"]),
  pattern: Json.exactOptional(),
  reason: Reason.exactOptional(),
  name: Key.exactOptional(),
});
const Bind = z.strictObject({
  kind: z.enum(["file", "directory", "database", "mcp", "shell", "tool"]),
  name: Key.exactOptional(),
  mode: z.enum(["read", "write"]).exactOptional(),
  path: z.string().exactOptional(),
  url: z.string().exactOptional(),
  command: z.array(z.string()).readonly().exactOptional(),
  secrets: z.array(z.string()).readonly().exactOptional(),
  options: Json.exactOptional(),
});
/** A binding replaces one of the same name; within one definition that can only be a mistake. */
const Binds = z
  .array(Bind)
  .max(limit.bindingsMax)
  .superRefine((list, { addIssue }) => {
    const names = list.map(({ name, path, url, kind }) => name ?? path ?? url ?? kind);
    const twice = names.findIndex((name, place) => names.indexOf(name) < place);
    if (twice === -1) return;
    const message = `the one before has the name ${quote(names[twice])} too; give each a different name`;
    addIssue({ code: "custom", path: [twice], message });
  });
const Limits = z.strictObject({
  usd: z.number().nonnegative().max(9_000_000).exactOptional(),
  tokens: Count.exactOptional(),
  steps: Count.exactOptional(),
  turns: Count.exactOptional(),
  toolCalls: Count.exactOptional(),
  wallMs: Millis.exactOptional(),
});

/** Kinds of items besides the built-in ones. */
const Kinds = z
  .record(
    z.string(),
    z.strictObject({
      description: z.string().min(1).max(limit.reasonCharsMax).exactOptional(),
      /** JSON Schema of its values; runtime/message checks it when the agent is added. */
      schema: Json.exactOptional(),
    }),
  )
  .superRefine((kinds, { addIssue }) => {
    const most = `at most ${limit.kindsMax} kinds and ${limit.kindsBytesMax} characters of schemas`;
    if (Object.keys(kinds).length > limit.kindsMax || JSON.stringify(kinds).length > limit.kindsBytesMax)
      addIssue({ code: "custom", message: most });
    for (const kind of Object.keys(kinds)) {
      const shape = ItemKind.safeParse(kind).error?.issues[0]?.message;
      const message = isBuiltInKind(kind) ? "this kind is built in; choose another name" : shape;
      if (message !== undefined) addIssue({ code: "custom", path: [kind], message });
    }
  });

const Scope = z.enum(["agent", "user", "workspace"]);
const MemoryRules = z.strictObject({
  /** The first matching rule of each scope promotes an item that a session records. */
  promote: z
    .array(
      z.strictObject({
        /** Absent: facts and decisions. */
        kinds: z.array(ItemKind).min(1).readonly().exactOptional(),
        /** With `*` for any run of characters. Absent: all. */
        keys: z.array(Key).min(1).max(limit.permissionsMax).readonly().exactOptional(),
        scope: Scope,
        /** `promote`: also items of turns that took in outside content, which else wait for approval. */
        outside: z.enum(["approve", "promote"]).exactOptional(),
      }),
    )
    .max(limit.permissionsMax)
    .readonly()
    .exactOptional(),
  /**
   * The earlier sessions of the same person that lookup searches and recall reads. `agent`: of this agent.
   * `user`: of all. Absent: none.
   */
  sessions: z.enum(["none", "agent", "user"]).exactOptional(),
  /** The memory that a new session carries; false: none. */
  carry: z
    .union(
      [
        z.literal(false),
        z.strictObject({
          tokensMax: z.int().positive().max(limit.memoryTokensMax).exactOptional(),
          scopes: z.array(Scope).readonly().exactOptional(),
        }),
      ],
      {
        error: `expected false, or an object with tokensMax (up to ${limit.memoryTokensMax}) and scopes`,
      },
    )
    .exactOptional(),
});

export const AgentDefinition = z.strictObject({
  name: AgentName.describe("the agent's name"),
  description: z.string().max(limit.reasonCharsMax).describe("its purpose, for lists").exactOptional(),
  instructions: Instructions.describe("its instructions to the model"),
  model: ModelName.describe("the model, as provider/model; by default the configured one").exactOptional(),
  tools: z
    .array(ToolPattern)
    .max(limit.permissionsMax)
    .readonly()
    .describe("names of tools, with * for any run of characters; by default all bound tools")
    .exactOptional(),
  permissions: z
    .array(Rule)
    .max(limit.permissionsMax)
    .readonly()
    .describe("rules for the calls of its tools")
    .exactOptional(),
  bind: Binds.readonly().describe("resources that its sessions may use").exactOptional(),
  budget: Limits.describe("of each session, unless the session sets one").exactOptional(),
  temperature: z.number().min(0).max(2).describe("the sampling temperature of the model").exactOptional(),
  reasoning: z
    .enum(["none", "low", "medium", "high"])
    .describe("the reasoning effort of the model")
    .exactOptional(),
  outputTokensMax: z.int().positive().describe("at most this many tokens in one answer").exactOptional(),
  stepsMax: z.int().positive().describe("at most this many steps in one turn").exactOptional(),
  zones: z
    .strictObject({ strained: Threshold.exactOptional(), full: Threshold.exactOptional() })
    .describe("thresholds from which the context counts as strained or full, and what is done then")
    .exactOptional(),
  compaction: z
    .strictObject({
      strategy: z.enum(["prune", "summarize", "extract"]).exactOptional(),
      /** The share of the context window at which the session compacts itself. */
      atShare: Share.exactOptional(),
      /** The model that summarizes; default: the session's model. */
      model: ModelName.exactOptional(),
      auto: z.boolean().exactOptional(),
    })
    .describe("when and how the context is compacted")
    .exactOptional(),
  context: z
    .strictObject({
      shares: z
        .strictObject({
          instructions: TierShare,
          pinned: TierShare,
          items: TierShare,
          memory: TierShare,
          documents: TierShare,
          summary: TierShare,
        })
        .superRefine((shares, { addIssue }) => {
          const message = wrongShares(shares);
          if (message !== null) addIssue({ code: "custom", message });
        })
        .exactOptional(),
    })
    .describe("the share of the context window that each tier of the context may use")
    .exactOptional(),
  onUnknown: z
    .enum(["ask", "tell"])
    .describe("after a call of unknown outcome: suspend to ask a person, or inform the model and continue")
    .exactOptional(),
  /** The newest version counts. */
  concurrency: z
    .int()
    .positive()
    .max(limit.concurrencyMax)
    .describe("how many of its sessions workers run at once")
    .exactOptional(),
  kinds: Kinds.describe("further kinds of items, each with a JSON schema of the values").exactOptional(),
  memory: MemoryRules.describe(
    "the memory its sessions write for later ones, and carry from earlier ones",
  ).exactOptional(),
});
/** An agent: instructions, model, bindings, permissions and budget of its sessions. */
export type AgentDefinition = Readonly<z.infer<typeof AgentDefinition>>;

/** The defaults, also for a session without an agent. */
export const agentDefaults = {
  onUnknown: "ask",
  stepsMax: 100,
  /** The model's own limit and its context window may allow less. */
  outputTokensMax: 16_384,
  zones: zoneDefaults,
  shares: {},
  compaction: { strategy: "extract", atShare: 0.8, auto: true },
} as const;

export interface AgentRules {
  readonly onUnknown: "ask" | "tell";
  readonly stepsMax: number;
  readonly outputTokensMax: number;
  readonly zones: ZoneThresholds & ZonePolicy;
  readonly shares: ContextShares;
  readonly compaction: {
    readonly strategy: "prune" | "summarize" | "extract";
    readonly atShare: number;
    readonly auto: boolean;
    readonly model?: string;
  };
}

/**
 * How a session of this agent runs, with the defaults filled in; null for a session without an agent.
 * `effectiveTokens`: the length up to which its model works well, from which on its context is strained.
 */
export function agentRules(definition: AgentDefinition | null, effectiveTokens?: number): AgentRules {
  const { onUnknown, stepsMax, outputTokensMax, zones, compaction, context } = definition ?? {};
  return {
    onUnknown: onUnknown ?? agentDefaults.onUnknown,
    stepsMax: stepsMax ?? agentDefaults.stepsMax,
    outputTokensMax: outputTokensMax ?? agentDefaults.outputTokensMax,
    zones: {
      strained: {
        ...agentDefaults.zones.strained,
        ...present({ tokens: effectiveTokens }),
        ...zones?.strained,
      },
      full: { ...agentDefaults.zones.full, ...zones?.full },
    },
    shares: context?.shares ?? {},
    compaction: { ...agentDefaults.compaction, ...compaction },
  };
}

/** Whether the agent may be offered this tool at all; permissions come after. */
export function mayOffer(definition: AgentDefinition | null, tool: string): boolean {
  const patterns = definition?.tools;
  return patterns === undefined || patterns.some((pattern) => matchesName(pattern, tool));
}

/** A `*` is any run of characters. Not a regular expression: many stars would make one slow. */
export function matchesName(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  for (const piece of rest) {
    const place = name.indexOf(piece, from);
    if (place === -1) return false;
    from = place + piece.length;
  }
  return from <= name.length - last.length;
}

/** The same definition has the same digest, in any order of fields. */
export const agentDigest = (digest: Digest, definition: AgentDefinition): string =>
  digest("", JSON.stringify(sorted(definition)));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([key, inner]) => [key, sorted(inner)]));
}

/** Validates a definition. Reports the first mistake, and the nearest spelling. */
export function checkAgent(given: unknown, origin: InputOrigin = {}): AgentDefinition {
  const where = origin.where ?? "the agent";
  const checked = checkShape(AgentDefinition, given, { what: "definition", ...origin, where });
  const known = [...itemKinds, ...Object.keys(checked.kinds ?? {})];
  for (const [place, { kinds = [] }] of (checked.memory?.promote ?? []).entries()) {
    const kind = kinds.find((one) => !known.includes(one));
    if (kind === undefined) continue;
    const field = `memory.promote[${place}].kinds`;
    const near = nearest(kind, known);
    throw new SkeinError(
      "invalid",
      `${where}: ${field}: expected one of ${known.join(", ")}, got ${quote(kind)}`,
      { hint: near === undefined ? "declare the kind under kinds" : `did you mean "${near}"?` },
    );
  }
  return checked;
}

/** A definition read back from a log. One of a newer program may have unknown fields. */
export function isStoredAgent(value: unknown): value is AgentDefinition {
  const checked = AgentDefinition.safeParse(value);
  return checked.success || checked.error.issues.every(({ code }) => code === "unrecognized_keys");
}

/** An agent's name, with a version or without. */
export const isAgentWord = (word: string): boolean =>
  AgentName.safeParse(word.replace(/@\d{1,9}$/, "")).success;
export const agentHint =
  "expected up to 64 lower-case letters, digits and . _ -, such as coder, or coder@2 for a version";
