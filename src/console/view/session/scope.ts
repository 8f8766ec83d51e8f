/** The shared state of a session's page: the session, the viewed position, and live updates. */
import { createContext, useContext } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import type { Cell } from "../../signal.ts";
import type { EventLog } from "./event-log.ts";

export type State = Awaited<ReturnType<RemoteSession["state"]>>;

/** A streaming answer so far. Live only: the finished message is in the log. */
export interface StreamingAnswer {
  readonly requestSeq: number;
  readonly text: string;
  readonly reasoning: string;
  /** Tools that it has begun to call, by name. */
  readonly tools: readonly string[];
}

export interface Scope {
  readonly id: string;
  readonly session: RemoteSession;
  /** The viewed position; null: now. */
  readonly at: number | null;
  /** The state there. */
  readonly state: State;
  /** Whether the state is of another position, while this one loads. */
  readonly isBehind: boolean;
  /** While a slider is dragged: expensive reads wait until it rests. */
  readonly isDrawn: boolean;
  readonly log: EventLog;
  readonly draft: Cell<StreamingAnswer | null>;
  /** Goes to a position; null: back to now. `resting` is false while a slider is dragged. */
  travel(seq: number | null, options?: { readonly resting?: boolean }): void;
  /** Reads the state again, as after a change made here. */
  reread(): void;
}

const scopes = createContext<Scope | null>(null);
export const ScopeProvider = scopes.Provider;

export function useScope(): Scope {
  const scope = useContext(scopes);
  if (scope === null) throw new Error("no session scope");
  return scope;
}
