/** Makes a new session that shares everything up to a position. */
import { budgetOf, budgetOptions } from "../command/budget-options.ts";
import { pairsOf, present } from "../command/input.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

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
    files: { type: "text", value: "DIR", what: "a new directory, for its files as they were then" },
    label: { type: "list", value: "KEY=VALUE", what: "a label" },
    ...budgetOptions,
  },
  about: [
    "Without a budget of its own the fork gets what was left of its parent's at that position.",
    "Without --files it works on the same files as its parent. With it, what is bound for writing is " +
      "copied to DIR, with the files that tools changed since as they were, and the fork is bound to DIR.",
  ],
  examples: [
    "skein fork 4x8kz1 --at 12  # from position 12; prints the fork's id",
    "B=$(skein fork 4x8kz1)  # for scripts",
    'skein fork 4x8kz1 --at before-run --objective "What if the base rate rises?"  # another question',
    "skein fork 4x8kz1 --at 12 --files ../try-two  # with files of its own",
  ],
  async run({ args, options, out, session }) {
    const labels = pairsOf("--label", options.label);
    const parent = await session(args.ID);
    const { seq } = options.at === undefined ? await parent.head() : await parent.load(options.at);
    const made = await parent.fork({
      atSeq: seq,
      ...present({ objective: options.objective, name: options.name, budget: budgetOf(options) }),
      ...present({ files: options.files }),
      ...(options.label.length === 0 ? {} : { labels }),
    });
    const { seq: headSeq } = await made.head();
    const { files } = options;
    // The id alone, so that B=$(skein fork A) is one.
    await out.answer({ id: made.id, parent: parent.id, seq, headSeq, ...present({ files }) }, () => [
      made.id,
    ]);
    const where = files === undefined ? "" : `, files in ${oneLine(files)}`;
    if (out.columns !== null) out.note(out.dim(`forked from ${parent.id} at ${seq}${where}`));
  },
});
