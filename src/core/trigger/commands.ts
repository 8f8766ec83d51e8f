/** Commands on triggers. */
import type { LoadedDocument } from "../session/commands.ts";
import type { TriggerKind } from "./events.ts";
import type { Reaction } from "./trigger.ts";

/** A document that was loaded again, and how it differs. */
export interface ReloadedDocument extends LoadedDocument {
  /** The digest of the one before. */
  readonly supersedes: string;
  readonly diff: string;
}

/** A prepared trigger. */
export interface TriggerSetting {
  readonly name: string;
  readonly kind: TriggerKind;
  /** As in core/trigger/trigger.ts, validated by the caller. */
  readonly spec: unknown;
  readonly missed?: "once" | "all" | "skip";
  readonly nextMs?: number;
  readonly digest?: string;
  readonly topic?: string;
  readonly from?: string;
  /** Where a session before this one had set it first. */
  readonly origin?: { readonly session: string; readonly seq: number };
}

export type TriggerCommand =
  | ({ readonly do: "trigger" } & TriggerSetting)
  | { readonly do: "untrigger"; readonly name: string }
  | {
      readonly do: "fire";
      readonly name: string;
      /** The record that set the trigger: a trigger that was set again since does not fire for it. */
      readonly setSeq: number;
      readonly digest: string;
      /** Of a watched value: fires only if this is still the last seen one. */
      readonly was?: string | null;
      readonly dueMs?: number;
      readonly nextMs?: number;
      readonly count?: number;
      /** It cannot fire again: it is removed with this firing. */
      readonly last?: true;
      readonly detail?: unknown;
      /** The input for the session. */
      readonly text: string;
      /** A source changed; absent: the session gets the input, and wakes. */
      readonly react?: Reaction;
      /** The documents that the change supersedes. */
      readonly documents?: readonly ReloadedDocument[];
      /** For the context, where no document says it. */
      readonly note?: string;
    }
  /** A person reloads documents; `fresh` are the triggers that had marked them. */
  | {
      readonly do: "reload";
      readonly documents: readonly ReloadedDocument[];
      readonly fresh: readonly string[];
    }
  | {
      readonly do: "skip";
      readonly name: string;
      readonly setSeq: number;
      readonly dueMs: number;
      readonly count: number;
      readonly nextMs?: number;
    };
