/** Responses: a turn of a session each, or the part of a turn up to the next call of a client's function. */
import { SkeinError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { includes } from "../../core/range.ts";
import { isOf } from "../../core/transcript.ts";
import type { Binding } from "../../core/tool/commands.ts";
import type { AppendRecord } from "../../core/turn/commands.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { followSession } from "../session-updates.ts";
import type { StreamEvent } from "./answer.ts";
import { findConversation, itemRecord, listItems } from "./conversations.ts";
import { responsePlace, sha256 } from "./ids.ts";
import { inputsOf, invalid, type GivenItem } from "./input.ts";
import { recordTypes } from "./items.ts";
import type { OutputItem } from "./output.ts";
import { responseTypes, ResponseProjection, type ResponseContent, type ResponseRecord } from "./project.ts";
import { modelName, splitOutputs, type FunctionTool, type ResponseRequest } from "./request.ts";

/** A response and its session. */
export interface PlacedResponse {
  readonly session: Session;
  readonly record: ResponseRecord;
}

/** Finds a response by its id. */
export async function findResponse(engine: Engine, id: string): Promise<PlacedResponse> {
  const place = responsePlace(id);
  const session =
    place === null
      ? null
      : await engine.session(place.session).catch((error: unknown) => {
          if (error instanceof SkeinError && error.code === "not-found") return null;
          throw error;
        });
  if (place !== null && session !== null) {
    const record = await recordAt(session, place.seq);
    if (record !== null) return { session, record };
  }
  throw new SkeinError("not-found", `Response with id '${id}' not found.`, { field: "response_id" });
}

async function recordAt(session: Session, seq: number): Promise<ResponseRecord | null> {
  for await (const event of session.events({ fromSeq: seq, toSeq: seq }))
    if (event.type === recordTypes.response) return recordOf(session, event);
  return null;
}

const recordOf = (session: Session, { seq, at, body, content }: SessionEvent): ResponseRecord => ({
  session: session.id,
  seq,
  at,
  body: body as ResponseRecord["body"],
  content: content ?? {},
});

/** Takes a request, and returns its response. A second request with the same key takes nothing. */
export async function createResponse(
  engine: Engine,
  request: ResponseRequest,
  { key, settle }: { readonly key: string | null; readonly settle: () => void },
): Promise<PlacedResponse> {
  const { outputs, rest } = splitOutputs(request.items);
  const session = await sessionOf(engine, request, { key, outputs });
  const open = await openCalls(session);
  const answered = [...outputs].filter(([call]) => open.has(call) || request.previous !== null);
  const isContinued = answered.length > 0;
  if (isContinued) settle();
  const digest = sha256(JSON.stringify([request.previous, request.items]));
  const once =
    key === null ? (isContinued ? `openai:continued:${digest}` : null) : `openai:${sha256(key)}:response`;
  const { writer } = internalsOf(engine);
  const known = once === null ? undefined : await writer.keyed(session.id, once);
  let seq = known ?? null;
  if (seq === null) {
    const missing = [...open].filter((call) => !outputs.has(call));
    if (missing.length > 0 && !(await isIdle(session)))
      throw invalid("input", `No tool output found for function call ${missing[0] ?? ""}.`);
    await prepare(session, request);
    const content = contentOf(request, isContinued ? answered.map(([call]) => call) : []);
    const added = await addedItems(session);
    const items = isContinued ? rest : request.items;
    const given = [...added, ...items];
    const instructed = isContinued ? null : await newInstructions(session, request);
    const inputs = await inputsOf(given, (bytes) => engine.putBlob(bytes));
    if (instructed !== null) inputs.unshift(instructed);
    const steered = isContinued ? inputs.map((one) => ({ ...one, mode: "steer" as const })) : inputs;
    seq = await write(session, { once, content, isContinued, items: request.items, inputs: steered });
  }
  for (const [call, output] of answered) await session.settle(call, { output });
  const record = await recordAt(session, seq);
  if (record === null) throw new SkeinError("corrupt", `there is no response at ${seq} of ${session.id}`);
  return { session, record };
}

interface Write {
  readonly once: string | null;
  readonly content: ResponseContent;
  readonly isContinued: boolean;
  readonly items: readonly GivenItem[];
  readonly inputs: readonly AppendRecord[];
}

/** One append: the response, its items, and the inputs that bring them to the model. */
async function write(
  session: Session,
  { once, content, isContinued, items, inputs }: Write,
): Promise<number> {
  const body = { items: items.length, inputs: inputs.length, continues: isContinued };
  const records: AppendRecord[] = [{ type: recordTypes.response, body, content }];
  for (const [place, item] of items.entries()) {
    // The last inputs are those of the last items, one each; all items before are in the first.
    const fromEnd = items.length - 1 - place;
    const input = isContinued ? -1 : Math.max(inputs.length - 1 - fromEnd, 0);
    records.push(itemRecord(item, input < 0 ? 0 : items.length - place + input));
  }
  const { seq } = await session.append([...records, ...inputs], once === null ? {} : { key: once });
  return seq;
}

const contentOf = (request: ResponseRequest, calls: readonly string[]): ResponseContent => ({
  ...(request.model === null ? {} : { model: request.model }),
  ...(request.instructions === null ? {} : { instructions: request.instructions }),
  ...(request.previous === null ? {} : { previous: request.previous }),
  ...(request.conversation === null ? {} : { isConversation: true }),
  ...(calls.length === 0 ? {} : { calls }),
  metadata: request.metadata,
  tools: request.givenTools,
});

/** The session of a request: of its conversation, of the response before it or a fork there, or a new one. */
async function sessionOf(
  engine: Engine,
  request: ResponseRequest,
  { key, outputs }: { readonly key: string | null; readonly outputs: ReadonlyMap<string, string> },
): Promise<Session> {
  if (request.conversation !== null) return findConversation(engine, request.conversation);
  if (request.previous === null) return openSession(engine, request, key);
  const { session, record } = await findResponse(engine, request.previous);
  if (outputs.size > 0) return session;
  const end = await endOf(session, record);
  if (end === null) {
    throw new SkeinError("conflict", `Response '${request.previous}' is still in progress.`, {
      hint: "wait for its end, or cancel it",
    });
  }
  const once = key === null ? undefined : `openai:${sha256(key)}:response`;
  const { writer, forRequest } = internalsOf(engine);
  const known = once === undefined ? undefined : await writer.keyed(session.id, once);
  if (known !== undefined && known !== null) return session;
  const types = [recordTypes.response, "turn.started", "input.received", "session.rewound"];
  for await (const _ of session.events({ fromSeq: end + 1, types, limit: 1 })) {
    const bound = once === undefined ? engine : forRequest({ key: `${once}:fork` });
    return internalsOf(bound).sessionAt(session.id).fork({ atSeq: end });
  }
  return session;
}

function openSession(engine: Engine, request: ResponseRequest, key: string | null): Promise<Session> {
  const { model, instructions, tools } = request;
  return engine.open({
    objective: "Respond to the user.",
    ...(model === null ? {} : { model: modelName(model) }),
    ...(instructions === null || instructions === "" ? {} : { instructions }),
    bind: tools.map(bindingOf),
    ...(key === null ? {} : { key: `openai:${sha256(key)}` }),
  });
}

const bindingOf = ({ name, description, input }: FunctionTool): Binding => ({
  kind: "tool",
  name,
  options: { external: true, description, input },
});

/** The last event of a response; null while it is in progress. */
async function endOf(session: Session, record: ResponseRecord): Promise<number | null> {
  const projection = new ResponseProjection(record);
  for await (const event of session.events({ fromSeq: record.seq + 1, types: responseTypes })) {
    projection.event(event);
    if (projection.isOver) return event.seq;
  }
  return null;
}

const isIdle = async (session: Session): Promise<boolean> => (await session.fold()).standing.turn === null;

/** The calls of the client's functions that have no output yet. */
async function openCalls(session: Session): Promise<ReadonlySet<string>> {
  const { mind } = await session.fold();
  return new Set(
    [...mind.calls.entries()].flatMap(([call, { deadlineMs }]) => (deadlineMs === undefined ? [] : [call])),
  );
}

/** The model and the functions of a request that differ from those of the response before it. */
async function prepare(session: Session, request: ResponseRequest): Promise<void> {
  const { standing } = await session.fold();
  if (standing.status === "suspended" && standing.why?.by !== "tool") {
    throw new SkeinError("refused", `the session is suspended (${standing.why?.by ?? "no reason"})`, {
      hint: "answer what it waits for, or activate it",
    });
  }
  if (request.model !== null && standing.model !== null && standing.model !== modelName(request.model))
    await session.migrate({ model: modelName(request.model) });
  const before = await lastContent(session);
  if (before === null && standing.turn === null && request.conversation === null) return;
  const given = new Map(request.givenTools.map((tool, place) => [request.tools[place]?.name ?? "", tool]));
  const bound = new Map(
    (before?.tools ?? []).map((tool) => [String((tool as { name?: unknown }).name), tool]),
  );
  for (const [name, tool] of bound)
    if (JSON.stringify(given.get(name)) !== JSON.stringify(tool) && standing.bindings.get(name) !== undefined)
      await session.unbind(name);
  for (const tool of request.tools) {
    const isSame = JSON.stringify(given.get(tool.name)) === JSON.stringify(bound.get(tool.name));
    if (!isSame) await session.bind(bindingOf(tool));
  }
}

/** What the last response of the session was asked with. */
async function lastContent(session: Session): Promise<ResponseContent | null> {
  const { mind } = await session.fold();
  for await (const event of session.events({ types: [recordTypes.response], reverse: true }))
    if (!includes(mind.lost, event.seq)) return recordOf(session, event).content;
  return null;
}

/** Instructions that differ from those before: the model gets them as an input of the system. */
async function newInstructions(session: Session, { instructions, conversation }: ResponseRequest) {
  const before = await lastContent(session);
  if (instructions === null || instructions === "" || before?.instructions === instructions) return null;
  // A new session was opened with them.
  if (before === null && conversation === null) return null;
  const text = `Instructions from now on: ${instructions}`;
  return { type: "input.received", from: "system", blocks: [{ type: "text", text }] } as const;
}

/** Items that were added to the conversation since its last response. */
async function addedItems(session: Session): Promise<GivenItem[]> {
  let after = 0;
  for await (const { seq } of session.events({ types: [recordTypes.response], reverse: true, limit: 1 }))
    after = seq;
  const all = await listItems(session);
  return all
    .filter(({ isAdded, seqs: [at = 0] }) => isAdded === true && at > after)
    .map(({ item: { id: _, ...item } }) => ({ ...item, type: item["type"] }));
}

/** A keep-alive, between the events of a stream. */
export const keepAlive = "keep-alive";

/** The stream events of a response: to its end, or with `isBrief` until it waits for a person. */
export async function* streamResponse(
  engine: Engine,
  { session, record }: PlacedResponse,
  {
    signal,
    after = -1,
    run,
    projection = new ResponseProjection(record),
    isBrief = false,
  }: {
    readonly signal: AbortSignal;
    readonly after?: number;
    readonly run?: Promise<object | null> | undefined;
    readonly projection?: ResponseProjection;
    readonly isBrief?: boolean;
  },
): AsyncGenerator<StreamEvent | typeof keepAlive, void> {
  const isUnseen = ({ sequence_number: number }: StreamEvent): boolean => number > after;
  yield* projection.start().filter(isUnseen);
  const updates = followSession(engine, session, {
    fromSeq: record.seq + 1,
    types: responseTypes,
    signal,
    run,
  });
  for await (const update of updates) {
    if ("mark" in update) {
      if (update.mark === "failed") throw update.error;
      if (isBrief && update.mark !== "idle" && projection.waitsFor !== null) return;
      if (update.mark === "idle") yield keepAlive;
      continue;
    }
    const events = "delta" in update ? projection.delta(update) : projection.event(update);
    yield* events.filter(isUnseen);
    if (projection.isOver) return;
    const isReleased = !("delta" in update) && isOf(update, "lease.released");
    if (isBrief && isReleased && projection.waitsFor !== null) return;
  }
}

/** The response as of now. */
export async function responseObject({ session, record }: PlacedResponse) {
  const projection = new ResponseProjection(record);
  for await (const event of session.events({ fromSeq: record.seq + 1, types: responseTypes })) {
    projection.event(event);
    if (projection.isOver) break;
  }
  return projection.response;
}

/** Ends the turn of a response, if it is in progress. */
export async function cancelResponse(placed: PlacedResponse): Promise<void> {
  const { session, record } = placed;
  if ((await endOf(session, record)) !== null) return;
  await session.interrupt({ reason: "the response was cancelled" });
}

/** The items that a response was asked with. */
export async function inputItems({ session, record }: PlacedResponse): Promise<OutputItem[]> {
  const { seq, body } = record;
  const items = await listItems(session);
  return items.filter(({ seqs: [at = 0] }) => at > seq && at <= seq + body.items).map(({ item }) => item);
}
