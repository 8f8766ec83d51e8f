/** The operations that return a stream of server-sent events. Closing one cancels nothing. */
import type { IncomingMessage } from "node:http";
import type { OperationId, ParamsOf } from "../../call/operations.ts";
import type { Problem } from "../../protocol/problem.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { stillWaiting } from "../../runtime/options.ts";
import type { RunResult } from "../../runtime/turn/runner.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { KnownHead } from "../../runtime/read/known-heads.ts";
import type { OperationCall } from "../http/invocation.ts";
import { positionIn } from "./event-id.ts";
import { familyOf, resumePlace } from "./feed-cursor.ts";
import { streamFeed } from "./feed-stream.ts";
import type { Hub } from "./hub.ts";
import { ProblemError } from "../http/problem.ts";
import { streamSession } from "./session-stream.ts";
import { problemFrame, type Sink } from "./sink.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** Does, and refuses, what comes before a stream; returns the stream itself. */
type Opener<K extends OperationId> = (
  call: OperationCall,
  params: ParamsOf<K>,
  given: StreamDeps,
) => Promise<(sink: Sink) => Promise<void>>;

export interface StreamDeps {
  readonly hub: Hub;
  /** The id of the last event that the reader has. */
  readonly lastEventId: string | undefined;
  readonly problemOf: (error: unknown) => Problem;
}

export const streamed = ["session.events", "session.ask", "session.watch", "engine.feed"] as const;
export type StreamId = (typeof streamed)[number];

export const streamOpeners: { readonly [K in StreamId]: Opener<K> } = {
  "session.events": openEvents,
  "engine.feed": openFeed,
  "session.ask": openAsk,
  "session.watch": openWatch,
};

/** True when a stream is requested, where a page is available too. */
export const wantsStream = (request: IncomingMessage, params: unknown): boolean =>
  (request.headers.accept ?? "").includes("text/event-stream") ||
  (params as { readonly follow?: boolean }).follow === true;

async function openEvents(
  call: OperationCall,
  params: ParamsOf<"session.events">,
  { hub, lastEventId }: StreamDeps,
): Promise<(sink: Sink) => Promise<void>> {
  const { since, until } = params;
  if (params.reverse === true || until !== undefined) {
    const field = until === undefined ? "reverse" : "until";
    throw new ProblemError(
      makeProblem("invalid", `${field}: not allowed in a stream`, {
        field,
        hint: "request pages instead",
      }),
    );
  }
  const { engine } = call;
  const session = await call.session();
  const { store } = internalsOf(engine);
  const first = since === undefined ? 1 : await store.seqAt(session.id, since);
  const last =
    (await positionIn({ engine, session }, lastEventId, "Last-Event-ID")) ??
    (await positionIn({ engine, session }, params.after, "after"));
  const fromSeq = Math.max(params.fromSeq ?? 1, first, (last?.seq ?? 0) + 1);
  const { toSeq, types, follow, deltas, limit: count } = params;
  return async (sink) => {
    const range = { fromSeq, toSeq, types, count };
    await streamSession({ engine, hub, session, sink }, { ...range, last, follow, deltas });
    // Without a last frame it might have been cut.
    sink.write(endFrame);
  };
}

const endFrame = "event: end\ndata: {}\n\n";

async function openFeed(
  { engine }: OperationCall,
  params: ParamsOf<"engine.feed">,
  { hub, lastEventId }: StreamDeps,
): Promise<(sink: Sink) => Promise<void>> {
  const family = params.family === undefined ? null : await familyOf(engine, params.family);
  const isLast = lastEventId !== undefined && lastEventId !== "";
  const after = isLast ? lastEventId : params.after;
  const resumed =
    after === undefined ? undefined : await resumePlace(engine, after, isLast ? "Last-Event-ID" : "after");
  return async (sink) => {
    await streamFeed({ engine, hub, sink }, { resumed, family, follow: params.follow });
    sink.write(endFrame);
  };
}

async function openAsk(
  call: OperationCall,
  { input, ...rest }: ParamsOf<"session.ask">,
  given: StreamDeps,
): Promise<(sink: Sink) => Promise<void>> {
  const { engine } = call;
  const session = await call.session();
  const last = await positionIn({ engine, session }, given.lastEventId, "Last-Event-ID");
  const run = session.ask(input, { ...rest, ...call.keyed });
  const { seq } = await run.started;
  const fromSeq = Math.max(seq, (last?.seq ?? 0) + 1);
  return streamRun({ engine, session, fromSeq, last, running: run.result }, given);
}

async function openWatch(
  call: OperationCall,
  _params: ParamsOf<"session.watch">,
  given: StreamDeps,
): Promise<(sink: Sink) => Promise<void>> {
  const { engine } = call;
  const session = await call.session();
  // A reconnecting reader continues after its last event, not with new ones.
  const last = await positionIn({ engine, session }, given.lastEventId, "Last-Event-ID");
  const seq = last?.seq ?? (await session.head()).seq;
  const running = session.run().catch(async (error: unknown) => {
    throw stillWaiting(error, (await session.fold()).standing.inbox.waiting.length > 0);
  });
  return streamRun({ engine, session, fromSeq: seq + 1, last, running }, given);
}

interface RunStreamOptions {
  readonly engine: Engine;
  readonly session: Session;
  readonly fromSeq: number;
  readonly last: KnownHead | undefined;
  readonly running: Promise<RunResult>;
}

/** Everything up to the end of the run, and then why it ended. */
function streamRun(
  { engine, session, fromSeq, last, running }: RunStreamOptions,
  { hub, problemOf }: StreamDeps,
): (sink: Sink) => Promise<void> {
  const ended = running.then(
    (ran) => `event: ran\ndata: ${JSON.stringify(ran)}\n\n`,
    (error: unknown) => problemFrame(problemOf(error)),
  );
  ended.catch(() => null);
  const endsAt = ended.then(async () => (await session.head()).seq);
  endsAt.catch(() => null);
  return async (sink) => {
    await streamSession({ engine, hub, session, sink }, { fromSeq, last, endsAt });
    if (!sink.signal.aborted) sink.write(await ended);
  };
}
