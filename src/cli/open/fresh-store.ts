/** A store that was made for something that is then refused does not stay behind. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { isLiveDatabase } from "../../tool/live-database.ts";
import { isPostgresAddress } from "../../store/postgres/connection/address.ts";
import { fileOf, makeOpening } from "./open-engine.ts";

/** Takes away a store that this command made and has closed, unless somebody has come to use it since. */
export async function takeAway(place: string): Promise<void> {
  const file = fileOf(place);
  if (isPostgresAddress(place) || !existsSync(file) || (await isLiveDatabase(file))) return;
  const opening = makeOpening(place);
  try {
    const { rows } = await (await opening.store()).logs(null, 1);
    if (rows.length > 0) return;
  } catch {
    // What cannot be read may hold something.
    return;
  } finally {
    await opening.close();
  }
  if (await isLiveDatabase(file)) return;
  for (const name of [file, `${file}-wal`, `${file}-shm`]) await rm(name, { force: true });
}
