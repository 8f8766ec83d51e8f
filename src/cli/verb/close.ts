/** Ends a session. */
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { verb } from "../command/verb.ts";

const outcomes = ["completed", "failed", "expired"] as const;

export const close = verb({
  name: "close",
  line: "End a session; it is kept for audit and can be reopened.",
  args: ["ID"],
  options: {
    outcome: { type: "text", choices: outcomes, what: "how it ended; by default completed" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  examples: [
    { command: "skein close 4x8kz1", what: "it is done" },
    { command: 'skein close 4x8kz1 --outcome failed --reason "no access"', what: "it is not, but over" },
  ],
  async run({ args, options, out, session }) {
    const outcome = options.outcome as (typeof outcomes)[number] | undefined;
    const found = await session(args.ID);
    const written = await found.close(present({ outcome, reason: options.reason }));
    await answerChange(out, found, written, "closed");
  },
});
