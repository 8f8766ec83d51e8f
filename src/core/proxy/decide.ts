/** Decisions on model calls that another program makes through the recording proxy. */
import { budgetReason, budgetShort } from "../budget/budget.ts";
import { type Decision, type Decisions, accept, draft, forbidden, refuse } from "../decision.ts";
import type { HistoryEntry } from "../history/commands.ts";
import type { State } from "../state.ts";
import type { ProxyCommand } from "./commands.ts";

export const proxyDecisions: Decisions<ProxyCommand["do"]> = {
  "record-said": (state, { entries }) =>
    forbidden(state, "write", "record a conversation") ?? accept(...entries.map(entryDraft)),
  /**
   * Refused while any other call of the session is open, since another server may be forwarding it; and when
   * the budget does not cover the call.
   */
  forward: (state, { entries, body, content }) => {
    const refusal = forbidden(state, "write", "record a forwarded call");
    if (refusal !== null) return refusal;
    if (state.standing.turn !== null) return refuse("conflict", "a turn is in progress", busyHint);
    if (state.standing.reserved !== null) return refuse("conflict", "a model call is in flight", busyHint);
    const { limits } = state.standing;
    if (limits.nanoUsd !== undefined && body.reserved.nanoUsd === undefined) {
      const message = `the price of ${body.model} is unknown, so the cost budget cannot be enforced`;
      return refuse("refused", message, "remove the cost budget, or add the price of the model");
    }
    const short = budgetShort(state, { ...body.reserved, steps: 1 });
    if (short !== null) {
      const message = budgetReason(short.resource, short.limit, short.used);
      return refuse("refused", message, "raise the budget: skein budget ID");
    }
    return accept(...entries.map(entryDraft), draft("proxy.requested", body, content));
  },
  "pass-on": (state, { requestSeq, body, content, answer }) =>
    unlessOpen(state, requestSeq) ??
    accept(
      draft("proxy.responded", body, content, { cause: requestSeq }),
      ...(answer === null ? [] : [entryDraft(answer)]),
    ),
  "fail-forwarded": (state, { requestSeq, body, content, answer }) =>
    unlessOpen(state, requestSeq) ??
    accept(
      draft("proxy.failed", body, content, { cause: requestSeq }),
      ...(answer === null ? [] : [entryDraft(answer)]),
    ),
};

const busyHint = "a fork of the session takes the call";

const entryDraft = (entry: Extract<HistoryEntry, { readonly type: "input" | "answer" | "call" }>) =>
  draft(`${entry.type}.imported`, entry.body, entry.content as never);

/** A response is recorded while its call is the open one; a turn of Skein counts an open call as lost. */
function unlessOpen(state: State, requestSeq: number): Decision | null {
  const refusal = forbidden(state, "describe", "record a forwarded response");
  if (refusal !== null) return refusal;
  return state.standing.reserved?.seq === requestSeq
    ? null
    : refuse("refused", `the call at ${requestSeq} is not in flight`, "another call took its place");
}
