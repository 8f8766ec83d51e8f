/** Uncompress: undoes a compaction without a rewind. The context shows its range again, as it was before. */
import { isOverfull } from "../../core/compaction/plan.ts";
import type { Command } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { beginAnew, think } from "../../core/state-change.ts";
import type { State } from "../../core/state.ts";
import { withoutOverlay } from "../../core/turn/fold.ts";
import type { ZoneChange } from "../../core/turn/commands.ts";
import { agentRules } from "../../core/workspace/agent.ts";
import { readZone } from "../../core/context/zone.ts";
import { count } from "../../core/text/number-format.ts";
import type { Deps } from "../deps.ts";
import { nextContext } from "../context/context-reader.ts";
import { modelOf, settingsFor } from "../context/model-settings.ts";
import { agentOf } from "../workspace/session-agent.ts";

/** Options of `session.uncompress`. */
export interface UncompressOptions {
  /** The position of its `transcript.compacted`; by default the newest one in the context. */
  readonly overlay?: number;
  readonly reason?: string;
}

/** The command for it. Refused if the model's window could not hold the longer context. */
export async function uncompressCommand(
  deps: Deps,
  session: SessionId,
  state: State,
  { overlay = state.mind.overlays.at(-1)?.seq, reason }: UncompressOptions,
): Promise<Command> {
  if (overlay === undefined) {
    throw new SkeinError("refused", "uncompress: nothing in the context is compacted");
  }
  // The decision refuses a compaction outside the context.
  const isShown = state.mind.overlays.some(({ seq }) => seq === overlay);
  const zone = isShown ? await zoneWithout(deps, session, state, overlay) : undefined;
  const why = reason === undefined ? {} : { reason };
  return { do: "lift-overlay", overlay, ...why, ...(zone === undefined ? {} : { zone }) };
}

async function zoneWithout(
  deps: Deps,
  session: SessionId,
  state: State,
  overlay: number,
): Promise<ZoneChange | undefined> {
  const { agent } = await agentOf(deps, session, state);
  const model = await modelOf(deps, state.standing.model ?? agent?.model).catch(() => null);
  // Without its model the session cannot run; the next run compacts again if it must.
  if (model === null) return undefined;
  const before = await deps.states.at(session, overlay - 1);
  const uncovered = beginAnew(think(state, withoutOverlay(state.mind, overlay, before.mind)));
  const settings = settingsFor(model, agent, state);
  const { parts } = await nextContext(deps, session, { state: uncovered, settings, inputs: [] });
  const { tokens } = await deps.tokenizer.estimate(parts);
  const { windowTokens, effective } = model.facts;
  const { compaction, zones } = agentRules(agent, effective?.tokens);
  if (isOverfull(tokens, windowTokens, compaction)) {
    const most = count(Math.floor(compaction.atShare * windowTokens));
    const longer = `the context would have ${count(tokens)} tokens`;
    throw new SkeinError("refused", `uncompress: ${longer}, and ${model.name} compacts at ${most}`, {
      hint: "migrate to a model with a larger window first, or open single parts with stages",
    });
  }
  const reading = readZone({ tokens: Math.ceil(tokens), windowTokens, turns: 0, ageMs: 0 }, zones);
  return { ...reading, policy: zones };
}
