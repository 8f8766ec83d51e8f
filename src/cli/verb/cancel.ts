/** Ends a session whatever it is doing, and with --tree all that it made itself. */
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { verb } from "../command/verb.ts";

export const cancel = verb({
  name: "cancel",
  line: "End a session, whatever it is doing; its outcome is cancelled.",
  args: ["ID"],
  options: {
    reason: { type: "text", what: "why; it is kept in the log" },
    tree: { type: "flag", what: "also the sessions that it opened or forked itself, the deepest first" },
  },
  about: [
    'A turn in progress is ended as by "skein interrupt", in whatever process it runs, and nothing more is ' +
      'taken up. What it knows stays; "skein reopen" opens it again.',
    "What a session has left of a budget that another gave it goes back to that one.",
  ],
  examples: [
    "skein cancel 4x8kz1  # also while another process runs it",
    "skein cancel 4x8kz1 --tree  # with all sessions below it",
    'skein cancel 4x8kz1 --reason "no longer needed"  # End a session, whatever it is doing, and say why',
  ],
  async run({ args, options, out, session }) {
    const found = await session(args.ID);
    const { reason, tree } = options;
    const done = await found.cancel({ ...present({ reason }), ...(tree ? { tree } : {}) });
    const { cancelled } = done;
    if (cancelled === undefined) return answerChange(out, found, done, "cancelled");
    const { seq, headSeq, duplicate } = done;
    await out.answer({ session: found.id, seq, headSeq, duplicate, cancelled }, () =>
      cancelled.map((id) => `cancelled ${id}`),
    );
  },
});
