/** Gives a position a name. */
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const save = verb({
  name: "save",
  line: "Give a position a name, to load, fork or rewind from.",
  args: ["ID", "NAME"],
  options: {
    at: { type: "seq", what: "the position; by default the last one" },
    note: { type: "text", what: "what it is for" },
  },
  examples: [
    { command: "skein save 4x8kz1 before-run", what: "where it stands now" },
    { command: 'skein save 4x8kz1 good --at 12 --note "tests were green"', what: "an earlier position" },
  ],
  async run({ args, options, out, session }) {
    const found = await session(args.ID);
    const written = await found.save(args.NAME, present({ atSeq: options.at, note: options.note }));
    await answerChange(out, found, written, "saved");
  },
});
