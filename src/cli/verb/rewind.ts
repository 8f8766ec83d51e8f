/** Goes on with the mind of an earlier position. */
import { SkeinError } from "../../core/error.ts";
import { answerChange } from "../change.ts";
import { present } from "../input.ts";
import { verb } from "../verb.ts";

export const rewind = verb({
  name: "rewind",
  line: "Go on with the mind of an earlier position; what came since stays in the log.",
  args: ["ID"],
  options: {
    to: { type: "place", value: "SEQ|NAME", what: "the position or checkpoint" },
    requeue: { type: "flag", what: "put inputs that were taken up since into the inbox again" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  about: [
    "What the session knows goes back: items, scratch, transcript. How it stands does not: labels, budget, " +
      "what was used, checkpoints. A rewind can be rewound, also to a position that was rewound away.",
  ],
  examples: [
    { command: "skein rewind 4x8kz1 --to 12", what: "to a position" },
    { command: 'skein rewind 4x8kz1 --to before-run --reason "wrong rates"', what: "to a checkpoint" },
  ],
  async run({ args, options, out, session }) {
    const { to, requeue, reason } = options;
    if (to === undefined) {
      throw new SkeinError("invalid", "rewind: --to is missing", {
        hint: "give a position or the name of a checkpoint: skein rewind ID --to 12",
      });
    }
    const found = await session(args.ID);
    const written = await found.rewind(to, { ...present({ reason }), ...(requeue ? { requeue } : {}) });
    await answerChange(out, found, written, `rewound to ${to}`);
  },
});
