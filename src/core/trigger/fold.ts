/** Folds of triggers. */
import { type Folds, heard, refOf, stand } from "../state-change.ts";
import { present } from "../present.ts";
import type { triggerEvents } from "./events.ts";

export const triggerFolds: Folds<keyof typeof triggerEvents> = {
  "trigger.set": (state, event) => {
    const {
      name,
      kind,
      missed = "once",
      nextMs = null,
      digest = null,
      topic = null,
      from = null,
      origin,
    } = event.body;
    const trigger = {
      kind,
      missed,
      nextMs,
      lastCause: digest,
      input: 0,
      topic,
      from,
      ...present({ origin }),
      ...refOf(event),
    };
    return stand(state, { triggers: state.standing.triggers.set(name, trigger) });
  },
  "trigger.removed": (state, { body }) =>
    stand(state, {
      triggers: state.standing.triggers.delete(body.name),
      stale: state.standing.stale.delete(body.name),
    }),
  "trigger.fired": (state, { body, seq }) => {
    const { name, digest: lastCause, nextMs = null, input, react } = body;
    const trigger = state.standing.triggers.get(name);
    if (trigger === undefined) return state;
    const fired = { ...trigger, lastCause, nextMs, input: input ?? trigger.input };
    const { stale } = state.standing;
    const next = stand(state, {
      triggers: state.standing.triggers.set(name, fired),
      stale: react === "mark" ? stale.set(name, seq) : stale.delete(name),
    });
    return react === "reload" || react === "wake" ? heard(next, seq) : next;
  },
  "trigger.skipped": (state, { body: { name, nextMs = null } }) => {
    const trigger = state.standing.triggers.get(name);
    if (trigger === undefined) return state;
    return stand(state, { triggers: state.standing.triggers.set(name, { ...trigger, nextMs }) });
  },
};
