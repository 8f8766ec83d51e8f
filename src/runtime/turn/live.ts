/**
 * Deltas: a streaming answer, for subscribers in this process. Never stored. Deltas produced here are cached
 * until their answer is complete, so that another process that subscribes in the middle gets it from its
 * beginning.
 */
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { ModelDelta } from "../../model/port.ts";
import { makeWebhookFailures, type WebhookFailures } from "../workspace/webhook-failures.ts";

export type { ModelDelta };

/** A piece of a model's answer while it streams. Never stored. */
export interface LiveDelta {
  readonly type: "delta";
  /** The `model.requested` of the answer. */
  readonly requestSeq: number;
  readonly delta: ModelDelta;
}

/** A part of an answer produced in this process. */
export interface LivePart {
  readonly session: SessionId;
  readonly requestSeq: number;
  /** The size of the answer before it: see `sizeOf`. */
  readonly after: number;
  readonly deltas: readonly ModelDelta[];
}

export interface LiveHub {
  /** Not recorded either: they end with the next success. */
  readonly webhookFailures: WebhookFailures;
  /** A delta produced in this process. */
  publish(session: SessionId, delta: LiveDelta): void;
  /** The answer is complete, or abandoned. */
  end(session: SessionId, requestSeq: number): void;
  /** Forwards a delta produced in another process. */
  forward(session: SessionId, delta: LiveDelta): void;
  /** Subscribes until the returned function is called. */
  subscribe(session: SessionId, heard: (delta: LiveDelta) => void): () => void;
  /** Subscribes to all sessions. */
  subscribeAll(heard: (session: SessionId, delta: LiveDelta) => void): () => void;
  /**
   * Subscribes to what this process produces, for a session or for all; begins with the backlog of current
   * answers.
   */
  subscribeWithBacklog(session: SessionId | null, heard: (part: LivePart) => void): () => void;
  /** Called when the set of sessions with subscribers changes; null stands for all of them. */
  onInterestChanged(changed: (session: SessionId | null, isHeard: boolean) => void): () => void;
}

/** The size of a delta within an answer: characters of a text, or one. */
export const sizeOf = (delta: ModelDelta): number => (delta.type === "tool-call" ? 1 : delta.text.length);

interface LiveAnswer {
  readonly requestSeq: number;
  size: number;
  /** Adjacent deltas of one kind are joined; null when they are too large to cache. */
  deltas: ModelDelta[] | null;
}

export function makeLive(): LiveHub {
  const listeners = new Map<SessionId, Set<(delta: LiveDelta) => void>>();
  const everywhere = new Set<(session: SessionId, delta: LiveDelta) => void>();
  const made = new Map<SessionId, LiveAnswer>();
  const overhearing = new Set<(part: LivePart) => void>();
  const attending = new Set<Parameters<LiveHub["onInterestChanged"]>[0]>();
  const tell = (session: SessionId | null, isHeard: boolean): void => {
    for (const changed of attending) changed(session, isHeard);
  };

  function forward(session: SessionId, delta: LiveDelta): void {
    for (const heard of listeners.get(session) ?? []) heard(delta);
    for (const heard of everywhere) heard(session, delta);
  }

  function keep(session: SessionId, { requestSeq, delta }: LiveDelta): void {
    const before = made.get(session);
    const now = before?.requestSeq === requestSeq ? before : { requestSeq, size: 0, deltas: [] };
    made.set(session, now);
    const part = { session, requestSeq, after: now.size, deltas: [delta] };
    now.size += sizeOf(delta);
    if (now.size > limit.liveAnswerCharsMax) now.deltas = null;
    else if (now.deltas !== null) add(now.deltas, delta);
    for (const heard of overhearing) heard(part);
  }

  return {
    webhookFailures: makeWebhookFailures(),
    forward,
    publish(session, delta) {
      keep(session, delta);
      forward(session, delta);
    },
    end(session, requestSeq) {
      if (made.get(session)?.requestSeq === requestSeq) made.delete(session);
    },
    subscribe(session, heard) {
      const set = listeners.get(session) ?? new Set();
      listeners.set(session, set.add(heard));
      if (set.size === 1) tell(session, true);
      return () => {
        if (!set.delete(heard) || set.size > 0) return;
        listeners.delete(session);
        tell(session, false);
      };
    },
    subscribeAll(heard) {
      everywhere.add(heard);
      if (everywhere.size === 1) tell(null, true);
      return () => {
        if (everywhere.delete(heard) && everywhere.size === 0) tell(null, false);
      };
    },
    subscribeWithBacklog(session, heard) {
      const wanted = (part: LivePart): void => {
        if (session === null || part.session === session) heard(part);
      };
      for (const [of, { requestSeq, deltas }] of made)
        if (deltas !== null) wanted({ session: of, requestSeq, after: 0, deltas: [...deltas] });
      overhearing.add(wanted);
      return () => void overhearing.delete(wanted);
    },
    onInterestChanged(changed) {
      attending.add(changed);
      for (const session of listeners.keys()) changed(session, true);
      if (everywhere.size > 0) changed(null, true);
      return () => void attending.delete(changed);
    },
  };
}

function add(deltas: ModelDelta[], delta: ModelDelta): void {
  const last = deltas.at(-1);
  if (last !== undefined && last.type !== "tool-call" && last.type === delta.type)
    deltas[deltas.length - 1] = { ...last, text: last.text + delta.text };
  else deltas.push(delta);
}
