/** Decisions on messages between sessions, and the contracts of their topics. */
import type { CommandOf } from "../command.ts";
import {
  type Decision,
  type Decisions,
  type DraftEvent,
  accept,
  because,
  draft,
  forbidden,
  refuse,
} from "../decision.ts";
import { present } from "../present.ts";
import { limit } from "../limit.ts";
import type { MessageCommand } from "./commands.ts";
import * as range from "../range.ts";
import { count } from "../text/number-format.ts";
import { mayIn } from "../session/lifecycle.ts";
import type { Inbox, State } from "../state.ts";
import { settled } from "../tool/drafts.ts";
import { triggersFor } from "../trigger/drafts.ts";
import { causedBy, inTurn, inputDraft } from "../turn/drafts.ts";

export const messageDecisions: Decisions<MessageCommand["do"]> = {
  send: (state, command) => {
    const { to, message, text, topic, replyTo, deadlineMs, place, call, output } = command;
    const as = replyTo === undefined ? undefined : state.standing.asked.get(replyTo)?.as;
    const refusal = forbidden(state, "write", "send a message") ?? unsendable(state, command);
    if (refusal !== null) return refusal;
    const open = call === undefined ? undefined : state.mind.calls.get(call);
    if (call !== undefined && open === undefined) return refuse("refused", `call ${call} is not open`);
    const number = (state.standing.sent.get(to) ?? 0) + 1;
    const away = place === undefined ? undefined : true;
    const body = present({ message, to, number, topic, replyTo, deadlineMs, as, away });
    const content = present({ blocks: [textBlock(text)], place });
    const more = { ...inTurn(state), ...causedBy(open?.seq) };
    const sent = draft("message.sent", body, content, more);
    if (call === undefined || open === undefined) return accept(sent);
    return accept(
      { ...sent, actor: `tool:${open.tool}` },
      settled(state, call, open, { status: "ok", output }),
    );
  },
  receive: (state, command, { digest }) => {
    const { from, message, number, text, topic, replyTo, deadlineMs, note, place } = command;
    // Checked first: a message already received stays received, whatever the session's status is now.
    if (number <= (state.standing.received.get(from) ?? 0))
      return refuse("conflict", `${message} was received already: number ${number} from ${from}`);
    const refusal = forbidden(state, "write", "receive a message") ?? unwelcome(state, command);
    if (refusal !== null) return refusal;
    const input = state.standing.inbox.received + 1;
    const body = present({ message, input, from, number, topic, replyTo, deadlineMs });
    const blocks = [textBlock(text), ...(note === undefined ? [] : [textBlock(note)])];
    const fitting = triggersFor(state, command);
    const cause = digest("", message);
    return accept(
      draft("message.received", body, present({ blocks, place })),
      ...fitting.map((name) => draft("trigger.fired", { name, digest: cause, input })),
      ...wokenBy(state, fitting),
    );
  },
  redirect: (state, { to }) =>
    state.standing.next === null
      ? refuse("conflict", "the session takes its input itself", "send it again")
      : (forbidden(state, "govern", "forward an input") ?? accept(draft("input.forwarded", { to }))),
  deliver: (state, { message }) => {
    const sent = state.standing.outbox.get(message);
    if (sent === undefined) return refuse("not-found", `message ${message} is not in the outbox`);
    const delivered = draft("message.delivered", { message, to: sent.to, number: sent.number });
    return forbidden(state, "govern", "record a delivery") ?? accept(delivered);
  },
  refuse: (state, { message, error, reason, text }) => {
    const { outbox, requests, inbox, status } = state.standing;
    const to = (outbox.get(message) ?? requests.get(message))?.to;
    if (to === undefined)
      return refuse("not-found", `message ${message} is neither in the outbox nor waiting for a reply`);
    const notice = { type: "input.received", from: "system", text: text ?? "" } as const;
    // A closed session gets no input; the fate of its message is still recorded.
    const hears = text !== undefined && mayIn(status, "write");
    return (
      forbidden(state, "govern", "record a rejected message") ??
      accept(
        draft("message.refused", { message, to, error }, because(reason)),
        ...(hears ? [inputDraft(notice, inbox.received + 1), ...woken(state)] : []),
      )
    );
  },
  contract: (state, { topic, schema, digest }) => {
    const { contracts } = state.standing;
    if (!contracts.has(topic) && contracts.size >= limit.contractsMax)
      return refuse("refused", `a session declares at most ${limit.contractsMax} contracts`);
    return (
      forbidden(state, "write", "declare a contract") ??
      accept(draft("contract.declared", { topic, digest }, { schema }))
    );
  },
};

/** Whether an inbox rejects more messages from sessions. */
export const isFull = (inbox: Inbox): boolean => range.count(inbox.waiting) >= limit.inboxMax;

/** Whether a session has so many open requests that it rejects more. */
export const isAskedOut = ({ standing, at }: State): boolean =>
  [...standing.asked.values()].filter(({ deadlineMs }) => deadlineMs >= at).length >= limit.requestsMax;

const textBlock = (text: string) => ({ type: "text", text }) as const;

/** A message wakes a sleeping session, unless the session waits for something else. */
function wokenBy({ standing }: State, fitting: readonly string[]): readonly DraftEvent[] {
  const { status, sleep } = standing;
  if (status !== "sleeping") return [];
  const [trigger] = fitting.filter((name) => sleep?.triggers.includes(name) === true);
  if (trigger !== undefined) return [draft("session.woken", { by: "message", trigger })];
  return sleep === null || sleep.triggers.length === 0 ? [draft("session.woken", { by: "message" })] : [];
}

/** A sleeping session that accepts messages also wakes for the outcome of messages it sent. */
const woken = ({ standing }: State): readonly DraftEvent[] =>
  standing.status === "sleeping" && listens(standing) ? [draft("session.woken", { by: "message" })] : [];

/** Why a session may not send this. */
function unsendable(state: State, command: CommandOf<"send">): Decision | null {
  const { to, replyTo, deadlineMs, place } = command;
  const { session, asked, requests, outbox } = state.standing;
  if (to === session)
    return refuse("invalid", "send: to: the session is the sender itself", "name another session");
  const request = replyTo === undefined ? undefined : asked.get(replyTo);
  if (replyTo !== undefined && request === undefined) {
    const hint = 'it does not exist or has a reply already; "skein state ID" lists the open requests';
    return refuse("not-found", `there is no request ${replyTo} to reply to`, hint);
  }
  if (request !== undefined && request.from !== to && command.heirOf !== request.from)
    return refuse("invalid", `send: replyTo: ${replyTo} came from ${request.from}, not from ${to}`);
  if (deadlineMs !== undefined && requests.size >= limit.requestsMax) {
    const hint = '"skein deliver" closes requests whose deadline has passed';
    return refuse(
      "refused",
      `the session already waits for replies to ${count(limit.requestsMax)} requests`,
      hint,
    );
  }
  const hint = '"skein deliver" retries them and prints why they wait';
  if (place !== undefined && outbox.size >= limit.outboxMax)
    return refuse("refused", `the outbox is full (${count(limit.outboxMax)} messages)`, hint);
  const before = [...outbox.values()].filter((one) => one.to === to).length;
  if (place === undefined && before > 0)
    return refuse("refused", `${before} earlier messages to ${to} are not delivered yet`, hint);
  return null;
}

/** Why a session rejects this. */
function unwelcome(state: State, command: CommandOf<"receive">): Decision | null {
  const { from, replyTo, as = from, deadlineMs } = command;
  const { session, inbox, requests } = state.standing;
  const hint = "run the session to process its queue, then retry";
  if (isFull(inbox))
    return refuse("refused", `the inbox of ${session} is full (${count(limit.inboxMax)} messages)`, hint);
  if (deadlineMs !== undefined && isAskedOut(state)) {
    const many = count(limit.requestsMax);
    return refuse("refused", `${session} already has ${many} requests to reply to`, "retry later");
  }
  const asked = replyTo === undefined ? undefined : requests.get(replyTo)?.to;
  if (replyTo === undefined || asked === from || asked === as) return null;
  const over = "the request has a reply already, or its deadline has passed";
  return refuse("refused", `${session} does not wait for a reply from ${from} to ${replyTo}`, over);
}

/** Whether a message wakes it: a session that named its triggers wakes for those only. */
function listens({ sleep, triggers }: State["standing"]): boolean {
  if (sleep === null || sleep.triggers.length === 0) return true;
  return sleep.triggers.some((name) => triggers.get(name)?.kind === "message");
}
