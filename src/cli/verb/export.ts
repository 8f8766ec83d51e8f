/** Writes a log out as it is stored, for another program to verify or keep. */
import { verb } from "../verb.ts";

export const exportVerb = verb({
  name: "export",
  line: "Write the records of a session exactly as they are stored, one a line.",
  args: ["ID"],
  options: { format: { type: "text", choices: ["jsonl"], what: "by default jsonl" } },
  about: [
    "docs/log-format.md says how to verify an export without Skein. The export of a fork begins with what " +
      "it shares with its parents, so that its chain can be followed from the start.",
  ],
  examples: [
    {
      command: "skein export 4x8kz1 --format jsonl > session.jsonl",
      what: "every record from the first to the last",
    },
  ],
  async run({ args, out, session }) {
    const found = await session(args.ID);
    for await (const record of found.records()) await out.emit(record);
  },
});
