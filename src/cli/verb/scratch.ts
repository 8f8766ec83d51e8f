/** Sets and removes keys of the working memory. */
import { SkeinError } from "../../core/error.ts";
import { answerChange } from "../command/change-verb.ts";
import { readText, valueOf } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const scratch = verb({
  name: "scratch",
  line: "Set a key of the working memory, which rewinds with the session.",
  args: ["ID", "KEY", "VALUE?"],
  options: {
    remove: { type: "flag", what: "remove the key" },
    text: { type: "flag", what: "VALUE is a text, even if it could be JSON" },
  },
  about: [
    "VALUE is taken as JSON if it is valid JSON, or else as text; without it, or with -, it is read from " +
      "standard input.",
  ],
  examples: [
    `skein scratch 4x8kz1 plan '["read","write"]'  # set it`,
    "skein scratch 4x8kz1 plan --remove  # remove it",
  ],
  async run({ args, options, out, session }) {
    if (options.remove && args.VALUE !== undefined) {
      throw new SkeinError("invalid", "scratch: a key that is removed has no VALUE", {
        hint: "leave out VALUE or --remove",
      });
    }
    const found = await session(args.ID);
    const value = options.remove ? undefined : valueOf(await readText(args.VALUE), { asText: options.text });
    const written = await found.scratch(args.KEY, value);
    await answerChange(out, found, written, options.remove ? "removed" : "set");
  },
});
