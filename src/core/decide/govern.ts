/** Decisions on holds, erasure and handoffs. */
import {
  accept,
  because,
  draft,
  forbidden,
  present,
  refuse,
  type Decisions,
  type DraftEvent,
} from "../decision.ts";
import { returnedDrafts } from "./lifecycle.ts";
import { limit } from "../limit.ts";
import type { Ranges } from "../range.ts";
import type { State } from "../state.ts";

export const governDecisions: Decisions<"hold" | "lift" | "erase" | "regain" | "handoff"> = {
  hold: (state, { name, reason }) => {
    const { holds } = state.standing;
    if (!holds.has(name) && holds.size >= limit.holdsMax)
      return refuse("refused", `a session is under at most ${limit.holdsMax} holds`, "lift some first");
    return forbidden(state, "govern", "be held") ?? accept(draft("hold.set", { name }, because(reason)));
  },
  lift: (state, { name, reason }) => {
    if (!state.standing.holds.has(name)) return refuse("not-found", `there is no hold "${name}" to lift`);
    return forbidden(state, "govern", "be let go") ?? accept(draft("hold.lifted", { name }, because(reason)));
  },
  erase: (state, { ranges, records, bytes, reason }) => {
    const [held] = state.standing.holds.keys();
    if (held !== undefined)
      return refuse(
        "refused",
        `${state.standing.session} is under the hold "${held}"`,
        "lift the hold first",
      );
    const refusal = forbidden(state, "govern", "be erased from");
    return refusal ?? accept(erasedDraft({ ranges, records, bytes }, reason));
  },
  regain: (state, { from, amounts, returned }) =>
    forbidden(state, "describe", "be given back what it gave") ??
    accept(
      draft("budget.allotted", { session: from, direction: "regained", amounts }),
      ...returnedDrafts(returned),
    ),
  handoff: (state, { text, digest, toSeq, tokens, model, usage, costNanoUsd }) => {
    const paid = present({ usage: usage && { ...usage }, costNanoUsd });
    const body = { ...present({ digest, toSeq, tokens, model }), ...paid };
    return (
      forbidden(state, "describe", "write a handoff") ??
      accept(draft("handoff.written", body, { text }, requestOf(state, usage)))
    );
  },
};

/** The request that a handoff by a model settles. */
const requestOf = ({ standing: { reserved } }: State, usage: unknown): { cause?: number } =>
  usage === undefined || reserved === null ? {} : { cause: reserved.seq };

/** That so much is gone from these positions. */
export function erasedDraft(
  gone: { readonly ranges: Ranges; readonly records: number; readonly bytes: number },
  reason?: string,
): DraftEvent {
  const { records, bytes } = gone;
  const ranges = gone.ranges.map(([from, to]): [number, number] => [from, to]);
  return draft("content.erased", { ranges, records, bytes }, because(reason));
}
