/** Commands: what callers request of a session. Each slice has a decision for each of its commands. */
import type { AmendCommand } from "./amend/commands.ts";
import type { BranchCommand } from "./branch/commands.ts";
import type { BudgetCommand } from "./budget/commands.ts";
import type { CheckCommand } from "./check/commands.ts";
import type { Digest } from "./chain.ts";
import type { GovernCommand } from "./govern/commands.ts";
import type { HistoryCommand } from "./history/commands.ts";
import type { ProxyCommand } from "./proxy/commands.ts";
import type { ItemCommand } from "./item/commands.ts";
import type { MessageCommand } from "./message/commands.ts";
import type { SessionCommand } from "./session/commands.ts";
import type { ToolCommand } from "./tool/commands.ts";
import type { TriggerCommand } from "./trigger/commands.ts";
import type { TurnCommand } from "./turn/commands.ts";

/** What core knows of the outside world. */
export interface Facts {
  /** The caller: `user:prn_…`, `agent:name@version`, `tool:name`, `session:id`, `system`. */
  readonly actor: string;
  readonly digest: Digest;
  /** The newest Skein that wrote to the store. */
  readonly program: string;
}

export type Command =
  | SessionCommand
  | BranchCommand
  | TurnCommand
  | ToolCommand
  | ItemCommand
  | MessageCommand
  | TriggerCommand
  | BudgetCommand
  | GovernCommand
  | HistoryCommand
  | ProxyCommand
  | CheckCommand
  | AmendCommand;

export type CommandName = Command["do"];

export type CommandOf<K extends CommandName> = Extract<Command, { readonly do: K }>;
