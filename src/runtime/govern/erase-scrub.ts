/** Scrubs the files of a store after an erasure or a deletion. */
import { SkeinError } from "../../core/error.ts";
import type { Store } from "../../store/port.ts";

/** False when another program prevents it: then it is still due. */
export async function scrubIfDue(store: Store): Promise<boolean> {
  try {
    if ((await store.stats()).unscrubbed) await store.scrub();
    return true;
  } catch (error) {
    if (error instanceof SkeinError && error.code === "unavailable") return false;
    throw error;
  }
}
