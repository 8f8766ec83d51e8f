/** Takes a resource away from a session. */
import { answerChange } from "../command/change-verb.ts";
import { verb } from "../command/verb.ts";

export const unbind = verb({
  name: "unbind",
  line: "Take a resource away from a session.",
  args: ["ID", "NAME"],
  options: {},
  examples: [{ command: "skein unbind 4x8kz1 rates.json", what: 'by the name that "skein state" shows' }],
  async run({ args, out, session }) {
    const found = await session(args.ID);
    await answerChange(out, found, await found.unbind(args.NAME), "unbound");
  },
});
