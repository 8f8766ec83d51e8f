/** Commands on a turn: inputs, model calls, the context window. */
import type { Refund } from "../budget/commands.ts";
import type { BodyOf } from "../catalog.ts";
import type { Command } from "../command.ts";
import type { MissingValue } from "../compaction/check.ts";
import type { CompactionNode } from "../compaction/tree.ts";
import type { ZoneCause } from "../context/zone.ts";
import type { ZoneAction, ZonePolicy } from "../context/zone-policy.ts";
import type { PlanDraft } from "../context/plan.ts";
import type { CarriedMemory } from "../item/commands.ts";
import type { ContentBlock } from "../schema.ts";
import type { ToolCallDraft } from "../tool/commands.ts";
import type { Amounts } from "../state.ts";

/** What can be appended from outside: an input, or a record of another program. */
export type AppendRecord =
  | {
      readonly type: "input.received";
      readonly text: string;
      readonly from?: "user" | "trigger" | "system";
      /** Its subject. */
      readonly topic?: string;
    }
  | {
      readonly type: "input.received";
      readonly blocks: readonly ContentBlock[];
      readonly from?: "user" | "trigger" | "system";
      readonly mode?: "queue" | "steer";
    }
  | { readonly type: `x.${string}`; readonly body?: unknown; readonly content?: unknown };

/** Inputs that a request consumes: the position of each, and its number in the inbox. */
export type ConsumedInputs = readonly (readonly [seq: number, input: number])[];

/** The tokens of a model call, and whether they are estimated. */
export interface CountedUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  readonly estimated?: boolean;
}

export interface ZoneChange {
  readonly zone: "smart" | "strained" | "full";
  readonly tokens: number;
  readonly windowTokens: number;
  /** The thresholds that caused the zone, with the measured values. */
  readonly by?: readonly ZoneCause[];
  readonly turns?: number;
  readonly ageMs?: number;
  /** The agent's policy. The notice for a person is written with the crossing. */
  readonly policy?: ZonePolicy;
}

/** A part of a project's budget for a call; `short`: the project has not enough, and the session stops. */
export interface ProjectDraw {
  readonly project: string;
  readonly amounts: Amounts;
  readonly short?: string;
}

export type TurnCommand =
  | {
      readonly do: "begin";
      readonly inputs: ConsumedInputs;
      /** The tools offered from here on, if they changed. */
      readonly tools?: { readonly digest: string; readonly definitions: readonly unknown[] };
      /** For a session without a model: the one it continues with. */
      readonly model?: string;
      /** What memory has that is new, changed or gone since the session last looked. */
      readonly carried?: CarriedMemory | undefined;
      /** What these inputs bring into the context. Position 0: the `memory.carried` of this append. */
      readonly retrieved?: BodyOf<"context.retrieved"> | undefined;
    }
  /** Inputs that steer a turn bring this into the context. */
  | {
      readonly do: "retrieve";
      readonly carried?: CarriedMemory | undefined;
      readonly retrieved: BodyOf<"context.retrieved">;
    }
  | {
      readonly do: "request";
      readonly model: string;
      readonly renderer: number;
      readonly context: string;
      readonly digestForm?: number;
      readonly parts: number;
      /** The plan of this context, and of those after it; absent if it has one. */
      readonly plan?: PlanDraft | undefined;
      readonly inputs: ConsumedInputs;
      readonly reserved: Amounts;
      readonly estimatedTokens?: number;
      readonly outputTokensMax: number;
      readonly settings: unknown;
      /** The final prompt: the request for a summary. */
      readonly prompt?: string;
      readonly nowMs: number;
      /** Requests a summary of the transcript up to this position, outside of the turn's steps. */
      readonly compactTo?: number;
      /** Sent to an executor, which keeps its own context. */
      readonly outside?: boolean;
      /** Drawn from the budget of the project for it; or why nothing more can be drawn. */
      readonly draw?: ProjectDraw | undefined;
    }
  | {
      readonly do: "respond";
      readonly model: string;
      readonly finish: "stop" | "tool-calls" | "length" | "refusal" | "content-filter" | "other";
      readonly usage: CountedUsage;
      readonly costNanoUsd: number | null;
      readonly blocks: readonly ContentBlock[];
      readonly calls: readonly ToolCallDraft[];
      readonly sent?: string;
      readonly ms?: number;
      readonly zone?: ZoneChange;
    }
  | {
      readonly do: "fail";
      readonly model: string;
      readonly error: string;
      readonly retryable: boolean;
      /** The failed request; default: the one in flight. */
      readonly requestSeq?: number;
      /** Null: the price is unknown; without `usage`, the call was lost. */
      readonly costNanoUsd: number | null;
      readonly usage?: CountedUsage;
      /** The upper bound of unconfirmed usage. Absent: none, or for a lost call the whole reservation. */
      readonly unconfirmed?: Amounts;
      readonly message?: string;
      readonly partial?: string;
    }
  | {
      readonly do: "end";
      readonly outcome: "completed" | "interrupted" | "failed" | "refused" | "length";
      /** The refund, if the session closes with it. */
      readonly returned?: Refund;
    }
  | {
      readonly do: "compact";
      readonly fromSeq: number;
      readonly toSeq: number;
      readonly strategy: "prune" | "summarize" | "extract";
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly model?: string;
      readonly usage?: CountedUsage;
      readonly costNanoUsd?: number | null;
      readonly summary?: string;
      /** The tree of the range. */
      readonly nodes?: readonly CompactionNode[];
      /** What is neither in the summary nor an item. */
      readonly missing?: readonly MissingValue[];
      readonly pruned?: readonly number[];
      /** Items found in the range and recorded with it. */
      readonly items?: readonly Extract<Command, { readonly do: "record" }>[];
      /** It is what the agent's policy wants in this zone. */
      readonly byPolicy?: boolean;
      readonly zone?: ZoneChange;
    }
  /** What the agent's policy wants in this zone. `reason`: of a suspension. */
  | {
      readonly do: "zone-act";
      readonly action: ZoneAction;
      readonly outcome?: string;
      readonly text?: string;
      readonly reason?: string;
    }
  /** Undoes a compaction. */
  | {
      readonly do: "lift-overlay";
      readonly overlay: number;
      readonly reason?: string;
      readonly zone?: ZoneChange;
    }
  /** `sent`: its inputs are a person's messages, and fire the message triggers. */
  | { readonly do: "append"; readonly records: readonly AppendRecord[]; readonly sent?: true };
