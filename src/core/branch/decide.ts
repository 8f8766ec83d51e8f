/** Decisions on branches: forks, rewinds, checkpoints, merges, handoffs. */
import type { BranchCommand } from "./commands.ts";
import type { MergeWrite } from "./merge.ts";
import { amendDrafts } from "../amend/decide.ts";
import { budgetLeft } from "../budget/budget.ts";
import { gotDrafts } from "../budget/decide.ts";
import type { CommandOf } from "../command.ts";
import {
  type Decisions,
  type DraftEvent,
  accept,
  amountsOf,
  because,
  draft,
  forbidden,
  refuse,
} from "../decision.ts";
import { present } from "../present.ts";
import { erasedDraft } from "../govern/decide.ts";
import { forkReason, stillForReview, suspendForReview } from "../govern/review.ts";
import { carriedDrafts } from "../item/decide.ts";
import { itemKey } from "../item/fold.ts";
import { defaultStatus } from "../item/kind.ts";
import { limit } from "../limit.ts";
import * as range from "../range.ts";
import { isTimeWord } from "../text/time-word.ts";
import { pinDraft } from "../session/decide.ts";
import { type Mind, type State, emptyStanding } from "../state.ts";
import { boundDraft, grantDraft } from "../tool/drafts.ts";
import { changedDrafts } from "../tool/file-version.ts";
import { endTurn, firstInputDrafts, inputDraft } from "../turn/drafts.ts";

export const branchDecisions: Decisions<BranchCommand["do"]> = {
  fork: (state, { parentHash, by, objective, name, budget, labels, ...rest }) => {
    const {
      unbind = [],
      grant = [],
      got,
      bind = [],
      pin,
      amendment,
      carried,
      erased = [],
      unreviewed,
      firstInput,
    } = rest;
    if (state.seq === 0) return refuse("not-found", "fork: the session is empty", "send it a first input");
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
      ...(amendment === undefined ? [] : amendDrafts(asForked(state), amendment)),
      ...carriedDrafts(carried),
      ...grant.map((one) => grantDraft(one)),
      ...(labels === undefined || Object.keys(labels).length === 0
        ? []
        : [draft("session.labeled", { set: labels })]),
      ...(Object.keys(limits).length === 0 ? [] : [draft("budget.set", { limits })]),
      ...gotDrafts(state.standing.session, got),
      ...firstInputDrafts(firstInput),
      ...(unreviewed === true ? [suspendForReview(forkReason)] : []),
    );
  },
  rewind: (state, { earlier, requeue = false, reason, told, changed = [] }, { digest }) => {
    const isOwn = told !== undefined && state.standing.status === "running";
    const refusal = isOwn ? null : forbidden(state, "rewind", "be rewound");
    if (refusal !== null) return refusal;
    const ended = endTurn(state, digest, "interrupted", true);
    const body = { toSeq: earlier.seq, inputs: takenSince(state, earlier), requeued: requeue };
    const rewoundSeq = state.seq + ended.length + 1;
    return accept(
      ...ended,
      draft("session.rewound", body, because(reason)),
      ...skipped(earlier.mind, rewoundSeq),
      ...changedDrafts(changed, digest, { cause: rewoundSeq }),
      ...(told === undefined
        ? []
        : [
            inputDraft(
              { type: "input.received", from: "system", text: told },
              state.standing.inbox.received + 1,
            ),
          ]),
      ...stillForReview(state),
    );
  },
  save: (state, { name, atSeq = state.seq, note }) => {
    if (/^[0-9]+$/.test(name)) {
      return refuse(
        "invalid",
        `checkpoint: name: expected a word, got the number "${name}"`,
        "numbers name positions; choose a name such as before-deploy",
      );
    }
    if (isTimeWord(name)) {
      return refuse(
        "invalid",
        `checkpoint: name: expected a word, got the time "${name}"`,
        "times name positions; choose a name such as before-deploy",
      );
    }
    if (atSeq < 1 || atSeq > state.seq) {
      return refuse(
        "not-found",
        `checkpoint: position ${atSeq} does not exist; the session ends at ${state.seq}`,
      );
    }
    const { checkpoints } = state.standing;
    if (!checkpoints.has(name) && checkpoints.size >= limit.checkpointsMax) {
      return refuse("refused", `a session holds at most ${limit.checkpointsMax} checkpoints`);
    }
    return (
      forbidden(state, "describe", "take a checkpoint") ??
      accept(draft("checkpoint.saved", { name, seq: atSeq }, note === undefined ? undefined : { note }))
    );
  },
  merge: (state, command) => {
    const refusal = forbidden(state, "write", "merge another session");
    if (refusal !== null) return refusal;
    const { from, writes, note } = command;
    if (from === state.standing.session)
      return refuse(
        "invalid",
        "merge: from: expected another session, got the target itself",
        "name a fork of this session, or the session that it was forked from",
      );
    const { items } = state.mind;
    const nameOf = ({ kind, key }: MergeWrite): string => itemKey(kind, key);
    const missing = writes.find((write) => write.write === "retract" && !items.has(nameOf(write)));
    if (missing !== undefined)
      return refuse(
        "not-found",
        `there is no ${missing.kind} "${missing.key}" to retract`,
        "the item was retracted meanwhile; merge again",
      );
    const grown = new Set(writes.filter(({ write }) => write === "record").map(nameOf));
    const gone = writes.length - grown.size;
    const size = items.size - gone + [...grown].filter((name) => !items.has(name)).length;
    if (size > limit.itemsMax && size > items.size) {
      return refuse(
        "refused",
        `merge: the session would have ${size} items; the limit is ${limit.itemsMax}`,
        "retract outdated items in either session first",
      );
    }
    return accept(...mergeDrafts(state, command, note === undefined ? writes.length : writes.length + 1));
  },
  handoff: (state, { text, digest, toSeq, tokens, model, usage, costNanoUsd }) => {
    const paid = present({ usage: usage && { ...usage }, costNanoUsd });
    const body = { ...present({ digest, toSeq, tokens, model }), ...paid };
    return (
      forbidden(state, "describe", "write a handoff") ??
      accept(draft("handoff.written", body, { text }, requestOf(state, usage)))
    );
  },
};

/** A fork begins outside of a turn. */
const asForked = (state: State): State => ({ ...state, standing: { ...state.standing, turn: null } });

/**
 * Bindings that the parent had at the fork point and has lost or changed since: the fork does not inherit
 * them. `rulesForFork` compares the rules.
 */
export const withdrawnBindings = (point: State, now: State): string[] =>
  [...point.standing.bindings.entries()].flatMap(([name, { seq }]) =>
    now.standing.bindings.get(name)?.seq === seq ? [] : [name],
  );

/**
 * Open calls of a mind that is resumed: they never run. A started one may have had its effect, whatever this
 * mind knows of it. An external one is awaited by the other mind alone.
 */
function skipped(mind: Mind, cause: number): readonly DraftEvent[] {
  return [...mind.calls.entries()].map(([call, { phase, effect, deadlineMs }]) => {
    const mayHaveRun = phase === "started" && effect !== "read" && deadlineMs === undefined;
    const status = mayHaveRun ? "unknown" : "skipped";
    return draft("tool.settled", { call, status }, undefined, { cause });
  });
}

/** The inputs consumed since: those queued then or received later, minus those queued now. */
function takenSince(now: State, earlier: State): { ranges: [number, number][]; fromSeq: number } {
  const { inbox } = now.standing;
  // A fork never had the inputs of its parent.
  const sharedSeq = now.standing.fork?.seq ?? 0;
  const before = earlier.seq > sharedSeq ? earlier.standing.inbox : emptyStanding.inbox;
  const since = range.add(before.waiting, [before.received + 1, inbox.received]);
  const ranges = range.subtract(since, inbox.waiting).map(([from, to]): [number, number] => [from, to]);
  return { ranges, fromSeq: before.fromSeq === 0 ? Math.max(earlier.seq, sharedSeq) + 1 : before.fromSeq };
}

/**
 * The items, then the note. The note, or else the last record of the append, is the cause of the others: the
 * context skips a record with a cause, because the note covers it.
 */
function mergeDrafts(
  state: State,
  { from, writes, note }: CommandOf<"merge">,
  count: number,
): readonly DraftEvent[] {
  const { turn } = state.standing;
  const inTurn = turn === null ? {} : { turn: turn.number };
  const more = { ...inTurn, cause: state.seq + count };
  const drafts = writes.map((write) => writeDraft(write, more));
  if (note === undefined) return drafts;
  const { summary, resolutions, ...body } = note;
  const content = resolutions.length === 0 ? { summary } : { summary, resolutions: [...resolutions] };
  return [...drafts, draft("session.merged", { from, ...body }, content, inTurn)];
}

function writeDraft(write: MergeWrite, more: { readonly turn?: number; readonly cause: number }): DraftEvent {
  const { kind, key, because } = write;
  if (write.write === "retract") {
    return draft("item.retracted", { kind, key }, because === undefined ? undefined : { because }, more);
  }
  const { value, status, confidence, evidence, origin } = write;
  return draft(
    "item.recorded",
    present({ kind, key, status: status ?? defaultStatus(kind) ?? undefined, confidence, origin }),
    present({ value, because, evidence: evidence && [...evidence] }),
    more,
  );
}

/** The request that a handoff by a model settles. */
const requestOf = ({ standing: { reserved } }: State, usage: unknown): { cause?: number } =>
  usage === undefined || reserved === null ? {} : { cause: reserved.seq };
