/** Saved approvals: lists and revokes commands that are always allowed. */
import { SkeinError } from "../../core/error.ts";
import { oneOf } from "../command/args.ts";
import { ago } from "../format/moment.ts";
import { callLines } from "../chat/question.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

const actions = ["list", "revoke"] as const;

export const approvals = verb({
  name: "approvals",
  line: "List or revoke commands that are always allowed.",
  args: ["ACTION?", "NAME?"],
  options: {},
  about: [
    "ACTION is list (the default) or revoke NAME. An approval is saved by answering a call with always. It " +
      "allows the same text in the same directory by the same binding, in every session of the workspace, " +
      "where a rule asks; a deny still holds.",
  ],
  examples: ["skein approvals  # all that hold", "skein approvals revoke approval-12  # ask about it again"],
  async run({ args, out, engine, nowMs }) {
    const action = oneOf("ACTION", args.ACTION ?? "list", actions);
    const opened = await engine();
    if (action === "revoke") {
      if (args.NAME === undefined)
        throw new SkeinError("invalid", "approvals: NAME is required", {
          hint: '"skein approvals" lists them',
        });
      const name = args.NAME;
      await opened.revokeApproval(name);
      return out.answer({ revoked: name }, () => [`revoked ${oneLine(name)}`]);
    }
    const all = await opened.approvals();
    if (out.json) {
      for (const one of all) await out.emit(one);
      return undefined;
    }
    return out.answer(all, () =>
      all.length === 0
        ? ["no saved approvals"]
        : all.flatMap(({ name, tool, command, at }) => [
            out.bold(`${oneLine(name)}  saved ${ago(at, nowMs)}`),
            ...callLines({ call: name, tool, input: { command: command.text }, command, seq: 0 }, Infinity),
          ]),
    );
  },
});
