/** Answers what a suspended session waits for. */
import { shortId } from "../../core/text/short-id.ts";
import { SkeinError } from "../../core/error.ts";
import { oneOf } from "../command/args.ts";
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { questionLines, questionOf, wayOn } from "../chat/question.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

const verdicts = ["allow", "deny"] as const;
const remembered = ["session", "always"] as const;

export const answer = verb({
  name: "answer",
  line: "See what a suspended session waits for, and answer it: allow or deny tool calls.",
  args: ["ID", "VERDICT?"],
  options: {
    call: { type: "list", value: "CALL", what: "only this call; by default all waiting ones" },
    reason: { type: "text", what: "the reason; the log keeps it, and the model gets that of a denial" },
    text: { type: "text", what: "a message to the model with it" },
    remember: {
      type: "text",
      value: "session|always",
      what: "also allow every call of the tool in this session, or exactly this command in every session",
    },
  },
  about: [
    "VERDICT is allow or deny; without it, and without --text, it shows what the session waits for. " +
      "After an unknown outcome, or an error, --text says what you found, and the session may " +
      'continue. It runs nothing: "skein run ID" continues.',
  ],
  examples: [
    "skein answer 4x8kz1  # what it waits for",
    "skein answer 4x8kz1 allow  # all calls that wait",
    "skein answer 4x8kz1 allow --remember always  # and the same commands from now on",
    'skein answer 4x8kz1 deny --call call-2 --reason "not on Fridays"  # one of them',
    'skein answer 4x8kz1 --text "The mail went out."  # after an unknown outcome',
  ],
  async run({ args, options, out, session }) {
    const { call: calls, reason, text } = options;
    const remember =
      options.remember === undefined ? undefined : oneOf("--remember", options.remember, remembered);
    const found = await session(args.ID);
    const question = await questionOf(found);
    if (args.VERDICT === undefined && text === undefined) {
      const none = { session: found.id, by: null, reason: null, calls: [] };
      return out.answer(question ?? none, () =>
        question === null
          ? [`${shortId(found.id)} is not suspended; it waits for no answer`]
          : [
              `suspended by ${question.by}${question.reason === null ? "" : `: ${oneLine(question.reason)}`}`,
              ...questionLines(question, out.command, Infinity),
              ...wayOn(question, out.command),
            ],
      );
    }
    if (args.VERDICT === undefined && (question?.calls.length ?? 0) > 0) {
      throw new SkeinError("invalid", "answer: VERDICT is required: tool calls wait for approval", {
        hint: "allow or deny them",
      });
    }
    const verdict = args.VERDICT === undefined ? "allow" : oneOf("VERDICT", args.VERDICT, verdicts);
    const written = await found.answer({
      allow: verdict === "allow",
      ...present({ reason, text, remember }),
      ...(calls.length === 0 ? {} : { calls }),
    });
    const done = args.VERDICT === undefined ? "answered" : verdict === "allow" ? "allowed" : "denied";
    await answerChange(out, found, written, done);
    out.note(out.dim(`${out.command(`run ${shortId(found.id)}`)} continues`));
    return undefined;
  },
});
