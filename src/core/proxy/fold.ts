/** Folds of model calls that another program makes through the recording proxy. */
import { loseOpenCall, settleCall } from "../budget/fold.ts";
import { type Folds, stand } from "../state-change.ts";
import type { proxyEvents } from "./events.ts";

export const proxyFolds: Folds<keyof typeof proxyEvents> = {
  "proxy.requested": (state, { body, seq }) => {
    const settled = loseOpenCall(state);
    const { used } = settled.standing;
    return stand(settled, {
      used: { ...used, steps: used.steps + 1 },
      reserved: { seq, model: body.model, amounts: body.reserved, isForwarded: true },
    });
  },
  "proxy.responded": (state, { body }) => settleCall(state, "proxy.responded", body),
  "proxy.failed": (state, { body }) => settleCall(state, "proxy.failed", body),
};
