/** Which row the keys are at, and which are selected. Known outside, since commands act on them too. */
import { cell } from "../../cell.ts";

/** The id; null: none. */
export const chosen = cell<string | null>(null);
export const selected = cell<ReadonlySet<string>>(new Set());

export function toggle(session: string): void {
  const next = new Set(selected.get());
  if (!next.delete(session)) next.add(session);
  selected.set(next);
}

/** Adds all of them, or takes all away if they were all there. */
export function toggleAll(sessions: readonly string[]): void {
  const before = selected.get();
  selected.set(sessions.every((one) => before.has(one)) ? new Set() : new Set([...before, ...sessions]));
}

export const clearSelected = (): void => selected.set(new Set());
