/** Removes a store that a command created and did not need. */
import { rm } from "node:fs/promises";
import { isLiveDatabase } from "../../tool/live-database.ts";
import { locateStore } from "../../store/registry.ts";
import { makeOpening } from "./open-engine.ts";

/** Removes the files of a store that this command created and closed, unless another process uses it. */
export async function takeAway(place: string): Promise<void> {
  const at = await locateStore(place);
  const [file] = at.files;
  if (file === undefined || !at.exists() || (await isLiveDatabase(file))) return;
  const opening = makeOpening(place);
  try {
    const { rows } = await (await opening.store()).logs(null, 1);
    if (rows.length > 0) return;
  } catch {
    // An unreadable file may hold something.
    return;
  } finally {
    await opening.close();
  }
  if (await isLiveDatabase(file)) return;
  for (const name of at.files) await rm(name, { force: true });
}
