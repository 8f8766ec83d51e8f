/** Judges a session, or a position of it. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { placeOf } from "../command/position.ts";
import { verb } from "../command/verb.ts";

export const score = verb({
  name: "score",
  line: "Judge a session, or a position of it, by a number with a name.",
  args: ["ID", "NAME", "VALUE"],
  options: {
    at: { type: "place", value: "SEQ|NAME", what: "the position that is judged; the same as ID@SEQ" },
    because: { type: "text", what: "why; it is kept in the log" },
  },
  about: [
    'Of each NAME the last score counts; earlier ones stay in the log. "skein state ID" shows them, and ' +
      "a session that is closed can still be judged.",
  ],
  examples: [
    'skein score 4x8kz1 accuracy 0.8 --because "8 of 10 right"  # the whole session',
    "skein score 4x8kz1@12 tone -1  # what happened at 12",
  ],
  async run({ args, options, out, session }) {
    const { session: found, seq } = await placeOf("score", args.ID, options.at, session);
    const value = Number(args.VALUE);
    if (args.VALUE.trim() === "" || !Number.isFinite(value)) {
      throw new SkeinError("invalid", `score: ${quote(args.VALUE)} is no number`, {
        hint: "for example 0.8, or -1",
      });
    }
    const written = await found.score(
      args.NAME,
      value,
      present({ seq: seq ?? undefined, because: options.because }),
    );
    await answerChange(out, found, written, "scored");
  },
});
