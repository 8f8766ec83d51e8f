/** Commands on conversations of another tool. */
import type { BodyOf, ContentOf } from "../catalog.ts";

/** One record of a conversation, in the order in which it happened. */
export type HistoryEntry =
  | {
      readonly type: "input";
      readonly body: BodyOf<"input.imported">;
      readonly content: ContentOf<"input.imported">;
    }
  | {
      readonly type: "answer";
      readonly body: BodyOf<"answer.imported">;
      readonly content: ContentOf<"answer.imported">;
    }
  | {
      readonly type: "call";
      readonly body: BodyOf<"call.imported">;
      readonly content: ContentOf<"call.imported">;
    }
  /** In the context a summary replaces everything before it but the last `kept` records. */
  | {
      readonly type: "compaction";
      readonly summary: string;
      readonly kept: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    };

export type HistoryCommand = {
  readonly do: "import";
  /** Entries that the log already holds: the import continues there, or not at all. */
  readonly after: number;
  /** The digest that the log holds of them: the last one may have gained records without counting anew. */
  readonly afterIds?: string;
  readonly entries: readonly HistoryEntry[];
  /** How far the source was read with these entries. It follows them. */
  readonly source: {
    readonly body: BodyOf<"source.imported">;
    readonly content: ContentOf<"source.imported">;
  };
  /** Tasks of the other tool's to-do list, as of its end. */
  readonly tasks?: readonly {
    readonly key: string;
    readonly text: string;
    readonly status: "open" | "done" | "dropped";
  }[];
};
