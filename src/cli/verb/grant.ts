/** Says what becomes of a tool's calls. */
import type { Permission } from "../../core/tool/commands.ts";
import { oneOf } from "../command/args.ts";
import { answerChange } from "../command/change-verb.ts";
import { jsonOf, present } from "../command/input.ts";
import { ruleText } from "../format/state-lines.ts";
import { verb } from "../command/verb.ts";

const rules = ["allow", "ask", "deny", "none"] as const satisfies readonly Permission["rule"][];

export const grant = verb({
  name: "grant",
  line: "Allow, ask about or deny the calls of a tool.",
  args: ["ID", "TOOL", "RULE"],
  options: {
    name: { type: "text", what: "of the rule; by default the tool's name" },
    effect: {
      type: "text",
      value: "unsafe",
      what: "a default: only tools of this effect, if no other rule applies",
    },
    pattern: { type: "text", value: "JSON", what: "only for calls with such arguments" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  about: [
    `RULE is ${rules.join(", ")}; none takes the rule away. TOOL is a name, and * stands for any run of ` +
      "characters. A pattern is an object of arguments: texts in it may have * and ?, all else must be " +
      "equal.",
    "Of several rules that fit a call, any deny holds; else the strictest of the session; else the " +
      "strictest of its agent; without one the call is allowed. A call that is asked about suspends the " +
      'session until "skein answer". A denial is told to the model.',
    "With --effect unsafe the rule is the default for tools that are not safe to run twice: it applies " +
      "where no other rule of session or agent does.",
  ],
  examples: [
    "skein grant 4x8kz1 shell ask  # somebody approves each call",
    `skein grant 4x8kz1 write_file deny --name no-etc --pattern '{"path":"/etc/*"}'  # some calls only`,
  ],
  async run({ args, options, out, session }) {
    const { name, reason } = options;
    const rule = oneOf("RULE", args.RULE, rules);
    const found = await session(args.ID);
    const written = await found.grant({
      tool: args.TOOL,
      rule,
      ...present({ name, reason, effect: effectOf(options.effect) }),
      ...(options.pattern === undefined ? {} : { pattern: jsonOf("--pattern", options.pattern) }),
    });
    await answerChange(
      out,
      found,
      written,
      rule === "none" ? "rule removed" : ruleText({ ...options, tool: args.TOOL, rule }),
    );
  },
});

function effectOf(word: string | undefined): Permission["effect"] {
  return word === undefined ? undefined : oneOf("--effect", word, ["unsafe"]);
}
