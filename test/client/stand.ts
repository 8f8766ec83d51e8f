/**
 * Loaded before test files (`node --import`): whenever one of them asks for an engine, it is given a client
 * of a server on it. One server serves them all; the token says whose engine is meant.
 */
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { makeEngine } from "../../src/client/engine.ts";
import { makeWire } from "../../src/client/wire.ts";
import { clientWorld, type Fetch } from "../../src/client/world.ts";
import { makeProblem } from "../../src/protocol/problem.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer, type Authorizer } from "../../src/server/auth/authorize.ts";
import { serve } from "../../src/server/http/server.ts";
import { giveInstead } from "../runtime/place.ts";

const engines = new Map<string, Engine>();
const world = realWorld();

function authorizerFor(bound: { readonly host: string; readonly port: number }): Authorizer {
  const usual = makeAuthorizer({ ...bound, world, tenants: async () => null });
  return {
    ...usual,
    async authorize({ headers }) {
      const engine = engines.get(String(headers["authorization"]));
      if (engine === undefined) return makeProblem("unavailable", "the engine is closed");
      return {
        engine,
        tenant: "default",
        scopes: ["admin"],
        actor: "user",
        token: "none",
        expiresAt: null,
        session: null,
        rate: { waitMs: 0, left: 400, perSecond: 200, burst: 400 },
        stands: async () => true,
      };
    },
  };
}

const serving = serve({ world, version: "0.0.0", authorizer: authorizerFor, otherStores: true });

const fetchThere: Fetch = async (url, init) => {
  const { host, port } = await serving;
  return fetch(url.replace("server.invalid", `${host}:${port}`), init);
};

giveInstead((engine) => {
  const name = `t${engines.size}`;
  engines.set(`Bearer ${name}`, engine);
  let count = 0;
  // Without chance, as all else in these tests.
  const made = { ...clientWorld(fetchThere), newKey: () => `${name} ${(count += 1)}` };
  const client = makeEngine(makeWire({ url: "http://server.invalid", token: name, world: made }));
  const close = async (): Promise<void> => {
    await client.close();
    await engine.close();
  };
  // A server works by itself, and has an address of its own for webhooks.
  const work: Engine["work"] = (options) => engine.work(options);
  const webhook: Engine["webhook"] = (token, call) => engine.webhook(token, call);
  return { ...client, work, webhook, close, [Symbol.asyncDispose]: close } as unknown as Engine;
});
