/** Deletes a session for good. */
import { SkeinError } from "../../core/error.ts";
import { present } from "../input.ts";
import { plural } from "../text.ts";
import { verb } from "../verb.ts";

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
  examples: [
    { command: 'skein delete 4x8kz1 --yes --reason "asked for by the user"', what: "it cannot be undone" },
  ],
  async run({ args, options, out, engine, session }) {
    const found = await session(args.ID);
    const { seq: headSeq, hash } = await found.head();
    if (!options.yes) {
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
