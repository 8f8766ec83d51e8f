/** Creates one store after the other in a folder until it is killed. */
import { join } from "node:path";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { workspace } from "../../runtime/place.ts";

const [folder = "."] = process.argv.slice(2);
const world = realWorld();
for (let number = 0; ; number++) {
  const path = join(folder, `${number}.db`);
  process.stdout.write(`${number}\n`);
  await (await sqliteStore({ path, world, workspace })).close();
}
