/**
 * Actions of session tools: writes to the session's own log and reads of it. Each goes in one append with the
 * call's result, so that a crash never leaves one without the other.
 */
import type { ItemKind, ItemStatus } from "../item/kind.ts";
import type { Budget } from "../budget/commands.ts";
import type { MemoryScope } from "../memory/name.ts";
import type { TicketSpec } from "../project/ticket.ts";
import type { TriggerSpec } from "../trigger/trigger.ts";

/** An action of a session tool. */
export type SessionAct =
  | {
      readonly act: "record";
      readonly kind: ItemKind;
      readonly key: string;
      readonly value: unknown;
      readonly because?: string;
      readonly status?: ItemStatus;
      readonly confidence?: number;
      readonly evidence?: readonly string[];
    }
  | { readonly act: "retract"; readonly kind: ItemKind; readonly key: string; readonly because?: string }
  /** Promotes a recorded item into memory, for later sessions. */
  | { readonly act: "remember"; readonly kind: ItemKind; readonly key: string; readonly scope: MemoryScope }
  /** Without a value the key is removed. */
  | { readonly act: "scratch"; readonly key: string; readonly value?: unknown }
  /** Reads a log: by position, by words, by item; or a text in it, by section or range. */
  | {
      readonly act: "recall";
      /** A part of what was compacted. */
      readonly node?: string;
      /** The id suffix of a predecessor, in place of this session. */
      readonly session?: string;
      readonly fromSeq?: number;
      readonly toSeq?: number;
      readonly text?: string;
      readonly kind?: ItemKind;
      readonly key?: string;
      /** With `kind`: the items after this key. */
      readonly after?: string;
      /** With `fromSeq`: a section of the text there, by name, title or number. */
      readonly section?: string;
      /** With `fromSeq`: the sections of the text there. */
      readonly outline?: boolean;
      /** With `fromSeq`, or with `kind` and `key`: the text there, starting at this character. */
      readonly fromChar?: number;
    }
  /** Searches memory, items and earlier sessions. */
  | {
      readonly act: "lookup";
      readonly text: string;
      readonly in?: "memory" | "items" | "sessions";
      readonly page?: number;
    }
  /** A reply goes to the requester. */
  | {
      readonly act: "send";
      readonly to?: string;
      readonly text: string;
      readonly topic?: string;
      readonly replyTo?: string;
      /** Makes it a request: how long to wait for a reply. */
      readonly withinMs?: number;
    }
  /** A fork that shares this session's knowledge and does a part of the work; `wait` as for `open`. */
  | {
      readonly act: "fork";
      readonly objective: string;
      readonly name?: string;
      readonly budget?: Budget;
      readonly wait?: boolean;
    }
  /** A new session for a part of the work; with `wait` this one sleeps until it has ended. */
  | {
      readonly act: "open";
      readonly objective: string;
      readonly agent?: string;
      readonly name?: string;
      readonly budget?: Budget;
      readonly wait?: boolean;
    }
  /** Proposes tickets for the plan of the project, or changes of its tickets; without any reads the plan. */
  | { readonly act: "plan"; readonly tickets?: readonly TicketSpec[]; readonly page?: number }
  /** Names this position. */
  | { readonly act: "save"; readonly name: string; readonly note?: string }
  /** Back to a checkpoint; the session is told why, and goes on there. */
  | { readonly act: "rewind"; readonly to: string; readonly because: string }
  /** What a fork or child of this session recorded. */
  | {
      readonly act: "merge";
      readonly from: string;
      readonly resolve?: Readonly<Record<string, "ours" | "theirs">>;
    }
  | { readonly act: "handoff" }
  /** Without `spec` it is removed. */
  | { readonly act: "trigger"; readonly name: string; readonly spec?: TriggerSpec }
  /** Before the next step. */
  | { readonly act: "compress"; readonly instructions?: string }
  | { readonly act: "sleep"; readonly untilMs?: number; readonly forMs?: number; readonly reason?: string };
