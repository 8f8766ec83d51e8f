/**
 * A conversation of another tool, as Skein understands it: the model that every format is read into and
 * written from. It holds no file handles and no Skein ids; `skein import` maps it to events.
 *
 * A session may be larger than memory, so a format reads it in two passes. `scan` sees each record once and
 * keeps what the order needs. `plan` then names the records of each entry, and `entry` turns the records of
 * one entry into it.
 */

/**
 * Bytes of a source file. A row of a database has `DATABASE/TABLE` as its file and its row id as `from`; a
 * file inside a zip archive has `ARCHIVE/ENTRY`.
 */
export interface SourceRange {
  /** Relative to the root that was read, with `/` on every system. */
  readonly file: string;
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** A record as it was read: one line, one element of an array, one row. */
export interface SourceRecord extends SourceRange {
  readonly value: unknown;
}

/** The facts about a session besides its messages. */
export interface TranscriptHeader {
  /** `claude-code`, `codex`, … */
  readonly tool: string;
  readonly toolVersion: string | null;
  /** The id that the tool gave the session. */
  readonly sourceId: string;
  readonly title: string | null;
  readonly tags: readonly string[];
  readonly cwd: string | null;
  readonly gitBranch: string | null;
  readonly gitCommit: string | null;
  readonly gitRemote: string | null;
  readonly startedAtMs: number | null;
  /** The session that started this one as a subagent. */
  readonly parentId: string | null;
  /** The session that this one was copied from. */
  readonly forkedFrom: string | null;
}

/** Tokens as the tool reported them. Input includes what was read from or written to a cache. */
export interface TranscriptUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Part of the output. */
  readonly reasoningTokens: number;
  /** The tool's own figure; null where it stores none. */
  readonly costUsd: number | null;
}

/** A piece of content. */
export type TranscriptBlock =
  | { readonly type: "text"; readonly text: string }
  /** `opaque`: a signature or encrypted content that only its own model and account accept. */
  | { readonly type: "thinking"; readonly text: string; readonly opaque?: unknown }
  /** `data` is base64; null where the file is missing. */
  | {
      readonly type: "attachment";
      readonly name: string | null;
      readonly mediaType: string;
      readonly data: string | null;
    };

/** A tool call with its outcome. */
export interface TranscriptCall {
  /** The tool's own id; unique within an entry's session only as far as the tool kept it so. */
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** `unknown`: the transcript ends, or was cut, before a result. */
  readonly status: "ok" | "error" | "unknown";
  /** What the model saw. */
  readonly output: readonly TranscriptBlock[];
  /** What the tool kept beside it, for its screen. */
  readonly structured?: unknown;
  readonly endedAtMs: number | null;
}

interface EntryOrigin {
  /** The tool's id of the record, or one derived from its position. */
  readonly id: string;
  /** As the tool wrote it; may go back. Null where it is unknown. */
  readonly atMs: number | null;
  readonly source: readonly SourceRange[];
}

/** A piece of the conversation, in the order in which it happened. */
export type ForeignEntry =
  /** `context`: given to the model by the tool, not by a person (environment, reminders, hooks). */
  | (EntryOrigin & {
      readonly kind: "input";
      readonly from: "user" | "context";
      readonly blocks: readonly TranscriptBlock[];
    })
  | (EntryOrigin & {
      readonly kind: "answer";
      readonly model: string | null;
      /** The provider's id: the same answer in two files has the same one, and its usage counts once. */
      readonly messageId: string | null;
      /** Identifies the answer where it has no `messageId`: a copy in a fork has the same one. */
      readonly copyId?: string;
      readonly blocks: readonly TranscriptBlock[];
      readonly calls: readonly TranscriptCall[];
      readonly usage: TranscriptUsage | null;
      readonly interrupted: boolean;
      /** An error that the tool recorded in place of an answer. */
      readonly error: string | null;
    })
  /** From here on the model saw `summary` and the entries from `keptFrom` on in place of all before. */
  | (EntryOrigin & {
      readonly kind: "compaction";
      readonly summary: string;
      /** Id of the first entry that stays as it is; null when none does. */
      readonly keptFrom: string | null;
      readonly tokensBefore: number | null;
    });

/** An item of the tool's to-do list. */
export interface TranscriptTask {
  readonly key: string;
  readonly text: string;
  readonly status: "open" | "done" | "dropped";
}

/** An entry that `entry` can make: its records are read again by their ranges. */
export interface PlannedEntry {
  readonly id: string;
  readonly kind: ForeignEntry["kind"];
  readonly records: readonly SourceRange[];
}

/** Entries in order: an array, or a list that makes each entry when it is asked for. */
export interface PlannedEntries extends Iterable<PlannedEntry> {
  readonly length: number;
  /** A negative index counts from the end. */
  at(index: number): PlannedEntry | undefined;
  slice(from?: number, to?: number): PlannedEntries;
}

/** Another leaf of the tree: a rewind, an edit, a retry. `after` may name an entry of an earlier branch. */
export interface PlannedBranch {
  readonly id: string;
  /** The last entry that both share; null when they share none. */
  readonly after: string | null;
  readonly entries: PlannedEntries;
}

/** A session that a tool call of this one started. */
export interface PlannedChild {
  readonly sourceId: string;
  /** The call that started it, where the tool recorded that. */
  readonly call: string | null;
  /** The child's entries when they lie among this session's records; empty when it has a file. */
  readonly entries: PlannedEntries;
}

/** The order of a session: which records make which entry. */
export interface TranscriptPlan {
  readonly header: TranscriptHeader;
  readonly entries: PlannedEntries;
  readonly branches: readonly PlannedBranch[];
  /** The state of the to-do list at the end. */
  readonly tasks: readonly TranscriptTask[];
  readonly children: readonly PlannedChild[];
  /** Usage that belongs to no answer: summaries, titles. Null where the tool recorded none. */
  readonly otherUsage: TranscriptUsage | null;
  readonly report: TranscriptReport;
  /** Set when Skein wrote the file, or the beginning of it. */
  readonly written?: WrittenBySkein;
}

/** The part of a transcript that Skein exported from a session. */
export interface WrittenBySkein {
  readonly session: string;
  /** The last position of the session that the export holds. */
  readonly seq: number;
  /** Whether an entry is part of the export; the others came later, in the tool. */
  readonly holds: (entry: Pick<PlannedEntry, "id" | "records">) => boolean;
}

/** What was read, and what was not understood. Nothing is dropped without being counted here. */
export interface TranscriptReport {
  readonly records: Readonly<Record<string, number>>;
  /** Types that this version of the reader does not know. */
  readonly unknownTypes: Readonly<Record<string, number>>;
  /** Known types that have no place in the model, such as a change of settings. */
  readonly unmapped: Readonly<Record<string, number>>;
  /** Lines that did not parse, with the reason; at most 100 are listed, all are counted. */
  readonly damaged: readonly { readonly range: SourceRange; readonly reason: string }[];
  readonly damagedCount: number;
  /** Records of more than 64 MB, which are skipped. `damagedCount` includes them. */
  readonly tooLarge: number;
  readonly gaps: number;
  readonly unpairedCalls: number;
  readonly missingAttachments: number;
  readonly timesOutOfOrder: number;
}

/** Reads one session of one format. Pure: it is given records and gives entries. */
export interface TranscriptReader {
  scan(record: SourceRecord): void;
  /** A piece of the source that does not parse. It is kept in the source and counted. */
  damage(range: SourceRange, reason: string): void;
  plan(): TranscriptPlan;
  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry;
}

/** A whole session in memory: what a writer is given. */
export interface Transcript {
  readonly header: TranscriptHeader;
  readonly entries: readonly ForeignEntry[];
  readonly tasks: readonly TranscriptTask[];
  /** The position of a session of Skein that it was made from: the tool's file is marked with it. */
  readonly origin?: Pick<WrittenBySkein, "session" | "seq">;
}

/** A file that a writer makes, and what it could not say. */
export interface WrittenTranscript {
  /** Where the tool looks for it, relative to its own folder. */
  readonly path: string;
  readonly text: string;
  /** The id that the tool knows the session by; null for messages and pages. */
  readonly sessionId: string | null;
  /** What does not map, in words, with a count. */
  readonly left: readonly string[];
}

/** A session that a tool has on this machine, or in the path that was given. */
export interface FoundTranscript {
  readonly tool: string;
  readonly sourceId: string;
  /** Relative to the root; the first is the session's own, others belong to it. */
  readonly files: readonly string[];
  /** The part of the first file that holds the session; null when it is the whole file. */
  readonly piece: SourceRange | null;
  /** The session that started this one as a subagent. */
  readonly parentId: string | null;
  readonly bytes: number;
  readonly modifiedAtMs: number;
}
