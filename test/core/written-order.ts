/**
 * The order in which golden logs and the fixed hash of the mind write one event of each type. It is frozen,
 * because hashes depend on it; the order of the catalog may change. A new type comes last by itself.
 */
import {
  projectCatalog,
  sessionCatalog,
  workspaceCatalog,
  type ProjectEventType,
  type SessionEventType,
  type WorkspaceEventType,
} from "../../src/core/catalog.ts";

const frozen = (
  "session.opened session.renamed session.labeled session.prioritized session.activated " +
  "session.suspended session.slept session.woken session.interrupted session.closed session.reopened " +
  "session.archived session.forked session.rewound session.merged session.migrated session.moved " +
  "session.arrived lease.taken lease.released agent.pinned document.loaded memory.carried " +
  "resource.bound resource.unbound resource.changed tools.bound permission.set contract.declared " +
  "turn.started turn.ended input.received model.requested model.responded model.failed zone.crossed " +
  "tool.requested tool.approved tool.denied tool.started tool.settled item.recorded item.retracted " +
  "scratch.set transcript.compacted checkpoint.saved handoff.written message.sent message.delivered " +
  "message.received message.refused trigger.set trigger.removed trigger.fired trigger.skipped " +
  "budget.set budget.allotted budget.reached content.erased hold.set hold.lifted score.recorded " +
  "agent.defined memory.promoted memory.forgotten policy.set approval.saved approval.revoked " +
  "session.deleted token.issued token.revoked hook.set hook.removed hook.delivered hook.abandoned " +
  "heads.listed heads.accepted"
).split(" ");

function ordered<T extends string>(catalog: Readonly<Record<T, unknown>>): readonly T[] {
  const types = Object.keys(catalog) as T[];
  const old = frozen.flatMap((name) => types.filter((type) => type === name));
  return [...old, ...types.filter((type) => !frozen.includes(type))];
}

export const sessionTypes: readonly SessionEventType[] = ordered(sessionCatalog);
export const workspaceTypes: readonly WorkspaceEventType[] = ordered(workspaceCatalog);
export const projectTypes: readonly ProjectEventType[] = ordered(projectCatalog);
