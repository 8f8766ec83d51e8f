/** Answers what a suspended session waits for. */
import { SkeinError } from "../../core/error.ts";
import { shortId } from "../../core/text/short-id.ts";
import { questionLines, questionOf, wayOn } from "../chat/question.ts";
import { oneOf } from "../command/args.ts";
import { changeOf } from "../command/change-verb.ts";
import { invalid, plain } from "../command/presentation.ts";
import { oneLine } from "../format/text.ts";

export const answerPlain = plain("session.answer", {
  prepare({ params, args: { VERDICT } }) {
    params.allow = VERDICT === undefined || oneOf("VERDICT", VERDICT, ["allow", "deny"]) === "allow";
  },
  async call({ found, params: { allow = true, ...rest }, args: { VERDICT }, out }) {
    const question = await questionOf(found);
    if (VERDICT === undefined && rest.text === undefined) return { question };
    const isAsked = (question?.calls.length ?? 0) > 0;
    if (VERDICT === undefined && isAsked)
      throw invalid("answer: VERDICT is required: tool calls wait for approval", "allow or deny them");
    if (VERDICT !== undefined && !isAsked)
      throw new SkeinError("refused", `answer: ${VERDICT}: no tool call waits for approval`, {
        hint:
          question === null
            ? "the session is not suspended; to send a message, use skein input"
            : wayOn(question, out.command).join("; "),
      });
    return { written: await found.answer({ allow, ...rest }) };
  },
  print({ question = null, written }, { found: { id }, params: { allow }, args: { VERDICT }, out }) {
    if (written !== undefined) {
      const done = VERDICT === undefined ? "answered" : allow === true ? "allowed" : "denied";
      const notes = [out.dim(`${out.command(`run ${shortId(id)}`)} continues`)];
      return { ...changeOf(id, written, done), notes };
    }
    if (question === null)
      return {
        json: { session: id, by: null, reason: null, calls: [] },
        lines: [`${shortId(id)} is not suspended: no answer is needed`],
      };
    const { by, reason } = question;
    return {
      json: question,
      lines: [
        `suspended by ${by}${reason === null ? "" : `: ${oneLine(reason)}`}`,
        ...questionLines(question, out.command, Infinity),
        ...wayOn(question, out.command),
      ],
    };
  },
});
