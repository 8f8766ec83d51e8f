/**
 * The program that a crash test kills while it packs: every log of a store, over and over, up to positions at
 * random. It says when it is at work.
 */
import type { WorkspaceId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { freshSeed, makeRandom } from "./random.ts";

const path = process.argv[2] ?? "";
const random = makeRandom(freshSeed());
const workspace = "wsp_00000000000000000000000000" as WorkspaceId;
const store = await sqliteStore({
  path,
  world: realWorld(),
  workspace,
  create: false,
  durability: "process",
});
process.stdout.write("ready\n");
for (let round = 0; ; round++) {
  for (const log of (await store.logs(null, 100)).rows) {
    const head = await store.head(log);
    await store.pack(log, Math.ceil((head?.seq ?? 0) * random.next()) + round);
  }
  await realWorld().sleep(1);
}
