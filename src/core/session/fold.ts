/** Folds of a session: its life, its lease, where it lives and what it starts with. */
import type { BodyOf } from "../catalog.ts";
import type { sessionEvents } from "./events.ts";
import { releaseDraw } from "../project/budget.ts";
import { SortedMap } from "../sorted-map.ts";
import { type Folds, beginAnew, heard, refOf, stand, think } from "../state-change.ts";
import { imported, rolledBackReason, type State } from "../state.ts";

export const sessionFolds: Folds<keyof typeof sessionEvents> = {
  "session.opened": (state, event) => {
    const { body, at, seq } = event;
    return stand(state, {
      session: event.session,
      workspace: body.workspace,
      openedAt: at,
      first: body.first ?? null,
      project: body.project ?? null,
      parent: body.parent ?? null,
      depth: body.depth ?? 0,
      closesWhenDone: body.closesWhenDone ?? false,
      agent: body.agent === undefined ? null : { name: body.agent, version: 0, seq },
      model: body.model ?? null,
      priority: body.priority,
      labels: SortedMap.from(Object.entries(body.labels ?? {})),
      objective: body.has.includes("objective") ? refOf(event) : null,
      name: body.has.includes("name") ? refOf(event) : null,
      expiresAfterIdleMs: body.expiresAfterIdleMs ?? null,
      contextFrom: { turn: 0, at },
    });
  },
  "session.renamed": (state, event) => stand(state, { name: refOf(event) }),
  "session.labeled": (state, { body }) => {
    let labels = state.standing.labels;
    for (const key of body.remove ?? []) labels = labels.delete(key);
    for (const [key, value] of Object.entries(body.set ?? {})) labels = labels.set(key, value);
    return stand(state, { labels });
  },
  "session.prioritized": (state, { body }) => stand(state, { priority: body.priority }),
  "session.activated": (state) => {
    const { turn } = state.standing;
    // A person who activates it wants the model called again, however often it has failed.
    const anew = turn === null ? null : { ...turn, attempts: 0 };
    const status = turn === null ? "open" : "running";
    return stand(state, { status, turn: anew, why: null, sleep: null, unreviewed: false });
  },
  "session.suspended": (state, { body, seq }) => {
    const next = stand(state, {
      status: "suspended",
      why: { by: suspendedBy(body), seq },
      unreviewed: state.standing.unreviewed || body.imported === true,
    });
    // It waits for a person: meanwhile others may use what it has not.
    return body.by === "budget" ? released(next) : next;
  },
  "session.slept": (state, { body, seq }) =>
    stand(state, {
      status: state.standing.turn === null ? "sleeping" : state.standing.status,
      sleep: { untilMs: body.untilMs ?? null, triggers: body.triggers ?? [] },
      why: state.standing.turn === null ? { by: "sleep", seq } : state.standing.why,
    }),
  "session.woken": (state, { body, seq }) =>
    stand(state, { status: "open", why: { by: body.by, seq }, sleep: null }),
  "session.interrupted": (state) => {
    const { turn } = state.standing;
    return turn === null ? state : stand(state, { turn: { ...turn, interrupted: true } });
  },
  "session.closed": (state, { body, seq }) =>
    released(stand(state, { status: "closed", why: { by: body.outcome, seq }, turn: null, sleep: null })),
  /** Its queue goes with it: reopened, it answers nothing twice. */
  "session.continued": (state, { body }) =>
    stand(state, {
      next: body.to,
      inbox: { ...state.standing.inbox, waiting: [], fromSeq: 0 },
      requests: SortedMap.empty(),
      asked: SortedMap.empty(),
    }),
  "session.split": (state) => state,
  /** Its address is its own again. */
  "session.reopened": (state) => stand(state, { status: "open", why: null, next: null, first: null }),
  "session.archived": (state, { seq }) => stand(state, { status: "archived", why: { by: "archive", seq } }),
  "session.migrated": (state, { body }) => beginAnew(stand(state, { model: body.to })),
  "session.moved": (state, { seq }) =>
    stand(state, { status: "moved", movedFrom: state.standing.status, why: { by: "move", seq } }),
  "session.arrived": (state, { body }) =>
    stand(state, {
      unreviewed: state.standing.unreviewed || body.untrusted === true,
      status: state.standing.movedFrom ?? "open",
      movedFrom: null,
      why: null,
      lease: { held: false },
      workedTo: null,
    }),
  "lease.taken": (state, { body, seq, at }) =>
    stand(state, {
      lease: { held: true, holder: body.holder, epoch: seq, leaseMs: body.leaseMs },
      // The time since the last record of a dead holder is not work.
      workedTo: state.standing.turn === null ? null : at,
    }),
  "lease.released": (state) => stand(state, { lease: { held: false }, workedTo: null }),
  "agent.pinned": (state, { body, seq }) => {
    const { front } = state.standing;
    const agent = { name: body.agent, version: body.version, seq };
    return stand(state, { agent, front: front && { ...front, agent } });
  },
  "document.loaded": (state, event) => {
    const { kind, digest, supersedes } = event.body;
    if (supersedes === undefined && state.mind.documents.has(digest)) return state;
    const kept = supersedes === undefined ? state.mind.documents : state.mind.documents.delete(supersedes);
    const next = think(state, { documents: kept.set(digest, { kind, ...refOf(event) }) });
    return supersedes === undefined ? next : heard(next, event.seq);
  },
};

/** Older programs lack some of the causes and record an error, or a person. */
/** What it has drawn from its project and not used goes back. */
const released = (state: State): State => ({ ...state, standing: releaseDraw(state.standing) });

function suspendedBy({ by, tail, imported: isImported }: BodyOf<"session.suspended">): string {
  if (tail !== undefined) return rolledBackReason;
  return isImported === true ? imported : by;
}
