/** Commands: what callers ask of a session. Each has a decision in decide.ts, under the same name. */
import type { ItemKind } from "./catalog/durable.ts";
import type { Block } from "./catalog/entry.ts";
import type { Digest } from "./chain.ts";
import type { GovernCommand } from "./command/govern.ts";
import type { MergeCommand } from "./command/merge.ts";
import type { MessageCommand } from "./command/message.ts";
import type { MoveCommand } from "./command/move.ts";
import type { TriggerCommand, TriggerSetting } from "./command/trigger.ts";
import type { TurnCommand } from "./command/turn.ts";
import type { TreeChange } from "./tool/file-version.ts";
import type { Carried } from "./memory/choice.ts";
import type { Ranges } from "./range.ts";
import type { Amounts, State } from "./state.ts";
import type { WakeTrigger } from "./trigger/trigger.ts";

/** What core is told of the world. */
export interface Facts {
  /** Who asks: `user:prn_…`, `agent:name@version`, `tool:name`, `session:id`, `system`. */
  readonly actor: string;
  readonly digest: Digest;
  /** The newest Skein that wrote to the store. */
  readonly program: string;
}

export interface Binding {
  readonly kind: "file" | "directory" | "database" | "mcp" | "shell" | "tool";
  /** By default the path, the URL or the kind. */
  readonly name?: string;
  /** By default `read`. */
  readonly mode?: "read" | "write";
  readonly path?: string;
  readonly url?: string;
  readonly command?: readonly string[];
  /** Names of secrets, never their values. */
  readonly secrets?: readonly string[];
  readonly options?: unknown;
  /** Of a shell: its commands run in a sandbox, with what is bound to the session and nothing else. */
  readonly sandbox?: boolean;
  /** Of a sandboxed shell: its commands may use the network. */
  readonly network?: boolean;
}

export interface Permission {
  readonly tool: string;
  /** Only tools of this effect. Such a rule is a default: it applies where no other rule does. */
  readonly effect?: "unsafe";
  /** `none` takes the rule of this name away. */
  readonly rule: "allow" | "ask" | "deny" | "none";
  /** By default the tool's name. */
  readonly name?: string;
  readonly pattern?: unknown;
  readonly reason?: string;
}

/** Limits as people write them: money in dollars. What is not named is unlimited. */
export interface Budget {
  readonly usd?: number;
  readonly tokens?: number;
  readonly steps?: number;
  readonly turns?: number;
  readonly toolCalls?: number;
  readonly wallMs?: number;
}

/** What may be appended from outside: an input, or a record of another program. */
export type AppendRecord =
  | {
      readonly type: "input.received";
      readonly text: string;
      readonly from?: "user" | "trigger" | "system";
      /** What it is about. */
      readonly topic?: string;
    }
  | {
      readonly type: "input.received";
      readonly blocks: readonly Block[];
      readonly from?: "user" | "trigger" | "system";
      readonly mode?: "queue" | "steer";
    }
  | { readonly type: `x.${string}`; readonly body?: unknown; readonly content?: unknown };

/** An agent as a session pins it. */
export interface Pin {
  readonly agent: string;
  readonly version: number;
  readonly digest: string;
  readonly definition: unknown;
}

/** A document that a session starts with. */
export interface Loaded {
  readonly kind: "agents-md" | "file" | "handoff";
  readonly path?: string;
  readonly text: string;
  readonly digest: string;
  readonly bytes: number;
}

/** What a session carries of what is remembered, and what that takes in the context. */
export interface CarriedMemory {
  readonly items: readonly Carried[];
  readonly tokens: number;
}

/** What a session that ends gives back of what it got, and to whom. */
export interface Returned {
  readonly to: string;
  readonly amounts: Amounts;
}

/** Sessions that must have ended, and what of them is told: by default their handoffs. */
export interface SessionDependency {
  readonly sessions: readonly string[];
  readonly give?: "handoff" | "facts" | "nothing";
}

export interface OpenOptions {
  /** What the session is for. One that carries on another's work has the same, unless it is given. */
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
  /** Paths of text files that are loaded into its instructions. */
  readonly files?: readonly string[];
  readonly grant?: readonly Permission[];
  readonly budget?: Budget;
  /**
   * The session whose work this one carries on: it begins with its handoff, and takes over agent, model,
   * bindings, permissions, labels and priority where they are not given.
   */
  readonly from?: string;
  /** False: nothing of what is remembered is carried along. */
  readonly memory?: boolean;
  /** What wakes it: triggers that it has from the beginning. */
  readonly wake?: readonly WakeTrigger[];
  /** Sessions that it waits for: it sleeps until all of them have ended, and is told what they leave. */
  readonly after?: readonly string[] | SessionDependency;
}

export interface ForkOptions {
  readonly objective?: string;
  readonly name?: string;
  readonly budget?: Budget;
  readonly labels?: Readonly<Record<string, string>>;
  /** False: with an objective of its own, nothing more of what is remembered is carried along. */
  readonly memory?: boolean;
}

export type Command =
  | ({
      readonly do: "open";
      readonly workspace: string;
      readonly objective: string;
      readonly pin?: Pin;
      readonly documents?: readonly Loaded[];
      readonly carried?: CarriedMemory;
      readonly parent?: { readonly session: string; readonly seq: number };
      readonly depth?: number;
      readonly closesWhenDone?: boolean;
      /** What the session that opens it gives it of its own budget. */
      readonly got?: Amounts;
      /** Who gave `got`, if that is not the parent. */
      readonly payer?: string;
      /** The limits that it takes over, in place of a budget. */
      readonly limits?: Amounts;
      /** The triggers that it sleeps for from the beginning. */
      readonly sleeps?: readonly string[];
      /** What its `wake` says, made ready. */
      readonly triggers?: readonly TriggerSetting[];
      /** What it is told first, by the trigger that opens it. */
      readonly told?: string;
    } & Omit<OpenOptions, "wake" | "after">)
  /** The state is the parent's at the fork point; the decision is for the child's log. */
  | ({
      readonly do: "fork";
      readonly parentHash: string;
      readonly by: "person" | "session";
      /** What the parent has lost since: the fork does not get it back. See `withdrawnBindings`. */
      readonly unbind?: readonly string[];
      readonly grant?: readonly Permission[];
      /** What is gone for good of what it shares, each entry for one record. */
      readonly erased?: readonly {
        readonly ranges: Ranges;
        readonly records: number;
        readonly bytes: number;
      }[];
      /** What a parent that makes the fork itself gives it of its own budget. */
      readonly got?: Amounts;
      readonly depth?: number;
      readonly closesWhenDone?: boolean;
      /** Its first input. */
      readonly told?: string;
      /** What takes the place of bindings of the same names. */
      readonly bind?: readonly Binding[];
      /** The agent that the fork goes on with, in place of the parent's. */
      readonly pin?: Pin;
      readonly carried?: CarriedMemory;
      /** The parent waits for review, and so does the fork. */
      readonly unreviewed?: boolean;
    } & ForkOptions)
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
      readonly by?: "person" | "budget" | "approval" | "unknown" | "error";
      /** The calls or events it waits for. */
      readonly on?: readonly number[];
      /** It was set back, and lost these. */
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
      /** What the session is told on waking. */
      readonly text?: string;
    }
  /** `idle`: nobody runs the session, so that the turn is ended here and now. */
  | { readonly do: "interrupt"; readonly reason?: string; readonly idle?: boolean }
  | {
      readonly do: "close";
      readonly outcome?: "completed" | "failed" | "expired";
      readonly reason?: string;
      readonly returned?: Returned;
      /** What goes over to a successor in the same append: it fires and counts there from now on. */
      readonly handedOver?: { readonly triggers: readonly string[]; readonly limits?: Amounts };
    }
  | { readonly do: "cancel"; readonly reason?: string; readonly returned?: Returned }
  | { readonly do: "reopen"; readonly reason?: string }
  | { readonly do: "archive"; readonly reason?: string }
  | {
      readonly do: "record";
      readonly kind: ItemKind;
      readonly key: string;
      readonly value: unknown;
      readonly because?: string;
      readonly status?: "open" | "done" | "dropped";
    }
  | { readonly do: "retract"; readonly kind: ItemKind; readonly key: string; readonly because?: string }
  /** Without a value the key is removed. */
  | { readonly do: "scratch"; readonly key: string; readonly value?: unknown }
  | ({ readonly do: "bind" } & Binding)
  | { readonly do: "unbind"; readonly name: string }
  | ({ readonly do: "grant" } & Permission)
  | { readonly do: "budget"; readonly limits: Budget; readonly reason?: string }
  | { readonly do: "save"; readonly name: string; readonly atSeq?: number; readonly note?: string }
  /** `earlier` is the state to go back to. */
  | {
      readonly do: "rewind";
      readonly earlier: State;
      readonly requeue?: boolean;
      readonly reason?: string;
      /** Files that were put back with it. */
      readonly changed?: readonly TreeChange[];
    }
  /** `sent`: its inputs are messages of a person, and fire the triggers for messages. */
  | { readonly do: "append"; readonly records: readonly AppendRecord[]; readonly sent?: true }
  | {
      readonly do: "take";
      readonly holder: string;
      readonly leaseMs: number;
      /** Whether the lease that the log shows has run out, by the store's clock. */
      readonly ranOut: boolean;
    }
  | { readonly do: "release"; readonly epoch: number }
  | MergeCommand
  | MoveCommand
  | MessageCommand
  | GovernCommand
  | TriggerCommand
  | TurnCommand;

export type CommandName = Command["do"];
export type CommandOf<K extends CommandName> = Extract<Command, { readonly do: K }>;
