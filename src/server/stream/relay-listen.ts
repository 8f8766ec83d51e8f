/**
 * Where a worker without a server sends its deltas to the servers of its machine: a loopback port with no
 * other use.
 */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { limit } from "../../core/limit.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { isProblem } from "../auth/authorize.ts";
import { makeHub } from "./hub.ts";
import { safetyHeaders } from "../http/cross-origin.ts";
import { problemOf, ProblemError } from "../http/problem.ts";
import { makeRelay } from "./relay.ts";
import { sendProblem } from "../http/reply.ts";
import { parseTarget } from "../http/router.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

const ignore = (): void => undefined;

export async function listenRelay(engine: Engine): Promise<AsyncDisposable> {
  const { random } = internalsOf(engine).world;
  const server = createServer({
    maxHeaderSize: limit.requestHeaderBytesMax,
    requestTimeout: limit.requestMs,
    headersTimeout: limit.requestMs,
  });
  server.maxConnections = limit.connectionsMax;
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  // A failed connection is not a reason to end the worker.
  server.on("error", ignore);
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stopping = new AbortController();
  const hub = makeHub(engine, ignore);
  const relay = makeRelay({ address, hubOf: () => hub, stopping: stopping.signal, random });
  relay.addEngine(engine);
  const headers = safetyHeaders();
  server.on("request", (request, response) => {
    request.on("error", ignore);
    response.on("error", ignore);
    try {
      const target = parseTarget(request.url ?? "/");
      if (isProblem(target)) throw new ProblemError(target);
      if (!relay.answer(request, response, { target, headers }))
        throw new ProblemError(makeProblem("not-found", "this worker serves only servers of its store"));
    } catch (error) {
      sendProblem(request, response, problemOf(error, ignore), headers);
    }
  });
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await relay.stop();
      hub.stop();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
