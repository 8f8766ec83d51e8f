/** Folds of a turn: inputs, model calls, the context window. */
import { staleChecks } from "../check/check.ts";
import { loseOpenCall, settleCall } from "../budget/fold.ts";
import { withAnswer } from "../context/latency.ts";
import { crossingAfter } from "../context/zone-policy.ts";
import { releaseDraw } from "../project/budget.ts";
import * as range from "../range.ts";
import { SortedMap } from "../sorted-map.ts";
import { type Folds, beginAnew, heard, refOf, stand, think, worked } from "../state-change.ts";
import type { Inbox, ItemRef, Mind, Overlay } from "../state.ts";
import type { turnEvents } from "./events.ts";

export const turnFolds: Folds<keyof typeof turnEvents> = {
  "turn.started": (state, { body, seq, at }) => {
    const { used, inbox } = state.standing;
    const lastTurn = state.standing.lastTurn + 1;
    const begun = {
      startedSeq: seq,
      steps: 0,
      attempts: 0,
      answered: null,
      interrupted: false,
    };
    const next = stand(state, {
      checks: staleChecks(state.standing.checks),
      status: "running",
      why: null,
      turn: { number: lastTurn, ...begun },
      lastTurn,
      workedTo: at,
      used: { ...used, turns: used.turns + 1 },
      inbox: takeUp(inbox, body.inputs),
    });
    return heard(think(next, { firstTurnSeq: state.mind.firstTurnSeq || seq }), seq);
  },
  "turn.ended": (state, { body, at }) => {
    const { sleep, status } = state.standing;
    const idle = sleep === null ? "open" : "sleeping";
    // A turn may end while the session is suspended or already closed; then that status stays.
    const next = stand(state, {
      turn: null,
      status: status === "running" ? idle : status,
      drawn: releaseDraw(state.standing).drawn,
    });
    // Another process may end it long after a crash: then only the time up to the holder's last record was
    // work.
    const byOthers = body.outcome === "interrupted" || body.outcome === "cancelled";
    return byOthers ? next : stand(worked(next, at), { workedTo: null });
  },
  "input.received": (state, { seq, body }) =>
    stand(state, { inbox: receive(state.standing.inbox, { seq, input: body.input }) }),
  "context.planned": (state, { seq }) => stand(state, { plan: seq }),
  "context.retrieved": (state) => state,
  "model.requested": (state, { body, seq }) => {
    const settled = loseOpenCall(state);
    const { turn, inbox, used } = settled.standing;
    const reserved = { seq, model: body.model, amounts: body.reserved };
    if (body.purpose === "compaction") return stand(settled, { reserved });
    const first = body.attempt <= 1 ? 1 : 0;
    const next = stand(settled, {
      used: { ...used, steps: used.steps + first },
      reserved,
      renderer: body.renderer,
      inbox: takeUp(inbox, body.inputs),
      turn:
        turn === null ? null : { ...turn, steps: turn.steps + first, attempts: body.attempt, answered: null },
    });
    return heard(next, seq);
  },
  "model.responded": (state, { body, seq }) => {
    const { turn, pace } = state.standing;
    const next = stand(settleCall(state, "model.responded", body), {
      turn: turn === null ? null : { ...turn, attempts: 0, answered: { finish: body.finish, calls: 0 } },
      pace: body.ms === undefined ? pace : withAnswer(pace, [body.ms, body.usage.outputTokens]),
    });
    return heard(next, seq);
  },
  "model.failed": (state, { body }) => settleCall(state, "model.failed", body),
  "zone.crossed": (state, { body: { zone, by: causes = [] }, seq }) => {
    const zoneCrossing = crossingAfter(state.standing, { zone, causes }, seq);
    return stand(state, { zone, zoneCauses: causes, zoneCrossing });
  },
  "zone.acted": (state, { body, seq }) => {
    const { zoneCrossing } = state.standing;
    const acted =
      zoneCrossing === null
        ? state
        : stand(state, {
            zoneCrossing: { ...zoneCrossing, done: [...new Set([...zoneCrossing.done, body.action])] },
          });
    return body.action === "tell-model" ? heard(acted, seq) : acted;
  },
  "overlay.lifted": (state, { body: { overlay } }, recall) => {
    const { mind } = state;
    if (!mind.overlays.some(({ seq }) => seq === overlay)) return state;
    return beginAnew(think(state, withoutOverlay(mind, overlay, recall(overlay - 1))));
  },
  "transcript.compacted": (state, event) => {
    const { fromSeq, toSeq, strategy } = event.body;
    const items = strategy === "prune" ? SortedMap.empty<ItemRef>() : state.mind.items;
    const overlay: Overlay = { fromSeq, toSeq, strategy, items, ...refOf(event) };
    // An overlay inside a newer one is never visible again; without it the list stays as short as the
    // context.
    const kept = state.mind.overlays.filter((old) => old.fromSeq < fromSeq || old.toSeq > toSeq);
    const contextFrom = { turn: state.standing.lastTurn, at: event.at };
    const next = stand(think(state, { overlays: [...kept, overlay] }), { contextFrom });
    return settleCall(beginAnew(next), "transcript.compacted", event.body);
  },
};

/** The overlays without this one, and with those that it had replaced. `before`: the mind just before it. */
export function withoutOverlay(mind: Mind, overlay: number, before: Mind): Pick<Mind, "overlays"> {
  const rest = mind.overlays.filter(({ seq }) => seq !== overlay);
  const known = new Set(rest.map(({ seq }) => seq));
  const again = before.overlays.filter(({ seq }) => !known.has(seq));
  return { overlays: [...again, ...rest].toSorted((a, b) => a.seq - b.seq) };
}

/** Queues an input with this number. */
export const receive = (
  inbox: Inbox,
  { seq, input }: { readonly seq: number; readonly input: number },
): Inbox => ({
  waiting: range.add(inbox.waiting, [input, input]),
  received: Math.max(inbox.received, input),
  fromSeq: inbox.fromSeq === 0 ? seq : inbox.fromSeq,
});

function takeUp(inbox: Inbox, taken: readonly (readonly [seq: number, input: number])[]): Inbox {
  if (taken.length === 0) return inbox;
  const waiting = taken.reduce<range.Ranges>(
    (left, [, input]) => range.remove(left, [input, input]),
    inbox.waiting,
  );
  return { ...inbox, waiting, fromSeq: waiting.length === 0 ? 0 : inbox.fromSeq };
}
