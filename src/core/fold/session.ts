/** Folds of the session and lease families. */
import { Keyed } from "../sorted-map.ts";
import * as range from "../range.ts";
import type { BodyOf } from "../catalog.ts";
import type { Folds } from "../fold.ts";
import {
  emptyStanding,
  imported,
  setBack,
  type Inbox,
  type Mind,
  type Ref,
  type Standing,
  type State,
} from "../state.ts";
import type { leaseEvents, sessionEvents } from "../catalog/session.ts";

type Types = keyof typeof sessionEvents | keyof typeof leaseEvents;

/** The state with some of its standing changed. */
export const stand = (state: State, change: Partial<Standing>): State => ({
  ...state,
  standing: { ...state.standing, ...change },
});

/** The state with some of its mind changed. */
export const think = (state: State, change: Partial<Mind>): State => ({
  ...state,
  mind: { ...state.mind, ...change },
});

/** Where the content of an event stands. */
export const refOf = (event: { readonly seq: number; readonly contentHash: string | null }): Ref => ({
  seq: event.seq,
  hash: event.contentHash,
});

/** Time at work is counted up to here, if anybody is at work. */
export function worked(state: State, at: number): State {
  const { used, workedTo } = state.standing;
  if (workedTo === null) return state;
  return stand(state, { used: { ...used, wallMs: used.wallMs + at - workedTo }, workedTo: at });
}

/** The transcript reaches to this event. */
export const heard = (state: State, seq: number): State => think(state, { toSeq: seq });

/** A context begins anew: the tools that count are shown in front, and any renderer may show it. */
export const beginAnew = (state: State): State =>
  stand(state, { tools: state.standing.tools.slice(-1), renderer: null });

const waitAgain = (inbox: Inbox, ranges: range.Ranges, fromSeq: number): Inbox => ({
  ...inbox,
  waiting: range.union(inbox.waiting, ranges),
  fromSeq: inbox.fromSeq === 0 ? fromSeq : Math.min(inbox.fromSeq, fromSeq),
});

/** Older programs know no word for some of them; to those it is an error, or a person. */
function suspendedBy({ by, tail, imported: isImported }: BodyOf<"session.suspended">): string {
  if (tail !== undefined) return setBack;
  return isImported === true ? imported : by;
}

export const sessionFolds: Folds<Types> = {
  "session.opened": (state, event) => {
    const { body, at, seq } = event;
    return stand(state, {
      session: event.session,
      workspace: body.workspace,
      openedAt: at,
      parent: body.parent ?? null,
      depth: body.depth ?? 0,
      closesWhenDone: body.closesWhenDone ?? false,
      agent: body.agent === undefined ? null : { name: body.agent, version: 0, seq },
      model: body.model ?? null,
      priority: body.priority,
      labels: Keyed.from(Object.entries(body.labels ?? {})),
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
    // Whoever activates it wants the model asked again, however often that was in vain before.
    const anew = turn === null ? null : { ...turn, attempts: 0 };
    const status = turn === null ? "open" : "running";
    return stand(state, { status, turn: anew, why: null, sleep: null, unreviewed: false });
  },
  "session.suspended": (state, { body, seq }) =>
    stand(state, {
      status: "suspended",
      why: { by: suspendedBy(body), seq },
      unreviewed: state.standing.unreviewed || body.imported === true,
    }),
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
    stand(state, { status: "closed", why: { by: body.outcome, seq }, turn: null, sleep: null }),
  "session.reopened": (state) => stand(state, { status: "open", why: null }),
  "session.archived": (state, { seq }) => stand(state, { status: "archived", why: { by: "archive", seq } }),
  "session.forked": (state, event) => {
    const { body } = event;
    const { workspace, agent, model, bindings, tools, permissions, name, objective } = state.standing;
    const { lastTurn, renderer, zone, contextFrom } = state.standing;
    return {
      ...state,
      standing: {
        ...emptyStanding,
        workspace,
        agent,
        model,
        bindings,
        tools,
        permissions,
        lastTurn,
        renderer,
        zone,
        contextFrom,
        session: event.session,
        openedAt: event.at,
        fork: { parent: body.parent, seq: body.parentSeq },
        depth: body.depth ?? 0,
        closesWhenDone: body.closesWhenDone ?? false,
        name: body.has.includes("name") ? refOf(event) : name,
        objective: body.has.includes("objective") ? refOf(event) : objective,
      },
    };
  },
  "session.rewound": (state, { body, seq }, recall) => {
    const then = recall(body.toSeq);
    const lost = range.add(range.clip(then.lost, body.toSeq), [body.toSeq + 1, seq - 1]);
    const { inbox } = state.standing;
    const { ranges, fromSeq } = body.inputs;
    const requeued = !body.requeued || ranges.length === 0 ? inbox : waitAgain(inbox, ranges, fromSeq);
    const standing = {
      ...state.standing,
      inbox: requeued,
      status: "open",
      why: null,
      turn: null,
      sleep: null,
    } as const;
    return beginAnew({ ...state, mind: { ...then, lost }, standing });
  },
  "session.merged": (state, { body, seq }) =>
    heard(think(state, { bases: state.mind.bases.set(body.from, body.toSeq) }), seq),
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
      // What passed since the last record of a holder that is gone was nobody's work.
      workedTo: state.standing.turn === null ? null : at,
    }),
  "lease.released": (state) => stand(state, { lease: { held: false }, workedTo: null }),
};
