/**
 * A thread is a session: what one POST does to it. The log is the truth; of the client's messages only those
 * count that the log does not have: new user messages, and the results of calls that wait.
 */
import { SkeinError } from "../../core/error.ts";
import { isSessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { isOf } from "../../core/transcript.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { readWaiting } from "../../runtime/read/inbox.ts";
import { openOnce } from "../open-once.ts";
import { makeRoom, runIfActive } from "../session-run.ts";
import { inputKey, messageId, resultId, seqOf, sha256 } from "./ids.ts";
import {
  approvalOf,
  inputBlocks,
  payloadText,
  type ClientMessage,
  type ClientTool,
  type RunInput,
} from "./input.ts";
import type { ClientIds } from "./messages.ts";

/** Who may do what. Each throws when the caller may not. */
export interface RunRights {
  approve(): void;
  settle(): void;
}

/** What a run shows, from which position on. */
export interface RunPlan {
  /** The client's ids of messages that it sent. A snapshot with other ones would move them to its end. */
  readonly ids: () => Promise<ClientIds>;
  /** Events are projected from here, and sent after `afterSeq`. */
  readonly fromSeq: number;
  readonly afterSeq: number;
  /** The input whose turn it is; absent: the turn that begins at `fromSeq`, or the next one. */
  readonly inputSeq?: number;
  /** Inputs and call results that the client has. */
  readonly inputs: ReadonlySet<number>;
  readonly settled: ReadonlySet<number>;
  /** The messages up to here are sent first; absent: none, the client has them. */
  readonly snapshotSeq?: number | null;
  /** Nothing runs and nothing waits: the run ends after the messages. */
  readonly isDone: boolean;
  readonly run?: Promise<object | null>;
}

type RunRange = Omit<RunPlan, "ids">;

const threadLabel = "ag-ui.thread";

/** The session of a thread, opened with the first run: by its own id, or by the client's, any text. */
export async function openThread(
  engine: Engine,
  { threadId }: Pick<RunInput, "threadId">,
  agent: string | null,
): Promise<Session> {
  if (isSessionId(threadId)) return engine.session(threadId);
  const digest = sha256(`${agent ?? ""}\n${threadId}`);
  if (agent !== null) await engine.agent(agent);
  const { rows } = await engine.sessions({ labels: { [threadLabel]: digest }, limit: 10 });
  const found = rows.find(({ parent }) => parent === null);
  if (found !== undefined) return engine.session(found.session);
  const given = { objective: "Chat with the user.", labels: { [threadLabel]: digest } };
  const as = agent === null ? {} : { agent };
  return openOnce(`${threadLabel}:${digest}`, (key) => engine.open({ ...given, ...as, key }));
}

/** Takes a POST into the log, and returns what its run shows. Rejects before anything is streamed. */
export async function takeRun(
  engine: Engine,
  session: Session,
  input: RunInput,
  rights: RunRights,
): Promise<RunPlan> {
  const range = await takeInput(engine, session, input, rights);
  return { ...range, ids: () => clientIds(engine, session, input.messages) };
}

async function takeInput(
  engine: Engine,
  session: Session,
  input: RunInput,
  rights: RunRights,
): Promise<RunRange> {
  const before = await session.fold();
  await bindTools(session, before, input.tools);
  const headSeq = (await session.head()).seq;
  const settled = await takeResults(session, before, input.messages, rights);
  const isAnswered = (await takeAnswers(session, before, input, rights)) || settled.size > 0;
  const sent = await newInputs(engine, session, input.messages);
  const { turn } = before.standing;
  if (sent.length > 0) return ask(engine, session, input, sent);
  if (isAnswered && turn !== null) {
    const run = await runIfActive(session);
    const range = { fromSeq: turn.startedSeq, afterSeq: headSeq, isDone: false };
    return { ...range, ...run, inputs: new Set(), settled };
  }
  return rejoin(engine, session);
}

/** The turn in progress from its beginning, after the messages before it; or the messages alone. */
async function rejoin(engine: Engine, session: Session): Promise<RunRange> {
  const state = await session.fold();
  const { turn, inbox } = state.standing;
  const none = { inputs: new Set<number>(), settled: new Set<number>() };
  const fromSeq = turn?.startedSeq ?? inbox.fromSeq;
  if (turn === null && inbox.waiting.length === 0)
    return { ...none, fromSeq: 0, afterSeq: 0, snapshotSeq: null, isDone: true };
  const inputs = new Set<number>();
  if (turn === null) {
    for (const { seq } of await readWaiting(internalsOf(engine).store, session.id, state)) inputs.add(seq);
  } else {
    for await (const event of session.events({ fromSeq, toSeq: fromSeq, types: ["turn.started"] }))
      if (isOf(event, "turn.started")) for (const [seq] of event.body.inputs) inputs.add(seq);
  }
  const snapshotSeq = turn === null ? null : fromSeq;
  const run = await runIfActive(session);
  return { ...none, ...run, inputs, fromSeq, afterSeq: 0, snapshotSeq, isDone: false };
}

async function clientIds(
  engine: Engine,
  session: Session,
  messages: readonly ClientMessage[],
): Promise<ClientIds> {
  const { writer } = internalsOf(engine);
  const ids = new Map<string, string>();
  for (const { id, role, toolCallId = "" } of messages) {
    const call = role === "tool" ? seqOf("call", toolCallId) : null;
    if (call !== null) ids.set(resultId(session.id, call), id);
    const isOwn = id.startsWith(messageId(session.id, 0).slice(0, -1));
    const seq = role === "user" && !isOwn ? await writer.keyed(session.id, inputKey(id)) : undefined;
    if (typeof seq === "number") ids.set(messageId(session.id, seq), id);
  }
  return ids;
}

/** The user messages at the end that the log does not have. */
async function newInputs(
  engine: Engine,
  session: Session,
  messages: readonly ClientMessage[],
): Promise<readonly ClientMessage[]> {
  const { writer } = internalsOf(engine);
  const from = messages.findLastIndex(({ role }) => role === "assistant" || role === "tool") + 1;
  const own = messageId(session.id, 0).slice(0, -1);
  const sent: ClientMessage[] = [];
  for (const message of messages.slice(from)) {
    if (message.role !== "user" || message.id.startsWith(own)) continue;
    const known = await writer.keyed(session.id, inputKey(message.id));
    if (known === undefined || known === null) sent.push(message);
  }
  return sent;
}

async function ask(
  engine: Engine,
  session: Session,
  { context }: RunInput,
  messages: readonly ClientMessage[],
): Promise<RunRange> {
  await makeRoom(
    session,
    (why) =>
      new SkeinError("refused", `ag-ui: the session is suspended (${why})`, {
        hint: "answer its interrupts with resume, or send the results of its tool calls, first",
      }),
  );
  const inputs = new Set<number>();
  const last = messages.length - 1;
  const about = context.map(({ description, value }) => `${description}: ${value}`).join("\n");
  for (const message of messages.slice(0, last)) {
    const blocks = await inputBlocks(engine, message);
    inputs.add((await session.input(blocks, { key: inputKey(message.id) })).seq);
  }
  const final = messages[last];
  if (final === undefined) return rejoin(engine, session);
  const blocks = await inputBlocks(engine, final);
  const all = about === "" ? blocks : [...blocks, { type: "text", text: `Context:\n${about}` } as const];
  const run = session.ask(all, { key: inputKey(final.id) });
  const { seq } = await run.started;
  inputs.add(seq);
  const fromSeq = Math.min(...inputs);
  const rest = { afterSeq: 0, isDone: false, settled: new Set<number>() };
  return { ...rest, fromSeq, inputSeq: seq, inputs, run: run.result };
}

/** The client's tools are external: the model may call them, and the client brings the results. */
async function bindTools(session: Session, { standing }: State, tools: readonly ClientTool[]): Promise<void> {
  for (const { name, description, parameters } of tools) {
    const options = { external: true, description, input: parameters };
    const bound = standing.bindings.get(name);
    if (bound !== undefined && (await isBound(session, { name, seq: bound.seq, options }))) continue;
    await session.bind({ kind: "tool", name, options });
  }
}

/** Whether the binding is this tool already. One that is not external is not the client's to replace. */
async function isBound(
  session: Session,
  { name, seq, options }: { readonly name: string; readonly seq: number; readonly options: object },
): Promise<boolean> {
  for await (const event of session.events({ fromSeq: seq, toSeq: seq, types: ["resource.bound"] })) {
    if (!isOf(event, "resource.bound")) continue;
    const known: unknown = event.content?.options ?? {};
    if (typeof known === "object" && known !== null && "external" in known)
      return JSON.stringify(known) === JSON.stringify(options);
  }
  throw new SkeinError("conflict", `ag-ui: tools: the session already has a resource "${name}"`, {
    hint: "give the tool of the page another name",
  });
}

/** Takes the results of calls that wait for the client. Returns the positions of all it brought. */
async function takeResults(
  session: Session,
  { mind }: State,
  messages: readonly ClientMessage[],
  rights: RunRights,
): Promise<ReadonlySet<number>> {
  const open = new Map([...mind.calls.entries()].map(([call, state]) => [state.seq, { call, ...state }]));
  const taken = new Set<number>();
  for (const { role, toolCallId = "", content = "", error } of messages) {
    const call = role === "tool" ? open.get(seqOf("call", toolCallId) ?? 0) : undefined;
    if (call?.deadlineMs === undefined || call.phase === "asked") continue;
    rights.settle();
    const status = error === undefined ? "ok" : "error";
    await session.settle(call.call, { status, output: error ?? content });
    taken.add(call.seq);
  }
  return taken;
}

/** Takes the answers to interrupts. True when one of them was waited for. */
async function takeAnswers(
  session: Session,
  { mind, standing }: State,
  { resume }: RunInput,
  rights: RunRights,
): Promise<boolean> {
  let isTaken = false;
  for (const entry of resume) {
    const seq = seqOf("call", entry.interruptId);
    const asked = [...mind.calls.entries()].find(([, call]) => call.seq === seq && call.phase === "asked");
    if (asked !== undefined) {
      const { allow, reason } = approvalOf(entry);
      if (allow) rights.approve();
      const because = reason === undefined ? {} : { reason };
      await session.answer({ allow, calls: [asked[0]], ...because });
      isTaken = true;
    } else if (seqOf("wait", entry.interruptId) === standing.why?.seq && standing.status === "suspended") {
      const text = payloadText(entry);
      if (!entry.isResolved) await session.interrupt({ reason: "cancelled by the client" });
      else if (standing.why.by === "unknown" || standing.why.by === "error")
        await session.answer({ allow: false, calls: [], ...(text === undefined ? {} : { text }) });
      else await session.activate();
      isTaken = true;
    }
  }
  return isTaken;
}
