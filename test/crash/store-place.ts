/** Where the stores of crash tests lie, and how each of their processes opens them. */
import { join } from "node:path";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { locateStore } from "../../src/store/registry.ts";

/** A place for a new store: in this folder, or on the server that this process is told to stand on. */
export async function newPlace(folder: string, name = "skein.db"): Promise<string> {
  const { kind } = await import("../kind.ts");
  return kind().placeIn(join(folder, name));
}

/** What the end of a process takes away is what these tests are about; power is for others. */
export async function openPlace(address: string, create = true): Promise<Store> {
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const place = await locateStore(address);
  return place.open({ world, workspace, create, durability: "process", lockWaitMs: 60_000 });
}
