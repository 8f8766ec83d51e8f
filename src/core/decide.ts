/**
 * Decide: from a state and a command to the records that make it so, or to a refusal. Pure. What it returns
 * is written only if the log is still where the state says it is.
 */
import type { Command, CommandName, Facts } from "./command.ts";
import { branchDecisions } from "./decide/branch.ts";
import { governDecisions } from "./decide/govern.ts";
import { mergeDecisions } from "./decide/merge.ts";
import { messageDecisions } from "./decide/message.ts";
import { moveDecisions } from "./decide/move.ts";
import { triggerDecisions } from "./decide/trigger.ts";
import { turnDecisions } from "./decide/turn.ts";
import { lifecycleDecisions } from "./decide/lifecycle.ts";
import { workDecisions } from "./decide/work.ts";
import { refuse, type Decide, type Decision, type Decisions } from "./decision.ts";
import type { State } from "./state.ts";

const decisions: Decisions<CommandName> = {
  ...lifecycleDecisions,
  ...branchDecisions,
  ...workDecisions,
  ...mergeDecisions,
  ...moveDecisions,
  ...messageDecisions,
  ...governDecisions,
  ...triggerDecisions,
  ...turnDecisions,
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
