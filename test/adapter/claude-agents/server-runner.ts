/**
 * A server of the Managed Agents API to be killed, with a worker for turns. Its model calls `bash` twice, and
 * counts the results in its context, so that a restart changes nothing. A message moves its clock forward.
 */
import { claudeAgentsMount } from "../../../src/adapter/claude-agents/mount.ts";
import { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { makeAuthorizer } from "../../../src/server/auth/authorize.ts";
import { openLocalToken } from "../../../src/server/auth/local-token.ts";
import { serve } from "../../../src/server/http/server.ts";
import { oneTenant } from "../../../src/server/http/tenants.ts";
import { scripted, use } from "../../runtime/turn/scripted.ts";

const [store = "", port = "0", skewMs = "0"] = process.argv.slice(2);
let skew = Number(skewMs);
const realNow = Date.now;
Date.now = () => realNow() + skew;
process.on("message", (ms) => void (skew += Number(ms)));

const { models } = scripted([
  ({ parts }) => {
    const results = parts
      .flatMap((part) => (part.part === "message" && part.role === "tool" ? part.content : []))
      .filter(({ type }) => type === "tool-result").length;
    return results >= 2
      ? "Both ran."
      : [use("bash", { command: `echo ${results} >> ran.txt` }, `c${results}`)];
  },
]);
const world = realWorld();
const engine = await openEngine({ store, models });
const { token } = await openLocalToken(engine, { world, path: `${store}.token` });
await engine.work({ concurrency: 1 });
const server = await serve({
  world,
  version: "0.0.0",
  port: Number(port),
  mounts: [claudeAgentsMount],
  authorizer: (bound) =>
    makeAuthorizer({
      ...bound,
      world,
      rate: { perSecond: 1e9, burst: 1e9 },
      tenants: oneTenant(engine),
    }),
  trouble: (error) => console.error(error),
});
process.send?.({ url: server.url, token });
process.on("disconnect", () => process.exit(0));
