/**
 * The tool port: what the runtime needs of a tool, and where a session's tools come from.
 *
 * A tool's effect decides what happens to a call that was cut off by a crash. `read` changes nothing and runs
 * again. `idempotent` runs again with the same key. `unsafe`, the default, never runs again by itself: its
 * outcome is unknown, unless `probe` can tell. `session` changes the session's own log only, in one append
 * with its result.
 */
import type { SessionAct } from "../core/act.ts";
import type { Binding } from "../core/command.ts";

/** What a running call is told. */
export interface ToolCall {
  /** SHA-256 of session and position of the request: the same when the call runs again after a crash. */
  readonly key: string;
  readonly session: string;
  /** The position of the request. */
  readonly seq: number;
  /** Aborted by an interrupt, by the time-out, and when the right to run the session is lost. */
  readonly signal: AbortSignal;
}

export type Probed =
  /** It happened; `output` is what the model is told. */
  | { readonly outcome: "done"; readonly output?: unknown }
  /** It did not: it may run. */
  | { readonly outcome: "not-done" }
  | { readonly outcome: "unknown" };

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  /** What the model is told, so that it can do better. */
  | { readonly ok: false; readonly message: string };

interface Described {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Holds the arguments against the schema; gives them with defaults filled in. */
  check(input: unknown): Promise<Checked>;
}

export interface OuterTool extends Described {
  readonly effect: "read" | "idempotent" | "unsafe";
  readonly timeoutMs: number;
  /**
   * Gives a text, any JSON, or a `ToolOutput`. What it throws is told to the model as an error. It ends soon
   * after the signal is aborted; if it does not, nobody waits for it.
   */
  run(input: unknown, call: ToolCall): Promise<unknown>;
  /** Whether the call with this key has happened. Asked after a crash, for unsafe calls. */
  probe?(key: string, call: { readonly input: unknown; readonly signal: AbortSignal }): Promise<Probed>;
}

export interface SessionTool extends Described {
  readonly effect: "session";
  /** What of the session's own is to be done; the runtime does it, in one append with the result. */
  act(input: unknown): SessionAct;
}

export type Tool = OuterTool | SessionTool;

/** A result with more to it than a text. */
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

/** The tools of one session while it runs, and what they hold open. */
export interface Toolbox extends AsyncDisposable {
  readonly tools: readonly Tool[];
}

/** Where a session's tools come from. The composition root makes one of all the drivers. */
export interface ToolSource {
  /**
   * Opens the tools of these bindings. Rejects with a `SkeinError` when one cannot be used (a server that
   * does not start, a name twice), and holds nothing open then.
   */
  open(bound: readonly Bound[], options: { readonly signal: AbortSignal }): Promise<Toolbox>;
}
