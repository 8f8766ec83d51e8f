/**
 * The port of executors: other agents that run the turns of a session with their own model, tools and
 * context. Skein keeps the log, the budget, approvals and recovery.
 */

/** What an executor reports while it works on a prompt. */
export type ExecutorEvent =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly call: ExecutorCall }
  /** It asks before it runs a call. Answer by `decide`. */
  | { readonly type: "permission"; readonly call: ExecutorCall }
  /** Its whole plan, each time. */
  | { readonly type: "plan"; readonly tasks: readonly { readonly text: string; readonly done: boolean }[] }
  /** What its session has cost so far; null when it does not say. */
  | { readonly type: "cost"; readonly totalNanoUsd: number | null }
  | { readonly type: "ended"; readonly reason: "completed" | "length" | "refused" | "interrupted" }
  /** It died, or broke the protocol: what was in progress is unknown. */
  | { readonly type: "lost"; readonly message: string }
  /** It needs a login: another try would fail too. */
  | { readonly type: "locked"; readonly message: string };

/** A tool call as the executor reports it. */
export interface ExecutorCall {
  readonly id: string;
  readonly tool: string;
  readonly effect: "read" | "unsafe";
  readonly input: unknown;
  /** `waiting`: it may still ask for permission. */
  readonly status: "waiting" | "running" | "ok" | "error";
  readonly output: unknown;
}

/** A connection to an executor, with one session there. */
export interface ExecutorSession {
  /** The id of its session: kept in the log before the first prompt. */
  readonly id: string;
  /** False: it knows nothing of the session yet. */
  readonly isResumed: boolean;
  /** A prompt is in progress. */
  readonly isWorking: boolean;
  /** Calls that wait for `decide`. */
  readonly asking: readonly ExecutorCall[];
  send(prompt: string): void;
  /** The next event of the prompt in progress. Rejects only with the reason of the signal. */
  next(signal: AbortSignal): Promise<ExecutorEvent>;
  decide(call: string, answer: "allow" | "reject"): void;
  /** Cancels the prompt, waits a moment for its end, and returns what it still reported. */
  cancel(): Promise<readonly ExecutorEvent[]>;
  /** Kept for the next run of the session in this process, for a while: it waits for an approval. */
  park(): void;
  /** Ends its process, with everything that it started. */
  close(): Promise<void>;
}

/** An agent that runs turns. Its command comes from the operator's configuration, never from a log. */
export interface TurnExecutor {
  /** The parked connection of a session, which is then no longer parked. */
  parked(session: string): ExecutorSession | null;
  /** The command line, for the person who is asked whether it may run. */
  readonly command: string;
  /** True when it runs in a sandbox. */
  readonly isContained: boolean;
  /** The parked connection of a session, or a new one. `id`: its session to resume, if it can. */
  connect(options: {
    readonly session: string;
    readonly cwd: string;
    readonly id: string | null;
    readonly signal: AbortSignal;
  }): Promise<ExecutorSession>;
}
