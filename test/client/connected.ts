/** A client of a server of its own, and a way between them that can be cut. */
import { engineAt, type RemoteEngine } from "../../src/client/connect.ts";
import type { Fetch } from "../../src/client/world.ts";
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
  const { url } = place.server;
  const client = engineAt(url, { token: place.token, ...(between ? { fetch: between(fetch) } : {}) });
  return {
    place,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await place[Symbol.asyncDispose]();
    },
  };
}
