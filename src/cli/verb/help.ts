/** Shows help: of all verbs, or of one. */
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { showHelp, showOverview } from "../command/help.ts";
import { verb } from "../command/verb.ts";
import { loadVerb, otherWords, verbNames } from "../command/verbs.ts";

export const help = verb({
  name: "help",
  line: "Show this overview, or the help of one verb.",
  args: ["VERB?"],
  options: {},
  examples: [
    "skein help  # all verbs",
    "skein help log  # one verb, with examples; the same as skein log --help",
  ],
  async run({ args, out }) {
    if (args.VERB === undefined) return showOverview(out);
    const found = await loadVerb(args.VERB);
    if (found !== undefined) return showHelp(out, found);
    const near = otherWords[args.VERB] ?? nearest(args.VERB, await verbNames());
    throw new SkeinError("invalid", `unknown command ${quote(args.VERB)}`, {
      hint:
        near === undefined
          ? '"skein help" lists the commands'
          : `did you mean "skein help ${near.split(" ")[0] ?? ""}"?`,
    });
  },
});
