/** The tool that runs a turn. It waits for as long as the caller does; the turn continues without it. */
import * as z from "zod";
import { SkeinError } from "../../core/error.ts";
import * as field from "../../call/field.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { SessionUpdate } from "../../runtime/turn/ask.ts";
import { keyed, sessionOf, type McpAccess } from "./access.ts";
import { blocksText, cutText, link, resultCharsMax, showEvent, uriOf } from "./output.ts";
import { key, tool, type ToolOutcome, type ToolRequest } from "./tool.ts";
import { sessionName, standing } from "./tools-read.ts";

/** Most clients give up after 60 seconds. */
const waitUsualSeconds = 50;
/** Progress keeps a client waiting, also while nothing is written. */
const beatMs = 10_000;

export const sessionAsk = tool("session_ask", {
  title: "Ask a session",
  description:
    "Sends a session an input, runs it and returns the answer. Without text it continues what is " +
    "unfinished or queued. After waitSeconds (by default 50) it returns with done: false while the turn " +
    "continues: call again with the same key to wait on, or read the rest with session_read. " +
    "Cancelling the request does not cancel the turn: session_interrupt does.",
  scopes: ["read", "write"],
  // The session's own tools may do anything that it is allowed.
  hints: { destructiveHint: true, openWorldHint: true },
  untrusted: true,
  input: () => ({
    session: sessionName(),
    text: z.string().min(1).optional().describe("the input; leave it out to continue the session"),
    mode: field.Mode.optional().describe("queue: for the next turn; steer: for the turn in progress"),
    waitSeconds: z.int().min(0).max(3_600).optional().describe("how long to wait for the answer"),
    key: key(),
  }),
  output: () => ({
    session: z.string(),
    seq: z.int().describe("the position that it started from"),
    done: z.boolean().describe("false: the turn is still in progress"),
    status: z.string(),
    answer: z.string().describe("what the model said since"),
    truncated: z.boolean(),
  }),
  async run(access, { session: name, text, mode, waitSeconds = waitUsualSeconds, key: given }, request) {
    const { engine, own } = keyed(access, "session_ask", { key: given }, { takesKey: true });
    const session = await sessionOf(access, name, engine);
    const over = new AbortController();
    const { world } = internalsOf(engine);
    void world.sleep(waitSeconds * 1_000, over.signal).then(() => over.abort());
    const enough = AbortSignal.any([over.signal, request.signal]);
    try {
      const options = { ...own, ...(mode === undefined ? {} : { mode }) };
      const run = text === undefined ? session.watch() : session.ask(text, options);
      const { seq } = await run.started;
      const done = await follow(run, { access, session, request, enough, from: seq });
      return await outcomeOf(session, seq, done);
    } finally {
      over.abort();
    }
  },
});

interface AskWait {
  readonly access: McpAccess;
  readonly session: Session;
  readonly request: ToolRequest;
  readonly enough: AbortSignal;
  readonly from: number;
}

type Run = AsyncGenerator<SessionUpdate, unknown> & { readonly result: Promise<unknown> };

/** True when the run is over, false when the time was. Progress is reported meanwhile. */
async function follow(run: Run, { access, session, request, enough, from }: AskWait): Promise<boolean> {
  const stopped = new AbortController();
  const signal = AbortSignal.any([enough, stopped.signal]);
  const reporting = request.wantsProgress ? report(access, session, { request, signal, from }) : null;
  try {
    return await Promise.race([overOf(run, session, signal), aborted(enough)]);
  } finally {
    stopped.abort();
    await reporting;
  }
}

const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((done) => {
    if (signal.aborted) return done(false);
    signal.addEventListener("abort", () => done(false), { once: true });
  });

/** Resolves when the run is over; also when another process has it. */
async function overOf(run: Run, session: Session, signal: AbortSignal): Promise<boolean> {
  try {
    await run.result;
    return true;
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    const { seq, standing: now } = await session.fold();
    if (now.turn === null && now.lease === null) throw error;
    const ends = { types: ["turn.ended", "session.suspended"], fromSeq: seq + 1, follow: true, signal };
    for await (const _ of session.events(ends)) return true;
    return false;
  }
}

async function report(
  { engine }: McpAccess,
  session: Session,
  {
    request,
    signal,
    from,
  }: { readonly request: ToolRequest; readonly signal: AbortSignal; readonly from: number },
): Promise<void> {
  const { world } = internalsOf(engine);
  const beating = (async () => {
    while (!signal.aborted) {
      await world.sleep(beatMs, signal);
      if (!signal.aborted) await request.progress("the turn is in progress");
    }
  })();
  try {
    for await (const event of session.events({ fromSeq: from, follow: true, signal }))
      if (!signal.aborted) await request.progress(cutText(showEvent(event, 0).summary, 200));
  } catch {
    // Progress is a courtesy: the result tells what happened.
  }
  await beating.catch(() => undefined);
}

/** What the model said to an input, and how things stand. */
async function outcomeOf(session: Session, seq: number, done: boolean): Promise<ToolOutcome> {
  const whole = await answerTo(session, seq);
  const answer = cutText(whole, resultCharsMax);
  const truncated = answer !== whole;
  const now = await standing(session);
  const range = { from: seq, to: Number(now["head"]) };
  const links = truncated || !done ? [link(uriOf.events(session.id, range), "the events of this turn")] : [];
  return { data: { ...now, seq, done, answer, truncated }, links };
}

/** The answers of the turn that took the input at a position, or of the first turn after it. */
async function answerTo(session: Session, seq: number): Promise<string> {
  const types = ["input.received", "turn.started", "model.responded", "turn.ended"];
  let texts: string[] = [];
  let isQueued = false;
  let isTaken = false;
  for await (const { seq: at, type, body, content } of session.events({ fromSeq: seq, types })) {
    if (type === "input.received" && at === seq) isQueued = modeOf(body) !== "steer";
    if (type === "turn.started" && takes(body, seq)) [isTaken, texts] = [true, []];
    if (type === "model.responded") texts.push(blocksText(content));
    if (type === "turn.ended" && (isTaken || !isQueued)) break;
  }
  return texts.filter((text) => text !== "").join("\n\n");
}

const modeOf = (body: unknown): string | undefined => (body as { readonly mode?: string }).mode;

const takes = (body: unknown, seq: number): boolean =>
  (body as { readonly inputs: readonly (readonly number[])[] }).inputs.some(([at]) => at === seq);
