/**
 * Decide: turns a state and a command into records to append, or a refusal. Pure. The records are appended
 * only if the log still ends where the state says.
 */
import type { Command, CommandName, Facts } from "./command.ts";
import { sessionDecisions } from "./session/decide.ts";
import { branchDecisions } from "./branch/decide.ts";
import { turnDecisions } from "./turn/decide.ts";
import { toolDecisions } from "./tool/decide.ts";
import { itemDecisions } from "./item/decide.ts";
import { messageDecisions } from "./message/decide.ts";
import { triggerDecisions } from "./trigger/decide.ts";
import { budgetDecisions } from "./budget/decide.ts";
import { governDecisions } from "./govern/decide.ts";
import { historyDecisions } from "./history/decide.ts";
import { proxyDecisions } from "./proxy/decide.ts";
import { checkDecisions } from "./check/decide.ts";
import { amendDecisions } from "./amend/decide.ts";
import { refuse, type Decide, type Decision, type Decisions } from "./decision.ts";
import type { State } from "./state.ts";

const decisions: Decisions<CommandName> = {
  ...sessionDecisions,
  ...branchDecisions,
  ...turnDecisions,
  ...toolDecisions,
  ...itemDecisions,
  ...messageDecisions,
  ...triggerDecisions,
  ...budgetDecisions,
  ...governDecisions,
  ...historyDecisions,
  ...proxyDecisions,
  ...checkDecisions,
  ...amendDecisions,
};

export function decide(state: State, command: Command, facts: Facts): Decision {
  const { newer } = state.standing;
  if (newer !== null) {
    return refuse(
      "refused",
      `the session is read-only: a newer Skein wrote record ${newer.seq} (${newer.type} version ${newer.v})`,
      `open it with Skein ${facts.program} or later`,
    );
  }
  // The table is keyed by the command's own name, which TypeScript cannot follow through the index.
  const one = decisions[command.do] as Decide<CommandName>;
  return one(state, command, facts);
}
