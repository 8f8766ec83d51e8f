/** The commands of a turn: what the turn loop, or another harness through `drive`, asks of a session. */
import type { Block } from "../catalog/entry.ts";
import type { AppendRecord, Command, Permission, Returned } from "../command.ts";
import type { TriggerSetting } from "./trigger.ts";
import type { TreeChange } from "../tool/file-version.ts";
import type { Amounts } from "../state.ts";
import type { ZoneCause } from "../context/zone.ts";

/** Inputs that are taken up: the position of each, and its number in the inbox. */
export type Taken = readonly (readonly [seq: number, input: number])[];

export interface Called {
  readonly call: string;
  readonly tool: string;
  readonly effect: "read" | "idempotent" | "unsafe" | "session";
  readonly input: unknown;
  /**
   * `run`: it may. `ask`: a person is asked first. `deny`: a rule forbids it. `error`: it cannot run, and the
   * model is told why.
   */
  readonly verdict: "run" | "ask" | "deny" | "error";
  readonly reason?: string;
  /** What exactly runs, for a call that is asked about. */
  readonly command?: SavedCommand;
}

/** A command as an approval that is saved is held to it: text, directory and binding must be the same. */
export interface SavedCommand {
  readonly text: string;
  readonly directory: string;
  /** The binding as the log has it, with all that it gives. */
  readonly binding: unknown;
}

/** A call that is decided on as it is about to start, and why. */
export interface HeldBack {
  readonly call: string;
  readonly reason: string;
}

export interface Counted {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
  readonly estimated?: boolean;
}

export interface Zoned {
  readonly zone: "smart" | "strained" | "full";
  readonly tokens: number;
  readonly windowTokens: number;
  /** The thresholds that put the context there, with what was measured for them. */
  readonly by?: readonly ZoneCause[];
  readonly turns?: number;
  readonly ageMs?: number;
}

export type TurnCommand =
  | {
      readonly do: "begin";
      readonly inputs: Taken;
      /** What the model is offered from here on, if it is not what it was offered before. */
      readonly tools?: { readonly digest: string; readonly definitions: readonly unknown[] };
      /** For a session that names no model yet: the one it goes on with. */
      readonly model?: string;
    }
  /** The tools changed in the middle of a turn: the next step offers these. */
  | {
      readonly do: "offer";
      readonly tools: { readonly digest: string; readonly definitions: readonly unknown[] };
    }
  | {
      readonly do: "request";
      readonly model: string;
      readonly renderer: number;
      readonly context: string;
      readonly parts: number;
      readonly inputs: Taken;
      readonly reserved: Amounts;
      readonly estimatedTokens?: number;
      readonly outputTokensMax: number;
      readonly settings: unknown;
      /** What is asked after the context: for a summary. */
      readonly prompt?: string;
      readonly nowMs: number;
      /** A summary of the transcript up to this position is asked for; it is no step of a turn. */
      readonly compactTo?: number;
    }
  | {
      readonly do: "respond";
      readonly model: string;
      readonly finish: "stop" | "tool-calls" | "length" | "refusal" | "content-filter" | "other";
      readonly usage: Counted;
      readonly costNanoUsd: number | null;
      readonly blocks: readonly Block[];
      readonly calls: readonly Called[];
      readonly sent?: string;
      readonly ms?: number;
      readonly zone?: Zoned;
    }
  | {
      readonly do: "fail";
      readonly model: string;
      readonly error: string;
      readonly retryable: boolean;
      /** The request that came to nothing; by default the one in flight. */
      readonly requestSeq?: number;
      /** Null: the price is not known; without `usage`, the call was lost. */
      readonly costNanoUsd: number | null;
      readonly usage?: Counted;
      /** The most that it may have used besides. Absent: nothing, or of a lost call all that was reserved. */
      readonly unconfirmed?: Amounts;
      readonly message?: string;
      readonly partial?: string;
    }
  /** A person's answer to calls that wait for one; without calls, to all of them. */
  | {
      readonly do: "answer";
      readonly allow: boolean;
      readonly calls?: readonly string[];
      readonly reason?: string;
      /** Rules that are set with it. */
      readonly grant?: readonly Permission[];
      /** Something to tell the model with it. */
      readonly input?: Extract<AppendRecord, { readonly type: "input.received" }>;
    }
  | {
      readonly do: "start";
      readonly calls: readonly string[];
      readonly nowMs: number;
      /** Calls that a rule forbids by now: they are settled with this reason, and do not start. */
      readonly denied?: readonly HeldBack[];
      /** Calls that a rule asks about and that an approval saved before allows. */
      readonly approved?: readonly HeldBack[];
    }
  | {
      readonly do: "settle";
      readonly call: string;
      readonly status: "ok" | "error" | "unknown" | "skipped";
      readonly output?: unknown;
      readonly blocks?: readonly Block[];
      readonly detail?: unknown;
      readonly ms?: number;
      /** The outcome is unknown, and a person is to say what happened: the session is suspended with it. */
      readonly ask?: boolean;
      /** The call was settled meanwhile, by whoever ended the turn: what came of it is kept as evidence. */
      readonly late?: boolean;
      /** For a session tool: what it does, in one append with its result. */
      readonly act?:
        | Extract<Command, { readonly do: "record" | "retract" | "scratch" | "sleep" }>
        | {
            readonly do: "allot";
            readonly to: string;
            readonly amounts: Amounts;
            /** The trigger for the end of the other: the session sleeps until then. */
            readonly wait?: TriggerSetting;
          };
      /** What became of files while the call ran; written in the same append. */
      readonly changed?: readonly TreeChange[];
    }
  /** What became of files by calls that nobody waits for any more. */
  | { readonly do: "note"; readonly changed: readonly TreeChange[]; readonly cause?: number }
  | {
      readonly do: "end";
      readonly outcome: "completed" | "interrupted" | "failed" | "refused" | "length";
      /** If the session is closed with it. */
      readonly returned?: Returned;
    }
  | {
      readonly do: "compact";
      readonly fromSeq: number;
      readonly toSeq: number;
      readonly strategy: "prune" | "summarize" | "extract";
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly model?: string;
      readonly usage?: Counted;
      readonly costNanoUsd?: number | null;
      readonly summary?: string;
      readonly pruned?: readonly number[];
      /** Items that were found in the range and are recorded with it. */
      readonly items?: readonly Extract<Command, { readonly do: "record" }>[];
      readonly zone?: Zoned;
    };
