/** Serves one client over standard input and output, as the local user, until the client is gone. */
import type { Readable, Writable } from "node:stream";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { TokenScope } from "../../core/workspace/access-token.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import { problemOf } from "../../server/http/problem.ts";
import { needScope, type McpAccess } from "./access.ts";
import { makeServer, type Extension } from "./server.ts";
import { makeUpdates } from "./updates.ts";

export interface StdioOptions {
  readonly engine: Engine;
  readonly scopes: readonly TokenScope[];
  readonly input?: Readable;
  readonly output?: Writable;
  /** Receives errors that the client gets no answer for. Never standard output. */
  readonly trouble: (error: unknown) => void;
  readonly stopped: AbortSignal;
  readonly extension?: Extension;
}

/** A message of several megabytes is an input with a file. */
const messageBytesMax = 16_777_216;

export async function serveMcp({
  engine,
  scopes,
  trouble,
  stopped,
  ...options
}: StdioOptions): Promise<void> {
  const { input = process.stdin, output = process.stdout, extension } = options;
  const acting = internalsOf(engine).forRequest({
    need: (scope, what) => needScope({ scopes }, scope, what),
  });
  const access: McpAccess = {
    engine: acting,
    scopes,
    session: null,
    problemOf: (error) => problemOf(error, trouble),
  };
  const updates = makeUpdates(engine, trouble);
  const transport = new StdioServerTransport(input, output, { maxBufferSize: messageBytesMax });
  const over = Promise.withResolvers<void>();
  let stop: (() => void) | null = null;
  const handle = serveStdio(
    ({ era }) => {
      const server = makeServer(access, { era, updates, extension });
      if (era === "modern") {
        // The connection forwards what its client listens for, and drops the rest.
        stop?.();
        stop = updates.subscribe((uri) => {
          if (uri === null) server.sendResourceListChanged();
          else void server.server.sendResourceUpdated({ uri }).catch(() => undefined);
        });
      }
      return server;
    },
    { transport, onerror: trouble },
  );
  input.once("end", over.resolve);
  input.once("close", over.resolve);
  stopped.addEventListener("abort", () => over.resolve(), { once: true });
  if (stopped.aborted) over.resolve();
  await over.promise;
  (stop as (() => void) | null)?.();
  await handle.close();
}
