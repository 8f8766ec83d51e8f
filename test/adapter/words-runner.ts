/**
 * A server with all mounts and a worker, whose model speaks slowly, to be killed. Tells URL and token. With
 * SKEIN_TEST_PUSH it calls URLs that clients name.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { makeMountList } from "../../src/cli/open/mounts.ts";
import { makePushCalls } from "../../src/adapter/push-calls.ts";
import { openEngine } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { openLocalToken } from "../../src/server/auth/local-token.ts";
import { serve } from "../../src/server/http/server.ts";
import { oneTenant } from "../../src/server/http/tenants.ts";
import { wordByWord } from "./ai-sdk/chats.ts";

const [store = "", wordMs = "0"] = process.argv.slice(2);
const world = realWorld();
const words = Array.from({ length: 30 }, (_, n) => `word-${n} `);
const { models } = wordByWord(words, () => sleep(Number(wordMs)));
const engine = await openEngine({ store, models });
const { token } = await openLocalToken(engine, { world, path: `${store}.token` });
await engine.work({ concurrency: 1 });
const secret = process.env["SKEIN_TEST_PUSH"];
const mounts = makeMountList(secret === undefined ? null : makePushCalls({ secret, allowPrivate: true }));
for (const { follow } of mounts) await follow?.(engine, (error) => console.error(error));
const rate = { perSecond: 1e9, burst: 1e9 };
const server = await serve({
  world,
  version: "0.0.0",
  mounts,
  authorizer: (bound) => makeAuthorizer({ ...bound, world, rate, tenants: oneTenant(engine) }),
  trouble: (error) => console.error(error),
});
process.send?.({ url: server.url, token });
process.on("disconnect", () => process.exit(0));
