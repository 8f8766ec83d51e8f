/** The model of a run, and the settings that a request gives it. */
import { present } from "../../core/present.ts";
import { agentRules, type AgentDefinition } from "../../core/workspace/agent.ts";
import type { Planning } from "../../core/context/plan.ts";
import { windowTokensDefault } from "../../core/context/tiers.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { SkeinError } from "../../core/error.ts";
import type { Settings } from "../../core/context/part.ts";
import type { Model } from "../../model/port.ts";
import type { Deps } from "../deps.ts";

/** The settings of a request. */
export function settingsFor(
  { name, facts }: Model,
  agent: AgentDefinition | null,
  { standing }: Pick<State, "standing">,
): Settings {
  const { temperature, reasoning } = { ...agent, ...standing.settings };
  return {
    model: name,
    images: facts.images,
    ...present({ temperature, reasoning }),
  };
}

/** What contexts of a session are planned for; of a model that is unknown here, the usual window. */
export async function planningFor(
  deps: Deps,
  session: SessionId,
  state: State,
  model?: string,
  given?: number,
): Promise<Planning> {
  const { agent } = await agentOf(deps, session, state);
  const name = model ?? state.standing.model ?? agent?.model;
  const known = async (): Promise<number> => (await modelOf(deps, name)).facts.windowTokens;
  const windowTokens = given ?? (await known().catch(() => windowTokensDefault));
  return { windowTokens, shares: agentRules(agent).shares };
}

export async function modelOf(deps: Deps, name: string | undefined): Promise<Model> {
  if (deps.models === undefined) {
    throw new SkeinError("unavailable", "no models are configured", {
      hint: "pass the option models to openEngine",
    });
  }
  const models = await deps.models();
  return models.model(name ?? models.byDefault);
}
