/** Records an item of the durable tier. */
import { itemKinds } from "../command/item-kinds.ts";
import { oneOf } from "../command/args.ts";
import { answerChange } from "../command/change-verb.ts";
import { present, readText, valueOf } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const record = verb({
  name: "record",
  line: "Record a fact, decision, task or artifact that is to outlive every compaction.",
  args: ["ID", "KIND", "KEY", "VALUE?"],
  options: {
    because: { type: "text", what: "why: the rationale of a decision" },
    status: { type: "text", choices: ["open", "done", "dropped"], what: "of a task; by default open" },
    text: { type: "flag", what: "VALUE is a text, even if it could be JSON" },
    key: { type: "text", value: "KEY", what: "a second record with the same key is not written" },
  },
  about: [
    `KIND is ${itemKinds.join(", ")}. VALUE is taken as JSON if it is valid JSON, or else as text; ` +
      "without VALUE, or with -, it is read from standard input. Recording under a KEY again replaces " +
      "the value.",
  ],
  examples: [
    { command: "skein record 4x8kz1 fact base-rate 4.1", what: "a number" },
    {
      command: 'skein record 4x8kz1 decision use-wal yes --because "readers do not block"',
      what: "a decision with its reason",
    },
    {
      command: 'skein record 4x8kz1 task migrate "Move the tables" --status done',
      what: "a task that is done",
    },
    {
      command: "skein record 4x8kz1 artifact zip-code 01234 --text",
      what: "a text that looks like a number",
    },
  ],
  async run({ args, options, out, session }) {
    const kind = oneOf("KIND", args.KIND, itemKinds);
    const found = await session(args.ID);
    const value = valueOf(await readText(args.VALUE), { asText: options.text });
    const status = options.status as "open" | "done" | "dropped" | undefined;
    const written = await found.record(
      kind,
      args.KEY,
      value,
      present({ because: options.because, status, key: options.key }),
    );
    await answerChange(out, found, written, "recorded");
  },
});
