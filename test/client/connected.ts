/** A client of a server of its own, and a way between them that can be cut. */
import { makeEngine, type RemoteEngine } from "../../src/client/engine.ts";
import { makeWire } from "../../src/client/wire.ts";
import { clientWorld, type Fetch } from "../../src/client/world.ts";
import { served, type Served, type ServedOptions } from "../server/served.ts";

export interface Connected extends AsyncDisposable {
  readonly place: Served;
  readonly client: RemoteEngine;
}

export interface ConnectedOptions extends ServedOptions {
  /** Stands between client and server. */
  readonly between?: (next: Fetch) => Fetch;
}

export async function connected({ between, ...rest }: ConnectedOptions = {}): Promise<Connected> {
  const place = await served(rest);
  const usual = clientWorld(between?.(fetch));
  // Nobody needs to wait that long here; what may take long are timers that run out.
  const sleep = (ms: number, signal?: AbortSignal) => usual.sleep(ms > 10_000 ? ms : ms / 100, signal);
  const world = { ...usual, sleep };
  const client = makeEngine(makeWire({ url: place.server.url, token: place.token, world }));
  return {
    place,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await place[Symbol.asyncDispose]();
    },
  };
}
