/** Sends a message to a session: from another one, or from a person. */
import { SkeinError } from "../../core/error.ts";
import type { SendResult } from "../../runtime/message/send.ts";
import { present } from "../command/input.ts";
import { oneLine } from "../format/text.ts";
import { verb, type VerbCall } from "../command/verb.ts";
import { textOf } from "../command/call-parameter.ts";

const options = {
  topic: { type: "text", what: "its topic; the receiver may have a contract for it" },
  "reply-within": {
    type: "span",
    value: "SPAN",
    what: "make it a request: wait so long for a reply, as 10m",
  },
  "reply-to": { type: "text", value: "MESSAGE", what: "the request that this replies to" },
  at: { type: "text", value: "STORE", what: "the receiver's store, if it is another one" },
  key: { type: "text", what: "a second message with the same key is not sent" },
} as const;
const args = ["FROM", "TO", "TEXT...?"] as const;

export const send = verb({
  name: "send",
  line: "Send a message to a session's inbox, from another session or from you.",
  args,
  options,
  about: [
    "FROM is a session, or a dash for yourself. TO is a session, or a dash with --reply-to for the " +
      "requester. TEXT is a text or JSON; without it, or with a dash, it is standard input.",
    "Within a store one append writes it to both logs. To another store it waits in the sender's " +
      'outbox until it is known to have arrived; if it cannot be delivered now, "skein deliver" ' +
      "retries. It is received once, and in order. It wakes a sleeping receiver, which takes it with " +
      "its next run.",
    "A message that the receiver would refuse is refused here, and nothing is written: it is closed " +
      "or lives elsewhere, its inbox is full, or the message violates the contract for the topic.",
  ],
  examples: [
    'skein send 4x8kz1 9q2mf7 "The rates are in."  # from the first to the second',
    "skein send - 9q2mf7 - --topic rates < rates.json  # from you, from standard input",
    'skein send 4x8kz1 9q2mf7 "Which rate?" --reply-within 10m  # a request',
    'skein send 9q2mf7 - "4.1" --reply-to msg_01j…  # the reply to it',
    'skein send 4x8kz1 7h3kd2 "Done." --at ~/other.db  # to another store',
  ],
  async run(call) {
    const { args: given, options: values, out, session } = call;
    if (given.FROM === "-") return fromPerson(call);
    if (given.TO === "-" && values["reply-to"] === undefined) {
      throw new SkeinError("invalid", 'send: --reply-to is required when TO is "-"', {
        hint: "name the receiver, or pass --reply-to MESSAGE",
      });
    }
    const text = await textOf(given.TEXT);
    const from = await session(given.FROM);
    const { topic, at, key } = values;
    const more = present({ topic, at, key, replyTo: values["reply-to"], withinMs: values["reply-within"] });
    const sent = await from.send(given.TO === "-" ? null : given.TO, text, more);
    await out.answer({ session: from.id, ...sent }, () => lines(from.id, sent, more.withinMs !== undefined));
  },
});

function lines(from: string, sent: SendResult, isRequest: boolean): string[] {
  const { message, to, seq, delivered, reason } = sent;
  const where = `${to} at ${seq} of ${from}${isRequest ? `, as request ${message}` : ""}`;
  if (delivered) return [`sent to ${where}`];
  return [`sent to ${where}, and not delivered yet: ${oneLine(reason ?? "")}`];
}

/** A person's message is an input. */
async function fromPerson({
  args: given,
  options: values,
  out,
  engine,
}: VerbCall<typeof options, typeof args>): Promise<void> {
  const wrong = (["reply-within", "reply-to", "at"] as const).find((name) => values[name] !== undefined);
  if (wrong !== undefined) {
    throw new SkeinError("invalid", `send: --${wrong} is only allowed between sessions`, {
      hint: wrong === "at" ? "use --store STORE for a session of another store" : "name FROM",
    });
  }
  const text = await textOf(given.TEXT);
  const { topic, key } = values;
  const { seq, headSeq, duplicate } = await (await engine()).send(given.TO, text, present({ topic, key }));
  await out.answer({ to: given.TO, seq, headSeq, duplicate }, () => [
    duplicate ? `sent before, at ${seq}; nothing was written now` : `sent to ${given.TO} at ${seq}`,
  ]);
}
