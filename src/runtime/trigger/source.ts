/**
 * What a source of causes is: it watches for triggers that neither time nor the session's own log tells of.
 * A worker begins a watch for each such trigger and ends it when the trigger is gone.
 */
import type { TriggerKind } from "../../core/trigger/events.ts";
import type { Binding } from "../../core/tool/commands.ts";
import type { SessionId } from "../../core/ids.ts";
import type { TriggerSpec } from "../../core/trigger/trigger.ts";
import type { Deps } from "../deps.ts";

/** One trigger to keep an eye on. */
export interface Watch {
  /** Null: a template of the workspace, which opens a session each time. */
  readonly session: SessionId | null;
  readonly name: string;
  /** The record that set it. */
  readonly setSeq: number;
  readonly spec: TriggerSpec;
  /** How what it watches was when it fired last, or when it was set. */
  readonly lastCause: string | null;
}

/** Why a trigger fires. */
export interface Cause {
  /** Of what is watched, as it is now; or of the occurrence. */
  readonly digest: string;
  /** As it was seen before: if the log says otherwise by now, this cause is void. Not for occurrences. */
  readonly was?: string | null;
  /** Of an occurrence: the same one never fires twice. */
  readonly once?: string;
  /** What the session is told. */
  readonly text: string;
  readonly detail?: unknown;
  /** How many changes came together; absent: one. */
  readonly count?: number;
  /** Nothing more can come: the trigger goes with this firing. Templates stay. */
  readonly last?: true;
}

export interface Source {
  readonly kinds: readonly TriggerKind[];
  /**
   * Looks at what is to be watched when a trigger is set: rejects with `invalid` or `not-found` if that
   * cannot be, and says how it is now. `bindings` are those of the session, or of the template.
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
   * how the trigger stands then (its `lastCause`), or to undefined when the trigger is gone. What changed
   * while nobody watched is found at the beginning, against `lastCause`. Never rejects: what cannot be
   * watched now is tried again, and told through `trouble`.
   */
  watch(
    deps: Deps,
    watch: Watch,
    how: {
      readonly fire: (cause: Cause) => Promise<string | null | undefined>;
      readonly trouble: (text: string) => void;
      readonly signal: AbortSignal;
    },
  ): Promise<void>;
}
