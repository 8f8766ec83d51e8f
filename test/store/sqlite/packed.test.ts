/** The contract holds whatever is packed: all cases once more, on a store that packs all it can at once. */
import { conformance } from "../../../src/store/conformance.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite.ts";
import { newPath, workspace } from "../../runtime/place.ts";
import { packingStore } from "./packing.ts";

const { sleep, defer } = realWorld();

conformance({
  name: "packed",
  open: async (world) => {
    const { path, remove } = newPath();
    const start = async () =>
      packingStore(
        await sqliteStore({ path, world: { ...world, sleep, defer }, workspace, durability: "process" }),
      );
    return { store: await start(), reopen: start, done: async () => remove() };
  },
  skip: { "stats counts what is kept": "it counts segments where this store has some" },
});
