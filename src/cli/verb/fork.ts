/** Makes a new session that shares everything up to a position. */
import { budgetOf, budgetOptions } from "../budget-options.ts";
import { pairsOf, present } from "../input.ts";
import { verb } from "../verb.ts";

export const fork = verb({
  name: "fork",
  line: "Make a new session that shares everything up to a position; nothing is copied.",
  args: ["ID"],
  options: {
    at: {
      type: "place",
      value: "SEQ|NAME",
      what: "the position or checkpoint; by default the last position",
    },
    objective: { type: "text", what: "what the fork is for" },
    name: { type: "text", what: "a short name for lists" },
    label: { type: "list", value: "KEY=VALUE", what: "a label" },
    ...budgetOptions,
  },
  about: ["Without a budget of its own the fork gets what was left of its parent's at that position."],
  examples: [
    { command: "skein fork 4x8kz1 --at 12", what: "from position 12" },
    {
      command: 'skein fork 4x8kz1 --at before-run --objective "What if the base rate rises?"',
      what: "another question",
    },
  ],
  async run({ args, options, out, session }) {
    const labels = pairsOf("--label", options.label);
    const parent = await session(args.ID);
    const { seq } = options.at === undefined ? await parent.head() : await parent.load(options.at);
    const made = await parent.fork({
      atSeq: seq,
      ...present({ objective: options.objective, name: options.name, budget: budgetOf(options) }),
      ...(options.label.length === 0 ? {} : { labels }),
    });
    const { seq: headSeq } = await made.head();
    await out.answer({ id: made.id, parent: parent.id, seq, headSeq }, () => [
      `forked ${made.id} from ${parent.id} at ${seq}`,
    ]);
  },
});
