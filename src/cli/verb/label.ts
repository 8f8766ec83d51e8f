/** Sets and removes labels. */
import { SkeinError } from "../../core/error.ts";
import { answerChange } from "../command/change-verb.ts";
import { pairsOf } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const label = verb({
  name: "label",
  line: "Set or remove labels of a session.",
  args: ["ID", "KEY=VALUE...?"],
  options: { remove: { type: "list", value: "KEY", what: "take this label away" } },
  examples: [
    "skein label 4x8kz1 team=hr ticket=4711  # set two",
    "skein label 4x8kz1 --remove ticket  # remove one",
  ],
  async run({ args, options, out, session }) {
    const set = pairsOf("a label", args["KEY=VALUE"]);
    const remove = options.remove;
    if (Object.keys(set).length === 0 && remove.length === 0) {
      throw new SkeinError("invalid", "label: no label is given", {
        hint: "usage: skein label ID KEY=VALUE... or --remove KEY",
      });
    }
    const found = await session(args.ID);
    const written = await found.label(set, remove.length === 0 ? {} : { remove });
    await answerChange(out, found, written, "labeled");
  },
});
