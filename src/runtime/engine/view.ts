/** A read-only handle on a session at a position. */
import type { ForkOptions } from "../../core/branch/commands.ts";
import type { EventsOptions } from "../read/event-reader.ts";
import type { SessionItem } from "../read/projection.ts";
import type { Session } from "./session.ts";
import type { StateView } from "../read/state-view.ts";
import type { AppendResult } from "../log/append-result.ts";
import type { SessionEvent } from "../../core/event.ts";

/**
 * A session as it was at a position. It only reads; fork or rewind to continue from here.
 *
 * @example
 *   const view = await session.load("before-refactoring");
 *   const fork = await view.fork({ objective: "Try the other library" });
 */
export class SessionView {
  readonly session: Session;
  readonly seq: number;

  constructor(session: Session, seq: number) {
    this.session = session;
    this.seq = seq;
  }

  state(): Promise<StateView> {
    return this.session.state({ atSeq: this.seq });
  }
  items(): Promise<SessionItem[]> {
    return this.session.items({ atSeq: this.seq });
  }
  events(options: EventsOptions = {}): AsyncGenerator<SessionEvent> {
    return this.session.events({ ...options, toSeq: Math.min(this.seq, options.toSeq ?? this.seq) });
  }
  fork(options: ForkOptions = {}): Promise<Session> {
    return this.session.fork({ ...options, atSeq: this.seq });
  }
  rewind(options: { readonly requeue?: boolean; readonly reason?: string } = {}): Promise<AppendResult> {
    return this.session.rewind(this.seq, options);
  }
}
