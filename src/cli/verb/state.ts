/** Shows the state of a session, now or at an earlier position. */
import { stateLines } from "../format/state-lines.ts";
import { verb } from "../command/verb.ts";

export const state = verb({
  name: "state",
  line: "Show the state of a session, now or as it was.",
  args: ["ID"],
  options: { at: { type: "place", value: "SEQ|NAME", what: "as it was at this position or checkpoint" } },
  examples: [
    "skein state 4x8kz1  # as it is now",
    "skein state 4x8kz1 --at 12 --json  # as it was at 12, for programs",
    "skein state 4x8kz1 --at before-run  # as it was at a checkpoint",
  ],
  async run({ args, options, out, session, nowMs }) {
    const found = await session(args.ID);
    const shown =
      options.at === undefined ? await found.state() : await (await found.load(options.at)).state();
    await out.answer(shown, () => stateLines(shown, out, nowMs));
  },
});
