/**
 * A server with AG-UI whose model lets the page pick a color, and names it. With a number it kills itself at
 * that append of the store. Tells URL and token, and at the end the number of appends.
 */
import { openEngine } from "../../../src/index.ts";
import { agUiMount } from "../../../src/adapter/ag-ui/mount.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { makeAuthorizer } from "../../../src/server/auth/authorize.ts";
import { openLocalToken } from "../../../src/server/auth/local-token.ts";
import { serve } from "../../../src/server/http/server.ts";
import { oneTenant } from "../../../src/server/http/tenants.ts";
import { scripted, use, type Line } from "../../runtime/turn/scripted.ts";
import { dieAt } from "../dying.ts";

const [store = "", killAt = "0", when = "before"] = process.argv.slice(2);
const world = realWorld();
const answer: Line = (call) =>
  JSON.stringify(call).includes("blue") ? "Blue it is." : [use("pick", { of: "colors" })];
const { models } = scripted([answer]);
const engine = await openEngine({ store, models });
const { token } = await openLocalToken(engine, { world, path: `${store}.token` });
const appends = dieAt(engine, Number(killAt), when);
const rate = { perSecond: 1e9, burst: 1e9 };
const server = await serve({
  world,
  version: "0.0.0",
  mounts: [agUiMount],
  authorizer: (bound) => makeAuthorizer({ ...bound, world, rate, tenants: oneTenant(engine) }),
  trouble: (error) => console.error(error),
});
process.send?.({ url: server.url, token });
process.on("message", () => process.send?.({ appends: appends() }));
process.on("disconnect", () => process.exit(0));
