/** Puts an input into a session's inbox, for whoever runs it. */
import { SkeinError } from "../../core/error.ts";
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { verb } from "../command/verb.ts";
import { textOf } from "./ask.ts";

export const input = verb({
  name: "input",
  line: "Put an input into a session's inbox: for its next turn, or to steer the one in progress.",
  args: ["ID", "TEXT...?"],
  options: {
    steer: { type: "flag", what: "for the next step of the turn in progress, not for the next turn" },
    key: { type: "text", what: "a second input with the same key is not written" },
  },
  about: [
    "Nothing is run: the process that runs the session takes it up, or the next one that does. Several " +
      "words are one text; without TEXT, or with a dash, it is standard input.",
  ],
  examples: [
    'skein input 4x8kz1 "Then do the same for December."  # for the next turn',
    'skein input 4x8kz1 --steer "Not that file: rates.json."  # while it works',
  ],
  async run({ args, options, out, session }) {
    const text = await textOf(args.TEXT);
    if (text === "") {
      throw new SkeinError("invalid", "input: TEXT is missing or empty", {
        hint: 'usage: skein input ID TEXT; "skein ps" lists sessions, "skein open" makes one',
      });
    }
    const found = await session(args.ID);
    const mode = options.steer ? "steer" : undefined;
    const written = await found.input(text, present({ mode, key: options.key } as const));
    await answerChange(out, found, written, options.steer ? "steered" : "queued");
  },
});
