/** The agent definition that a session runs with, as its log names it. */
import { isStoredAgent, type AgentDefinition } from "../../core/workspace/agent.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";

export interface SessionAgent {
  readonly agent: AgentDefinition | null;
  /** An agent is pinned, and its definition was erased or is of a newer program. */
  readonly agentUnknown: boolean;
  /** `agent:name@version`: the actor of the model's records. */
  readonly actor: string;
}

/** The agent as the session pinned it. */
export async function agentOf(
  { store }: Deps,
  session: SessionId,
  { standing }: State,
): Promise<SessionAgent> {
  const { agent } = standing;
  const actor = `agent:${agent?.name ?? "default"}@${agent?.version ?? 0}`;
  if (agent === null || agent.version === 0) return { agent: null, actor, agentUnknown: false };
  const content = (await readContent(store, session, agent.seq)) as { definition?: unknown } | undefined;
  const definition = content?.definition;
  // An erased definition, or one of another version of Skein, leaves the session with the defaults; but its
  // denies are unknown too.
  const isKnown = isStoredAgent(definition);
  return { agent: isKnown ? definition : null, actor, agentUnknown: !isKnown };
}
