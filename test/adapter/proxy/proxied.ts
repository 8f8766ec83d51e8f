/** A server with the recording proxy before a provider on loopback. */
import { proxyMount, type ProxyOptions } from "../../../src/adapter/proxy/mount.ts";
import { lookUpModel } from "../../../src/cli/open/model-lookup.ts";
import { SkeinError } from "../../../src/core/error.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";
import type { SessionId } from "../../../src/core/ids.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import { workspace } from "../../runtime/place.ts";
import { served, type Served } from "../../server/served.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

export interface Proxied extends AsyncDisposable {
  readonly engine: Engine;
  readonly upstream: Upstream;
  readonly token: string;
  /** The URL of the proxy. */
  readonly base: string;
  readonly troubles: unknown[];
  post(path: string, body: unknown, token?: string | null): Promise<Response>;
  get(path: string): Promise<Response>;
  /** The sessions, once so many calls have an outcome. */
  recorded(calls: number): Promise<[string, ...string[]]>;
  /** The same store behind a new proxy. */
  restart(): Promise<void>;
  /** From now on nothing can be written. */
  breakStore(): void;
  /** From now on every append takes so long. */
  slowStore(ms: number): void;
}

export async function proxied(options: Partial<ProxyOptions> = {}): Promise<Proxied> {
  const upstream = await startUpstream();
  const store = memoryStore({ world: realWorld(), workspace });
  const troubles: unknown[] = [];
  const upstreams = { anthropic: upstream.url, openai: upstream.url, google: upstream.url };
  const mount = () =>
    proxyMount({
      models: lookUpModel,
      clock: () => Math.round(performance.now()),
      upstreams,
      trouble: (error) => troubles.push(error),
      ...options,
    });
  let place: Served = await served({ store, mounts: [mount()] });
  let { token } = place;
  const base = (): string => `${place.server.url}/proxy`;
  const headers = (given: string | null): Record<string, string> => ({
    "content-type": "application/json",
    "x-api-key": "provider-key",
    ...(given === null ? {} : { "x-skein-token": given }),
  });
  return {
    get engine() {
      return place.engine;
    },
    get base() {
      return base();
    },
    get token() {
      return token;
    },
    upstream,
    troubles,
    post(path, body, given = token) {
      const { signal, ...rest } = (typeof body === "string" ? {} : body) as { signal?: AbortSignal };
      const text = typeof body === "string" ? body : JSON.stringify(rest);
      const init = { method: "POST", body: text, headers: headers(given) };
      return fetch(`${base()}${path}`, signal === undefined ? init : { ...init, signal });
    },
    get: (path) => fetch(`${base()}${path}`, { headers: headers(token) }),
    async recorded(calls) {
      const untilMs = performance.now() + 10_000;
      for (;;) {
        const { rows } = await place.engine.sessions();
        let ended = 0;
        for (const { session, parent } of rows) {
          const types = ["proxy.responded", "proxy.failed"] as const;
          const handle = await place.engine.session(session);
          for await (const _ of handle.events({ types: [...types], fromSeq: (parent?.seq ?? 0) + 1 }))
            ended += 1;
        }
        if (ended >= calls) return rows.map(({ session }) => session) as unknown as [string, ...string[]];
        if (performance.now() > untilMs) throw new Error(`${ended} of ${calls} calls have an outcome`);
        await new Promise((done) => setTimeout(done, 10));
      }
    },
    async restart() {
      await place.server.stop();
      const engine = place.engine;
      const again = await served({ store, mounts: [mount()] });
      // The token of the first one goes on: a conversation belongs to it.
      const kept = token;
      place = again;
      token = kept;
      void engine;
    },
    breakStore() {
      store.append = () => Promise.reject(new SkeinError("unavailable", "the disk is full"));
    },
    slowStore(ms) {
      const append = store.append.bind(store);
      store.append = async (...given) => {
        await new Promise((done) => setTimeout(done, ms));
        return append(...given);
      };
    },
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

export async function eventsOf(place: Proxied, session: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of (await place.engine.session(session)).events()) events.push(event);
  return events;
}

export const memoryOf = async (place: Proxied, session: string) =>
  (await internalsOf(place.engine).writer.current(session as SessionId)).standing;
