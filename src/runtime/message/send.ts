/**
 * Sends messages. Within a store one append writes a message to both logs, so that it is never sent without
 * being received. To another store it is written to the sender's log first, with its destination, and
 * delivered from there: see deliver.ts.
 */
import { readRecords } from "../read/record-pages.ts";
import { present } from "../../core/present.ts";
import { checkCall } from "../../call/check.ts";
import { resolve } from "node:path";
import { decide } from "../../core/decide.ts";
import { SkeinError } from "../../core/error.ts";
import { readEvent, type EventOf } from "../../core/event.ts";
import { makeSessionId, parseSessionId, quote, type SessionId } from "../../core/ids.ts";
import { checkJson } from "../../core/text/json.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";
import { checkTopic, checkContract } from "./contract.ts";
import { deliverFrom, otherStores, type Stores, type RemoteStore } from "./deliver.ts";
import type { Deps } from "../deps.ts";
import { findSession } from "../read/find.ts";
import { checkLivesHere, momentText, receiving, type MessageEnvelope } from "./envelope.ts";
import { appendResult, type AppendResult } from "../log/append-result.ts";
import { changeLive } from "../log/forward.ts";
import { liveSession, wentOn } from "../read/successor.ts";

/** Options of `session.send`. */
export interface SendOptions {
  /** Its topic. The receiver may have declared a contract for it. */
  readonly topic?: string;
  /** The request that this replies to. */
  readonly replyTo?: string;
  /** Makes it a request: how long, or until when, to wait for a reply. One of them. */
  readonly withinMs?: number;
  readonly deadlineMs?: number;
  /** The address of another store, if the receiver lives there. */
  readonly at?: string;
  /** A second message with the same key is not sent; it returns the result of the first. */
  readonly key?: string;
}

/** The result of `session.send`. */
export interface SendResult {
  readonly message: string;
  readonly to: SessionId;
  /** The position in the sender's log. */
  readonly seq: number;
  /** True when it is in the receiver's inbox. To another store it may have to wait. */
  readonly delivered: boolean;
  /** Why it is not. */
  readonly reason?: string;
}

/** The tool call that sends it: its result is written in the same append. */
interface Calling {
  readonly id: string;
  readonly epoch: number;
  readonly history: number;
  readonly actor: string;
}

interface OutgoingMessage extends Omit<SendOptions, "withinMs" | "at"> {
  readonly to: string;
  readonly text: string;
  readonly place?: string;
}

/**
 * `to` may be left out of a reply. Messages of a pair go in the order of the calls, also when the caller does
 * not await one before sending the next.
 */
export async function sendMessage(
  deps: Deps,
  from: SessionId,
  { to, value, ...options }: SendOptions & { readonly to: string | null; readonly value: unknown },
  call?: Calling,
): Promise<SendResult> {
  checkSend(options);
  const text = textOf(value);
  return deps.shared.sendOrder([`${from} ${to ?? options.replyTo}`], () =>
    sendText(deps, from, { to, text, ...options }, call),
  );
}

async function sendText(
  deps: Deps,
  from: SessionId,
  { to, text, ...options }: SendOptions & { readonly to: string | null; readonly text: string },
  call: Calling | undefined,
): Promise<SendResult> {
  const { topic, replyTo, key } = options;
  const before = key === undefined ? null : await sentWith(deps, from, key);
  if (before !== null) return before;
  const deadlineMs = deadlineOf(options, deps.store.now());
  const about = {
    ...present({ topic, replyTo, deadlineMs, key }),
  };
  const addressed = await address(deps, from, to, options);
  const outgoing: OutgoingMessage = { ...addressed, text, ...about };
  await using stores = otherStores(deps);
  const { place } = addressed;
  if (place === undefined) return await sendHere(deps, from, outgoing, stores, call);
  return await sendAway(deps, from, { ...outgoing, place }, stores, call);
}

function checkSend(options: SendOptions): void {
  checkCall("session.send", options);
  const { withinMs, deadlineMs, at } = options;
  if (withinMs !== undefined && deadlineMs !== undefined)
    throw new SkeinError("invalid", "send: specify withinMs or deadlineMs, not both");
  if (at !== "memory:") return;
  throw new SkeinError("invalid", `send: at: expected a path or URL, got ${quote(at)}`, {
    hint: "pass the path of the store's file",
  });
}

/** A value that is not a text is sent as its JSON. */
function textOf(value: unknown): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  if (typeof value === "string")
    throw new SkeinError("invalid", "send: message: expected a text, got an empty one", {
      hint: "pass a non-empty text",
    });
  checkJson("the message", value);
  return JSON.stringify(value);
}

function deadlineOf({ withinMs, deadlineMs }: SendOptions, nowMs: number): number | undefined {
  const until = deadlineMs ?? (withinMs === undefined ? undefined : nowMs + withinMs);
  if (until === undefined || until > nowMs) return until;
  throw new SkeinError("invalid", `send: deadlineMs: expected a future time, got ${momentText(until)}`);
}

/** The receiver, and its store. */
async function address(
  deps: Deps,
  from: SessionId,
  to: string | null,
  { replyTo, at }: SendOptions,
): Promise<{ readonly to: string; readonly place?: string }> {
  const place = at === undefined ? undefined : placeOf(at);
  if (replyTo !== undefined) return addressOfReply(deps, from, to, replyTo, place);
  if (to === null) {
    throw new SkeinError("invalid", "send: to: missing", {
      hint: "pass a receiver; only a reply may omit it",
    });
  }
  if (place === undefined) return { to: await findSession(deps.store, to) };
  return { to, place };
}

/** Addresses are recorded, and so must not depend on the working directory. */
const placeOf = (at: string): string => (/^[a-z][a-z0-9+]+:\/\//.test(at) ? at : resolve(at));

async function addressOfReply(
  { store, writer }: Deps,
  from: SessionId,
  to: string | null,
  replyTo: string,
  at: string | undefined,
): Promise<{ readonly to: string; readonly place?: string }> {
  const request = (await writer.current(from)).standing.asked.get(replyTo);
  if (request === undefined) {
    throw new SkeinError("not-found", `there is no request ${quote(replyTo)} to reply to`, {
      hint: 'it does not exist or has a reply already; "skein state ID" lists the open requests',
    });
  }
  if (to !== null && !request.from.endsWith(to)) {
    throw new SkeinError(
      "invalid",
      `send: replyTo: ${replyTo} came from ${request.from}, not from ${quote(to)}`,
      {
        hint: "omit the receiver; a reply goes to the sender of the request",
      },
    );
  }
  if (request.deadlineMs < store.now()) {
    const when = momentText(request.deadlineMs);
    throw new SkeinError("refused", `send: replyTo: the deadline of ${replyTo} passed at ${when}`, {
      hint: `send a new message to ${request.from}`,
    });
  }
  if (at !== undefined) return { to: request.from, place: at };
  const content = (await readContent(store, from, request.seq)) as { readonly place?: string } | undefined;
  if (content?.place === undefined || (await livesHere(store, writer, request.from as SessionId)))
    return { to: await findSession(store, request.from) };
  return { to: request.from, place: content.place };
}

async function livesHere(store: Store, writer: Deps["writer"], session: SessionId): Promise<boolean> {
  const head = await store.head(session);
  if (head === undefined || head.copy === true) return false;
  return (await writer.current(session)).standing.status !== "moved";
}

async function sendHere(
  deps: Deps,
  from: SessionId,
  { to: id, text, key, ...about }: OutgoingMessage,
  stores: Stores,
  call: Calling | undefined,
): Promise<SendResult> {
  const { store, writer, actor } = deps;
  const named = parseSessionId(id);
  const to = await liveSession(deps, named);
  const heirOf = to === named ? undefined : named;
  await deliverBefore(deps, from, to, stores);
  const message = newMessage(deps);
  const inCall = call === undefined ? {} : { call: call.id, output: { message, to } };
  let number = 0;
  let as: string | undefined;
  const build = (state: State) => {
    number = (state.standing.sent.get(to) ?? 0) + 1;
    as = about.replyTo === undefined ? undefined : state.standing.asked.get(about.replyTo)?.as;
    return { do: "send", to, heirOf, message, text, ...about, ...inCall } as const;
  };
  const take = (state: State) => receiving(store, state, { message, from, to, number, text, as, ...about });
  try {
    const [sent] = await writer.together(
      [
        { session: from, epoch: call?.epoch, history: call?.history, key, build },
        { session: to, build: take },
      ],
      { actor: call?.actor ?? actor },
    );
    return { message, to, seq: sent?.firstSeq ?? 0, delivered: true };
  } catch (error) {
    // Another call with the same key may have been first.
    const first = key === undefined ? null : await sentWith(deps, from, key);
    if (first !== null) return first;
    // The receiver went on as another session meanwhile.
    if (!(await wentOn(deps, to, error))) throw error;
    return sendHere(deps, from, { to, text, ...present({ key }), ...about }, stores, call);
  }
}

const newMessage = ({ world }: Deps): string =>
  makeSessionId({ nowMs: world.now(), random: world.random(10) }).replace("ses_", "msg_");

/** Earlier messages to it that still wait go first. */
async function deliverBefore(deps: Deps, from: SessionId, to: SessionId, stores: Stores): Promise<void> {
  const { outbox } = (await deps.writer.current(from)).standing;
  if ([...outbox.values()].some((one) => one.to === to)) await deliverFrom(deps, from, stores, to);
}

async function sendAway(
  deps: Deps,
  from: SessionId,
  { to: idOrEnding, text, place, key, ...about }: OutgoingMessage & { readonly place: string },
  stores: Stores,
  call: Calling | undefined,
): Promise<SendResult> {
  const there = await reached(stores, place);
  if (there?.store.workspace === deps.store.workspace) {
    const to = await findSession(deps.store, idOrEnding);
    return sendHere(deps, from, { to, text, ...present({ key }), ...about }, stores, call);
  }
  const to = there === null ? parseSessionId(idOrEnding) : await findSession(there.store, idOrEnding);
  if (there !== null) {
    await deliverBefore(deps, from, to, stores);
    await look(deps, there, { message: "", from, to, number: Infinity, text, ...about });
  }
  const message = newMessage(deps);
  const inCall = call === undefined ? {} : { call: call.id, output: { message, to } };
  const { firstSeq, duplicate } = await deps.writer.change(
    from,
    { do: "send", to, message, text, place, ...about, ...inCall },
    { actor: call?.actor ?? deps.actor, epoch: call?.epoch, history: call?.history, key },
  );
  const first = duplicate && key !== undefined ? await sentWith(deps, from, key) : null;
  if (first !== null) return first;
  const { waiting } = await deliverFrom(deps, from, stores, to);
  const sent = { message, to, seq: firstSeq };
  return { ...sent, ...(await becameOf(deps, from, sent, waiting[0]?.reason)) };
}

async function becameOf(
  { store, writer }: Deps,
  from: SessionId,
  { message, seq: fromSeq }: Pick<SendResult, "message" | "seq">,
  reason: string | undefined,
): Promise<Pick<SendResult, "delivered" | "reason">> {
  const { standing, seq: toSeq } = await writer.current(from);
  if (standing.outbox.has(message)) return { delivered: false, reason: reason ?? "waiting for delivery" };
  const only = { types: ["message.refused"], contents: true };
  for await (const record of readRecords(store, from, [fromSeq, toSeq], only)) {
    const { body, content } = readEvent(record, true).event as EventOf<"message.refused">;
    if (body.message !== message || body.error === "deadline") continue;
    return { delivered: false, reason: content?.reason ?? "it was refused" };
  }
  return { delivered: true };
}

/** The other store; null when it exists and is unavailable now, so that the message has to wait. */
async function reached(stores: Stores, place: string): Promise<RemoteStore | null> {
  try {
    return await stores.at(place);
  } catch (error) {
    if (error instanceof SkeinError && error.code === "unavailable" && !isForever(error)) return null;
    throw error;
  }
}

/** An engine that opens no stores will not do so later. */
const isForever = ({ detail }: SkeinError): boolean => detail === "opens-no-stores";

/** Checks now what the receiver would refuse, before anything is written. */
async function look(deps: Deps, { store, writer }: RemoteStore, envelope: MessageEnvelope): Promise<void> {
  const to = await liveSession({ store, writer }, envelope.to);
  const state = await writer.current(to);
  const command = await receiving(store, state, { ...envelope, to }, deps.place);
  const facts = { actor: deps.actor, digest: deps.world.digest, program: store.program };
  const decision = decide(state, command, facts);
  if (decision.ok) return;
  const { code, message, hint } = decision.refusal;
  throw new SkeinError(code, message, { hint });
}

/** The message that was sent with this key before. */
async function sentWith(deps: Deps, from: SessionId, key: string): Promise<SendResult | null> {
  const { store, writer } = deps;
  const seq = await writer.keyed(from, key);
  if (seq === undefined) return null;
  const [record] = await store.read(from, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  if (record?.type !== "message.sent") {
    throw new SkeinError("conflict", `send: key: ${quote(key)} was used for another change`, {
      hint: "use a new key",
    });
  }
  const { message, to } = (readEvent(record, false).event as EventOf<"message.sent">).body;
  const sent = { message, to: to as SessionId, seq };
  return { ...sent, ...(await becameOf(deps, from, sent, undefined)) };
}

/** What a person sends: an input with a topic, validated against its contract. */
export async function sendInput(
  deps: Deps,
  session: SessionId,
  value: unknown,
  { topic, key }: { readonly topic?: string; readonly key?: string },
): Promise<AppendResult> {
  if (topic !== undefined) checkTopic(topic);
  const text = textOf(value);
  const about = present({ topic });
  const { store, writer, actor } = deps;
  await writer.current(session);
  const build = async (state: State) => {
    const receiver = state.standing.session as SessionId;
    await checkLivesHere(store, receiver, state);
    await checkContract(store, { session: receiver, state }, { topic, text });
    return { do: "append", records: [{ type: "input.received", text, ...about }], sent: true } as const;
  };
  return appendResult(await changeLive(deps, session, build, { actor, key }), session);
}
