/** What every part of a session's page knows: which session, where in time, and what is heard of it. */
import { createContext, useContext } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import type { Cell } from "../../signal.ts";
import type { EventLog } from "./event-log.ts";

export type State = Awaited<ReturnType<RemoteSession["state"]>>;

/** An answer that is being made, as far as it was heard. Live only: the finished message is in the log. */
export interface Draft {
  readonly requestSeq: number;
  readonly text: string;
  readonly reasoning: string;
  /** Tools that it has begun to call, by name. */
  readonly tools: readonly string[];
}

export interface Scope {
  readonly id: string;
  readonly session: RemoteSession;
  /** The position that is looked at; null: now. */
  readonly at: number | null;
  /** The state there. */
  readonly state: State;
  /** Whether the state is of another position, while that of this one is read. */
  readonly isBehind: boolean;
  /** While a slider is drawn: what takes long is read when it rests. */
  readonly isDrawn: boolean;
  readonly log: EventLog;
  readonly draft: Cell<Draft | null>;
  /** Goes to a position; null: back to now. `resting` is false while a slider is drawn. */
  travel(seq: number | null, options?: { readonly resting?: boolean }): void;
  /** Reads the state again, as after a change made here. */
  reread(): void;
}

const scopes = createContext<Scope | null>(null);
export const ScopeProvider = scopes.Provider;

export function useScope(): Scope {
  const scope = useContext(scopes);
  if (scope === null) throw new Error("there is no session here");
  return scope;
}
