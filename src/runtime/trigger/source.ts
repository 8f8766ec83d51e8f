/**
 * A source of causes: it watches for triggers that neither time nor the session's own log covers. A worker
 * begins a watch for each such trigger and ends it when the trigger is removed.
 */
import type { TriggerKind } from "../../core/trigger/events.ts";
import type { Binding } from "../../core/tool/commands.ts";
import type { SessionId } from "../../core/ids.ts";
import type { TriggerSpec } from "../../core/trigger/trigger.ts";
import type { Deps } from "../deps.ts";

/** One watched trigger. */
export interface TriggerWatch {
  /** Null: a template of the workspace, which opens a session each time. */
  readonly session: SessionId | null;
  readonly name: string;
  /** The record that set it. */
  readonly setSeq: number;
  readonly spec: TriggerSpec;
  /** The digest of the watched thing at the last firing, or when the trigger was set. */
  readonly lastCause: string | null;
}

/** Why a trigger fires. */
export interface Cause {
  /** Of the watched thing now; or of the occurrence. */
  readonly digest: string;
  /** The digest seen before: if the log has moved on, this cause is void. Not for occurrences. */
  readonly was?: string | null;
  /** Identifies an occurrence: the same one never fires twice. */
  readonly once?: string;
  /** The input for the session. */
  readonly text: string;
  readonly detail?: unknown;
  /** How many changes were combined; absent: one. */
  readonly count?: number;
  /** Nothing more can come: this firing removes the trigger. Templates stay. */
  readonly last?: true;
}

export interface Source {
  readonly kinds: readonly TriggerKind[];
  /**
   * Inspects the watched thing when a trigger is set: rejects with `invalid` or `not-found` if it cannot be
   * watched, and returns its current digest. `bindings` are those of the session, or of the template.
   */
  prepare(
    deps: Deps,
    given: {
      readonly session: SessionId | null;
      readonly spec: TriggerSpec;
      readonly bindings: readonly Binding[];
    },
  ): Promise<{ readonly spec: TriggerSpec; readonly digest: string | null }>;
  /**
   * Watches until the signal is aborted. Calls `fire` with each cause, one after the other; it resolves to
   * the trigger's state then (its `lastCause`), or to undefined when the trigger was removed. Changes since
   * `lastCause` that happened without a watch are found at the beginning. Never rejects: what cannot be
   * watched now is retried, and reported through `trouble`.
   */
  watch(
    deps: Deps,
    watch: TriggerWatch,
    how: {
      readonly fire: (cause: Cause) => Promise<string | null | undefined>;
      readonly trouble: (text: string) => void;
      readonly signal: AbortSignal;
    },
  ): Promise<void>;
}
