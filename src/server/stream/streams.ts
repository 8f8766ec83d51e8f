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
  const before = await resumedAt(engine, session, given.lastEventId);
  const run = session.ask(input, { ...rest, ...call.keyed });
  const started = await run.started;
  const at = before?.session ?? (await sessionAt(engine, started.session)) ?? session;
  const last = before?.last;
  const first = started.session === undefined || started.session === at.id ? started.seq : 1;
  const fromSeq = Math.max(before === null ? started.seq : first, (last?.seq ?? 0) + 1);
  const withheld = call.scopes.some((scope) => scope === "read" || scope === "admin") ? undefined : ofOthers;
  return streamRun({ engine, session: at, fromSeq, last, running: run.result, withheld }, given);
}

/** What a turn takes in that its input did not bring: to be seen with the scope `read` only. */
const ofOthers: ReadonlySet<string> = new Set([
  "session.opened",
  "session.forked",
  "document.loaded",
  "memory.carried",
  "context.retrieved",
  "transcript.compacted",
  "handoff.written",
]);

async function openWatch(
  call: OperationCall,
  _params: ParamsOf<"session.watch">,
  given: StreamDeps,
): Promise<(sink: Sink) => Promise<void>> {
  const { engine } = call;
  const session = await call.session();
  // A reconnecting reader continues after its last event, not with new ones.
  const before = await resumedAt(engine, session, given.lastEventId);
  const at = before?.session ?? session;
  const last = before?.last;
  const seq = last?.seq ?? (await at.head()).seq;
  const running = session.run().catch(async (error: unknown) => {
    throw stillWaiting(error, (await session.fold()).standing.inbox.waiting.length > 0);
  });
  return streamRun({ engine, session: at, fromSeq: seq + 1, last, running }, given);
}

const sessionAt = (engine: Engine, id: string | undefined): Promise<Session | null> =>
  id === undefined ? Promise.resolve(null) : engine.session(id);

/** How many sessions of a chain are looked through for the last event of a reader. */
const chainMax = 100;

/** The last event of a reader, in the session or in one that it went on as; null without one. */
async function resumedAt(
  engine: Engine,
  session: Session,
  lastEventId: string | undefined,
): Promise<{ readonly session: Session; readonly last: KnownHead | undefined } | null> {
  const read = (at: Session): Promise<KnownHead | undefined> =>
    positionIn({ engine, session: at }, lastEventId, "Last-Event-ID");
  if (lastEventId === undefined || lastEventId === "") return null;
  try {
    return { session, last: await read(session) };
  } catch (error) {
    let id = (await session.fold()).standing.next;
    for (let count = 0; id !== null && id !== session.id && count < chainMax; count++) {
      const at: Session = await engine.session(id);
      const last = await read(at).catch(() => null);
      if (last !== null) return { session: at, last };
      id = await predecessorOf(at);
    }
    throw error;
  }
}

/** The first record of a session names the one that it continues. */
async function predecessorOf(session: Session): Promise<string | null> {
  for await (const { body } of session.events({ types: ["session.opened"], limit: 1 }))
    return (body as { readonly from?: string }).from ?? null;
  return null;
}

interface RunStreamOptions {
  readonly engine: Engine;
  readonly session: Session;
  readonly fromSeq: number;
  readonly last: KnownHead | undefined;
  readonly running: Promise<RunResult>;
  readonly withheld?: ReadonlySet<string> | undefined;
}

/** Everything up to the end of the run, also in the sessions that it goes on as; and then why it ended. */
function streamRun(
  { engine, session, fromSeq, last, running, withheld }: RunStreamOptions,
  { hub, problemOf }: StreamDeps,
): (sink: Sink) => Promise<void> {
  const ended = running.then(
    (ran) => `event: ran\ndata: ${JSON.stringify(ran)}\n\n`,
    (error: unknown) => problemFrame(problemOf(error)),
  );
  ended.catch(() => null);
  return async (sink) => {
    let [at, place]: [Session, { fromSeq: number; last: KnownHead | undefined }] = [
      session,
      { fromSeq, last },
    ];
    for (;;) {
      const here = at;
      const endsAt = ended.then(async () => (await here.head()).seq);
      endsAt.catch(() => null);
      const how = { ...place, endsAt, withheld, endsWith: "session.continued" } as const;
      const ending = await streamSession({ engine, hub, session: at, sink }, how);
      if (ending === null || sink.signal.aborted) break;
      const next = await engine.session((ending.body as { readonly to: string }).to).catch(() => null);
      if (next === null) break;
      [at, place] = [next, { fromSeq: 1, last: undefined }];
    }
    if (!sink.signal.aborted) sink.write(await ended);
  };
}
