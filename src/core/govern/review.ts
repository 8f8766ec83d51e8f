/**
 * Review of imported sessions. A session that came in a bundle which no trusted key signed was written by
 * someone unknown: its bindings, rules, triggers and waiting input are theirs. Nothing of it acts before a
 * person activates it.
 */
import { draft, refuse, type Decision, type DraftEvent } from "../decision.ts";
import { imported, type State } from "../state.ts";

export const isUnreviewed = ({ standing }: State): boolean => standing.unreviewed;

/** Suspends an imported session. To older programs it is suspended by a person. */
export const suspendForReview = (): DraftEvent =>
  draft("session.suspended", { by: "person", [imported]: true }, { reason });

const reason =
  "it came in a bundle that no trusted key signed: review its bindings, rules, triggers and waiting input " +
  "before it runs";

/** What keeps a session suspended that something else would open; nothing once it was reviewed. */
export const stillForReview = (state: State): readonly DraftEvent[] =>
  isUnreviewed(state) ? [suspendForReview()] : [];

/** A refusal while the session waits for review. */
export const unreviewed = (state: State, what: string): Decision | null =>
  isUnreviewed(state)
    ? refuse("refused", `${what}: the session was imported and not reviewed`, reviewHint)
    : null;

export const reviewHint = 'review it ("skein show ID"), then let it go on: skein activate ID';
