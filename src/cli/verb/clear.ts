/** Closes a session and opens the next. */
import { carryLines } from "../format/carry-lines.ts";
import { present } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const clear = verb({
  name: "clear",
  line: "Close a session and open the next with the same agent, objective, bindings and triggers.",
  args: ["ID"],
  options: {
    objective: { type: "text", what: "what the next one is for; by default the same" },
    name: { type: "text", what: "a short name for the next one" },
    reason: { type: "text", what: "why; it is kept in the log" },
    handoff: { type: "flag", what: "the next one begins with the handoff of this one" },
  },
  about: [
    "Agent, model, bindings, permissions, labels, triggers, initial files and what is left of the budget " +
      "go over in one append: a trigger fires for the next session from then on, and no more for this one. " +
      "What does not go over is listed.",
  ],
  examples: [
    "skein clear 4x8kz1  # a fresh start; the old session stays, closed",
    "skein clear 4x8kz1 --handoff  # the next session carries on the work",
  ],
  async run({ args, options, out, session }) {
    const { objective, name, reason, handoff } = options;
    const before = await session(args.ID);
    const next = await before.clear({ ...present({ objective, name, reason }), handoff });
    const { moved, left } = next.carriedOver ?? {};
    await out.answer({ id: next.id, from: before.id, ...present({ moved, left }) }, () => [
      `opened ${next.id}; ${before.id} is closed`,
      ...carryLines(next.carriedOver, out),
    ]);
  },
});
