/**
 * Rollover by the run of a session, between two steps: the turn goes on in the next session. One append ends
 * the turn, releases the lease, closes the session and opens the next, which has an input to go on.
 */
import type { SessionId } from "../../core/ids.ts";
import { continueRefusal } from "../../core/session/succession.ts";
import { rolloverSession, type RolloverOptions } from "../branch/succession.ts";
import type { Deps } from "../deps.ts";
import type { Drive } from "./drive.ts";

/** Null: it cannot be now, because a call is open, say. Afterwards the run ends: its lease is released. */
export async function rolloverRun(
  deps: Deps,
  drive: Drive,
  options: RolloverOptions & { readonly zone?: string },
): Promise<SessionId | null> {
  const { epoch, history } = drive.lease;
  if (continueRefusal(await drive.state(), { whole: true, epoch }) !== null) return null;
  // The key of the call that started the run is not that of the next session.
  const { newSession: _, once: __, requestKey: ___, ...own } = deps;
  const { zone, ...rest } = options;
  const { actor } = drive;
  const { next } = await rolloverSession(own, drive.session, rest, { epoch, history, actor, zone });
  drive.lease.noteState(await drive.state());
  return next;
}
