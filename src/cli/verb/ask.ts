/** Sends an input to a session and shows the result. */
import { SkeinError } from "../../core/error.ts";
import { unsafeDefault } from "../../core/tool/permission.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { realWorld } from "../../runtime/world.ts";
import { textOf } from "../command/call-parameter.ts";
import { present } from "../command/input.ts";
import { oneLine } from "../format/text.ts";
import { showRun } from "../chat/turn.ts";
import { verb, type VerbCall } from "../command/verb.ts";

export const ask = verb({
  name: "ask",
  line: "Send a session an input and run it: the answer streams, tool calls show as they happen.",
  args: ["ID", "TEXT...?"],
  options: {
    key: { type: "text", what: "a second input with the same key is not written" },
    yes: { type: "flag", short: "y", what: "allow unsafe tools in this session without asking, from now on" },
  },
  about: [
    "Several words are one text; without TEXT, or with a dash, it is standard input. The answer " +
      "goes to standard output, everything else to standard error. With --json each event and each " +
      'delta is a line, and the last line has the type "ran" and the status of the session.',
    "The exit code is 0 when the session is idle again, and 7 when it is suspended: for an " +
      "approval, an unknown outcome, a budget or an error. Ctrl-C interrupts the turn. If another " +
      "process runs the session, the input is queued, and Ctrl-C leaves it queued. If the run fails, " +
      'the input is kept: "skein run ID" processes it.',
    "Only the turn that takes this input is shown. On a terminal the answer streams; elsewhere each " +
      "message is written when it is complete.",
  ],
  examples: [
    'skein ask 4x8kz1 "What is the base rate?"  # one turn',
    "git diff | skein ask 4x8kz1 -  # standard input",
    "skein ask 4x8kz1 list files --json  # events and deltas, for programs",
  ],
  async run(call) {
    const { args, options, session } = call;
    const text = await textOf(args.TEXT);
    if (text.trim() === "") {
      throw new SkeinError("invalid", "ask: TEXT is missing or empty", {
        hint: 'usage: skein ask ID TEXT; "skein ps" lists sessions, "skein open" opens one',
      });
    }
    const found = await session(args.ID);
    if (options.yes) await found.grant(unsafeDefault("allow", "asked with --yes"));
    const given = present({ key: options.key });
    const begin = (signal: AbortSignal) => found.ask(text, { ...given, signal });
    return showRun(call, found, begin, { ownOnly: true, waiting: makeWaiting(call, found) });
  },
});

/** Says once which process the input waits for. */
function makeWaiting({ store, out }: Pick<VerbCall, "store" | "out">, session: Session): () => Promise<void> {
  const world = realWorld();
  let shown = "";
  return async () => {
    const opened = await store();
    const { holder = "", untilMs = 0 } = (await opened.head(session.id))?.lease ?? {};
    const isElse = holder !== "" && holder !== world.self && world.isGone?.(holder) !== true;
    if (!isElse || untilMs <= opened.now() || holder === shown) return;
    shown = holder;
    out.note(out.dim(`${oneLine(holder)} runs it; your input is queued`));
  };
}
