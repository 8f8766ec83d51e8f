/** Where the stores of crash tests lie, and how each of their processes opens them. */
import { join } from "node:path";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { isPostgresAddress } from "../../src/store/postgres/connection/address.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";

/** A place for a new store: in this folder, or on the server that this process is told to stand on. */
export async function newPlace(folder: string, name = "skein.db"): Promise<string> {
  const { kind } = await import("../kind.ts");
  return kind().placeIn(join(folder, name));
}

/** What the end of a process takes away is what these tests are about; power is for others. */
export async function openPlace(place: string, create = true): Promise<Store> {
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const given = { world, workspace, create, durability: "process" } as const;
  if (!isPostgresAddress(place)) return sqliteStore({ path: place, lockWaitMs: 60_000, ...given });
  // Only those who need it wait until it is loaded.
  const { postgresStore } = await import("../../src/store/postgres/store.ts");
  return postgresStore({ url: place, ...given });
}
