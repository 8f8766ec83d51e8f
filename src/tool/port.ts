/**
 * The tool port: what the runtime needs of a tool, and the source of a session's tools.
 *
 * A tool's effect decides what happens to a call that a crash interrupted. `read` changes nothing and runs
 * again. `idempotent` runs again with the same key. `unsafe`, the default, never runs again automatically:
 * its outcome is unknown, unless `probe` can tell. `session` changes only the session's own log, in one
 * append with its result.
 */
import type { Binding } from "../core/tool/commands.ts";
import type { SessionAct } from "../core/tool/session-action.ts";
import type { FileVersion, TreeChange } from "../core/tool/file-version.ts";

/** The context of a running call. */
export interface ToolCall {
  /** SHA-256 of session and position of the request: the same when the call runs again after a crash. */
  readonly key: string;
  readonly session: string;
  /** The position of the request. */
  readonly seq: number;
  /** Aborted by an interrupt, by the timeout, and when the lease of the session is lost. */
  readonly signal: AbortSignal;
  /**
   * Whether path rules deny this file, in any of its spellings, or ask about it. A tool that finds files
   * leaves such files out. Absent: no rule does.
   */
  readonly isPathDenied?: (...spellings: readonly string[]) => boolean;
}

/** Whether an interrupted call took effect. */
export type ToolProbe =
  /** It happened; `output` is for the model. */
  | { readonly outcome: "done"; readonly output?: unknown }
  /** It did not: it may run. */
  | { readonly outcome: "not-done" }
  | { readonly outcome: "unknown" };

/** The result of a check of a tool's arguments. */
export type InputCheck =
  | { readonly ok: true; readonly value: unknown }
  /** For the model, so that it can correct the call. */
  | { readonly ok: false; readonly message: string };

/** The command of a call, for saved approvals. */
export interface ExactCommand {
  readonly text: string;
  readonly directory: string;
  /** The name of the binding. */
  readonly binding: string;
}

interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Validates the arguments against the schema; returns them with defaults filled in. */
  check(input: unknown): Promise<InputCheck>;
}

/** A tool that acts outside the session. */
export interface OuterTool extends ToolDescription {
  readonly effect: "read" | "idempotent" | "unsafe";
  readonly timeoutMs: number;
  /**
   * True: the tool runs in a sandbox. The default rule for `unsafe` tools then allows it without asking;
   * explicit rules still apply.
   */
  readonly contained?: boolean;
  /**
   * True: nothing runs here. The call is recorded, the session waits without a lease, and `session.settle`
   * brings the outcome; after `timeoutMs` it is unknown. The default rule for `unsafe` tools does not ask.
   */
  readonly external?: boolean;
  /**
   * Returns a text, any JSON, or a `ToolOutput`. A thrown error goes to the model. It must end soon after the
   * signal is aborted; otherwise it is abandoned.
   */
  run(input: unknown, call: ToolCall): Promise<unknown>;
  /**
   * The only files that a call may change, absolute. Without it, a tool that does not only read may change
   * any.
   */
  touches?(input: unknown): Promise<readonly string[]>;
  /**
   * The exact command of a call: what runs, in which directory, by which binding. With it a person can
   * approve the same command for good; without it, only once or for a session.
   */
  command?(input: unknown): ExactCommand;
  /** Whether the call with this key has happened. Called after a crash, for unsafe calls. */
  probe?(key: string, call: { readonly input: unknown; readonly signal: AbortSignal }): Promise<ToolProbe>;
}

/** A tool that acts on the session itself. */
export interface SessionTool extends ToolDescription {
  readonly effect: "session";
  /** The action on the session; the runtime performs it, in one append with the result. */
  act(input: unknown): SessionAct;
}

/** A tool, as a session runs it. */
export type Tool = OuterTool | SessionTool;

/**
 * Thrown by a tool that cannot tell whether it had its effect: a connection was lost after the request had
 * gone out. An unsafe call is then settled as unknown.
 */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** The cause of a tool error: a write to a read-only binding; nothing was changed. */
export class ReadOnly extends Error {
  override readonly name = "ReadOnly";
}

/**
 * A tool result beyond text: images, structured detail, an error.
 *
 * @example
 *   const run = async () => new ToolOutput("3 rows", { detail: { rows } });
 */
export class ToolOutput {
  readonly text: string;
  readonly images: readonly { readonly bytes: Uint8Array; readonly mediaType: string }[];
  /** Structured detail for programs, kept in the log next to the text and not shown to the model. */
  readonly detail: unknown;
  /** True: the tool completed, and its result is an error, as with MCP servers. */
  readonly isError: boolean;

  constructor(
    text: string,
    more: {
      readonly images?: readonly { readonly bytes: Uint8Array; readonly mediaType: string }[];
      readonly detail?: unknown;
      readonly isError?: boolean;
    } = {},
  ) {
    this.text = text;
    this.images = more.images ?? [];
    this.detail = more.detail;
    this.isError = more.isError ?? false;
  }
}

/** A binding as the log stores it. */
export interface StoredBinding extends Binding {
  readonly name: string;
  readonly mode: "read" | "write";
}

/** A process that leads its own group. */
export interface Child {
  readonly pid: number;
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Kills the whole group, at once. */
  kill(): void;
}

/** The part of the world that tools need; they have no other clock, timers or processes. */
export interface ToolWorld {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** SHA-256, hexadecimal. */
  hashBytes(bytes: Uint8Array): string;
  /** The value of a secret that a binding names; undefined if there is none. */
  secret(name: string): string | undefined;
  /** Rejects if it cannot be started. Standard input is empty. */
  spawn(
    command: readonly [string, ...string[]],
    options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> },
  ): Promise<Child>;
}

/** Bytes by their SHA-256: blobs of the store. */
export interface FileBlobs {
  /** Returns their hash; or the name of the secret in them, in which case they are not stored. */
  put(bytes: Uint8Array): Promise<string | { readonly secret: string }>;
  /** Undefined if they no longer exist. */
  get(blob: string): Promise<Uint8Array | undefined>;
}

/** A bound directory, or a single bound file, with file versions. */
export interface FileTree {
  /** The name of the binding. */
  readonly name: string;
  /** The directory, with links resolved. */
  readonly root: string;
  /** Of a bound file: its name in that directory. */
  readonly file?: string;
}

/** Concurrent calls, and their file changes. */
export interface WatchedCalls {
  /**
   * Scans, and writes the changes since the start or the last scan. Concurrent calls are indistinguishable:
   * the first one records the changes of all.
   */
  record<T>(write: (changed: readonly TreeChange[]) => Promise<T>): Promise<T>;
  /** Everything is recorded. */
  over(): Promise<void>;
}

/** Keeps file versions while a session runs. */
export interface FileWatch {
  /**
   * Scans before these calls run. Changes since the last scan are not the session's. Undefined if the calls
   * change no versioned files.
   */
  begin(
    calls: readonly { readonly tool: OuterTool; readonly input: unknown }[],
    options: { readonly blobs: FileBlobs },
  ): Promise<WatchedCalls | undefined>;
  /** The changes of calls that were running when the previous runner died, if known. */
  left(blobs: FileBlobs): Promise<readonly TreeChange[]>;
}

/** One path to restore. */
export interface FilePut {
  readonly tree: FileTree;
  readonly path: string;
  /** The version that the session left there: anything else belongs to someone else. */
  readonly expect: FileVersion | null;
  readonly to: FileVersion | null;
}

/** A path that is not restored, and why. */
export interface FileConflict {
  /** Absolute. */
  readonly path: string;
  readonly why: string;
}

/** The files of bindings, for restoring. */
export interface BoundFiles {
  /** A tree within another is part of it. */
  readonly trees: readonly FileTree[];
  /** The tree of a path below a binding, and the path in it; undefined without such a binding. */
  place(name: string, path: string): { readonly tree: FileTree; readonly path: string } | undefined;
  /**
   * Restores all of it, or nothing: if one path is not as expected, it touches none and reports it. Paths in
   * the right state stay. After an interruption, calling it again completes it.
   */
  restore(puts: readonly FilePut[], blobs: FileBlobs): Promise<readonly FileConflict[]>;
  /**
   * Copies a tree to a new place, with these paths at their earlier version. A conflict prevents it.
   */
  copy(
    tree: FileTree,
    to: string,
    puts: readonly FilePut[],
    blobs: FileBlobs,
  ): Promise<readonly FileConflict[]>;
}

/** The tools of one session while it runs, and their open resources. */
export interface Toolbox extends AsyncDisposable {
  /** After `refresh` resolved to true: the new ones. */
  readonly tools: readonly Tool[];
  /** Checks whether the tools changed, as a server may announce while a session runs. Never rejects. */
  refresh?(signal: AbortSignal): Promise<boolean>;
  /** Absent: no file versions are kept. */
  readonly files?: FileWatch;
}

/** The source of a session's tools. The composition root combines all drivers into one. */
export interface ToolSource {
  /**
   * Opens the tools of these bindings. Rejects with a `SkeinError` if one cannot be used (a server that does
   * not start, a duplicate name), with everything closed.
   */
  open(
    bound: readonly StoredBinding[],
    options: { readonly signal: AbortSignal; readonly session?: string },
  ): Promise<Toolbox>;
  /** The writable files of these bindings. */
  files?(bound: readonly StoredBinding[]): Promise<BoundFiles>;
}
