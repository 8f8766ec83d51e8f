/** Commands that bring in what another session learned, and that judge a session. */
import type { ItemKind } from "../catalog/durable.ts";
import type { MergeWrite } from "../branch/merge.ts";

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

export type MergeCommand =
  | {
      readonly do: "merge";
      /** The session that it comes from. */
      readonly from: string;
      readonly writes: readonly MergeWrite[];
      /** Absent: there is more than fits into one append, and the note comes with the last of it. */
      readonly note?: MergeNote;
    }
  | {
      readonly do: "score";
      readonly name: string;
      readonly value: number;
      /** The position that is judged; absent: the session. */
      readonly seq?: number;
      readonly because?: string;
    };
