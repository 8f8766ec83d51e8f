/** Keeps all of a session from being erased or deleted, or lets it go. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const hold = verb({
  name: "hold",
  line: "Keep all of a session: nothing of it is erased or deleted until the hold is lifted.",
  args: ["ID", "NAME?"],
  options: {
    lift: { type: "flag", what: "let it go again; NAME can be left out when there is only one hold" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  about: [
    'A hold has a name, by default "hold", and a session may be under several. It stops erase, delete and ' +
      "every policy; what is shared with forks stays too. The session goes on as before. The " +
      "hold goes with a session that is moved, and is lifted where the session lives.",
  ],
  examples: [
    'skein hold 4x8kz1 "case 4711" --reason "asked for by the court"  # nothing of it goes',
    'skein hold 4x8kz1 "case 4711" --lift  # it may go again',
  ],
  async run({ args, options, out, session }) {
    const found = await session(args.ID);
    const reason = present({ reason: options.reason });
    if (options.lift) {
      const name = args.NAME ?? (await onlyHold(found));
      await answerChange(
        out,
        found,
        await found.lift(name, reason),
        `lifted the hold ${oneLine(quote(name))}`,
      );
      return;
    }
    const name = args.NAME ?? "hold";
    await answerChange(out, found, await found.hold(name, reason), `set the hold ${oneLine(quote(name))}`);
  },
});

async function onlyHold(session: Session): Promise<string> {
  const names = [...(await session.fold()).standing.holds.keys()];
  const [first, second] = names;
  if (first !== undefined && second === undefined) return first;
  if (first === undefined) throw new SkeinError("not-found", `${session.id} is under no hold`);
  throw new SkeinError("invalid", `${session.id} is under ${names.length} holds`, {
    hint: `name the one to lift: ${names.slice(0, 10).map(quote).join(", ")}`,
  });
}
