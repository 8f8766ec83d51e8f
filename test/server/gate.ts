/** An authorizer over tenants in memory, and requests as a browser or a program would send them. */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { makeAuthorizer, type Authorizer, type AuthorizerOptions } from "../../src/server/auth/authorize.ts";
import type { GateRequest } from "../../src/server/http/cross-origin.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { madeWorld, type MadeWorld } from "../runtime/made-world.ts";
import { workspace } from "../runtime/place.ts";

export interface GatedPlace extends AsyncDisposable {
  readonly world: MadeWorld;
  readonly engine: Engine;
  /** Another tenant's. */
  readonly other: Engine;
  readonly authorizer: Authorizer;
  /** The same engines behind another server. */
  again(options?: Partial<AuthorizerOptions>): Authorizer;
}

export const own = "http://127.0.0.1:7717";

export function gated(options: Partial<AuthorizerOptions> = {}): GatedPlace {
  const world = madeWorld();
  const engines = new Map(
    ["default", "acme"].map((tenant) => {
      const store = memoryStore({ world: madeWorld(tenant), workspace });
      return [tenant, new Engine({ store, world, tenant })];
    }),
  );
  const tenants = async (tenant: string): Promise<Engine | null> => engines.get(tenant) ?? null;
  const again = (more: Partial<AuthorizerOptions> = {}): Authorizer =>
    makeAuthorizer({ host: "127.0.0.1", port: 7717, world, tenants, ...options, ...more });
  return {
    world,
    engine: engines.get("default")!,
    other: engines.get("acme")!,
    authorizer: again(),
    again,
    async [Symbol.asyncDispose]() {
      for (const engine of engines.values()) await engine.close();
    },
  };
}

/** A request to the server under its own address. */
export const incoming = (
  headers: Readonly<Record<string, string>> = {},
  { method = "GET", remoteAddress = "127.0.0.1" } = {},
): GateRequest => ({ method, headers: { host: "127.0.0.1:7717", ...headers }, socket: { remoteAddress } });

export const bearing = (token: string, headers: Readonly<Record<string, string>> = {}): GateRequest =>
  incoming({ authorization: `Bearer ${token}`, ...headers });
