/**
 * What a session tool asks for: changes of the session's own log and readings of it. Each is done in one
 * append with the call's result, so that a crash can never leave one without the other.
 */
import type { ItemKind } from "../item/events.ts";
import type { Budget } from "../budget/commands.ts";
import type { MemoryScope } from "../memory/memory.ts";

/** An action of a session tool. */
export type SessionAct =
  | {
      readonly act: "record";
      readonly kind: ItemKind;
      readonly key: string;
      readonly value: unknown;
      readonly because?: string;
      readonly status?: "open" | "done" | "dropped";
    }
  | { readonly act: "retract"; readonly kind: ItemKind; readonly key: string; readonly because?: string }
  /** Puts an item that is recorded into memory, for later sessions. */
  | { readonly act: "remember"; readonly kind: ItemKind; readonly key: string; readonly scope: MemoryScope }
  /** Without a value the key is removed. */
  | { readonly act: "scratch"; readonly key: string; readonly value?: unknown }
  /** Reads a log: by position, by words, by item; or the rest of a long output. */
  | {
      readonly act: "recall";
      /** The ending of a session whose work this one carries on, in place of its own. */
      readonly session?: string;
      readonly fromSeq?: number;
      readonly toSeq?: number;
      readonly text?: string;
      readonly kind?: ItemKind;
      readonly key?: string;
      /** With `fromSeq`: the output of that call, from this character on. */
      readonly fromChar?: number;
    }
  /** A reply goes to whoever asked. */
  | {
      readonly act: "send";
      readonly to?: string;
      readonly text: string;
      readonly topic?: string;
      readonly replyTo?: string;
      /** Makes a request of it: how long a reply is waited for. */
      readonly withinMs?: number;
    }
  /** A session that knows what this one knows and does a part of the work; `wait` as for `open`. */
  | {
      readonly act: "fork";
      readonly objective: string;
      readonly name?: string;
      readonly budget?: Budget;
      readonly wait?: boolean;
    }
  /** A session of its own for a part of the work; with `wait` this one sleeps until it has ended. */
  | {
      readonly act: "open";
      readonly objective: string;
      readonly agent?: string;
      readonly name?: string;
      readonly budget?: Budget;
      readonly wait?: boolean;
    }
  | { readonly act: "sleep"; readonly untilMs?: number; readonly forMs?: number; readonly reason?: string };
