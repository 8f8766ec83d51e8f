/**
 * Prepares a run: reads the state of a session once, with its agent and model, and passes them on. A later
 * change (another agent, another model) is resolved again where it is found.
 */
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Model } from "../../model/port.ts";
import { modelOf } from "../context/model-settings.ts";
import type { Deps } from "../deps.ts";
import { agentOf, type SessionAgent } from "../workspace/session-agent.ts";

export interface PreparedRun {
  readonly state: State;
  readonly agent: SessionAgent;
  /** Null: not resolved yet. An idle session needs none, and an engine may have none. */
  readonly model: Model | null;
}

/** The session at its head, with its agent. */
export async function prepareRun(deps: Deps, session: SessionId): Promise<PreparedRun> {
  const state = await deps.writer.current(session);
  return { state, agent: await agentOf(deps, session, state), model: null };
}

/** With its model too: throws what is missing for a run, before anything is written. */
export async function prepareAsk(deps: Deps, session: SessionId): Promise<PreparedRun> {
  const run = await prepareRun(deps, session);
  return { ...run, model: await modelIn(deps, run) };
}

const modelIn = (deps: Deps, { state, agent: { agent } }: PreparedRun): Promise<Model> =>
  modelOf(deps, state.standing.model ?? agent?.model);

/** The same run at a later state. */
export async function advanceRun(
  deps: Deps,
  session: SessionId,
  before: PreparedRun,
  state: State,
): Promise<PreparedRun> {
  if (!hasSameAgent(before.state, state))
    return { state, agent: await agentOf(deps, session, state), model: null };
  const isSameModel = before.state.standing.model === state.standing.model;
  return { state, agent: before.agent, model: isSameModel ? before.model : null };
}

/** The same run at a later state, with its model. */
export async function resolveRun(
  deps: Deps,
  session: SessionId,
  before: PreparedRun,
  state: State,
): Promise<PreparedRun & { readonly model: Model }> {
  const run = await advanceRun(deps, session, before, state);
  return { ...run, model: run.model ?? (await modelIn(deps, run)) };
}

/** True when two states of a session have the same agent, pinned at the same position, and settings. */
export const hasSameAgent = (one: State, other: State): boolean =>
  one.standing.agent?.seq === other.standing.agent?.seq &&
  one.standing.agent?.version === other.standing.agent?.version &&
  JSON.stringify(one.standing.settings) === JSON.stringify(other.standing.settings);
