/** Push notifications of tasks: where a client wants to be told. Each is a few records of the session. */
import type { SessionEvent } from "../../core/event.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { SkeinError } from "../../core/error.ts";
import type { PushCalls } from "../push-calls.ts";
import { A2aError, invalid } from "./errors.ts";
import { sha256, taskId, taskPlace } from "./ids.ts";
import { fieldsOf, textOf, type Fields } from "./message.ts";
import { findTask, readTask } from "./tasks.ts";

/** Types of the records of push notifications. */
export const pushTypes = {
  set: "x.a2a.push-set",
  deleted: "x.a2a.push-deleted",
  claimed: "x.a2a.push-claimed",
  sent: "x.a2a.push-sent",
  failed: "x.a2a.push-failed",
  abandoned: "x.a2a.push-abandoned",
} as const;

/** The label of sessions with push notifications. */
export const pushLabel = { "a2a.push": "1" };

/** What a client asks for. */
export interface PushConfig {
  readonly taskId: string;
  /** Empty: the server chooses one. */
  readonly id: string;
  readonly url: string;
  /** What the client wants to be called with. */
  readonly secret: PushSecret;
}

export interface PushSecret {
  readonly token: string;
  readonly scheme: string;
  readonly credentials: string;
}

/** A push notification, and how far it got. */
export interface PushState {
  /** Names it in records. */
  readonly name: string;
  readonly setSeq: number;
  readonly id: string;
  readonly inputSeq: number;
  /** It is told of what is after this position. */
  readonly fromSeq: number;
  readonly url: string;
  readonly sealed: string;
  /** The position of the last event that it was told of, or that was abandoned. */
  readonly sentSeq: number;
  /** The event that it is being told of. */
  readonly attempt: { readonly seq: number; readonly attempts: number; readonly nextMs: number } | null;
}

interface SetContent extends Pick<PushState, "id" | "inputSeq" | "fromSeq" | "url" | "sealed"> {}
interface StepBody {
  readonly name: string;
  readonly seq: number;
  readonly attempts: number;
  readonly nextMs: number;
}

const configsMax = 10;

/** Reads a push notification of a request. */
export function readPushConfig(params: Fields, push: PushCalls): PushConfig {
  const { scheme, credentials } = fieldsOf(params["authentication"]);
  const secret = {
    token: headerOf("token", params["token"]),
    scheme: headerOf("authentication.scheme", scheme),
    credentials: headerOf("authentication.credentials", credentials),
  };
  const id = textOf("id", params["id"]) ?? "";
  try {
    const url = push.checkUrl(params["url"]);
    return { taskId: textOf("taskId", params["taskId"]) ?? "", id, url, secret };
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    throw invalid(`${error.message} (${error.hint ?? "expected a URL"})`);
  }
}

function headerOf(name: string, value: unknown): string {
  const text = textOf(name, value) ?? "";
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  throw invalid(`${name}: expected printable ASCII characters`);
}

interface SetPush {
  readonly session: Session;
  readonly config: PushConfig;
  readonly fromSeq: number;
}

/** Sets a push notification, or replaces the one of its id. What is there already is not set again. */
export async function setPush(
  engine: Engine,
  push: PushCalls,
  { session, config, fromSeq }: SetPush,
): Promise<object> {
  const { world } = internalsOf(engine);
  const inputSeq = taskPlace(config.taskId)?.seq ?? 0;
  const id = config.id === "" ? `push_${Buffer.from(world.random(9)).toString("hex")}` : config.id;
  const name = nameOf(inputSeq, id);
  const sealed = push.seal(sealName(session, id), JSON.stringify(config.secret));
  const known = await readPushes(session);
  const before = known.get(name);
  const isSame = before?.url === config.url && before.sealed === sealed;
  if (
    before === undefined &&
    [...known.values()].filter((one) => one.inputSeq === inputSeq).length >= configsMax
  )
    throw invalid(`a task has at most ${configsMax} push notifications`);
  if (!isSame) {
    await session.label(pushLabel);
    const content: SetContent = { id, inputSeq, fromSeq, url: config.url, sealed };
    await session.append([{ type: pushTypes.set, body: { name }, content }], { verbatim: true });
  }
  const { token, scheme, credentials } = config.secret;
  return {
    ...viewOf(session, { id, inputSeq, url: config.url }),
    ...(token === "" ? {} : { token }),
    ...(scheme === "" ? {} : { authentication: { scheme, credentials } }),
  };
}

export const sealName = (session: Session, id: string): string => `${session.id} ${id}`;
const nameOf = (inputSeq: number, id: string): string => sha256(`${inputSeq}\n${id}`).slice(0, 24);

/** As a client sees it: what it wants to be called with is never given out. */
const viewOf = (
  session: Session,
  { id, inputSeq, url }: Pick<PushState, "id" | "inputSeq" | "url">,
): object => ({ taskId: taskId(session.id, inputSeq), id, url });

/** The push notifications of a session, by name. */
export async function readPushes(session: Session): Promise<ReadonlyMap<string, PushState>> {
  const all = new Map<string, PushState>();
  for await (const event of session.events({ types: Object.values(pushTypes) })) foldPush(all, event);
  return all;
}

function foldPush(all: Map<string, PushState>, { type, seq, body, content }: SessionEvent): void {
  const { name, seq: of, attempts, nextMs } = body as StepBody;
  if (type === pushTypes.set) {
    // Erased: its URL is gone.
    if (content === undefined) all.delete(name);
    else all.set(name, { ...(content as SetContent), name, setSeq: seq, sentSeq: 0, attempt: null });
    return;
  }
  const known = all.get(name);
  if (known === undefined) return;
  if (type === pushTypes.deleted) all.delete(name);
  else if (type === pushTypes.sent || type === pushTypes.abandoned)
    all.set(name, { ...known, sentSeq: Math.max(known.sentSeq, of), attempt: null });
  else if (of > known.sentSeq) all.set(name, { ...known, attempt: { seq: of, attempts, nextMs } });
}

async function ofTask(engine: Engine, params: Fields) {
  const id = textOf("taskId", params["taskId"]) ?? "";
  const placed = await findTask(engine, id);
  await readTask(placed);
  const { session, inputSeq } = placed;
  const pushes = [...(await readPushes(session)).values()].filter((one) => one.inputSeq === inputSeq);
  return { session, pushes };
}

export async function getPush(engine: Engine, params: Fields): Promise<object> {
  const { session, pushes } = await ofTask(engine, params);
  const found = pushes.find(({ id }) => id === params["id"]);
  if (found !== undefined) return viewOf(session, found);
  throw new A2aError("TASK_NOT_FOUND", "the task has no such push notification");
}

export async function listPush(engine: Engine, params: Fields): Promise<readonly object[]> {
  const { session, pushes } = await ofTask(engine, params);
  return pushes.map((one) => viewOf(session, one));
}

/** One that is not there is no error. */
export async function deletePush(engine: Engine, params: Fields): Promise<void> {
  const { session, pushes } = await ofTask(engine, params);
  const found = pushes.find(({ id }) => id === params["id"]);
  if (found !== undefined)
    await session.append([{ type: pushTypes.deleted, body: { name: found.name }, content: null }], {});
}
