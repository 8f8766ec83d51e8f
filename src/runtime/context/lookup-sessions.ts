/**
 * The earlier sessions that a session may look into: none, unless its agent says so; then those that the same
 * person opened, of the same agent or of all. Another person's sessions never.
 */
import type { SessionId } from "../../core/ids.ts";
import { memorySessions } from "../../core/memory/choice.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { readOne } from "../read/event-cache.ts";
import { stateNow } from "../read/state-now.ts";
import { principalOf } from "../workspace/memory-follow.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { readersOf } from "./memory-changes.ts";

/** Sessions that are looked at for one lookup, the most recently active first; and searched. */
const listedMax = 100;
const searchedMax = 30;

/** By id; null: none is permitted. */
export async function sessionPermission(
  deps: Deps,
  session: SessionId,
  state: State,
): Promise<{
  readonly agent: string | undefined;
  readonly mayRead: (other: SessionId) => Promise<boolean>;
} | null> {
  const { agent: definition, agentUnknown } = await agentOf(deps, session, state);
  const which = agentUnknown ? "none" : memorySessions(definition);
  const { user, agent } = await readersOf(deps, session, state);
  if (which === "none" || user === null) return null;
  const mayRead = async (other: SessionId): Promise<boolean> => {
    if (other === session || (await openerOf(deps, other)) !== user) return false;
    const { standing } = await stateNow(deps, other);
    return !standing.unreviewed && (which === "user" || standing.agent?.name === agent);
  };
  return { agent: which === "agent" ? (agent ?? undefined) : undefined, mayRead };
}

/** Those that may be read, as far as they are searched. */
export async function permittedSessions(
  deps: Deps,
  session: SessionId,
  state: State,
): Promise<readonly SessionId[]> {
  const permission = await sessionPermission(deps, session, state);
  if (permission === null) return [];
  const { agent, mayRead } = permission;
  const { rows } = await deps.store.list(agent === undefined ? {} : { agent }, { limit: listedMax });
  const permitted: SessionId[] = [];
  for (const row of rows) {
    if (permitted.length === searchedMax) break;
    if (await mayRead(row.session)) permitted.push(row.session);
  }
  return permitted;
}

/** The person who opened or forked it; null if a program did. */
async function openerOf(deps: Deps, session: SessionId): Promise<string | null> {
  const head = await deps.store.head(session);
  if (head === undefined) return null;
  const first = await readOne(deps, session, head.parent === null ? 1 : head.parent.seq + 1);
  return principalOf(first?.actor ?? "");
}
