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
  /** Of a shell: its commands run in a sandbox that has only the session's bindings. */
  readonly sandbox?: boolean;
  /** Of a sandboxed shell: its commands may use the network. */
  readonly network?: boolean;
}

/** A rule for tool calls: allow, ask or deny. */
export interface Permission {
  readonly tool: string;
  /** Only tools of this effect. Such a rule is a default: it applies if no other rule does. */
  readonly effect?: "unsafe";
  /** `none` removes the rule of this name. */
  readonly rule: "allow" | "ask" | "deny" | "none";
  /** By default the tool's name. */
  readonly name?: string;
  readonly pattern?: unknown;
  readonly reason?: string;
}

export interface ToolCallDraft {
  readonly call: string;
  readonly tool: string;
  readonly effect: "read" | "idempotent" | "unsafe" | "session";
  readonly input: unknown;
  /**
   * `run`: it may run. `ask`: a person must approve it. `deny`: a rule forbids it. `error`: it cannot run,
   * and the model gets the reason.
   */
  readonly verdict: "run" | "ask" | "deny" | "error";
  readonly reason?: string;
  /** The exact command, for a call that needs approval. */
  readonly command?: SavedCommand;
  /** Of an external call: until when its outcome is awaited. */
  readonly deadlineMs?: number;
}

/** The command of a saved approval: text, directory and binding must be the same. */
export interface SavedCommand {
  readonly text: string;
  readonly directory: string;
  /** The binding as the log stores it, with all its fields. */
  readonly binding: unknown;
}

/** A call that is held back just before it starts, and the reason. */
export interface HeldBack {
  readonly call: string;
  readonly reason: string;
}

export type ToolCommand =
  | ({ readonly do: "bind" } & Binding)
  | { readonly do: "unbind"; readonly name: string }
  | ({ readonly do: "grant" } & Permission)
  /** The tools changed during a turn: the next step offers these. */
  | {
      readonly do: "offer";
      readonly tools: { readonly digest: string; readonly definitions: readonly unknown[] };
    }
  /** A person's answer to calls that wait for approval; without calls, to all of them. */
  | {
      readonly do: "answer";
      readonly allow: boolean;
      readonly calls?: readonly string[];
      readonly reason?: string;
      /** Rules to set with it. */
      readonly grant?: readonly Permission[];
      /** A message for the model. */
      readonly input?: Extract<AppendRecord, { readonly type: "input.received" }>;
    }
  | {
      readonly do: "start";
      readonly calls: readonly string[];
      readonly nowMs: number;
      /** Calls that a rule now forbids: they are settled with this reason, and do not start. */
      readonly denied?: readonly HeldBack[];
      /** Calls that need approval and that a saved approval allows. */
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
      /** The outcome is unknown, and a person must say what happened: the session is suspended with it. */
      readonly ask?: boolean;
      /** The call was already settled when its turn was ended: the result is kept as evidence. */
      readonly late?: boolean;
      /** The outcome of an external call, reported from outside: its result is untrusted. */
      readonly outside?: boolean;
      /** For a session tool: its action, in one append with its result. */
      readonly act?:
        | Extract<
            Command,
            {
              readonly do:
                | "record"
                | "retract"
                | "scratch"
                | "sleep"
                | "save"
                | "merge"
                | "trigger"
                | "untrigger";
            }
          >
        | {
            readonly do: "allot";
            readonly to: string;
            readonly amounts: Amounts;
            /** The trigger for the end of the other session: this one sleeps until then. */
            readonly wait?: TriggerSetting;
          };
      /** File changes during the call; recorded in the same append. */
      readonly changed?: readonly TreeChange[];
    }
  /** File changes by calls that are no longer awaited. */
  | { readonly do: "note"; readonly changed: readonly TreeChange[]; readonly cause?: number };
