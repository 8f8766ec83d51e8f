/**
 * Relays deltas between servers of one store: sends those produced here, and fetches others for subscribers
 * here.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { Deps } from "../../runtime/deps.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { World } from "../../runtime/world.ts";
import type { Hub } from "./hub.ts";
import { ProblemError } from "../http/problem.ts";
import { makeFetching, type RelayFetch } from "./relay-fetch.ts";
import { makeGiving, type RelayServer } from "./relay-serve.ts";
import { proofHeader, relayPath, tenantIn } from "./relay-proof.ts";
import type { Headers } from "../http/reply.ts";
import type { RequestTarget } from "../http/router.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export interface RelayOptions {
  /** The address of this server for others; null: none, and it sends nothing. */
  readonly address: string | null;
  readonly hubOf: (engine: Engine) => Hub;
  readonly stopping: AbortSignal;
  readonly random: World["random"];
}

export interface Relay {
  /** Starts relaying for it. May be called repeatedly. */
  addEngine(engine: Engine): void;
  /** True when it has answered. */
  answer(
    request: IncomingMessage,
    response: ServerResponse,
    asked: { readonly target: RequestTarget; readonly headers: Headers },
  ): boolean;
  stop(): Promise<void>;
}

interface RelayPeer {
  readonly tenant: string;
  readonly giving: RelayServer | null;
  readonly fetching: RelayFetch;
}

const wildcards = ["0.0.0.0", "::", ""];

/** Defaults to where it listens; a server that listens everywhere does not know its public name. */
export function relayAddress(bound: { readonly host: string; readonly url: string }): string | null {
  return wildcards.includes(bound.host) ? null : bound.url;
}

/** An address from a person. */
export function checkRelayAddress(given: string): string {
  const url = given.length <= limit.hookUrlCharsMax ? URL.parse(given) : null;
  const isFine = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (isFine && url.search === "" && url.hash === "") return url.href.replace(/\/$/, "");
  throw new SkeinError("invalid", `relay URL: expected the URL of a server, got ${quote(given)}`, {
    hint: "for example http://10.0.0.5:7717",
  });
}

export function makeRelay({ address, hubOf, stopping, random }: RelayOptions): Relay {
  const peers = new Map<Deps["store"], RelayPeer>();
  let isOver = false;

  async function leave(store: Deps["store"]): Promise<void> {
    const found = peers.get(store);
    peers.delete(store);
    found?.fetching.stop();
    await found?.giving?.stop();
  }

  return {
    addEngine(engine) {
      const { store, tenant } = internalsOf(engine);
      if (isOver || peers.has(store)) return;
      const hub = hubOf(engine);
      const gone = (): void => void leave(store);
      const giving = address === null ? null : makeGiving(engine, hub, { address, gone, random });
      peers.set(store, { tenant, giving, fetching: makeFetching(engine, hub) });
    },
    answer(request, response, { target, headers }) {
      if (target.path !== relayPath) return false;
      if (request.method !== "GET")
        throw new ProblemError({ ...makeProblem("wrong-method", "allowed methods: GET"), allow: "GET" });
      const proof = String(request.headers[proofHeader] ?? "");
      const tenant = tenantIn(proof);
      // A tenant that was closed and opened again has two, of which one knows the secret.
      const isGiven = [...peers.values()].some(
        (one) =>
          one.tenant === tenant && one.giving?.give(response, { target, headers, stopping, proof }) === true,
      );
      if (!isGiven) throw strange();
      return true;
    },
    async stop() {
      isOver = true;
      await Promise.all([...peers.keys()].map(leave));
    },
  };
}

/** The same response whatever is wrong: it reveals no tenants. */
const strange = (): ProblemError =>
  new ProblemError(
    makeProblem("unauthorized", "reserved for servers of the same store", {
      hint: `send the header ${proofHeader}`,
    }),
  );
