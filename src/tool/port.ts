/**
 * The tool port: what the runtime needs of a tool, and where a session's tools come from.
 *
 * A tool's effect decides what happens to a call that was cut off by a crash. `read` changes nothing and runs
 * again. `idempotent` runs again with the same key. `unsafe`, the default, never runs again by itself: its
 * outcome is unknown, unless `probe` can tell. `session` changes the session's own log only, in one append
 * with its result.
 */
import type { Binding } from "../core/tool/commands.ts";
import type { SessionAct } from "../core/tool/session-action.ts";
import type { FileVersion, TreeChange } from "../core/tool/file-version.ts";

/** What a running call is told. */
export interface ToolCall {
  /** SHA-256 of session and position of the request: the same when the call runs again after a crash. */
  readonly key: string;
  readonly session: string;
  /** The position of the request. */
  readonly seq: number;
  /** Aborted by an interrupt, by the time-out, and when the right to run the session is lost. */
  readonly signal: AbortSignal;
  /**
   * Whether rules for paths forbid this file, in any of its spellings, or ask about it. A tool that finds
   * files leaves such files out. Absent: no rule does.
   */
  readonly isPathDenied?: (...spellings: readonly string[]) => boolean;
}

/** Whether an interrupted call took effect. */
export type ToolProbe =
  /** It happened; `output` is what the model is told. */
  | { readonly outcome: "done"; readonly output?: unknown }
  /** It did not: it may run. */
  | { readonly outcome: "not-done" }
  | { readonly outcome: "unknown" };

/** The result of a check of a tool's arguments. */
export type InputCheck =
  | { readonly ok: true; readonly value: unknown }
  /** What the model is told, so that it can do better. */
  | { readonly ok: false; readonly message: string };

/** The command that a call runs, for approvals that are saved. */
export interface ExactCommand {
  readonly text: string;
  readonly directory: string;
  /** The name of the binding. */
  readonly binding: string;
}

interface Described {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Holds the arguments against the schema; gives them with defaults filled in. */
  check(input: unknown): Promise<InputCheck>;
}

/** A tool that acts outside the session. */
export interface OuterTool extends Described {
  readonly effect: "read" | "idempotent" | "unsafe";
  readonly timeoutMs: number;
  /**
   * True: the tool runs in a sandbox. The default rule for `unsafe` tools then allows it without asking;
   * rules that are set still apply.
   */
  readonly contained?: boolean;
  /**
   * Gives a text, any JSON, or a `ToolOutput`. What it throws is told to the model as an error. It ends soon
   * after the signal is aborted; if it does not, nobody waits for it.
   */
  run(input: unknown, call: ToolCall): Promise<unknown>;
  /**
   * The only files that a call may change, absolute. Without it, a tool that does not only read may change
   * any.
   */
  touches?(input: unknown): Promise<readonly string[]>;
  /**
   * The exact command of a call: what runs, in which directory, by which binding. With it a person can allow
   * the same command for good; without it, a call is allowed once or for a session.
   */
  command?(input: unknown): ExactCommand;
  /** Whether the call with this key has happened. Asked after a crash, for unsafe calls. */
  probe?(key: string, call: { readonly input: unknown; readonly signal: AbortSignal }): Promise<ToolProbe>;
}

/** A tool that acts on the session itself. */
export interface SessionTool extends Described {
  readonly effect: "session";
  /** What of the session's own is to be done; the runtime does it, in one append with the result. */
  act(input: unknown): SessionAct;
}

/** A tool, as a session runs it. */
export type Tool = OuterTool | SessionTool;

/**
 * Thrown by a tool that cannot tell whether it did what it was asked to: a connection was lost after the
 * request had gone out. An unsafe call is then settled as unknown.
 */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown";
}

/** The cause of an error of a tool that was to change what is bound for reading only; nothing was changed. */
export class ReadOnly extends Error {
  override readonly name = "ReadOnly";
}

/**
 * The result of a tool that is more than a text: images, a structure for programs, an error.
 *
 * @example
 *   run: async () => new ToolOutput("3 rows", { detail: { rows } }),
 */
export class ToolOutput {
  readonly text: string;
  readonly images: readonly { readonly bytes: Uint8Array; readonly mediaType: string }[];
  /** Structure for programs, kept in the log beside the text and not shown to the model. */
  readonly detail: unknown;
  /** True: the tool did what it could and it is an error all the same, as MCP servers have it. */
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

/** A binding as the log has it. */
export interface Bound extends Binding {
  readonly name: string;
  readonly mode: "read" | "write";
}

/** A process, leader of a group of its own. */
export interface Child {
  readonly pid: number;
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Kills the whole group, at once. */
  kill(): void;
}

/** The part of the world that tools need; they take clock, timers and processes from nowhere else. */
export interface ToolWorld {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** SHA-256, hexadecimal. */
  hashBytes(bytes: Uint8Array): string;
  /** The value of a secret that a binding names; undefined when there is none. */
  secret(name: string): string | undefined;
  /** Rejects when it cannot be started. Standard input is empty. */
  spawn(
    command: readonly [string, ...string[]],
    options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> },
  ): Promise<Child>;
}

/** Bytes by their SHA-256: blobs of the store. */
export interface FileBlobs {
  /** Gives their hash; or the name of the secret that they hold, and then they are not kept. */
  put(bytes: Uint8Array): Promise<string | { readonly secret: string }>;
  /** Undefined when they are not there any more. */
  get(blob: string): Promise<Uint8Array | undefined>;
}

/** A bound directory, or a bound file alone, of which file versions are kept. */
export interface FileTree {
  /** The name of the binding. */
  readonly name: string;
  /** The directory, without links. */
  readonly root: string;
  /** Of a bound file: its name in that directory. */
  readonly file?: string;
}

/** Calls that run at the same time, and what they change. */
export interface WatchedCalls {
  /**
   * Looks, and has written down what differs from the beginning or from the last time. Calls that run at once
   * cannot be told apart: whoever is first gets what all of them did so far.
   */
  record<T>(write: (changed: readonly TreeChange[]) => Promise<T>): Promise<T>;
  /** All of it is written down. */
  over(): Promise<void>;
}

/** Keeps file versions while a session runs. */
export interface FileWatch {
  /**
   * Looks how files are before these calls run. What changed since the last look was somebody else's doing.
   * Undefined when they change no files of which versions are kept.
   */
  begin(
    calls: readonly { readonly tool: OuterTool; readonly input: unknown }[],
    options: { readonly blobs: FileBlobs },
  ): Promise<WatchedCalls | undefined>;
  /** What calls had changed when the runner before died in the middle of them, if that can be told. */
  left(blobs: FileBlobs): Promise<readonly TreeChange[]>;
}

/** One path on its way back. */
export interface FilePut {
  readonly tree: FileTree;
  readonly path: string;
  /** What the session left there: anything else is somebody else's. */
  readonly expect: FileVersion | null;
  readonly to: FileVersion | null;
}

/** A path that is left alone, and why. */
export interface FileConflict {
  /** Absolute. */
  readonly path: string;
  readonly why: string;
}

/** The files of bindings, to be put back as they were. */
export interface BoundFiles {
  /** What lies within another is part of it. */
  readonly trees: readonly FileTree[];
  /** The tree of a path below a binding, and the path in it; undefined when nothing of that name is bound. */
  place(name: string, path: string): { readonly tree: FileTree; readonly path: string } | undefined;
  /**
   * Puts all of it back, or nothing: when one path is not as expected, it touches none and says which. What
   * is as it should be already stays. Cut off in the middle, it finishes when it is called again.
   */
  restore(puts: readonly FilePut[], blobs: FileBlobs): Promise<readonly FileConflict[]>;
  /** A copy of a tree in a new place, with these paths as they were. Conflicts: then there is no copy. */
  copy(
    tree: FileTree,
    to: string,
    puts: readonly FilePut[],
    blobs: FileBlobs,
  ): Promise<readonly FileConflict[]>;
}

/** The tools of one session while it runs, and what they hold open. */
export interface Toolbox extends AsyncDisposable {
  /** After `refresh` resolved to true: the new ones. */
  readonly tools: readonly Tool[];
  /** Looks whether the tools changed, as a server may say while a session runs. Never rejects. */
  refresh?(signal: AbortSignal): Promise<boolean>;
  /** Absent: no file versions are kept. */
  readonly files?: FileWatch;
}

/** Where a session's tools come from. The composition root makes one of all the drivers. */
export interface ToolSource {
  /**
   * Opens the tools of these bindings. Rejects with a `SkeinError` when one cannot be used (a server that
   * does not start, a name twice), and holds nothing open then.
   */
  open(
    bound: readonly Bound[],
    options: { readonly signal: AbortSignal; readonly session?: string },
  ): Promise<Toolbox>;
  /** The files of these bindings that may be written. */
  files?(bound: readonly Bound[]): Promise<BoundFiles>;
}
