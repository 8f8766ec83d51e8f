/** Decisions on where a session goes on from: fork, rewind, checkpoints. */
import { budgetLeft } from "../budget/budget.ts";
import {
  accept,
  amountsOf,
  because,
  draft,
  forbidden,
  present,
  refuse,
  type Decisions,
  type DraftEvent,
} from "../decision.ts";
import { changedDrafts } from "../tool/file-version.ts";
import { limit } from "../limit.ts";
import * as range from "../range.ts";
import { emptyStanding, type Mind, type State } from "../state.ts";
import { carriedDrafts, endTurn, gotDrafts, pinDraft, toldDrafts } from "./lifecycle.ts";
import { erasedDraft } from "./govern.ts";
import { stillForReview, suspendForReview } from "../govern/review.ts";
import { boundDraft, grantDraft } from "./work.ts";

export const branchDecisions: Decisions<"fork" | "rewind" | "save"> = {
  fork: (state, { parentHash, by, objective, name, budget, labels, ...rest }) => {
    const { unbind = [], grant = [], got, bind = [], pin, carried, erased = [], unreviewed, told } = rest;
    if (state.seq === 0) return refuse("not-found", "there is nothing to fork yet");
    const has = [
      ...(objective === undefined ? [] : (["objective"] as const)),
      ...(name === undefined ? [] : (["name"] as const)),
    ];
    const content = has.length === 0 ? undefined : present({ objective, name });
    const born = present({ depth: rest.depth, closesWhenDone: rest.closesWhenDone });
    const body = { parent: state.standing.session, parentSeq: state.seq, parentHash, by, has, ...born };
    const own = budget === undefined ? budgetLeft(state) : amountsOf(budget);
    const limits = got === undefined ? own : {};
    const forkedSeq = state.seq + 1;
    return accept(
      draft("session.forked", body, content),
      ...erased.map((one) => erasedDraft(one)),
      ...skipped(state.mind, forkedSeq),
      ...unbind.map((one) => draft("resource.unbound", { name: one })),
      ...bind.map((one) => boundDraft(one)),
      ...(pin === undefined ? [] : [pinDraft(pin)]),
      ...carriedDrafts(carried),
      ...grant.map((one) => grantDraft(one)),
      ...(labels === undefined || Object.keys(labels).length === 0
        ? []
        : [draft("session.labeled", { set: labels })]),
      ...(Object.keys(limits).length === 0 ? [] : [draft("budget.set", { limits })]),
      ...gotDrafts(state.standing.session, got),
      ...toldDrafts(told),
      ...(unreviewed === true ? [suspendForReview()] : []),
    );
  },
  rewind: (state, { earlier, requeue = false, reason, changed = [] }, { digest }) => {
    const refusal = forbidden(state, "rewind", "be rewound");
    if (refusal !== null) return refusal;
    const ended = endTurn(state, digest, "interrupted");
    const body = { toSeq: earlier.seq, inputs: takenSince(state, earlier), requeued: requeue };
    const rewoundSeq = state.seq + ended.length + 1;
    return accept(
      ...ended,
      draft("session.rewound", body, because(reason)),
      ...skipped(earlier.mind, rewoundSeq),
      ...changedDrafts(changed, digest, { cause: rewoundSeq }),
      ...stillForReview(state),
    );
  },
  save: (state, { name, atSeq = state.seq, note }) => {
    if (/^[0-9]+$/.test(name)) {
      return refuse(
        "invalid",
        `a checkpoint cannot be called "${name}"`,
        "a number would be taken for a position",
      );
    }
    if (atSeq < 1 || atSeq > state.seq) {
      return refuse("not-found", `there is no position ${atSeq}; the session ends at ${state.seq}`);
    }
    const { checkpoints } = state.standing;
    if (!checkpoints.has(name) && checkpoints.size >= limit.checkpointsMax) {
      return refuse("refused", `a session holds at most ${limit.checkpointsMax} checkpoints`);
    }
    return (
      forbidden(state, "describe", "be given a checkpoint") ??
      accept(draft("checkpoint.saved", { name, seq: atSeq }, note === undefined ? undefined : { note }))
    );
  },
};

/**
 * Bindings that the parent had at the fork point and has lost or changed since: the fork does not take them
 * over. Its rules are compared by `rulesForFork`.
 */
export const withdrawnBindings = (point: State, now: State): string[] =>
  [...point.standing.bindings.entries()].flatMap(([name, { seq }]) =>
    now.standing.bindings.get(name)?.seq === seq ? [] : [name],
  );

/**
 * Calls without an outcome in a mind that is taken up again: they never run. What had started may well have
 * had its effect, whatever this mind knows of it.
 */
function skipped(mind: Mind, cause: number): readonly DraftEvent[] {
  return [...mind.calls.entries()].map(([call, { phase, effect }]) => {
    const status = phase === "started" && effect !== "read" ? "unknown" : "skipped";
    return draft("tool.settled", { call, status }, undefined, { cause });
  });
}

/** The inputs that were taken up since: what waited then or came later, without what waits now. */
function takenSince(now: State, earlier: State): { ranges: [number, number][]; fromSeq: number } {
  const { inbox } = now.standing;
  // A fork never had the inputs of its parent.
  const sharedSeq = now.standing.fork?.seq ?? 0;
  const before = earlier.seq > sharedSeq ? earlier.standing.inbox : emptyStanding.inbox;
  const since = range.add(before.waiting, [before.received + 1, inbox.received]);
  const ranges = range.subtract(since, inbox.waiting).map(([from, to]): [number, number] => [from, to]);
  return { ranges, fromSeq: before.fromSeq === 0 ? Math.max(earlier.seq, sharedSeq) + 1 : before.fromSeq };
}
