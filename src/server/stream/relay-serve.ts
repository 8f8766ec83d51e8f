/**
 * Sends deltas of answers produced here to other servers of the same store. It announces its address in the
 * store, with a secret that is as old as the process.
 */
import type { ServerResponse } from "node:http";
import { isSessionId } from "../../core/ids.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { LivePart } from "../../runtime/turn/live.ts";
import type { World } from "../../runtime/world.ts";
import type { Hub } from "./hub.ts";
import { isProof } from "./relay-proof.ts";
import type { Headers } from "../http/reply.ts";
import type { RequestTarget } from "../http/router.ts";
import { heartbeatFrame, openSink } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export interface RelayServer {
  /** Serves another server, until either of them ends it. False when it fails to prove that it is one. */
  give(response: ServerResponse, asked: RelayServerRequest): boolean;
  /** Withdraws its announcement from the store. */
  stop(): Promise<void>;
}

export interface RelayServerOptions {
  /** The address of this server for others. */
  readonly address: string;
  /** Called when the store accepts nothing any more. */
  readonly gone: () => void;
  readonly random: World["random"];
}

export interface RelayServerRequest {
  readonly target: RequestTarget;
  readonly headers: Headers;
  readonly stopping: AbortSignal;
  readonly proof: string;
}

const secretBytes = 32;
const announceMs = 5_000;
/** A store that fails this often is closed, or as good as that. */
const failuresMax = 12;
/** A server is dropped when it has announced nothing for so long. */
const holdsMs = 20_000;

export function makeGiving(
  engine: Engine,
  hub: Hub,
  { address, gone, random }: RelayServerOptions,
): RelayServer {
  const { store, world, live, tenant, holder } = internalsOf(engine);
  const secret = Buffer.from(random(secretBytes)).toString("base64url");
  const over = new AbortController();
  const announce = (untilMs: number): Promise<void> => store.announce({ holder, address, secret, untilMs });
  const announced = announcing();

  async function announcing(): Promise<void> {
    for (let failures = 0; failures < failuresMax && !over.signal.aborted;) {
      // If that fails, other servers get finished messages, and writers see the error.
      const isSaid = await announce(store.now() + holdsMs).then(
        () => true,
        () => false,
      );
      failures = isSaid ? 0 : failures + 1;
      await world.sleep(announceMs, over.signal);
    }
    if (!over.signal.aborted) gone();
  }

  return {
    give(response, { target, headers, stopping, proof }) {
      const session = target.query.get("session");
      if (session !== null && !isSessionId(session)) return false;
      const asked = { tenant, session };
      if (!isProof(world, proof, { secret, asked, nowMs: store.now() })) return false;
      const sink = openSink(response, headers, stopping);
      // A slow one misses a part, detects that by the start of the next one, and drops the rest.
      const heard = (part: LivePart): void => {
        if (!sink.isFull) sink.write(`data: ${JSON.stringify(part)}\n\n`);
      };
      const stops = [
        live.subscribeWithBacklog(session, heard),
        hub.onHeartbeat(() => sink.write(heartbeatFrame)),
      ];
      const end = (): void => {
        for (const stop of stops) stop();
        sink.end();
      };
      sink.signal.addEventListener("abort", end, { once: true });
      over.signal.addEventListener("abort", sink.end, { once: true, signal: sink.signal });
      if (sink.signal.aborted || over.signal.aborted) end();
      return true;
    },
    async stop() {
      over.abort();
      await announced;
      await announce(0).catch(() => undefined);
    },
  };
}
