/** Tasks of sessions: reads, lists, follows and cancels them. */
import { SkeinError } from "../../core/error.ts";
import { isSessionId } from "../../core/ids.ts";
import { isOf } from "../../core/transcript.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { isFree } from "../../runtime/read/lease-status.ts";
import { followSession } from "../session-updates.ts";
import { A2aError, invalid } from "./errors.ts";
import { taskPlace } from "./ids.ts";
import { fieldsOf, lengthOf, textOf } from "./message.ts";
import { TaskProjection, taskTypes, type StreamResponse, type Task } from "./project.ts";

/** A keep-alive, between the events of a stream. */
export const keepAlive = "keep-alive";

/** The label of sessions that were opened for a client. */
export const contextLabel = "a2a.context";

/** A task, where it is. */
export interface PlacedTask {
  readonly session: Session;
  readonly inputSeq: number;
}

const noTask = (id: string): A2aError =>
  new A2aError("TASK_NOT_FOUND", `there is no task ${id.slice(0, 100)}`);

/** The session of an id; null when there is none. */
export async function findSession(engine: Engine, id: string): Promise<Session | null> {
  try {
    return isSessionId(id) ? await engine.session(id) : null;
  } catch (error) {
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  }
}

/** Where a task is. Rejects when there is none. */
export async function findTask(engine: Engine, id: string): Promise<PlacedTask> {
  const place = taskPlace(id);
  const session = place === null ? null : await findSession(engine, place.session);
  if (place === null || session === null) throw noTask(id);
  return { session, inputSeq: place.seq };
}

/** A task as the log has it. */
export async function readTask({ session, inputSeq }: PlacedTask): Promise<TaskProjection> {
  const projection = new TaskProjection(session.id, inputSeq);
  for await (const event of session.events({ fromSeq: inputSeq, types: taskTypes })) {
    projection.event(event);
    if (projection.isOver || !projection.isFound) break;
  }
  if (!projection.isFound) throw noTask(projection.id);
  return projection;
}

interface FollowOptions {
  readonly signal: AbortSignal;
  readonly run?: Promise<object | null> | undefined;
  /** Ends when the task waits for someone. */
  readonly endsAtWait: boolean;
  readonly historyLength?: number | undefined;
}

/** The task as it is, and then its updates until it is over. */
export async function* followTask(
  engine: Engine,
  placed: PlacedTask,
  { signal, run, endsAtWait, historyLength }: FollowOptions,
): AsyncGenerator<StreamResponse | typeof keepAlive, void> {
  const { session, inputSeq } = placed;
  const projection = new TaskProjection(session.id, inputSeq);
  const mayEnd = async (mark: string): Promise<boolean> =>
    endsAtWait && (await isWaiting(engine, session, projection, mark));
  let isLive = false;
  for await (const update of followSession(engine, session, {
    fromSeq: inputSeq,
    types: taskTypes,
    signal,
    run,
  })) {
    if ("mark" in update) {
      if (update.mark === "failed") throw update.error;
      if (update.mark === "caught-up") {
        if (!projection.isFound) throw noTask(projection.id);
        isLive = true;
        yield { task: projection.task({ historyLength }) };
      } else if (update.mark === "idle") yield keepAlive;
      if (projection.isOver || (await mayEnd(update.mark))) return;
      continue;
    }
    const updates = "delta" in update ? projection.delta(update) : projection.event(update);
    if (!isLive) continue;
    yield* updates;
    const isReleased = !("delta" in update) && isOf(update, "lease.released");
    if (projection.isOver || (endsAtWait && isReleased && projection.waitsFor !== null)) return;
  }
}

/** Whether nothing more comes before someone answers: for this task, or for one before it. */
async function isWaiting(
  engine: Engine,
  session: Session,
  { isStarted, waitsFor }: TaskProjection,
  mark: string,
): Promise<boolean> {
  if (isStarted && waitsFor === null) return false;
  if (mark === "ran") return true;
  const { status } = (await session.fold()).standing;
  if (status === "running" || status === "open") return false;
  const { store, world } = internalsOf(engine);
  return isFree({ store, world }, (await store.head(session.id))?.lease ?? null);
}

/** How long a cancellation may take. */
const cancelMs = 30_000;

/** Ends the turn of a task. A task that waits for its turn cannot be canceled. */
export async function cancelTask(engine: Engine, placed: PlacedTask, signal: AbortSignal): Promise<Task> {
  const { session } = placed;
  const before = await readTask(placed);
  if (before.state === "TASK_STATE_CANCELED") return before.task();
  const cannot = (why: string): A2aError => new A2aError("TASK_NOT_CANCELABLE", `${before.id}: ${why}`);
  if (before.isOver) throw cannot("the task is over");
  if (!before.isStarted) throw cannot("it waits behind another task of its context: cancel that one first");
  try {
    await session.interrupt({ reason: "the task was canceled" });
  } catch (error) {
    // It may have ended meanwhile.
    if (!(error instanceof SkeinError) || error.code !== "refused") throw error;
  }
  const { world } = internalsOf(engine);
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const timeout = world.sleep(cancelMs, either).then(() => ended.abort());
  timeout.catch(() => null);
  try {
    const updates = followTask(engine, placed, { signal: either, endsAtWait: false });
    for await (const _ of updates);
  } finally {
    ended.abort();
  }
  const after = await readTask(placed);
  if (after.isOver && after.state !== "TASK_STATE_CANCELED") throw cannot("the task is over");
  return after.task();
}

/** Of all contexts, the most recently active ones are looked at, and of each the newest tasks. */
const contextsMax = 100;
const tasksMax = 1_000;

interface ListedTask extends PlacedTask {
  readonly id: string;
  readonly atMs: number;
}

/** A page of tasks, the most recently changed first. */
export async function listTasks(engine: Engine, params: unknown): Promise<object> {
  const { contextId, status, pageSize, pageToken, statusTimestampAfter, ...more } = fieldsOf(params);
  const size = sizeOf(pageSize);
  const historyLength = lengthOf(more["historyLength"]) ?? 0;
  const afterMs = timeOf(statusTimestampAfter);
  const wanted = textOf("status", status);
  const isWanted = (task: TaskProjection): boolean =>
    (wanted === undefined || wanted === "TASK_STATE_UNSPECIFIED" || wanted === task.state) &&
    task.atMs >= afterMs;
  const all: ListedTask[] = [];
  for (const session of await contextsOf(engine, textOf("contextId", contextId)))
    for (const [inputSeq, task] of await tasksOf(session))
      if (isWanted(task)) all.push({ session, inputSeq, id: task.id, atMs: task.atMs });
  all.sort(byChange);
  const from = startOf(textOf("pageToken", pageToken), all);
  const page = all.slice(from, from + size);
  const last = page.at(-1);
  const isMore = from + size < all.length && last !== undefined;
  const withArtifacts = more["includeArtifacts"] === true || more["includeArtifacts"] === "true";
  const tasks: Task[] = [];
  for (const placed of page) {
    const { artifacts = [], ...task } = (await readTask(placed)).task({ historyLength });
    tasks.push(withArtifacts ? { ...task, artifacts } : task);
  }
  const nextPageToken = isMore ? `${last.atMs}.${last.id}` : "";
  return { tasks, nextPageToken, pageSize: size, totalSize: all.length };
}

/** The most recently changed first. */
const byChange = (a: Pick<ListedTask, "atMs" | "id">, b: Pick<ListedTask, "atMs" | "id">): number =>
  b.atMs - a.atMs || (a.id < b.id ? -1 : Number(a.id > b.id));

async function contextsOf(engine: Engine, contextId: string | undefined): Promise<readonly Session[]> {
  if (contextId !== undefined) {
    const session = await findSession(engine, contextId);
    return session === null ? [] : [session];
  }
  const { rows } = await engine.sessions({ labels: { [contextLabel]: "1" }, limit: contextsMax });
  const found = await Promise.all(rows.map(({ session }) => findSession(engine, session)));
  return found.filter((session) => session !== null);
}

/** The newest tasks of a session by position, without their texts. */
async function tasksOf(session: Session): Promise<ReadonlyMap<number, TaskProjection>> {
  let fromSeq = 1;
  const newest = { types: ["input.received"], reverse: true, limit: tasksMax };
  for await (const { seq } of session.events(newest)) fromSeq = seq;
  const tasks = new Map<number, TaskProjection>();
  const open = new Set<TaskProjection>();
  for await (const event of session.events({ fromSeq, types: taskTypes })) {
    if (isOf(event, "input.received")) {
      const task = new TaskProjection(session.id, event.seq);
      task.event(event);
      if (task.isFound) {
        tasks.set(event.seq, task);
        open.add(task);
      }
      continue;
    }
    for (const task of open) {
      task.event(event);
      if (task.isOver) {
        task.forget();
        open.delete(task);
      }
    }
  }
  return tasks;
}

function sizeOf(value: unknown): number {
  if (value === undefined || value === null || value === "") return 50;
  const size = Number(value);
  if (Number.isSafeInteger(size) && size >= 1 && size <= 100) return size;
  throw invalid("pageSize: expected an integer from 1 to 100");
}

function timeOf(value: unknown): number {
  const text = textOf("statusTimestampAfter", value);
  if (text === undefined) return 0;
  const ms = Date.parse(text);
  if (Number.isFinite(ms)) return ms;
  throw invalid("statusTimestampAfter: expected a time such as 2026-01-31T12:00:00Z");
}

/** The place after the last task of the page before. */
function startOf(token: string | undefined, all: readonly ListedTask[]): number {
  if (token === undefined) return 0;
  const [, atMs = "", id = ""] = /^(\d{1,16})\.(task_[0-9a-z]{26}_\d{1,15})$/.exec(token) ?? [];
  if (id === "") throw invalid("pageToken: expected the nextPageToken of a page");
  const found = all.findIndex((task) => byChange({ atMs: Number(atMs), id }, task) < 0);
  return found === -1 ? all.length : found;
}
