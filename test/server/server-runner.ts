/**
 * A server in a process of its own, to be killed: the store and the port are its arguments. Tells where it
 * listens and a token; asked "rss", it tells how much memory it holds.
 */
import { openEngine } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve } from "../../src/server/http/server.ts";
import { openLocalToken } from "../../src/server/auth/local-token.ts";
import { oneTenant } from "../../src/server/http/tenants.ts";

const [store = "", port = "0"] = process.argv.slice(2);
const world = realWorld();
const engine = await openEngine({ store });
const { token } = await openLocalToken(engine, { world, path: `${store}.token` });
const rate = { perSecond: 1e9, burst: 1e9 };
const server = await serve({
  world,
  port: Number(port),
  version: "0.0.0",
  authorizer: (bound) => makeAuthorizer({ ...bound, world, rate, tenants: oneTenant(engine) }),
  trouble: (error) => process.send?.({ trouble: String(error) }),
});
process.send?.({ port: server.port, token });
process.on("message", () => {
  globalThis.gc?.();
  process.send?.({ rss: process.memoryUsage().rss });
});
process.on("disconnect", () => process.exit(0));
