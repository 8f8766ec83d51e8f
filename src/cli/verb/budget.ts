/** Sets the limits of a session. */
import { budgetOf, budgetOptions } from "../budget-options.ts";
import { answerChange } from "../change.ts";
import { SkeinError } from "../../core/error.ts";
import { present } from "../input.ts";
import { verb } from "../verb.ts";

export const budget = verb({
  name: "budget",
  line: "Limit what a session may use; at a limit it is suspended and says why.",
  args: ["ID"],
  options: {
    ...budgetOptions,
    unlimited: { type: "flag", what: "no limits" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  about: ["The limits take the place of those before; what is not named is unlimited."],
  examples: [
    { command: "skein budget 4x8kz1 --usd 2 --steps 40", what: "two dollars and forty steps in all" },
    { command: "skein budget 4x8kz1 --unlimited", what: "no limits any more" },
  ],
  async run({ args, options, out, session }) {
    const limits = budgetOf(options);
    if ((limits === undefined) !== options.unlimited) {
      throw new SkeinError("invalid", "budget: give limits or --unlimited", {
        hint: "for example: skein budget ID --usd 2 --steps 40",
      });
    }
    const found = await session(args.ID);
    const written = await found.budget(limits ?? {}, present({ reason: options.reason }));
    await answerChange(out, found, written, "budget set");
  },
});
