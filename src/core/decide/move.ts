/** Decisions on where a session lives, and with which model it goes on. */
import { mayIn } from "../session/lifecycle.ts";
import { suspendForReview } from "../govern/review.ts";
import { accept, draft, forbidden, present, refuse, type Decisions } from "../decision.ts";

export const moveDecisions: Decisions<"move" | "arrive" | "migrate"> = {
  /** The last thing that is written where it lived: nothing is allowed after it but to arrive. */
  move: (state, { move, to, where, held }) => {
    const { lease } = state.standing;
    if (held && lease.held) {
      return refuse(
        "conflict",
        `the session is run by ${lease.holder}`,
        "wait until its lease is released or runs out",
      );
    }
    return (
      forbidden(state, "move", "be moved") ??
      accept(draft("session.moved", present({ move, to }), where === undefined ? undefined : { to: where }))
    );
  },
  /** Only by the move that brought it here, and only where that was to go. */
  arrive: (state, { moved, workspace, where, untrusted = false }) => {
    const refusal = forbidden(state, "arrive", "arrive");
    if (refusal !== null) return refusal;
    if (moved === null) {
      return refuse("corrupt", "the session is moved, and no record says how", "run skein verify");
    }
    if (moved.to !== undefined && moved.to !== workspace) {
      return refuse(
        "refused",
        `the session was moved to another store, whose workspace is ${moved.to}`,
        "finish the move there, or fork the session here",
      );
    }
    const content = where === undefined ? undefined : { from: where };
    const body = { move: moved.move, ...(untrusted ? { untrusted } : {}) };
    const isLive = mayIn(state.standing.movedFrom ?? "open", "write");
    const review = untrusted && isLive ? [suspendForReview()] : [];
    return accept(draft("session.arrived", body, content), ...review);
  },
  migrate: (state, { model, left }) => {
    const from = state.standing.model ?? undefined;
    if (from === model) return refuse("refused", `the session goes on with ${model} already`);
    const content = left.length === 0 ? undefined : { left: [...left] };
    return (
      forbidden(state, "migrate", "be migrated") ??
      accept(draft("session.migrated", present({ from, to: model }), content))
    );
  },
};
