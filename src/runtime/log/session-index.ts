/** The session index: what lists show of a session, updated with every append to its log. */
import type { Cache } from "../../core/cache.ts";
import { fold } from "../../core/fold.ts";
import { isFull } from "../../core/message/decide.ts";
import { entryOf } from "../../core/catalog.ts";
import { deadlineOf } from "../../core/trigger/deadline.ts";
import type { DraftEvent } from "../../core/decision.ts";
import { readEvent, type Understood } from "../../core/event.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { spendOf } from "../../core/budget/money.ts";
import { count } from "../../core/range.ts";
import { includes } from "../../core/range.ts";
import { dueOf, isWatching, triggersText, waitsFor } from "../../core/trigger/schedule.ts";
import type { Ref, State } from "../../core/state.ts";
import type { IndexEntry, SpendField, Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";

/** Types that leave the index unchanged. A rewind changes only the status there. */
const quiet = /^(x|input|item|scratch|lease|tool|message|checkpoint|budget|resource)\.|\.imported$/;

export const touchesIndex = (before: State, events: readonly DraftEvent[]): boolean =>
  events.some((event) => !quiet.test(event.type) || touchesOutbox(event)) || touchesInbox(before, events);

/** True when it may have become runnable, or its inbox became full or no longer is. */
function touchesInbox(before: State, events: readonly DraftEvent[]): boolean {
  const more = events.filter(({ type }) => type === "input.received" || type === "message.received").length;
  if (more === 0) return false;
  const waiting = count(before.standing.inbox.waiting);
  return dueOf(before) !== 0 || (waiting < limit.inboxMax && waiting + more >= limit.inboxMax);
}

/** True for changes of pending work: messages to other stores, and requests. */
function touchesOutbox({ type, body }: DraftEvent): boolean {
  const { away, deadlineMs, replyTo } = body as Partial<Record<string, unknown>>;
  if (type === "message.sent") return away !== undefined || deadlineMs !== undefined;
  if (type === "message.received") return replyTo !== undefined;
  return type === "message.delivered" || type === "message.refused";
}

/** Names and objectives by position and hash. They never change, and what is erased is not looked up here. */
export type IndexTexts = Cache<string, string>;

/**
 * The entry after these events. Times and hashes do not matter for it, so it can be made before they are
 * known.
 */
export async function indexEntry(
  store: Store,
  session: LogId,
  before: State,
  events: readonly DraftEvent[],
  texts?: IndexTexts,
): Promise<IndexEntry> {
  const after = events.reduce(
    (state, event) => fold(state, provisional(session, state, event), () => state.mind),
    before,
  );
  const text = async (ref: Ref | null, field: "name" | "objective"): Promise<string | null> => {
    // Content that the same append erases is still in the store.
    if (ref === null || includes(after.standing.erased.ranges, ref.seq)) return null;
    const fresh = events[ref.seq - before.seq - 1];
    if (fresh !== undefined) return textField(fresh.content, field);
    const place = `${session} ${ref.seq} ${ref.hash ?? ""} ${field}`;
    const known = texts?.get(place);
    if (known !== undefined) return known;
    const read = textField(await readContent(store, session, ref.seq), field);
    if (read !== null) texts?.set(place, read);
    return read;
  };
  const { status, agent, model, name, objective, priority, labels, outbox, requests } = after.standing;
  const due = dueOf(after);
  const open = new Set([...outbox.keys(), ...requests.keys()]).size;
  return {
    status,
    agent: agent?.name ?? null,
    name: await text(name, "name"),
    objective: await text(objective, "objective"),
    priority,
    labels: Object.fromEntries(labels.entries()),
    ...(open === 0 ? {} : { outbox: open }),
    ...(isFull(after.standing.inbox) ? { full: true } : {}),
    ...(due === null ? {} : { due }),
    ...(model === null ? {} : { model }),
    ...(isWatching(after) ? { watches: true } : {}),
    ...seen(after),
  };
}

/** The state details for lists. */
function seen(state: State): Pick<IndexEntry, "deadline" | "waits" | "triggers" | "zone" | SpendField> {
  const { zone } = state.standing;
  const { nanoUsd, unconfirmedNanoUsd, unpriced } = spendOf(state);
  const [waits, triggers] = [waitsFor(state), triggersText(state)];
  const deadline = deadlineOf(state);
  return {
    ...(deadline === null ? {} : { deadline }),
    ...(waits === null ? {} : { waits }),
    ...(triggers === null ? {} : { triggers }),
    ...(zone === "smart" ? {} : { zone }),
    ...(nanoUsd === 0 ? {} : { nanoUsd }),
    ...(unconfirmedNanoUsd === 0 ? {} : { unconfirmedNanoUsd }),
    ...(unpriced === 0 ? {} : { unpriced }),
  };
}

/** The entry of a session from its log, for rebuilding. */
export const indexEntryOf = (store: Store, session: LogId, state: State): Promise<IndexEntry> =>
  indexEntry(store, session, state, []);

function provisional(session: LogId, state: State, event: DraftEvent): Understood {
  return readEvent(
    {
      session,
      seq: state.seq + 1,
      at: state.at,
      type: event.type,
      v: entryOf(event.type)?.v ?? 1,
      actor: "system",
      turn: null,
      cause: null,
      key: null,
      body: JSON.stringify(event.body),
      contentHash: null,
      contentBytes: null,
      hash: "",
      salt: null,
      content: null,
    },
    false,
  );
}

function textField(content: unknown, field: string): string | null {
  if (typeof content !== "object" || content === null) return null;
  const value = (content as Record<string, unknown>)[field];
  return typeof value === "string" ? value : null;
}
