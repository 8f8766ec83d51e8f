/** Closes a session and opens the next. */
import { present } from "../input.ts";
import { verb } from "../verb.ts";

export const clear = verb({
  name: "clear",
  line: "Close a session and open the next with the same agent, objective and bindings.",
  args: ["ID"],
  options: {
    objective: { type: "text", what: "what the next one is for; by default the same" },
    name: { type: "text", what: "a short name for the next one" },
    reason: { type: "text", what: "why; it is kept in the log" },
    handoff: { type: "flag", what: "the next one begins with the handoff of this one" },
  },
  examples: [
    { command: "skein clear 4x8kz1", what: "a fresh start; the old session stays, closed" },
    { command: "skein clear 4x8kz1 --handoff", what: "the next session carries on the work" },
  ],
  async run({ args, options, out, session }) {
    const { objective, name, reason, handoff } = options;
    const before = await session(args.ID);
    const next = await before.clear({ ...present({ objective, name, reason }), handoff });
    await out.answer({ id: next.id, from: before.id }, () => [`opened ${next.id}; ${before.id} is closed`]);
  },
});
