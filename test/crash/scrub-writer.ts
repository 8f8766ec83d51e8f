/** A process that scrubs a store and says when it begins; it is killed in the middle. */
import { pathToFileURL } from "node:url";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { workspace } from "../runtime/place.ts";

export const begun = "scrubbing";

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const path = process.argv[2] ?? "";
  const store = await sqliteStore({ path, world: realWorld(), workspace, create: false });
  const scrubbed = store.scrub();
  console.log(begun);
  await scrubbed;
  await store.close();
}
