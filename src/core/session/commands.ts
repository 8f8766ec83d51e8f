/** Commands on a session: its life, its lease, where it lives and what it starts with. */
import type { MergeWrite } from "../branch/merge.ts";
import type { AcceptCheck } from "../check/check.ts";
import type { DigestedCheck } from "../check/commands.ts";
import type { Budget, Refund } from "../budget/commands.ts";
import type { CommandOf } from "../command.ts";
import type { CarriedMemory } from "../item/commands.ts";
import type { Binding, Permission } from "../tool/commands.ts";
import type { TriggerSetting } from "../trigger/commands.ts";
import type { WakeTrigger } from "../trigger/trigger.ts";
import type { Amounts } from "../state.ts";
import type { InstructionName } from "./instruction-names.ts";

/** An agent as a session pins it. */
export interface Pin {
  readonly agent: string;
  readonly version: number;
  readonly digest: string;
  readonly definition: unknown;
}

/** A document that a session starts with. */
export interface LoadedDocument {
  readonly kind: "agents-md" | "file" | "handoff";
  readonly path?: string;
  readonly text: string;
  readonly digest: string;
  readonly bytes: number;
  /** The input of another session that it is a copy of. */
  readonly origin?: { readonly session: string; readonly seq: number };
}

/** Sessions that must have ended, and what this one learns of them: by default their handoffs. */
export interface AfterSessions {
  readonly sessions: readonly string[];
  readonly give?: "handoff" | "facts" | "nothing";
}

/** Options of `engine.open`: the objective and the initial setup of a session. */
export interface OpenOptions {
  /** The objective of the session. A successor keeps its predecessor's, unless one is given. */
  readonly objective?: string;
  readonly name?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly instructions?: string;
  readonly constraints?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly expiresAfterIdleMs?: number;
  readonly bind?: readonly Binding[];
  /** Paths of text files to load into its instructions. */
  readonly files?: readonly string[];
  /**
   * The names of the instruction files to load from bound directories: AGENTS.md and its kin; empty for none.
   * By default the first that each folder has.
   */
  readonly instructionFiles?: readonly InstructionName[];
  readonly grant?: readonly Permission[];
  readonly budget?: Budget;
  /**
   * The session whose work this one continues: it begins with its handoff, and inherits agent, model,
   * bindings, permissions, labels and priority by default.
   */
  readonly from?: string;
  /**
   * The project it belongs to, by its id or a unique suffix: it starts with the project's objective,
   * instructions, constraints and items. A successor stays in its predecessor's.
   */
  readonly project?: string;
  /** Sessions whose handoffs it begins with, and nothing else of them. */
  readonly handoffs?: readonly string[];
  /** False: the session carries no memory. */
  readonly memory?: boolean;
  /** Its initial triggers. */
  readonly wake?: readonly WakeTrigger[];
  /** What must pass before it can be closed as completed: checks, or their texts ("command: npm test"). */
  readonly accept?: readonly (AcceptCheck | string)[];
  /** Sessions to wait for: it sleeps until all of them have ended, and then gets their results. */
  readonly after?: readonly string[] | AfterSessions;
}

/** The body of `session.moved`. */
export interface MoveBody {
  /** The name of the move, known at both ends. */
  readonly move: string;
  /** The target workspace; absent if unknown, as in a bundle. */
  readonly to?: string;
}

/** A queued input as its session received it. */
export interface TakenInput {
  readonly type: "input.received" | "message.received";
  readonly actor: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly content: unknown;
}

/** An open request: sent (`to`), or received (`from`, and the session that it was sent to). */
export interface OpenRequest {
  readonly message: string;
  readonly deadlineMs: number;
  readonly to?: string;
  readonly from?: string;
  readonly as?: string;
  readonly place?: string | undefined;
}

/** An item with its origin, and whether it is pinned there too. */
export interface CopiedItem extends Extract<MergeWrite, { readonly write: "record" }> {
  readonly isPinned: boolean;
}

/** What a session takes over from the one that it continues, besides the options of `open`. */
export interface Succession {
  /** The first session of the chain. */
  readonly first: string;
  /** In the order of their arrival. */
  readonly inputs: readonly TakenInput[];
  /** The input that tells it to go on with a turn in progress; before the others. */
  readonly goesOn?: string;
  readonly contracts: readonly {
    readonly topic: string;
    readonly digest: string;
    readonly schema: unknown;
  }[];
  readonly holds: readonly { readonly name: string; readonly reason?: string | undefined }[];
  /** Pinned items. */
  readonly items: readonly CopiedItem[];
  readonly requests: readonly OpenRequest[];
  readonly sleep?: { readonly untilMs: number | null; readonly triggers: readonly string[] };
  readonly suspended?: { readonly by: "person" | "budget" | "error"; readonly reason?: string };
}

export type SessionCommand =
  | ({
      readonly do: "open";
      readonly workspace: string;
      readonly objective: string;
      readonly pin?: Pin;
      readonly documents?: readonly LoadedDocument[];
      readonly carried?: CarriedMemory;
      readonly parent?: { readonly session: string; readonly seq: number };
      readonly depth?: number;
      readonly closesWhenDone?: boolean;
      /** Its allotment from the session that opens it. */
      readonly got?: Amounts;
      /** The payer of `got`, if not the parent. */
      readonly payer?: string;
      /** The inherited limits, in place of a budget. */
      readonly limits?: Amounts;
      /** The triggers that it sleeps for from the beginning. */
      readonly sleeps?: readonly string[];
      /** Its `wake` triggers, prepared. */
      readonly triggers?: readonly TriggerSetting[];
      /** Its first input, from the trigger that opens it. */
      readonly firstInput?: string;
      /** What it takes over from the session before it, in the append that closes that one. */
      readonly takes?: Succession;
      /** The session that it was split from, and the position there; and the items that it got from it. */
      readonly split?: { readonly session: string; readonly seq: number };
      readonly items?: readonly CopiedItem[];
      /** Its `accept`, named and with digests. */
      readonly checks?: readonly DigestedCheck[];
    } & Omit<OpenOptions, "wake" | "after" | "accept">)
  /** The work goes on in another session, in the append that opens that one. */
  | {
      readonly do: "continue";
      readonly to: string;
      readonly reason?: string;
      /** Refused while a call is open; otherwise an open call is settled as skipped or unknown. */
      readonly whole: boolean;
      /** The handoff, unless the log has a current one. */
      readonly handoff?: Omit<CommandOf<"handoff">, "do"> | undefined;
      readonly handedOver: { readonly triggers: readonly string[]; readonly limits?: Amounts };
      /** From its runner: the lease, which is released with it. */
      readonly epoch?: number | undefined;
      /** It is what the agent's policy wants in the zone of the context: the causes in words. */
      readonly zone?: string | undefined;
    }
  /** Another task gets a session of its own, in the append that opens that one; this session goes on. */
  | {
      readonly do: "split";
      readonly to: string;
      /** What went along: the items by kind and key, and the positions of inputs. */
      readonly items: readonly string[];
      readonly inputs: readonly number[];
      readonly objective: string;
      readonly reason?: string;
    }
  /** A later session of the chain that begins here. */
  | { readonly do: "point"; readonly to: string }
  | { readonly do: "rename"; readonly name: string }
  | {
      readonly do: "label";
      readonly set?: Readonly<Record<string, string>>;
      readonly remove?: readonly string[];
    }
  | { readonly do: "prioritize"; readonly priority: number }
  | { readonly do: "activate"; readonly reason?: string }
  | {
      readonly do: "suspend";
      readonly reason?: string;
      readonly by?: "person" | "budget" | "approval" | "unknown" | "error" | "tool" | "zone";
      /** The calls or events it waits for. */
      readonly on?: readonly number[];
      /** The log was rolled back, and lost these records. */
      readonly tail?: { readonly fromSeq?: number; readonly toSeq: number };
    }
  | {
      readonly do: "sleep";
      readonly untilMs?: number;
      readonly triggers?: readonly string[];
      readonly reason?: string;
    }
  | {
      readonly do: "wake";
      readonly by: "person" | "time" | "trigger" | "message" | "session";
      readonly trigger?: string;
      /** The input on waking. */
      readonly text?: string;
    }
  /** `idle`: the session has no runner, so the turn ends immediately. */
  | { readonly do: "interrupt"; readonly reason?: string; readonly idle?: boolean }
  | {
      readonly do: "close";
      readonly outcome?: "completed" | "failed" | "expired";
      readonly reason?: string;
      readonly returned?: Refund;
    }
  | { readonly do: "cancel"; readonly reason?: string; readonly returned?: Refund }
  | { readonly do: "reopen"; readonly reason?: string }
  | { readonly do: "archive"; readonly reason?: string }
  /** `held`: the session is running. `where` is for people. */
  | ({ readonly do: "move"; readonly held: boolean; readonly where?: string } & MoveBody)
  /** `moved` is the body of the last record, `workspace` the one that imports it. */
  | {
      readonly do: "arrive";
      readonly moved: MoveBody | null;
      readonly workspace: string;
      readonly where?: string;
      /** No trusted key signed the bundle: the session waits for review. */
      readonly untrusted?: boolean;
    }
  /** `left` lists what the new model cannot be shown. */
  | { readonly do: "migrate"; readonly model: string; readonly left: readonly string[] }
  | {
      readonly do: "take";
      readonly holder: string;
      readonly leaseMs: number;
      /** Whether the lease in the log has expired, by the store's clock. */
      readonly ranOut: boolean;
    }
  | { readonly do: "release"; readonly epoch: number };
