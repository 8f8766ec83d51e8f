/** Deltas: what is heard of an answer while it is made, for whoever listens in this process. Never stored. */
import type { SessionId } from "../core/ids.ts";
import type { Delta } from "../model/port.ts";

export interface LiveDelta {
  readonly type: "delta";
  /** The `model.requested` that is being answered. */
  readonly requestSeq: number;
  readonly delta: Delta;
}

export interface Live {
  publish(session: SessionId, delta: LiveDelta): void;
  /** Until the function that comes back is called. */
  listen(session: SessionId, heard: (delta: LiveDelta) => void): () => void;
  /** Of all sessions. */
  listenAll(heard: (session: SessionId, delta: LiveDelta) => void): () => void;
}

export function makeLive(): Live {
  const listeners = new Map<SessionId, Set<(delta: LiveDelta) => void>>();
  const everywhere = new Set<(session: SessionId, delta: LiveDelta) => void>();
  return {
    publish(session, delta) {
      for (const heard of listeners.get(session) ?? []) heard(delta);
      for (const heard of everywhere) heard(session, delta);
    },
    listen(session, heard) {
      const set = listeners.get(session) ?? new Set();
      listeners.set(session, set.add(heard));
      return () => {
        set.delete(heard);
        if (set.size === 0) listeners.delete(session);
      };
    },
    listenAll(heard) {
      everywhere.add(heard);
      return () => void everywhere.delete(heard);
    },
  };
}
