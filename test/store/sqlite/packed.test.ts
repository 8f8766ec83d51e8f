/** The contract holds whatever is packed: all cases once more, on a store that packs all it can at once. */
import { conformance } from "../../../src/store/conformance/conformance.ts";
import { packCases } from "../../../src/store/conformance/pack.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
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
  skip: {
    ...Object.fromEntries(packCases.map(({ name }) => [name, "it packs by itself"])),
    "stats counts the stored records, sessions and blobs": "it counts segments where this store has some",
    "query refuses anything but one read-only statement": "nothing is packed",
    "a fork is accepted at the maximum depth and refused beyond": "nothing is packed",
    "scrubbing loses nothing, and a second scrub finds nothing": "nothing is packed",
    "an existing blob is not stored twice": "nothing is packed",
    "blobs are returned byte for byte": "nothing is packed",
  },
});
