/** Decisions on messages: what is sent, what an inbox takes, what became of a message to another store. */
import type { MessageCommand } from "../command/message.ts";
import { accept, because, draft, forbidden, present, refuse, type Decisions } from "../decision.ts";
import { limit } from "../limit.ts";
import { count } from "../range.ts";
import type { Inbox } from "../state.ts";
import { causedBy, inTurn, settled } from "./turn.ts";
import { inputDraft } from "./work.ts";

/** Whether an inbox takes no more messages from sessions. */
export const isFull = (inbox: Inbox): boolean => count(inbox.waiting) >= limit.inboxMax;

export const messageDecisions: Decisions<MessageCommand["do"]> = {
  send: (state, { to, message, text, topic, replyTo, deadlineMs, place, call, output }) => {
    const refusal = forbidden(state, "write", "send a message");
    if (refusal !== null) return refusal;
    if (to === state.standing.session) return refuse("invalid", "a session cannot send to itself");
    const open = call === undefined ? undefined : state.mind.calls.get(call);
    if (call !== undefined && open === undefined) return refuse("refused", `call ${call} is not open`);
    const number = (state.standing.sent.get(to) ?? 0) + 1;
    const away = place === undefined ? undefined : true;
    const body = present({ message, to, number, topic, replyTo, deadlineMs, away });
    const content = present({ blocks: [{ type: "text" as const, text }], place });
    const more = { ...inTurn(state), ...causedBy(open?.seq) };
    const sent = draft("message.sent", body, content, more);
    if (call === undefined || open === undefined) return accept(sent);
    return accept(
      { ...sent, actor: `tool:${open.tool}` },
      settled(state, call, open, { status: "ok", output }),
    );
  },
  receive: (state, { from, message, number, text, topic, replyTo, deadlineMs }) => {
    const refusal = forbidden(state, "write", "take a message");
    if (refusal !== null) return refusal;
    const input = state.standing.inbox.received + 1;
    const body = present({ message, input, from, number, topic, replyTo, deadlineMs });
    const woken = state.standing.status === "sleeping" ? [draft("session.woken", { by: "message" })] : [];
    return accept(draft("message.received", body, { blocks: [{ type: "text", text }] }), ...woken);
  },
  deliver: (state, { message }) => {
    const sent = state.standing.outbox.get(message);
    if (sent === undefined) return refuse("not-found", `message ${message} does not wait to be delivered`);
    return accept(draft("message.delivered", { message, to: sent.to, number: sent.number }));
  },
  refuse: (state, { message, error, reason, text }) => {
    const { outbox, requests, inbox } = state.standing;
    const to = (outbox.get(message) ?? requests.get(message))?.to;
    if (to === undefined) return refuse("not-found", `nothing is open under the message ${message}`);
    const told = { type: "input.received", from: "system", text: text ?? "" } as const;
    return accept(
      draft("message.refused", { message, to, error }, because(reason)),
      ...(text === undefined ? [] : [inputDraft(told, inbox.received + 1)]),
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
