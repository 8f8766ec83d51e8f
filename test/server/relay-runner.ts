/** A server with a worker in a process of its own, to be killed. Its model says two words and no more. */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve } from "../../src/server/http/server.ts";
import { oneTenant } from "../../src/server/http/tenants.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { workspace } from "../runtime/place.ts";
import { slowModel } from "./slow-model.ts";

const [path = ""] = process.argv.slice(2);
const world = realWorld();
const model = slowModel(["Once ", "upon ", "a time."]);
model.go();
model.go();
const store = await sqliteStore({ path, world, workspace, durability: "process" });
const tools = async () => makeToolSource({ world, tools: [] });
const engine = new Engine({ store, world, models: async () => model.models, tools });
await serve({
  world,
  version: "0.0.0",
  engines: [engine],
  authorizer: (bound) => makeAuthorizer({ ...bound, world, tenants: oneTenant(engine) }),
});
await engine.work({ concurrency: 1 });
process.send?.("ready");
process.on("disconnect", () => process.exit(0));
