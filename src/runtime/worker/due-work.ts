/** Work that is due by time: a session wakes, expires or is overdue, a trigger fires, a request times out. */
import type { SessionId } from "../../core/ids.ts";
import { deadlineLabel, deadlineOf, overdueLabel } from "../../core/trigger/deadline.ts";
import { SkeinError } from "../../core/error.ts";
import { spanText } from "../../core/govern/policy.ts";
import { dueOf, expiryOf } from "../../core/trigger/schedule.ts";
import type { State } from "../../core/state.ts";
import { giveUp } from "../message/deliver.ts";
import type { Deps } from "../deps.ts";
import { settleOverdue } from "../turn/tool-ledger.ts";
import { wakeCommand } from "../read/wake-due.ts";
import { indexEntryOf } from "../log/session-index.ts";
import { fireDue, ifOvertaken } from "../trigger/fire.ts";

/**
 * Does what is due for a session. Resolves to when it is due next; 0 when there is something to run. Corrects
 * its index entry.
 */
export async function handleDue(deps: Deps, session: SessionId): Promise<number | null> {
  const { writer, store } = deps;
  const before = await writer.current(session);
  const wake = wakeCommand(before, store.now());
  if (wake !== null) await writer.change(session, wake, { actor: "system" }).catch(ifOvertaken);
  if (before.standing.status !== "suspended") await fireDue(deps, session, before);
  await expire(deps, session, before);
  await suspendOverdue(deps, session, before);
  await giveUp(deps, session, before);
  await settleOverdue(deps, session, before);
  const after = await writer.current(session);
  // Nothing was written, so the index was not corrected: the entry may come from an earlier layout.
  if (after.seq === before.seq)
    await store.index(session, await indexEntryOf(store, session, after), after.seq);
  return dueOf(after);
}

/** Closes a session that was opened to expire, after its time without new records. */
async function expire({ store, writer }: Deps, session: SessionId, before: State): Promise<void> {
  const isOver = (state: State): boolean => {
    const expiresMs = expiryOf(state);
    return expiresMs !== null && expiresMs <= store.now() && dueOf(state) !== 0;
  };
  if (!isOver(before)) return;
  const build = (state: State) => {
    if (!isOver(state)) throw new SkeinError("conflict", `${session} has changed since it was read`);
    const idle = spanText(store.now() - state.at);
    const after = spanText(state.standing.expiresAfterIdleMs ?? 0);
    const reason = `idle for ${idle}, and it was opened to expire after ${after}`;
    return { do: "close", outcome: "expired", reason } as const;
  };
  await writer.change(session, build, { actor: "system" }).catch(ifOvertaken);
}

/** True when its deadline has passed. */
export function isOverdue(state: State, nowMs: number): boolean {
  const deadlineMs = deadlineOf(state);
  return deadlineMs !== null && deadlineMs <= nowMs;
}

/**
 * Suspends an overdue session, and then removes the deadline, so that it is not stopped again after
 * activation. A crash in between leaves it suspended; at worst it is suspended once more.
 */
async function suspendOverdue({ store, writer }: Deps, session: SessionId, before: State): Promise<void> {
  const deadline = before.standing.labels.get(deadlineLabel);
  if (!isOverdue(before, store.now()) || deadline === undefined) return;
  const actor = "system";
  const build = (state: State) => {
    if (!isOverdue(state, store.now()))
      throw new SkeinError("conflict", `${session} has changed since it was read`);
    return { do: "suspend", by: "error", reason: `its deadline has passed: ${deadline}` } as const;
  };
  const done = await writer.change(session, build, { actor }).catch(ifOvertaken);
  if (done === undefined) return;
  const relabel = { do: "label", set: { [overdueLabel]: deadline }, remove: [deadlineLabel] } as const;
  await writer.change(session, relabel, { actor }).catch(ifOvertaken);
}
