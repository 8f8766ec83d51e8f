/** Commands on branches: forks, rewinds, checkpoints, merges, handoffs. */
import type { MergeWrite } from "./merge.ts";
import type { Budget } from "../budget/commands.ts";
import type { CarriedMemory } from "../item/commands.ts";
import type { ItemKind } from "../item/events.ts";
import type { Ranges } from "../range.ts";
import type { Pin } from "../session/commands.ts";
import type { State, Amounts } from "../state.ts";
import type { Binding, Permission } from "../tool/commands.ts";
import type { TreeChange } from "../tool/file-version.ts";
import type { CountedUsage } from "../turn/commands.ts";

/** Options of `session.fork` and `view.fork`: what the fork has of its own. */
export interface ForkOptions {
  readonly objective?: string;
  readonly name?: string;
  readonly budget?: Budget;
  readonly labels?: Readonly<Record<string, string>>;
  /** False: with an objective of its own, nothing more of what is remembered is carried along. */
  readonly memory?: boolean;
}

/** What `session.merged` says besides what it brought. */
export interface MergeNote {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly toHash: string;
  /** The state that both were held against; absent when the sessions share nothing. */
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
  /** `earlier` is the state to go back to. */
  | {
      readonly do: "rewind";
      readonly earlier: State;
      readonly requeue?: boolean;
      readonly reason?: string;
      /** Files that were put back with it. */
      readonly changed?: readonly TreeChange[];
    }
  | { readonly do: "save"; readonly name: string; readonly atSeq?: number; readonly note?: string }
  | {
      readonly do: "merge";
      /** The session that it comes from. */
      readonly from: string;
      readonly writes: readonly MergeWrite[];
      /** Absent: there is more than fits into one append, and the note comes with the last of it. */
      readonly note?: MergeNote;
    }
  | {
      readonly do: "handoff";
      readonly text: string;
      readonly digest: string;
      /** The last position that it tells of. */
      readonly toSeq: number;
      readonly tokens: number;
      /** The model that put it into prose, and what that cost. */
      readonly model?: string;
      readonly usage?: CountedUsage;
      readonly costNanoUsd?: number | null;
    };
