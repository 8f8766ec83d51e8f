/** Folds of messages between sessions, and the contracts of their topics. */
import { limit } from "../limit.ts";
import { present } from "../present.ts";
import type { messageEvents } from "./events.ts";
import { SortedMap } from "../sorted-map.ts";
import { type Folds, refOf, stand } from "../state-change.ts";
import type { State } from "../state.ts";
import { receive } from "../turn/fold.ts";

export const messageFolds: Folds<keyof typeof messageEvents> = {
  "message.sent": (state, { body, seq }) => {
    const { sent, outbox, requests, asked } = state.standing;
    const { message, to, number, deadlineMs, replyTo, away } = body;
    return stand(state, {
      sent: sent.set(to, Math.max(sent.get(to) ?? 0, number)),
      ...(away === true ? { outbox: outbox.set(message, { to, number, seq }) } : {}),
      ...(deadlineMs === undefined ? {} : { requests: requests.set(message, { to, seq, deadlineMs }) }),
      ...(replyTo === undefined ? {} : { asked: asked.delete(replyTo) }),
    });
  },
  "message.delivered": (state, { body }) =>
    stand(state, { outbox: state.standing.outbox.delete(body.message) }),
  "message.received": (state, { body, seq, at }) => {
    const { inbox, received, requests, asked } = state.standing;
    const { message, from, number, deadlineMs, replyTo, input } = body;
    const request = deadlineMs === undefined ? null : { from, seq, deadlineMs };
    return stand(state, {
      inbox: receive(inbox, { seq, input }),
      received: received.set(from, Math.max(received.get(from) ?? 0, number)),
      ...(request === null ? {} : { asked: withinTime(asked, at).set(message, request) }),
      ...(replyTo === undefined ? {} : { requests: requests.delete(replyTo) }),
    });
  },
  "request.inherited": (state, { body: { message, to, from, as, deadlineMs }, seq }) => {
    const { requests, asked } = state.standing;
    if (to !== undefined) return stand(state, { requests: requests.set(message, { to, seq, deadlineMs }) });
    if (from === undefined) return state;
    return stand(state, { asked: asked.set(message, { from, seq, deadlineMs, ...present({ as }) }) });
  },
  "input.forwarded": (state) => state,
  "message.refused": (state, { body }) => {
    const { outbox, requests } = state.standing;
    return stand(state, { outbox: outbox.delete(body.message), requests: requests.delete(body.message) });
  },
  "contract.declared": (state, event) =>
    stand(state, { contracts: state.standing.contracts.set(event.body.topic, refOf(event)) }),
};

/** Received requests; once there are too many, without those whose deadline is long past. */
function withinTime(asked: State["standing"]["asked"], at: number): State["standing"]["asked"] {
  if (asked.size < limit.requestsMax) return asked;
  return SortedMap.from([...asked.entries()].filter(([, { deadlineMs }]) => deadlineMs >= at));
}
