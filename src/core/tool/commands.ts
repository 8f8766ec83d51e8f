/** Commands on tools: resource bindings, permissions, tool calls. */
import type { Command } from "../command.ts";
import type { ContentBlock } from "../schema.ts";
import type { TreeChange } from "./file-version.ts";
import type { TriggerSetting } from "../trigger/commands.ts";
import type { AppendRecord } from "../turn/commands.ts";
import type { Amounts } from "../state.ts";

/** A resource that a session may use: a directory, file, database, shell, tool or MCP server. */
export interface Binding {
  readonly kind: "file" | "directory" | "database" | "mcp" | "shell" | "tool";
  /** By default the path, the URL or the kind. */
  readonly name?: string;
  /** By default `read`. */
  readonly mode?: "read" | "write";
  readonly path?: string;
  readonly url?: string;
  readonly command?: readonly string[];
  /** Names of secrets, never their values. */
  readonly secrets?: readonly string[];
  readonly options?: unknown;
  /** Of a shell: its commands run in a sandbox, with what is bound to the session and nothing else. */
  readonly sandbox?: boolean;
  /** Of a sandboxed shell: its commands may use the network. */
  readonly network?: boolean;
}

/** A rule for tool calls: allow, ask or deny. */
export interface Permission {
  readonly tool: string;
  /** Only tools of this effect. Such a rule is a default: it applies where no other rule does. */
  readonly effect?: "unsafe";
  /** `none` takes the rule of this name away. */
  readonly rule: "allow" | "ask" | "deny" | "none";
  /** By default the tool's name. */
  readonly name?: string;
  readonly pattern?: unknown;
  readonly reason?: string;
}

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

export type ToolCommand =
  | ({ readonly do: "bind" } & Binding)
  | { readonly do: "unbind"; readonly name: string }
  | ({ readonly do: "grant" } & Permission)
  /** The tools changed in the middle of a turn: the next step offers these. */
  | {
      readonly do: "offer";
      readonly tools: { readonly digest: string; readonly definitions: readonly unknown[] };
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
      readonly blocks?: readonly ContentBlock[];
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
  | { readonly do: "note"; readonly changed: readonly TreeChange[]; readonly cause?: number };
