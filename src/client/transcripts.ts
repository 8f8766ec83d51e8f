/** Sessions of other tools, as a server finds, previews and imports them. */
import type { SessionId } from "../core/ids.ts";

/** Options of `findTranscripts`. */
export interface FindTranscriptsOptions {
  readonly tool?: string;
  /** Only with this in the working directory. */
  readonly project?: string;
  /** Only with this in the title or the project. */
  readonly text?: string;
  /** Only those that changed since: milliseconds since 1970. */
  readonly since?: number;
  /** At most this many; by default 500. */
  readonly limit?: number;
}

/** The sessions of one tool on the server's machine. */
export interface TranscriptTool {
  readonly tool: string;
  readonly title: string;
  readonly sessions: number;
  readonly bytes: number;
  readonly oldestAt: number;
  readonly newestAt: number;
}

/** A session of another tool that can be imported by its key. */
export interface TranscriptRow {
  readonly key: string;
  readonly tool: string;
  readonly sourceId: string;
  readonly title: string | null;
  /** The working directory. */
  readonly project: string | null;
  readonly bytes: number;
  readonly modifiedAt: number;
}

/** The result of `findTranscripts`: the newest first. */
export interface TranscriptsFound {
  readonly tools: readonly TranscriptTool[];
  readonly sessions: readonly TranscriptRow[];
  /** Sessions that fit and are not listed. */
  readonly more: number;
  /** Tools with a source that cannot be read now, such as a locked database. */
  readonly failed: readonly { readonly tool: string; readonly title: string; readonly reason: string }[];
}

/** One message of a preview. */
export interface PreviewEntry {
  readonly kind: "input" | "answer" | "compaction";
  readonly at: number | null;
  readonly text: string | null;
  readonly from?: "user" | "context";
  readonly model?: string | null;
  readonly calls?: readonly { readonly name: string | null; readonly status: string }[];
}

/** The first messages of a session of another tool. */
export interface TranscriptPreview {
  readonly tool: string;
  readonly title: string | null;
  readonly project: string | null;
  readonly gitBranch: string | null;
  readonly startedAt: number | null;
  readonly modifiedAt: number;
  readonly bytes: number;
  /** False when there is more than is shown. */
  readonly isWhole: boolean;
  readonly entries: readonly PreviewEntry[];
}

/** What became of one session. */
export interface TranscriptResult {
  /** As it was found; empty for an upload. */
  readonly key: string;
  readonly session: SessionId | null;
  readonly status:
    | "new"
    | "grown"
    | "same"
    | "rewritten"
    | "continued"
    | "exported"
    | "failed"
    | "excluded"
    | "found";
  /** The session that Skein exported the file from, when it is in this store. */
  readonly origin: SessionId | null;
  readonly reason: string | null;
  readonly tool: string;
  readonly title: string | null;
  readonly entries: number;
  /** Entries that were written now. */
  readonly added: number;
  readonly branches: readonly SessionId[];
  /** Secrets removed on the way in; null when this import did not read all of the source. */
  readonly redacted: number | null;
  readonly redactedKinds: Readonly<Record<string, number>>;
  /** Records of kinds that this version does not know: kept with the original, not shown. */
  readonly unknown: number;
  /** Records that did not parse, with those too large. */
  readonly damaged: number;
  /** Records of more than 64 MB. */
  readonly tooLarge: number;
}

/** Options of `uploadTranscript`. */
export interface UploadTranscriptOptions {
  /** By default it is detected. */
  readonly tool?: string;
  /** The name of the file, which ends with .jsonl, .json or .zip. */
  readonly name?: string;
}
