/** Takes a message into the log: as a new task of a context, or as the answer that a task waits for. */
import type { State } from "../../core/state.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { makeRoom, runIfActive } from "../session-run.ts";
import { findAgent } from "./card.ts";
import { A2aError, invalid } from "./errors.ts";
import { callId, callSeq, sha256, taskId } from "./ids.ts";
import {
  callAnswers,
  inputBlocks,
  textIn,
  type CallAnswer,
  type ClientMessage,
  type SendRequest,
} from "./message.ts";
import { type TaskCall, type TaskProjection } from "./project.ts";
import { contextLabel, findSession, findTask, readTask, type PlacedTask } from "./tasks.ts";

/** Who may do what. Each throws when the caller may not. */
export interface SendRights {
  approve(): void;
  settle(): void;
}

/** The task of a message, and the run that works on it. */
export interface SentTask {
  readonly placed: PlacedTask;
  readonly run?: Promise<object | null>;
}

/** Takes a message. Rejects before anything is streamed. */
export async function takeMessage(
  engine: Engine,
  { message, tenant }: SendRequest,
  rights: SendRights,
): Promise<SentTask> {
  if (message.taskId !== "") return answerTask(engine, message, rights);
  const blocks = await inputBlocks(engine, message.parts);
  // A repeated request has the same parts. Another message of the same id is another one.
  const digest = sha256(JSON.stringify([message.id, message.parts]));
  const session = await contextOf(engine, message, { tenant, digest });
  const key = `a2a:${digest}`;
  const known = await internalsOf(engine).writer.keyed(session.id, key);
  if (known !== undefined && known !== null)
    return { placed: { session, inputSeq: known }, ...(await runIfActive(session)) };
  await makeRoom(session, (why) => {
    const what = `the context is suspended (${why})`;
    return new A2aError("UNSUPPORTED_OPERATION", `${what}: answer its task that requires input first`);
  });
  const run = session.ask(blocks, { key });
  const { seq: inputSeq } = await run.started;
  return { placed: { session, inputSeq }, run: run.result };
}

/** The session of a message: by its context, or a new one. */
async function contextOf(
  engine: Engine,
  { contextId }: ClientMessage,
  { tenant, digest }: { readonly tenant: string | null; readonly digest: string },
): Promise<Session> {
  if (contextId !== "") {
    const session = await findSession(engine, contextId);
    if (session === null)
      throw invalid(
        "message.contextId: expected the contextId of an earlier task; leave it out for a new one",
      );
    const name = (await session.fold()).standing.agent?.name ?? null;
    if (tenant === null || tenant === name) return session;
    throw invalid(`message.contextId: this context is not of the agent ${tenant.slice(0, 100)}`);
  }
  if (tenant !== null) await findAgent(engine, tenant);
  const { actor } = internalsOf(engine);
  return engine.open({
    objective: "Work on the messages of another agent.",
    ...(tenant === null ? {} : { agent: tenant }),
    labels: { [contextLabel]: "1" },
    key: `a2a:${sha256(`${actor}\n${tenant ?? ""}\n${digest}`)}`,
  });
}

async function answerTask(engine: Engine, message: ClientMessage, rights: SendRights): Promise<SentTask> {
  const placed = await findTask(engine, message.taskId);
  const { session, inputSeq } = placed;
  if (message.contextId !== "" && message.contextId !== session.id)
    throw invalid("message.contextId: expected the context of the task");
  const task = await readTask(placed);
  const answers = callAnswers(message.parts);
  const isTaken = answers.length > 0 && answers.every(({ call }) => isSettled(task, call));
  if (isTaken) return { placed, ...(await runIfActive(session)) };
  const what = `${taskId(session.id, inputSeq)}: `;
  if (task.isOver) throw new A2aError("UNSUPPORTED_OPERATION", `${what}the task is over`);
  if (task.waitsFor === null) {
    const hint = "send the message without a taskId: it waits for its turn";
    throw new A2aError("UNSUPPORTED_OPERATION", `${what}the task does not require input (${hint})`);
  }
  const state = await session.fold();
  const open = [...task.calls].filter(([, { isOpen }]) => isOpen);
  const asked = open.filter(([, { isAsked }]) => isAsked);
  const waiting = asked.length > 0 ? asked : open.filter(([, { isExternal }]) => isExternal);
  const isForCalls = task.waitsFor === "approval" || task.waitsFor === "tool";
  if (isForCalls && waiting.length > 0)
    await answerCalls(session, state, { waiting, answers: given(answers, waiting, message), rights });
  else await answerWait(session, task, message);
  return { placed, ...(await runIfActive(session)) };
}

/** Whether a call of the task has its outcome, or its approval. */
function isSettled(task: TaskProjection, call: string | undefined): boolean {
  const known = call === undefined ? undefined : task.calls.get(callSeq(call) ?? 0);
  return known !== undefined && !(known.isOpen && (known.isAsked || known.isExternal));
}

type WaitingCall = readonly [seq: number, call: TaskCall];

/** The answers of a message. A text is the result of the only call that waits for one. */
function given(
  answers: readonly CallAnswer[],
  waiting: readonly WaitingCall[],
  { parts }: ClientMessage,
): readonly CallAnswer[] {
  if (answers.length > 0) return answers;
  const text = textIn(parts);
  const [[seq, only] = [0, undefined]] = waiting;
  if (waiting.length === 1 && only?.isAsked === false && text !== "") {
    const result = { output: text, isError: false };
    return [{ call: callId(seq), approved: undefined, reason: undefined, result }];
  }
  throw invalid('message.parts: expected a data part { "call": "call_N", "approved": true or false }');
}

async function answerCalls(
  session: Session,
  { mind }: State,
  options: {
    readonly waiting: readonly WaitingCall[];
    readonly answers: readonly CallAnswer[];
    readonly rights: SendRights;
  },
): Promise<void> {
  const { waiting, answers, rights } = options;
  const ids = new Map([...mind.calls.entries()].map(([id, { seq }]) => [seq, id]));
  const found = answers.map((answer) => {
    const named = answer.call === undefined ? null : callSeq(answer.call);
    const call = waiting.find(([seq]) => (answer.call === undefined ? waiting.length === 1 : seq === named));
    const id = call === undefined ? undefined : ids.get(call[0]);
    if (call === undefined || id === undefined)
      throw invalid(
        `message.parts: data.call: expected one of ${waiting.map(([seq]) => callId(seq)).join(", ")}`,
      );
    if (call[1].isAsked !== (answer.approved !== undefined))
      throw invalid(
        `message.parts: data: expected ${call[1].isAsked ? "{ approved }" : "{ output } or { error }"}`,
      );
    if (answer.approved === true) rights.approve();
    if (answer.result !== undefined) rights.settle();
    return { id, answer };
  });
  for (const { id, answer } of found) {
    const { approved, reason, result } = answer;
    if (approved !== undefined)
      await session.answer({ allow: approved, calls: [id], ...(reason === undefined ? {} : { reason }) });
    else if (result !== undefined)
      await session.settle(id, { status: result.isError ? "error" : "ok", output: result.output });
  }
}

/** A message to a task that failed or does not know an outcome lets it go on. */
async function answerWait(session: Session, task: TaskProjection, { parts }: ClientMessage): Promise<void> {
  if (task.waitsFor !== "error" && task.waitsFor !== "unknown") {
    const why = `it waits for ${task.waitsFor === "budget" ? "a larger budget" : "an operator"}`;
    throw new A2aError("UNSUPPORTED_OPERATION", `${task.id}: ${why}`);
  }
  const text = textIn(parts);
  await session.answer({ allow: false, calls: [], ...(text === "" ? {} : { text }) });
}
