/** Commands on a session: its life, its lease, where it lives and what it starts with. */
import type { Budget, Returned } from "../budget/commands.ts";
import type { CarriedMemory } from "../item/commands.ts";
import type { Binding, Permission } from "../tool/commands.ts";
import type { TriggerSetting } from "../trigger/commands.ts";
import type { WakeTrigger } from "../trigger/trigger.ts";
import type { Amounts } from "../state.ts";

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

/** Sessions that must have ended, and what of them is told: by default their handoffs. */
export interface SessionDependency {
  readonly sessions: readonly string[];
  readonly give?: "handoff" | "facts" | "nothing";
}

/** Options of `engine.open`: the objective, and what the session starts with. */
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
  /** Sessions whose handoffs it begins with, and nothing else of them. */
  readonly handoffs?: readonly string[];
  /** False: nothing of what is remembered is carried along. */
  readonly memory?: boolean;
  /** What wakes it: triggers that it has from the beginning. */
  readonly wake?: readonly WakeTrigger[];
  /** Sessions that it waits for: it sleeps until all of them have ended, and is told what they leave. */
  readonly after?: readonly string[] | SessionDependency;
}

/** What `session.moved` says in its body. */
export interface Moved {
  /** The name of the move, by which it is known at both ends. */
  readonly move: string;
  /** The workspace it goes to; absent when that was not known, as in a bundle. */
  readonly to?: string;
}

export type SessionCommand =
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
  /** `held`: somebody runs the session just now. `where` is for people. */
  | ({ readonly do: "move"; readonly held: boolean; readonly where?: string } & Moved)
  /** `moved` is what the last record says, `workspace` where it is read. */
  | {
      readonly do: "arrive";
      readonly moved: Moved | null;
      readonly workspace: string;
      readonly where?: string;
      /** No trusted key signed the bundle: it waits for review. */
      readonly untrusted?: boolean;
    }
  /** `left` names what the new model cannot be shown. */
  | { readonly do: "migrate"; readonly model: string; readonly left: readonly string[] }
  | {
      readonly do: "take";
      readonly holder: string;
      readonly leaseMs: number;
      /** Whether the lease that the log shows has run out, by the store's clock. */
      readonly ranOut: boolean;
    }
  | { readonly do: "release"; readonly epoch: number };
