/** Decisions on holds, erasure and handoffs. */
import { accept, because, draft, forbidden, present, refuse, type Decisions } from "../decision.ts";
import { limit } from "../limit.ts";

export const governDecisions: Decisions<"hold" | "lift" | "erase" | "handoff"> = {
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
    const body = { ranges: ranges.map(([from, to]): [number, number] => [from, to]), records, bytes };
    return (
      forbidden(state, "govern", "be erased from") ?? accept(draft("content.erased", body, because(reason)))
    );
  },
  handoff: (state, { text, digest, toSeq, tokens, model }) =>
    forbidden(state, "describe", "write a handoff") ??
    accept(draft("handoff.written", present({ digest, toSeq, tokens, model }), { text })),
};
