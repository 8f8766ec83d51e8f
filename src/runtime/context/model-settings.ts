/** The model of a run, and the settings that a request gives it. */
import { present } from "../../core/present.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import { SkeinError } from "../../core/error.ts";
import type { Settings } from "../../core/context/part.ts";
import type { Model } from "../../model/port.ts";
import type { Deps } from "../deps.ts";

/** The settings of a request. */
export function settingsFor({ name, facts }: Model, agent: AgentDefinition | null): Settings {
  const { temperature, reasoning } = agent ?? {};
  return {
    model: name,
    images: facts.images,
    ...present({ temperature, reasoning }),
  };
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
