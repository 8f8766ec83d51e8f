/** Gives a session another name. */
import { answerChange } from "../command/change-verb.ts";
import { verb } from "../command/verb.ts";

export const rename = verb({
  name: "rename",
  line: "Give a session another name.",
  args: ["ID", "NAME"],
  options: {},
  examples: [
    {
      command: 'skein rename 4x8kz1 "Login, second try"',
      what: "lists show the name instead of the objective",
    },
  ],
  async run({ args, out, session }) {
    const found = await session(args.ID);
    await answerChange(out, found, await found.rename(args.NAME), "renamed");
  },
});
