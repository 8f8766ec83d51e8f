/**
 * Sends push notifications: each change of a task's status, in order, as the log has it. A claim in the log
 * comes before each call, so that of several servers one makes it, and another takes over when it dies: the
 * receiver may be told twice, and is never left out. Failures are retried for a day.
 */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { followJobs } from "../feed-jobs.ts";
import { retryDelayMs, type PushCalls } from "../push-calls.ts";
import { TaskProjection, taskTypes, type StreamResponse } from "./project.ts";
import {
  pushLabel,
  pushTypes,
  readPushes,
  sealName,
  type PushSecret,
  type PushState,
} from "./push-config.ts";
import { findSession } from "./tasks.ts";

/** Another server takes over a call that has not ended after so long. */
const attemptMs = limit.hookMs + 2_000;

/** Sends them for as long as the server runs. */
export function followPush(push: PushCalls, engine: Engine, trouble: (error: unknown) => void) {
  /** Sessions with push notifications that are not through. */
  const open = new Set<string>();
  const own: readonly string[] = [pushTypes.set, pushTypes.deleted];
  return followJobs(engine, {
    trouble,
    all: () => sessionsWithPush(engine),
    concerned: async (records) =>
      records.flatMap(({ type, session }) =>
        own.includes(type) || (open.has(session) && taskTypes.includes(type)) ? [session] : [],
      ),
    async run(key, signal) {
      const session = await findSession(engine, key);
      const pushes = session === null ? [] : [...(await readPushes(session)).values()];
      if (session === null || pushes.length === 0) {
        open.delete(key);
        return null;
      }
      open.add(key);
      const job = { push, engine, session, signal, trouble };
      const results = await Promise.all(pushes.map((one) => sendDue(job, one)));
      if (results.every((one) => one === "over")) open.delete(key);
      const times = results.filter((one) => typeof one === "number");
      return times.length === 0 ? null : Math.min(...times);
    },
  });
}

async function sessionsWithPush(engine: Engine): Promise<readonly string[]> {
  const found: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = { labels: pushLabel, ...(cursor === undefined ? {} : { cursor }) };
    const { rows, cursor: next } = await engine.sessions(page);
    // A person's fork tells nobody.
    for (const { session, parent } of rows) if (parent === null) found.push(session);
    cursor = next;
  }
  return found;
}

interface Job {
  readonly push: PushCalls;
  readonly engine: Engine;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly trouble: (error: unknown) => void;
}

interface Change {
  readonly seq: number;
  readonly atMs: number;
  readonly response: StreamResponse;
}

/** Sends what is due. Resolves to when more is, to null while there is none, and to "over" at the end. */
async function sendDue(job: Job, state: PushState): Promise<number | null | "over"> {
  const { engine, session, signal } = job;
  const { store } = internalsOf(engine);
  const { changes, isOver } = await changesOf(session, state);
  let { attempt } = state;
  for (const change of changes) {
    if (signal.aborted) return null;
    const attempts = attempt?.seq === change.seq ? attempt.attempts : 0;
    if (attempt?.seq === change.seq && attempt.nextMs > store.now()) return attempt.nextMs;
    attempt = null;
    const result = await sendOne(job, state, { ...change, attempts: attempts + 1 });
    if (result !== "sent") return result;
  }
  return isOver ? "over" : null;
}

/** The changes of the status that it was not told of. The last one is the whole task. */
async function changesOf(
  session: Session,
  { inputSeq, fromSeq, sentSeq }: PushState,
): Promise<{ readonly changes: readonly Change[]; readonly isOver: boolean }> {
  const projection = new TaskProjection(session.id, inputSeq);
  const changes: Change[] = [];
  for await (const event of session.events({ fromSeq: inputSeq, types: taskTypes })) {
    const updates = projection.event(event);
    for (const update of updates) {
      if (!("statusUpdate" in update) || event.seq <= Math.max(fromSeq, sentSeq)) continue;
      const isWhole = projection.isOver || projection.waitsFor !== null;
      const response = isWhole ? { task: projection.task() } : update;
      changes.push({ seq: event.seq, atMs: event.at, response });
    }
    if (projection.isOver) break;
  }
  return { changes, isOver: projection.isOver };
}

/** One call. Resolves to when to try again; null when another server makes it, or nothing can be written. */
async function sendOne(
  { push, engine, session, signal, trouble }: Job,
  { name, setSeq, id, url, sealed }: PushState,
  { seq, atMs, response, attempts }: Change & { readonly attempts: number },
): Promise<"sent" | number | null> {
  const { world, store } = internalsOf(engine);
  const write = async (
    type: string,
    body: object,
    key?: string,
  ): Promise<"written" | "duplicate" | "refused"> => {
    const record = { type: type as `x.${string}`, body: { name, seq, ...body }, content: null };
    try {
      const { duplicate } = await session.append([record], key === undefined ? {} : { key });
      return duplicate ? "duplicate" : "written";
    } catch (error) {
      // Closed, archived or deleted: nothing more is told.
      if (error instanceof SkeinError && (error.code === "refused" || error.code === "not-found"))
        return "refused";
      throw error;
    }
  };
  const claimed = { attempts, nextMs: store.now() + attemptMs };
  const key = `a2a.push:${name}:${setSeq}:${seq}:${attempts}`;
  const claim = await write(pushTypes.claimed, claimed, key);
  if (claim !== "written") return claim === "refused" ? null : claimed.nextMs;
  let wrong: string | null = null;
  try {
    const secret = push.open(sealName(session, id), sealed);
    if (secret === null) throw new Error("it was set under another secret: set it again");
    const headers = headersOf(JSON.parse(secret) as PushSecret);
    const body = JSON.stringify(response);
    const { status } = await push.send(world, store.now(), {
      url: push.checkUrl(url),
      body,
      headers,
      signal,
    });
    if (status < 200 || status > 299) wrong = `the receiver responded with ${status}`;
  } catch (error) {
    if (signal.aborted) return null;
    wrong = error instanceof Error ? error.message : String(error);
  }
  if (wrong === null) {
    await write(pushTypes.sent, {});
    return "sent";
  }
  if (attempts === 1)
    trouble(new SkeinError("unavailable", `push notification of session ${session.id}: ${wrong}`));
  if (store.now() - atMs >= limit.hookRetryMs) {
    await write(pushTypes.abandoned, {});
    return "sent";
  }
  const nextMs = store.now() + retryDelayMs(attempts, (world.random(1)[0] ?? 0) / 255);
  await write(pushTypes.failed, { attempts, nextMs });
  return nextMs;
}

function headersOf({ token, scheme, credentials }: PushSecret): Readonly<Record<string, string>> {
  return {
    "content-type": "application/a2a+json",
    ...(token === "" ? {} : { "x-a2a-notification-token": token }),
    ...(scheme === "" ? {} : { authorization: `${scheme} ${credentials}` }),
  };
}
