/** A process that tells the hooks of a store, to be killed. */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { openWebhooksOut } from "../../src/server/outbound/webhooks-out.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { workspace } from "../runtime/place.ts";

const [path = ""] = process.argv.slice(2);
const world = realWorld();
const store = await sqliteStore({ path, world, workspace, durability: "process" });
const engine = new Engine({ store, world });
await openWebhooksOut(engine, {
  outbound: { allowPrivate: true },
  trouble: () => undefined,
  againMs: 5,
  noteMs: 0,
});
process.send?.("ready");
process.on("disconnect", () => process.exit(0));
