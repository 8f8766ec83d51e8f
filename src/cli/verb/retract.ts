/** Retracts an item of the durable tier. */
import { oneOf } from "../command/args.ts";
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { itemKinds } from "../command/item-kinds.ts";
import { verb } from "../command/verb.ts";

export const retract = verb({
  name: "retract",
  line: "Say that an item no longer holds.",
  args: ["ID", "KIND", "KEY"],
  options: { because: { type: "text", what: "why" } },
  examples: [
    {
      command: 'skein retract 4x8kz1 fact base-rate --because "it was last year\'s"',
      what: "the log still has it",
    },
  ],
  async run({ args, options, out, session }) {
    const kind = oneOf("KIND", args.KIND, itemKinds);
    const found = await session(args.ID);
    const written = await found.retract(kind, args.KEY, present({ because: options.because }));
    await answerChange(out, found, written, "retracted");
  },
});
