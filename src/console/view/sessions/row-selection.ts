/** The row of the keyboard cursor, and the selected rows. Global, because commands act on them too. */
import { cell } from "../../signal.ts";

/** The id; null: none. */
export const chosen = cell<string | null>(null);
export const selected = cell<ReadonlySet<string>>(new Set());

export function toggle(session: string): void {
  const next = new Set(selected.get());
  if (!next.delete(session)) next.add(session);
  selected.set(next);
}

/** All from the last toggled row to this one, in this one's new state; without one, only this one. */
export function pickRange(order: readonly string[], from: string | null, to: string): void {
  const [one, other] = [from === null ? -1 : order.indexOf(from), order.indexOf(to)];
  if (one < 0 || other < 0) return toggle(to);
  const range = order.slice(Math.min(one, other), Math.max(one, other) + 1);
  const next = new Set(selected.get());
  const isAdded = !next.has(to);
  for (const session of range)
    if (isAdded) next.add(session);
    else next.delete(session);
  selected.set(next);
}

/** Adds all of them, or removes all if they were all selected. */
export function toggleAll(sessions: readonly string[]): void {
  const before = selected.get();
  selected.set(sessions.every((one) => before.has(one)) ? new Set() : new Set([...before, ...sessions]));
}

export const clearSelected = (): void => selected.set(new Set());
