/** Commands on triggers. */
import type { TriggerKind } from "./events.ts";

/** A trigger that is ready to be set. */
export interface TriggerSetting {
  readonly name: string;
  readonly kind: TriggerKind;
  /** As core/trigger/trigger.ts has it, checked by the caller. */
  readonly spec: unknown;
  readonly missed?: "once" | "all" | "skip";
  readonly nextMs?: number;
  readonly digest?: string;
  readonly topic?: string;
  readonly from?: string;
}

export type TriggerCommand =
  | ({ readonly do: "trigger" } & TriggerSetting)
  | { readonly do: "untrigger"; readonly name: string }
  | {
      readonly do: "fire";
      readonly name: string;
      /** The record that set the trigger: one that was set anew since does not fire for it. */
      readonly setSeq: number;
      readonly digest: string;
      /** Of what is watched: it fires only if this is still how it was last seen. */
      readonly was?: string | null;
      readonly dueMs?: number;
      readonly nextMs?: number;
      readonly count?: number;
      /** Nothing more can come of it: it goes with this firing. */
      readonly last?: true;
      readonly detail?: unknown;
      /** What the session is told. */
      readonly text: string;
    }
  | {
      readonly do: "skip";
      readonly name: string;
      readonly setSeq: number;
      readonly dueMs: number;
      readonly count: number;
      readonly nextMs?: number;
    };
