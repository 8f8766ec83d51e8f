/** Shows a session as it was at a checkpoint or position, and how to go on from there. */
import { parsePlace } from "../command/args.ts";
import { stateLines } from "../format/state-lines.ts";
import { verb } from "../command/verb.ts";

export const load = verb({
  name: "load",
  line: "Show a session at a checkpoint or position, and how to go on from there.",
  args: ["ID", "NAME|SEQ"],
  options: {},
  about: [
    "It changes nothing. Fork to try something else from there and keep what came later; rewind to go back.",
  ],
  examples: ["skein load 4x8kz1 before-run  # at a checkpoint", "skein load 4x8kz1 12  # at a position"],
  async run({ args, out, session, nowMs }) {
    const found = await session(args.ID);
    const view = await found.load(parsePlace(args["NAME|SEQ"]));
    const state = await view.state();
    await out.answer({ id: found.id, seq: view.seq, state }, () => [
      ...stateLines(state, out, nowMs),
      "",
      out.bold("To go on from here"),
      `  skein fork ${found.id} --at ${view.seq}`,
      `  skein rewind ${found.id} --to ${view.seq}`,
    ]);
  },
});
