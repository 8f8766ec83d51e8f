/** Decisions on erasure, holds and scores. */
import { type Decisions, type DraftEvent, accept, because, draft, forbidden, refuse } from "../decision.ts";
import { present } from "../present.ts";
import type { GovernCommand } from "./commands.ts";
import { limit } from "../limit.ts";
import type { Ranges } from "../range.ts";

export const governDecisions: Decisions<GovernCommand["do"]> = {
  hold: (state, { name, reason }) => {
    const { holds } = state.standing;
    if (!holds.has(name) && holds.size >= limit.holdsMax)
      return refuse(
        "refused",
        `a session has at most ${limit.holdsMax} holds`,
        'lift one first: "skein hold ID NAME --lift"',
      );
    return forbidden(state, "govern", "be held") ?? accept(draft("hold.set", { name }, because(reason)));
  },
  lift: (state, { name, reason }) => {
    if (!state.standing.holds.has(name))
      return refuse("not-found", `there is no hold "${name}"`, '"skein state ID" lists the holds');
    return (
      forbidden(state, "govern", "have a hold lifted") ??
      accept(draft("hold.lifted", { name }, because(reason)))
    );
  },
  erase: (state, { ranges, records, bytes, reason }) => {
    const [held] = state.standing.holds.keys();
    if (held !== undefined)
      return refuse(
        "refused",
        `${state.standing.session} is under legal hold "${held}"`,
        'lift it first: "skein hold ID NAME --lift"',
      );
    const refusal = forbidden(state, "govern", "have content erased");
    return refusal ?? accept(erasedDraft({ ranges, records, bytes }, reason));
  },
  score: (state, { name, value, seq, because }) => {
    if (!Number.isFinite(value))
      return refuse("invalid", `score "${name}": expected a finite number, got ${value}`);
    if (seq !== undefined && !(Number.isInteger(seq) && seq >= 1 && seq <= state.seq))
      return refuse("not-found", `score: position ${seq} does not exist; the session ends at ${state.seq}`);
    const { scores } = state.standing;
    if (!scores.has(name) && scores.size >= limit.scoresMax)
      return refuse("refused", `a session holds at most ${limit.scoresMax} scores`);
    const content = because === undefined ? undefined : { because };
    return (
      forbidden(state, "describe", "be given a score") ??
      accept(draft("score.recorded", present({ name, value, seq }), content))
    );
  },
};

/** The record that contents at these positions were erased. */
export function erasedDraft(
  gone: { readonly ranges: Ranges; readonly records: number; readonly bytes: number },
  reason?: string,
): DraftEvent {
  const { records, bytes } = gone;
  const ranges = gone.ranges.map(([from, to]): [number, number] => [from, to]);
  return draft("content.erased", { ranges, records, bytes }, because(reason));
}
