/** Lists the tools that a session's model is offered. */
import { table } from "../format/table.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const tools = verb({
  name: "tools",
  line: "List the tools that a session's model is offered, with effect and permission.",
  args: ["ID"],
  options: {},
  about: [
    "The effect says what a crash in the middle means: a read or idempotent call runs again; an unsafe one " +
      "does not, and its outcome is unknown; a session call is one append with its result. The rule is " +
      "what becomes of a call whatever its arguments; rules with a pattern come on top.",
    "Servers that are bound are started for this, and ended again.",
  ],
  examples: [
    "skein tools 4x8kz1  # its own, and those of its bindings",
    "skein tools 4x8kz1 --json | jq -r .name  # the names",
  ],
  async run({ args, out, session }) {
    const offered = await (await session(args.ID)).tools();
    if (out.json) {
      for (const tool of offered) await out.emit(tool);
      return;
    }
    const columns = [{ title: "TOOL" }, { title: "EFFECT" }, { title: "RULE" }, { title: "WHAT IT DOES" }];
    const rows = offered.map(({ name, effect, rule, description }) => [
      oneLine(name),
      effect,
      rule,
      oneLine(description),
    ]);
    const width = out.columns;
    for (const line of table(columns, rows, { width, heading: out.bold })) await out.line(line);
  },
});
