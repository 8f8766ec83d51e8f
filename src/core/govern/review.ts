/**
 * Review of imported sessions. The author of a session from a bundle without a trusted signature is unknown,
 * and with it the origin of its bindings, rules, triggers and queued input. None of it takes effect before a
 * person activates the session.
 */
import { draft, refuse, type Decision, type DraftEvent } from "../decision.ts";
import { imported, type State } from "../state.ts";

export const isUnreviewed = ({ standing }: State): boolean => standing.unreviewed;

/** Suspends an imported session. Older programs see it as suspended by a person. */
export const suspendForReview = (reason = bundleReason): DraftEvent =>
  draft("session.suspended", { by: "person", [imported]: true }, { reason });

const bundleReason =
  "it came in a bundle that no trusted key signed: review its bindings, rules, triggers and waiting input " +
  "before it runs";

/** Of a fork of an imported session, or one that holds what another tool added to it. */
export const forkReason =
  "a part of its conversation took place in another tool or an imported session: review it, and bind " +
  "what it needs, before it runs";

/** Keeps an unreviewed session suspended when another event would open it; empty after the review. */
export const stillForReview = (state: State): readonly DraftEvent[] =>
  isUnreviewed(state) ? [suspendForReview(state.standing.source === null ? bundleReason : forkReason)] : [];

/** A refusal while the session waits for review. */
export const unreviewed = (state: State, what: string): Decision | null =>
  isUnreviewed(state)
    ? refuse("refused", `${what}: the session was imported and is not reviewed yet`, reviewHint)
    : null;

export const reviewHint = 'review it ("skein show ID"), then activate it: "skein activate ID"';
