/**
 * Opens a session for an outer id, once: by an idempotency key, so that two processes that meet the id at
 * once get one session. The id of a deleted session is never used again: then the key counts up.
 */
import { SkeinError } from "../core/error.ts";

/** How often one outer id can be deleted. */
const generationsMax = 10_000;

/** Calls `open` with one key after the other, until the session of a key was not deleted. */
export async function openOnce<T>(key: string, open: (key: string) => Promise<T>): Promise<T> {
  for (let generation = 0; generation < generationsMax; generation++) {
    try {
      return await open(generation === 0 ? key : `${key}:${generation}`);
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      if (error.detail !== undefined && error.detail !== "deleted-session") throw error;
    }
  }
  throw new SkeinError("conflict", "open: deleted too often to be opened again");
}
