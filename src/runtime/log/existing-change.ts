/**
 * Repeated changes: when the key was used before, the earlier result counts, even if the change would be
 * refused now.
 */
import type { Command } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import type { State } from "../../core/state.ts";
import type { Build, Change } from "./writer.ts";

/** A quota also refuses what was written before it was used up: then the earlier result counts. */
export async function orExisting(
  writing: Promise<Change | null>,
  existing: () => Promise<Change | null>,
): Promise<Change | null> {
  try {
    return await writing;
  } catch (error) {
    const isRefused = error instanceof SkeinError && error.code === "refused";
    const found = isRefused ? await existing() : null;
    if (found !== null) return found;
    throw error;
  }
}

/** The command; or the change with the same key, when the command can no longer be decided. */
export async function buildOrExisting(
  build: Exclude<Build, Command>,
  state: State,
  existing: () => Promise<Change | null>,
): Promise<Command | Change> {
  try {
    return await build(state);
  } catch (error) {
    const found = error instanceof SkeinError ? await existing() : null;
    if (found !== null) return found;
    throw error;
  }
}
