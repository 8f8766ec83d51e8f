/** Folds of the durable tier, scratch, the context, messages and triggers. */
import type { contextEvents, itemEvents, messageEvents, triggerEvents } from "../catalog/durable.ts";
import type { Folds } from "../fold.ts";
import { Keyed } from "../sorted-map.ts";
import { limit } from "../limit.ts";
import type { ItemRef, Overlay, State } from "../state.ts";
import { refOf, beginAnew, stand, think } from "./session.ts";
import { receive, settleCall } from "./turn.ts";

type Types =
  | keyof typeof itemEvents
  | keyof typeof contextEvents
  | keyof typeof messageEvents
  | keyof typeof triggerEvents;

/** Items of different kinds may share a key. */
export const itemKey = (kind: string, key: string): string => `${kind}/${key}`;

export const durableFolds: Folds<Types> = {
  "item.recorded": (state, event) => {
    const { kind, key } = event.body;
    const status = kind === "task" ? (event.body.status ?? "open") : null;
    const item = { kind, key, status, ...refOf(event) };
    return think(state, { items: state.mind.items.set(itemKey(kind, key), item) });
  },
  "item.retracted": (state, { body }) =>
    think(state, { items: state.mind.items.delete(itemKey(body.kind, body.key)) }),
  "scratch.set": (state, event) => {
    const { key, removed } = event.body;
    const { scratch } = state.mind;
    return think(state, { scratch: removed === true ? scratch.delete(key) : scratch.set(key, refOf(event)) });
  },

  "transcript.compacted": (state, event) => {
    const { fromSeq, toSeq, strategy } = event.body;
    const items = strategy === "prune" ? Keyed.empty<ItemRef>() : state.mind.items;
    const overlay: Overlay = { fromSeq, toSeq, strategy, items, ...refOf(event) };
    // An overlay inside a newer one can never be seen again; without it the list follows the window.
    const kept = state.mind.overlays.filter((old) => old.fromSeq < fromSeq || old.toSeq > toSeq);
    const contextFrom = { turn: state.standing.lastTurn, at: event.at };
    const next = stand(think(state, { overlays: [...kept, overlay] }), { contextFrom });
    return settleCall(beginAnew(next), "transcript.compacted", event.body);
  },
  "checkpoint.saved": (state, { body }) =>
    stand(state, { checkpoints: state.standing.checkpoints.set(body.name, body.seq) }),
  "handoff.written": (state, event) => {
    const handoff = { ...refOf(event), toSeq: event.body.toSeq ?? event.seq };
    return settleCall(stand(state, { handoff }), "handoff.written", event.body);
  },

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
  "message.refused": (state, { body }) => {
    const { outbox, requests } = state.standing;
    return stand(state, { outbox: outbox.delete(body.message), requests: requests.delete(body.message) });
  },

  "trigger.set": (state, event) => {
    const {
      name,
      kind,
      missed = "once",
      nextMs = null,
      digest = null,
      topic = null,
      from = null,
    } = event.body;
    const trigger = { kind, missed, nextMs, lastCause: digest, input: 0, topic, from, ...refOf(event) };
    return stand(state, { triggers: state.standing.triggers.set(name, trigger) });
  },
  "trigger.removed": (state, { body }) =>
    stand(state, { triggers: state.standing.triggers.delete(body.name) }),
  "trigger.fired": (state, { body }) => {
    const { name, digest: lastCause, nextMs = null, input } = body;
    const trigger = state.standing.triggers.get(name);
    if (trigger === undefined) return state;
    const fired = { ...trigger, lastCause, nextMs, input: input ?? trigger.input };
    return stand(state, { triggers: state.standing.triggers.set(name, fired) });
  },
  "trigger.skipped": (state, { body: { name, nextMs = null } }) => {
    const trigger = state.standing.triggers.get(name);
    if (trigger === undefined) return state;
    return stand(state, { triggers: state.standing.triggers.set(name, { ...trigger, nextMs }) });
  },
};

/** Requests that came, without those that were given up long ago once there are too many to keep them all. */
function withinTime(asked: State["standing"]["asked"], at: number): State["standing"]["asked"] {
  if (asked.size < limit.requestsMax) return asked;
  return Keyed.from([...asked.entries()].filter(([, { deadlineMs }]) => deadlineMs >= at));
}
