/** Commands on branches: forks, rewinds, checkpoints, merges, handoffs. */
import type { Amendment } from "../amend/commands.ts";
import type { MergeWrite } from "./merge.ts";
import type { Budget } from "../budget/commands.ts";
import type { CarriedMemory } from "../item/commands.ts";
import type { ItemKind } from "../item/kind.ts";
import type { Ranges } from "../range.ts";
import type { Pin } from "../session/commands.ts";
import type { State, Amounts } from "../state.ts";
import type { Binding, Permission } from "../tool/commands.ts";
import type { TreeChange } from "../tool/file-version.ts";
import type { CountedUsage } from "../turn/commands.ts";

/** Options of `session.fork` and `view.fork`: where the fork differs from its parent. */
export interface ForkOptions {
  readonly objective?: string;
  readonly name?: string;
  readonly budget?: Budget;
  readonly labels?: Readonly<Record<string, string>>;
  /** False: a fork with a new objective carries no additional memory. */
  readonly memory?: boolean;
}

/** The body of `session.merged`, besides the items. */
export interface MergeNote {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly toHash: string;
  /** The common base of both; absent if the sessions share nothing. */
  readonly base?: { readonly session: string; readonly seq: number };
  readonly taken: number;
  readonly resolved: number;
  readonly summary: string;
  readonly resolutions: readonly {
    readonly kind: ItemKind;
    readonly key: string;
    readonly take: "ours" | "theirs" | "both" | "value";
    readonly because?: string;
  }[];
}

export type BranchCommand =
  /** The state is the parent's at the fork point; the decision is for the child's log. */
  | ({
      readonly do: "fork";
      readonly parentHash: string;
      readonly by: "person" | "session";
      /** Bindings the parent has lost since: the fork does not get them back. See `withdrawnBindings`. */
      readonly unbind?: readonly string[];
      readonly grant?: readonly Permission[];
      /** Shared contents that were erased, one entry per record. */
      readonly erased?: readonly {
        readonly ranges: Ranges;
        readonly records: number;
        readonly bytes: number;
      }[];
      /** The share of the parent's budget, for a fork that the parent itself makes. */
      readonly got?: Amounts;
      readonly depth?: number;
      readonly closesWhenDone?: boolean;
      /** Its first input. */
      readonly firstInput?: string;
      /** Bindings that replace those of the same names. */
      readonly bind?: readonly Binding[];
      /** The fork's agent, in place of the parent's. */
      readonly pin?: Pin;
      readonly carried?: CarriedMemory;
      /** Where it differs from its parent in agent, model, texts and settings. */
      readonly amendment?: Amendment;
      /** The parent waits for review, and so does the fork. */
      readonly unreviewed?: boolean;
    } & ForkOptions)
  /** `earlier` is the target state. */
  | {
      readonly do: "rewind";
      readonly earlier: State;
      readonly requeue?: boolean;
      readonly reason?: string;
      /** By the session's own run, in its turn: the input that it goes on with. */
      readonly told?: string;
      /** Files that were restored with it. */
      readonly changed?: readonly TreeChange[];
    }
  | { readonly do: "save"; readonly name: string; readonly atSeq?: number; readonly note?: string }
  | {
      readonly do: "merge";
      /** The session that is merged in. */
      readonly from: string;
      readonly writes: readonly MergeWrite[];
      /** Absent if the merge needs more than one append: the last append carries the note. */
      readonly note?: MergeNote;
    }
  | {
      readonly do: "handoff";
      readonly text: string;
      readonly digest: string;
      /** The last position that the handoff covers. */
      readonly toSeq: number;
      readonly tokens: number;
      /** The model that wrote the prose, and its cost. */
      readonly model?: string;
      readonly usage?: CountedUsage;
      readonly costNanoUsd?: number | null;
    };
