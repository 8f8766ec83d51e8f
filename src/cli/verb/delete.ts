/** Deletes a session for good. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { present } from "../command/input.ts";
import { plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const deleteVerb = verb({
  name: "delete",
  line: "Delete a session for good; its forks keep what they share with it.",
  args: ["ID"],
  options: {
    yes: { type: "flag", short: "y", what: "really" },
    reason: { type: "text", what: "why; it is kept in the log of the workspace" },
  },
  about: [
    "Only its id, its last position and the hash there remain, in the log of the workspace. " +
      "To keep a session and be done with it, close and archive it instead.",
  ],
  examples: ['skein delete 4x8kz1 --yes --reason "asked for by the user"  # it cannot be undone'],
  async run({ args, options, out, engine, session, store }) {
    const found = await session(args.ID);
    const { seq: headSeq, hash } = await found.head();
    if (!options.yes) {
      await refuseIfHeld(found, (await (await store()).head(found.id))?.copy === true);
      throw new SkeinError(
        "refused",
        `${found.id} and its ${plural(headSeq, "event")} would be gone for good`,
        {
          hint: "add --yes if that is what you want; archive keeps it",
        },
      );
    }
    await (await engine()).delete(found.id, present({ reason: options.reason }));
    await out.answer({ id: found.id, deleted: true, headSeq, hash }, () => [`deleted ${found.id}`]);
  },
});

/** What would be refused anyway is not asked for. A hold on a session that lives elsewhere is none here. */
async function refuseIfHeld(session: Session, isCopy: boolean): Promise<void> {
  const { standing } = await session.fold();
  const [held] = isCopy || standing.status === "moved" ? [] : standing.holds.keys();
  if (held === undefined) return;
  throw new SkeinError("refused", `${session.id} is under legal hold ${quote(held)}`, {
    hint: `lift the hold first: skein hold ${session.id} ${quote(held)} --lift`,
  });
}
