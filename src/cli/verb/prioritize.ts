/** Makes a session more or less urgent. */
import { parseNumber } from "../command/args.ts";
import { answerChange } from "../command/change-verb.ts";
import { verb } from "../command/verb.ts";

export const prioritize = verb({
  name: "prioritize",
  line: "Make a session more or less urgent, from 0 (most) to 9.",
  args: ["ID", "PRIORITY"],
  options: {},
  examples: [{ command: "skein prioritize 4x8kz1 0", what: "before all others" }],
  async run({ args, out, session }) {
    const priority = parseNumber("the priority", args.PRIORITY);
    const found = await session(args.ID);
    await answerChange(out, found, await found.prioritize(priority), `priority ${priority}`);
  },
});
