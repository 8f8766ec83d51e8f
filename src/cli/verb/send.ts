/** Sends a message from one session to another. */
import { present } from "../input.ts";
import { verb } from "../verb.ts";
import { textOf } from "./ask.ts";

export const send = verb({
  name: "send",
  line: "Send a message from one session to another's inbox.",
  args: ["FROM", "TO", "TEXT...?"],
  options: { topic: { type: "text", what: "what it is about" } },
  about: [
    "One append writes it to both logs, so it is never sent without being received. It wakes a sleeping " +
      "receiver, which takes it up as an input when it is run.",
  ],
  examples: [
    { command: 'skein send 4x8kz1 9q2mf7 "The rates are in."', what: "from the first to the second" },
    { command: "skein send 4x8kz1 9q2mf7 - --topic rates < rates.txt", what: "standard input" },
  ],
  async run({ args, options, out, session }) {
    const text = await textOf(args.TEXT);
    const from = await session(args.FROM);
    const { message, to, seq } = await from.send(args.TO, text, present({ topic: options.topic }));
    await out.answer({ session: from.id, to, message, seq }, () => [`sent to ${to} at ${seq} of ${from.id}`]);
  },
});
