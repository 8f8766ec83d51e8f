/** The command of an amendment. */
import type { Pin } from "../session/commands.ts";
import type { ModelSettings } from "../state.ts";
import type { Permission } from "../tool/commands.ts";

/** Model settings to change; null: the agent's own again. */
export type SettingsChange = { readonly [K in keyof ModelSettings]?: ModelSettings[K] | null };

/** What an amendment changes, in a session or in a new fork. */
export interface Amendment extends SettingsChange {
  readonly objective?: string;
  readonly instructions?: string;
  readonly constraints?: readonly string[];
  readonly because?: string;
  /** The agent, without what would allow more than before. */
  readonly pin?: Pin;
  /** Rules that keep what was denied and asked about before. */
  readonly grant?: readonly Permission[];
  readonly model?: string;
  /** What another model cannot be shown. */
  readonly left?: readonly string[];
}

export type AmendCommand = { readonly do: "amend" } & Amendment;
