/**
 * Fetches deltas of answers produced in other processes, for subscribers here. The lease names the runner of
 * a session, and announcements in the store its address. Without one, or after a disconnect, finished
 * messages arrive by the log all the same.
 */
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { sizeOf, type LivePart } from "../../runtime/turn/live.ts";
import type { Hub } from "./hub.ts";
import { isLoopback } from "../http/cross-origin.ts";
import { connectRelay, type RelayConnection, type Server } from "./relay-connection.ts";
import { internalsOf, type EngineInternals } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

export interface RelayFetch {
  stop(): void;
}

const againMsMin = 250;
const againMsMax = 5_000;
/** The log says who runs a session; without news it is checked this rarely. */
const lookAgainMs = 60_000;
/** How often the list of servers is read, for subscribers to all sessions. */
const lookMs = 1_000;

/** True when this process holds a lease: a worker adds a name or a number. */
export const isHeldBy = (holder: string, server: string): boolean =>
  holder === server || holder.endsWith(`@${server}`) || holder.startsWith(`${server}+`);

/** True when the server listens on the loopback of another machine: that address leads elsewhere here. */
export function isOutOfReach({ holder, address }: Pick<Server, "holder" | "address">, own: string): boolean {
  const host = URL.parse(address)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
  const [there, here] = [machineOf(holder), machineOf(own)];
  if (!isLoopback(host) || there === null || here === null) return false;
  const isOtherBoot = there.boot !== undefined && here.boot !== undefined && there.boot !== here.boot;
  return there.host !== here.host || isOtherBoot;
}

/** Host name and boot id, as far as the holder names them; see process-identity.ts. */
function machineOf(holder: string): { readonly host: string; readonly boot: string | undefined } | null {
  const [, host, boot] = /^(.+):\d+(?:\/\d+(?:\/([0-9a-f]+))?|\/~[0-9a-f]+)?$/.exec(holder) ?? [];
  return host === undefined ? null : { host, boot };
}

export function makeFetching(engine: Engine, hub: Hub): RelayFetch {
  const deps = internalsOf(engine);
  const { live } = deps;
  const parts = makeParts(deps);
  const following = new Map<SessionId | null, { stop(): void }>();
  const unsubscribe = live.onInterestChanged((session, isHeard) => {
    if (!isHeard) {
      following.get(session)?.stop();
      following.delete(session);
    } else if (!following.has(session) && following.size < limit.relaysMax) {
      const given = { engine, hub, heard: parts };
      following.set(session, session === null ? followAll(given) : followOne(given, session));
    }
  });
  return {
    stop() {
      unsubscribe();
      for (const one of following.values()) one.stop();
      following.clear();
    },
  };
}

interface RelayInput {
  readonly engine: Engine;
  readonly hub: Hub;
  readonly heard: (part: LivePart) => void;
}

/** One session, wherever it runs. */
function followOne({ engine, hub, heard }: RelayInput, session: SessionId): { stop(): void } {
  const { store, world, holder: own, tenant } = internalsOf(engine);
  const over = new AbortController();
  let news = new AbortController();
  let connection: RelayConnection | null = null;
  const look = (): void => news.abort();
  const unlisten = hub.listen(session, {
    heard: ({ type }: SessionEvent) => {
      if (type === "lease.taken" || (type === "model.requested" && connection === null)) look();
    },
    behind: look,
  });

  /** The server of the process that runs it; null when it runs here, nowhere, or without a server. */
  async function server(): Promise<Server | null> {
    const lease = (await store.head(session))?.lease ?? null;
    if (lease === null || lease.untilMs <= store.now() || isHeldBy(lease.holder, own)) return null;
    const found = (await store.servers()).find(({ holder }) => isHeldBy(lease.holder, holder)) ?? null;
    return found === null || isOutOfReach(found, own) ? null : found;
  }

  async function going(): Promise<void> {
    for (let againMs = againMsMin; !over.signal.aborted;) {
      news = new AbortController();
      const found = await server().catch(() => null);
      const isSame = found !== null && connection !== null && connection.secret === found.secret;
      if (!isSame) {
        connection?.stop();
        connection =
          found === null || over.signal.aborted
            ? null
            : connectRelay({ world, server: found, asked: { tenant, session }, atMs: store.now(), heard });
      }
      const open = connection;
      const waited = new AbortController();
      const changed = AbortSignal.any([over.signal, news.signal, waited.signal]);
      const rest = world.sleep(lookAgainMs, changed).then(() => false);
      const isCut = await (open === null ? rest : Promise.race([open.over.then(() => true), rest]));
      waited.abort();
      if (!isCut) continue;
      againMs = open?.wasOpen === true ? againMsMin : Math.min(againMs * 2, againMsMax);
      connection = null;
      await world.sleep(againMs, AbortSignal.any([over.signal, news.signal]));
    }
    connection?.stop();
  }

  void going();
  return {
    stop() {
      over.abort();
      unlisten();
    },
  };
}

/** All sessions of all other servers. */
function followAll({ engine, heard }: RelayInput): { stop(): void } {
  const { store, world, holder: own, tenant } = internalsOf(engine);
  const over = new AbortController();
  const open = new Map<string, RelayConnection>();

  async function look(): Promise<void> {
    const servers = (await store.servers()).filter(
      (server) => server.holder !== own && !isOutOfReach(server, own),
    );
    const secrets = new Set(servers.map(({ secret }) => secret));
    for (const [secret, connection] of open) if (!secrets.has(secret)) connection.stop();
    for (const server of servers) {
      if (open.has(server.secret) || over.signal.aborted || open.size >= limit.relaysMax) continue;
      const asked = { tenant, session: null };
      const connection = connectRelay({ world, server, asked, atMs: store.now(), heard });
      open.set(server.secret, connection);
      void connection.over.then(() => open.delete(server.secret));
    }
  }

  async function looking(): Promise<void> {
    while (!over.signal.aborted) {
      await look().catch(() => undefined);
      await world.sleep(lookMs, over.signal);
    }
    for (const connection of open.values()) connection.stop();
  }

  void looking();
  return { stop: () => over.abort() };
}

/**
 * Delivers each part once, though it may arrive twice, and nothing after a missing part: half of an answer
 * would be taken for all of it.
 */
export function makeParts({ live }: Pick<EngineInternals, "live">): (part: LivePart) => void {
  const sizes = new Map<SessionId, { readonly requestSeq: number; readonly size: number }>();
  return ({ session, requestSeq, after, deltas }) => {
    const known = sizes.get(session);
    if (known !== undefined && known.requestSeq > requestSeq) return;
    let size = known?.requestSeq === requestSeq ? known.size : 0;
    if (after > size) return;
    let at = after;
    for (const delta of deltas) {
      const skip = Math.max(0, size - at);
      const count = sizeOf(delta);
      at += count;
      if (skip >= count) continue;
      size = at;
      const rest = delta.type === "tool-call" ? delta : { ...delta, text: delta.text.slice(skip) };
      live.forward(session, { type: "delta", requestSeq, delta: rest });
    }
    sizes.delete(session);
    sizes.set(session, { requestSeq, size });
    for (const oldest of sizes.keys()) {
      if (sizes.size <= limit.relaysMax) break;
      sizes.delete(oldest);
    }
  };
}
