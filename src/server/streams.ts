/** The operations that give a stream of server-sent events. Breaking one off cancels nothing. */
import type { IncomingMessage } from "node:http";
import type { OperationId, ParamsOf } from "../protocol/operations.ts";
import type { Problem } from "../protocol/problem.ts";
import { makeProblem } from "../protocol/problem.ts";
import { runOrWait } from "../runtime/ask.ts";
import { agentOf, modelOf } from "../runtime/crew.ts";
import { Engine } from "../runtime/engine.ts";
import { stillWaiting } from "../runtime/options.ts";
import type { Ran } from "../runtime/runner.ts";
import type { Session } from "../runtime/session.ts";
import { need, type Call } from "./call.ts";
import { checkPlace, familyOf } from "./feed-place.ts";
import { streamFeed } from "./feed-stream.ts";
import type { Hub } from "./hub.ts";
import { ProblemError } from "./problem.ts";
import { streamSession } from "./session-stream.ts";
import { problemFrame, type Sink } from "./sink.ts";

/** What is needed before a stream begins is done, and refused, here; the rest is what comes back. */
type Opener<K extends OperationId> = (
  call: Call,
  params: ParamsOf<K>,
  given: StreamGiven,
) => Promise<(sink: Sink) => Promise<void>>;

export interface StreamGiven {
  readonly hub: Hub;
  /** The id of the last event that the reader has. */
  readonly lastEventId: string | undefined;
  readonly problemOf: (error: unknown) => Problem;
}

export const streamed = ["session.events", "session.ask", "session.watch", "engine.feed"] as const;
export type Streamed = (typeof streamed)[number];

export const streamOpeners: { readonly [K in Streamed]: Opener<K> } = {
  "session.events": openEvents,
  "engine.feed": openFeed,
  "session.ask": openAsk,
  "session.watch": openWatch,
};

/** Whether a stream is asked for, where a page can be had too. */
export const wantsStream = (request: IncomingMessage, params: unknown): boolean =>
  (request.headers.accept ?? "").includes("text/event-stream") ||
  (params as { readonly follow?: boolean }).follow === true;

async function openEvents(
  call: Call,
  params: ParamsOf<"session.events">,
  { hub, lastEventId }: StreamGiven,
): Promise<(sink: Sink) => Promise<void>> {
  const { since, until } = params;
  if (params.reverse === true || until !== undefined) {
    const field = until === undefined ? "reverse" : "until";
    throw new ProblemError(
      makeProblem("invalid", `a stream goes on: ${field} has no place in it`, {
        field,
        hint: "ask for pages",
      }),
    );
  }
  const { engine } = call;
  const session = await call.session();
  const { store } = Engine.contextOf(engine);
  const first = since === undefined ? 1 : await store.seqAt(session.id, since);
  const last = await positionIn(session, lastEventId);
  if (last === undefined) await checkThere(session, params.after, "after");
  const after = last ?? params.after ?? 0;
  const fromSeq = Math.max(params.fromSeq ?? 1, first, after + 1);
  const { toSeq, types, follow, deltas, limit: count } = params;
  return async (sink) => {
    await streamSession({ engine, hub, session, sink }, { fromSeq, toSeq, types, count, follow, deltas });
    // Without a last word it could as well have been cut.
    sink.write(endFrame);
  };
}

const endFrame = "event: end\ndata: {}\n\n";

/** A position as the id of an event. */
function seqIn(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const hint = "give the id of an event, as it was received";
  throw new ProblemError(
    makeProblem("invalid", "that is no position of a session", { field: "Last-Event-ID", hint }),
  );
}

/** The last event that a reader has, which must be there. */
async function positionIn(session: Session, lastEventId: string | undefined): Promise<number | undefined> {
  const seq = seqIn(lastEventId);
  await checkThere(session, seq, "Last-Event-ID");
  return seq;
}

/** Whoever knows more than there is would wait for what is never told them: the log was set back. */
async function checkThere(session: Session, seq: number | undefined, field: string): Promise<void> {
  if (seq === undefined || seq === 0) return;
  const head = (await session.head()).seq;
  if (seq <= head) return;
  throw new ProblemError(
    makeProblem("invalid", `${session.id} is at ${head}: there is no event ${seq}`, {
      field,
      hint: `the store may have been set back; go on after ${head}, or read all of it again`,
    }),
  );
}

async function openFeed(
  { engine }: Call,
  params: ParamsOf<"engine.feed">,
  { hub, lastEventId }: StreamGiven,
): Promise<(sink: Sink) => Promise<void>> {
  const family = params.family === undefined ? null : await familyOf(engine, params.family);
  const isLast = lastEventId !== undefined && lastEventId !== "";
  const after = isLast ? lastEventId : params.after;
  if (after !== undefined) await checkPlace(engine, after, isLast ? "Last-Event-ID" : "after");
  return async (sink) => {
    await streamFeed({ engine, hub, sink }, { after, family, follow: params.follow });
    sink.write(endFrame);
  };
}

async function openAsk(
  call: Call,
  { input, ...rest }: ParamsOf<"session.ask">,
  given: StreamGiven,
): Promise<(sink: Sink) => Promise<void>> {
  const { engine } = call;
  const context = Engine.contextOf(engine);
  const session = await call.session();
  await positionIn(session, given.lastEventId);
  // Whatever is missing for a run is said before anything is written.
  const state = await context.writer.current(session.id);
  const { agent } = await agentOf(context, session.id, state);
  await modelOf(context, state.standing.model ?? agent?.model);
  const { seq } = await session.input(input, { ...rest, ...call.keyed });
  const running = runOrWait(context, session.id, {});
  return streamRun({ engine, session, fromSeq: seq, running }, given);
}

async function openWatch(
  call: Call,
  _params: ParamsOf<"session.watch">,
  given: StreamGiven,
): Promise<(sink: Sink) => Promise<void>> {
  need(call, "read", "watching");
  const { engine } = call;
  const session = await call.session();
  // Whoever comes again goes on after what they have, and not with what is new.
  const seq = (await positionIn(session, given.lastEventId)) ?? (await session.head()).seq;
  const running = session.run();
  return streamRun({ engine, session, fromSeq: seq + 1, running }, given);
}

interface Running {
  readonly engine: Engine;
  readonly session: Session;
  readonly fromSeq: number;
  readonly running: Promise<Ran>;
}

/** All that was written up to the end of the run, and then why it ended. */
function streamRun(
  { engine, session, fromSeq, running }: Running,
  { hub, lastEventId, problemOf }: StreamGiven,
): (sink: Sink) => Promise<void> {
  const ended = running.then(
    (ran) => `event: ran\ndata: ${JSON.stringify(ran)}\n\n`,
    async (error: unknown) => {
      const waits = (await session.fold()).standing.inbox.waiting.length > 0;
      return problemFrame(problemOf(stillWaiting(error, waits)));
    },
  );
  ended.catch(() => null);
  const endsAt = ended.then(async () => (await session.head()).seq);
  endsAt.catch(() => null);
  const from = Math.max(fromSeq, (seqIn(lastEventId) ?? 0) + 1);
  return async (sink) => {
    await streamSession({ engine, hub, session, sink }, { fromSeq: from, endsAt });
    if (!sink.signal.aborted) sink.write(await ended);
  };
}
