/** Folds of branches: forks, rewinds, checkpoints, merges, handoffs. */
import { staleChecks } from "../check/check.ts";
import type { branchEvents } from "./events.ts";
import { settleCall } from "../budget/fold.ts";
import * as range from "../range.ts";
import { type Folds, beginAnew, heard, refOf, stand, think } from "../state-change.ts";
import { type Inbox, emptyStanding } from "../state.ts";

export const branchFolds: Folds<keyof typeof branchEvents> = {
  "session.forked": (state, event) => {
    const { body } = event;
    const { workspace, agent, model, bindings, tools, permissions, name, objective } = state.standing;
    const { project, lastTurn, renderer, plan, zone, zoneCauses, zoneCrossing, contextFrom } = state.standing;
    const { texts, settings, front } = state.standing;
    return {
      ...state,
      standing: {
        ...emptyStanding,
        workspace,
        project,
        agent,
        texts,
        settings,
        front,
        model,
        bindings,
        tools,
        permissions,
        lastTurn,
        renderer,
        plan,
        zone,
        zoneCauses,
        zoneCrossing,
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
      checks: staleChecks(state.standing.checks),
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
  "checkpoint.saved": (state, { body }) =>
    stand(state, { checkpoints: state.standing.checkpoints.set(body.name, body.seq) }),
  "handoff.written": (state, event) => {
    const handoff = { ...refOf(event), toSeq: event.body.toSeq ?? event.seq };
    return settleCall(stand(state, { handoff }), "handoff.written", event.body);
  },
};

const waitAgain = (inbox: Inbox, ranges: range.Ranges, fromSeq: number): Inbox => ({
  ...inbox,
  waiting: range.union(inbox.waiting, ranges),
  fromSeq: inbox.fromSeq === 0 ? fromSeq : Math.min(inbox.fromSeq, fromSeq),
});
