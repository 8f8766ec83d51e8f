/** The request for a new session, from the typed values. */
import { present } from "../../core/present.ts";
import type { RemoteEngine } from "../../client/connect.ts";
import { labelsOf } from "./sessions/filter.ts";
import { labelTrouble } from "./sessions/filter-warnings.ts";

/** As typed; empty is left out. */
export interface OpeningFields {
  readonly objective: string;
  readonly agent: string;
  readonly model: string;
  readonly name: string;
  readonly labels: string;
  readonly priority: string;
  readonly usd: string;
  readonly steps: string;
  readonly first: string;
}

/** The agent and model of the last session opened here. */
export interface LastChoice {
  readonly agent: string;
  readonly model: string;
}

const nothing: LastChoice = { agent: "", model: "" };

/** From browser storage, which may hold anything. */
export function lastUsed(kept: string | null): LastChoice {
  let value: unknown;
  try {
    value = JSON.parse(kept ?? "null");
  } catch {
    return nothing;
  }
  const { agent, model } = (typeof value === "object" && value !== null ? value : {}) as Partial<
    Record<keyof LastChoice, unknown>
  >;
  return {
    agent: typeof agent === "string" ? agent : "",
    model: typeof model === "string" ? model : "",
  };
}

export const fieldsOf = ({ agent, model }: LastChoice): OpeningFields => ({
  objective: "",
  agent,
  model,
  name: "",
  labels: "",
  priority: "",
  usd: "",
  steps: "",
  first: "",
});

type OpenParams = Parameters<RemoteEngine["open"]>[0];

/** Unsafe tools ask in sessions opened here; the agent's rules come first. */
export const askFirst = {
  name: "unsafe",
  tool: "*",
  effect: "unsafe",
  rule: "ask",
  reason: "unsafe tools ask by default",
} as const;

export function openingOf(fields: OpeningFields): OpenParams {
  const [agent, model, name] = [fields.agent.trim(), fields.model.trim(), fields.name.trim()];
  const trouble = labelTrouble(fields.labels);
  if (trouble !== null) throw new Error(trouble);
  const labels = labelsOf(fields.labels);
  const [priority, usd, steps] = [fields.priority, fields.usd, fields.steps].map(numberOf);
  const budget = {
    ...present({ usd, steps }),
  };
  return {
    objective: fields.objective.trim(),
    grant: [askFirst],
    ...(agent === "" ? {} : { agent }),
    ...(model === "" ? {} : { model }),
    ...(name === "" ? {} : { name }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...present({ priority }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
  };
}

const numberOf = (text: string): number | undefined => (text.trim() === "" ? undefined : Number(text));
