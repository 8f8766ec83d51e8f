/**
 * Delivery: messages to other stores wait in the sender's log until they are known to have arrived. A
 * delivery writes to the receiver's log first and to the sender's second. After a crash in between, the next
 * one finds the message there already; two at once are safe. The messages of one pair go in order: a waiting
 * one blocks those behind it, a refused one does not.
 */
import { readRows } from "../read/session-rows.ts";
import { isAskedOut, isFull } from "../../core/message/decide.ts";
import { readEvent, type EventOf } from "../../core/event.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { contentOf } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { hasReceived, momentText, receiving, type MessageEnvelope } from "./envelope.ts";
import { makeStateReader } from "../read/state-reader.ts";
import { changeLive } from "../log/forward.ts";
import { makeWriter, type Writer } from "../log/writer.ts";

/** Receives the progress of `engine.deliver`. */
export type DeliverProgress = (done: { readonly messages: number; readonly sessions: number }) => void;

/** The result of `engine.deliver`. */
export interface DeliverReport {
  /** Inspected sessions. */
  readonly sessions: number;
  /** Messages now known to have arrived, and messages refused for good. */
  readonly delivered: number;
  readonly refused: number;
  /** Requests that timed out without a reply. */
  readonly overdue: number;
  /** What still waits, and why. */
  readonly waiting: readonly PendingDelivery[];
}

/** Messages of a session that could not be delivered yet. */
export interface PendingDelivery {
  readonly session: SessionId;
  readonly to: string;
  readonly count: number;
  readonly reason: string;
}

/** Another store, and the writer for it. */
export interface RemoteStore {
  readonly store: Store;
  readonly writer: Writer;
}

/** Other stores by their address, each opened once. A failing address is tried once. */
export interface Stores extends AsyncDisposable {
  at(place: string): Promise<RemoteStore>;
}

export function otherStores({ openStore, world }: Deps): Stores {
  const opened = new Map<string, Promise<RemoteStore>>();
  const open = async (place: string): Promise<RemoteStore> => {
    if (openStore === undefined)
      throw new SkeinError("unavailable", "access to other stores is disabled", {
        detail: "opens-no-stores",
      });
    const store = await openStore(place, { create: false });
    return { store, writer: makeWriter(store, world, makeStateReader(store), { tenant: "default" }) };
  };
  return {
    at(place) {
      const known = opened.get(place) ?? open(place);
      opened.set(place, known);
      return known;
    },
    async [Symbol.asyncDispose]() {
      for (const one of opened.values()) await one.then(({ store }) => store.close()).catch(() => undefined);
    },
  };
}

/** Delivers every waiting message of this store, and ends requests past their deadline. */
export async function deliverAll(deps: Deps, progress?: DeliverProgress): Promise<DeliverReport> {
  await using stores = otherStores(deps);
  let report: DeliverReport = { sessions: 0, delivered: 0, refused: 0, overdue: 0, waiting: [] };
  for (const session of await sendersOf(deps.store)) {
    const done = await deliverFrom(deps, session, stores).catch((error: unknown) => failed(session, error));
    report = {
      sessions: report.sessions + 1,
      delivered: report.delivered + done.delivered,
      refused: report.refused + done.refused,
      overdue: report.overdue + done.overdue,
      waiting: [...report.waiting, ...done.waiting],
    };
    progress?.({ messages: report.delivered + report.refused, sessions: report.sessions });
  }
  return report;
}

/** One unreadable session does not block the others. */
function failed(session: SessionId, error: unknown): DeliveryResult {
  if (!(error instanceof SkeinError)) throw error;
  const waiting = [{ session, to: "", count: 0, reason: error.message }];
  return { delivered: 0, refused: 0, overdue: 0, waiting };
}

/** Sessions that live here and have something open, listed before anything is done. */
async function sendersOf(store: Store): Promise<SessionId[]> {
  const found: SessionId[] = [];
  for await (const { session, copy, status } of readRows(store, { outbox: true }))
    if (copy !== true && status !== "moved") found.push(session);
  return found;
}

type DeliveryResult = Omit<DeliverReport, "sessions">;

/** Delivers the messages of one session: all of them, or to one receiver only. */
export async function deliverFrom(
  deps: Deps,
  session: SessionId,
  stores: Stores,
  only?: SessionId,
): Promise<DeliveryResult> {
  const overdue = await giveUp(deps, session, await deps.writer.current(session));
  const { standing } = await deps.writer.current(session);
  // A stranger who is not trusted yet chose its destinations.
  if (standing.unreviewed) return { delivered: 0, refused: 0, overdue, waiting: [] };
  const pairs = new Map<string, { readonly seq: number; readonly number: number }[]>();
  for (const { to, seq, number } of standing.outbox.values()) {
    if (only === undefined || to === only) pairs.set(to, [...(pairs.get(to) ?? []), { seq, number }]);
  }
  let [delivered, refused] = [0, 0];
  const waiting: PendingDelivery[] = [];
  for (const [to, unsorted] of pairs) {
    const queue = unsorted.toSorted((a, b) => a.number - b.number);
    for (const [place, { seq }] of queue.entries()) {
      const became = await hand(deps, session, seq, stores);
      if (became.kind === "waits") {
        waiting.push({ session, to, count: queue.length - place, reason: became.reason });
        break;
      }
      if (became.kind === "arrived") delivered++;
      else refused++;
    }
  }
  return { delivered, refused, overdue, waiting };
}

type Became =
  | { readonly kind: "arrived" }
  | { readonly kind: "waits"; readonly reason: string }
  | { readonly kind: "refused"; readonly error: string; readonly reason: string };

/** Delivers one message, and records the result in the sender's log. */
async function hand(deps: Deps, session: SessionId, seq: number, stores: Stores): Promise<Became> {
  const { envelope, place } = await envelopeAt(deps.store, session, seq);
  const became: Became =
    envelope === null || place === undefined
      ? { kind: "refused", error: "erased", reason: "its text was erased before delivery" }
      : await offer(deps, envelope, stores, place);
  if (became.kind === "waits") return became;
  const { message, to } = await sentAt(deps.store, session, seq);
  const notice =
    became.kind === "arrived" ? "" : `Your message ${message} to ${to} was not accepted: ${became.reason}`;
  await settle(
    deps,
    session,
    became.kind === "arrived"
      ? { do: "deliver", message }
      : { do: "refuse", message, error: became.error, reason: cut(became.reason), text: notice },
  );
  return became;
}

const cut = (reason: string): string => reason.slice(0, limit.reasonCharsMax);

/** Another process may have delivered first, and the session may have moved away meanwhile. */
async function settle(
  { writer }: Deps,
  session: SessionId,
  command: Parameters<Writer["change"]>[1],
): Promise<boolean> {
  try {
    await writer.change(session, command, { actor: "system", asked: false });
    return true;
  } catch (error) {
    if (error instanceof SkeinError && (error.code === "not-found" || error.code === "refused")) return false;
    throw error;
  }
}

/** Writes it to the receiver's log, unless it exists there. */
async function offer(deps: Deps, envelope: MessageEnvelope, stores: Stores, place: string): Promise<Became> {
  const { from, to, number } = envelope;
  let there: RemoteStore;
  try {
    there = await stores.at(place);
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    return { kind: "waits", reason: error.message };
  }
  try {
    // The cached state may be old: a refusal must rest on the newest one.
    await there.writer.current(to);
    // The receiver, or the session that it went on as.
    const build = (state: State) =>
      receiving(there.store, state, { ...envelope, to: state.standing.session as SessionId }, deps.place);
    const key = `message/${envelope.message}`;
    await changeLive(there, to, build, { actor: `session:${from}`, asked: false, key });
    return { kind: "arrived" };
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    const state = await there.writer.current(to).catch(() => null);
    const isUsed = state !== null && number <= (state.standing.received.get(from) ?? 0);
    if (isUsed && (await hasReceived(there.store, envelope))) return { kind: "arrived" };
    return mayPass(error, state, envelope) ? { kind: "waits", reason: reasonOf(error) } : lost(error);
  }
}

const reasonOf = ({ message, hint }: SkeinError): string =>
  hint === undefined ? message : `${message}; ${hint}`;
const lost = (error: SkeinError): Became => ({ kind: "refused", error: error.code, reason: reasonOf(error) });

/** True when a retry may succeed: the receiver is full, or its store is unavailable now. */
function mayPass({ code }: SkeinError, state: State | null, { deadlineMs }: MessageEnvelope): boolean {
  if (!["refused", "not-found", "invalid"].includes(code)) return true;
  if (state === null) return false;
  const busy = isFull(state.standing.inbox) || (deadlineMs !== undefined && isAskedOut(state));
  const isOver = ["closed", "archived", "moved"].includes(state.standing.status);
  return !isOver && (busy || state.standing.newer !== null);
}

/** Ends requests of a session past their deadline, with an input that says so. Returns how many. */
export async function giveUp(deps: Deps, session: SessionId, { standing }: State): Promise<number> {
  const nowMs = deps.store.now();
  const late = [...standing.requests.entries()].filter(([, { deadlineMs }]) => deadlineMs < nowMs);
  let count = 0;
  for (const [message, { to, deadlineMs }] of late) {
    const until = momentText(deadlineMs);
    const text = `Your request ${message} to ${to} had no reply by ${until} and timed out.`;
    const given = { do: "refuse", message, error: "deadline", reason: `no reply by ${until}`, text } as const;
    if (await settle(deps, session, given)) count++;
  }
  return count;
}

async function sentAt(
  store: Store,
  session: SessionId,
  seq: number,
): Promise<EventOf<"message.sent">["body"]> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  if (record?.type !== "message.sent")
    throw new SkeinError("corrupt", `record ${seq} of ${session} is not a sent message`);
  return (readEvent(record, false).event as EventOf<"message.sent">).body;
}

/** The message as it was sent; null when its text was erased. */
async function envelopeAt(
  store: Store,
  session: SessionId,
  seq: number,
): Promise<{ readonly envelope: MessageEnvelope | null; readonly place: string | undefined }> {
  const { message, to, number, topic, replyTo, as, deadlineMs } = await sentAt(store, session, seq);
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  const content = (record === undefined ? undefined : await contentOf(store, record)) as
    | { readonly blocks: readonly { readonly text?: string }[]; readonly place?: string }
    | undefined;
  const text = content?.blocks[0]?.text;
  if (text === undefined) return { envelope: null, place: undefined };
  const envelope = {
    message,
    from: session,
    to: to as SessionId,
    number,
    text,
    topic,
    replyTo,
    as,
    deadlineMs,
  };
  return { envelope, place: content?.place };
}
