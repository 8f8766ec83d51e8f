/** Writes the document that one session leaves for the next. */
import { writeFile } from "node:fs/promises";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { present } from "../command/input.ts";
import { checkModelName } from "../format/model-name.ts";
import { count, manyLines, oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const handoff = verb({
  name: "handoff",
  line: "Write what a session leaves for the next: decisions, open tasks, files, what failed.",
  args: ["ID"],
  options: {
    out: { type: "text", value: "FILE|-", what: "also write it to this file; by default it is printed" },
    prose: { type: "flag", what: "the session's model writes where it stands and what to do next" },
    model: { type: "text", value: "PROVIDER/MODEL", what: "the same by another model" },
    tokens: { type: "count", value: "N", what: "at most so many tokens; by default 4,000" },
    "dry-run": { type: "flag", what: "only show it, and keep nothing in the log" },
  },
  about: [
    "It is made from the log alone: objective, where it stands, decisions with their reasons, facts, open " +
      "tasks, files touched, what was tried and failed, and what to do next, each with its position. It is " +
      "kept in the session's log; while nothing is said since, the same is given again.",
    "With --prose or --model a model writes a few sentences in front of the lists, which stay as they are. " +
      "What it costs is the session's.",
    '"skein open --from ID" opens the next session with it, and "skein clear ID --handoff" closes this one ' +
      "in the same step; in a chat /handoff does so.",
  ],
  examples: [
    "skein handoff 4x8kz1  # as Markdown",
    "skein handoff 4x8kz1 --out HANDOFF.md  # into a file",
    "skein handoff 4x8kz1 --prose  # with a few sentences by its model",
  ],
  async run({ args, options, out, session }) {
    await checkModelName(options.model);
    const found = await session(args.ID);
    const wanted = options.model ?? (options.prose ? true : undefined);
    const { text, seq, tokens, toSeq, model, failed } = await found.handoff({
      ...present({ model: wanted }),
      ...present({ tokensMax: options.tokens }),
      ...(options["dry-run"] ? { write: false } : {}),
    });
    const file = options.out === "-" ? undefined : options.out;
    if (file !== undefined) await write(file, text);
    const kept = seq === null ? "not kept in the log" : `kept at ${seq} of ${found.id}`;
    if (failed !== undefined) out.note(out.yellow(`without prose: ${oneLine(failed)}`));
    const answer = { session: found.id, seq, toSeq, tokens, model, text, ...present({ file, failed }) };
    await out.answer(answer, () =>
      file === undefined ? manyLines(text.trimEnd()) : [`wrote ${file}: ${count(tokens)} tokens, ${kept}`],
    );
    if (file === undefined) out.note(out.dim(`${count(tokens)} tokens, ${kept}`));
  },
});

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((cause: unknown) => {
    throw new SkeinError("unavailable", `handoff: ${quote(file)} cannot be written`, {
      hint: "the handoff is kept in the log; give another path, or none to print it",
      cause,
    });
  });
}
