/** Shows what the model was sent, or would be sent next. */
import { partName, partText } from "../format/part-text.ts";
import { placeOf } from "../command/position.ts";
import { count, manyLines } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const context = verb({
  name: "context",
  line: "Show what the model was sent at a position, or would be sent next.",
  args: ["ID"],
  options: {
    at: { type: "place", value: "SEQ|NAME", what: "at this position; the same as ID@SEQ" },
    uncompacted: { type: "flag", what: "with everything, as if nothing had been compacted" },
  },
  about: [
    "At the position of a request (model.requested) it is exactly what was sent, rebuilt from the log and " +
      "held against its digest; elsewhere what the next request would send. --json gives the parts as they " +
      'are, with their reasons. "skein explain" says why each part is there.',
  ],
  examples: [
    "skein context 4x8kz1  # what would be sent next",
    "skein context 4x8kz1@12  # what was sent at 12",
    "skein context 4x8kz1 --uncompacted --json  # everything, for programs",
  ],
  async run({ args, options, out, session }) {
    const { session: found, seq } = await placeOf("context", args.ID, options.at, session);
    const rendered = await found.context({
      ...(seq === null ? {} : { atSeq: seq }),
      ...(options.uncompacted ? { uncompacted: true } : {}),
    });
    await out.answer({ session: found.id, ...rendered }, () =>
      rendered.parts.flatMap((part, place) => [
        `${out.bold(partName(part))}  ${out.dim(`${count(rendered.reasons[place]?.tokens ?? 0)} tokens`)}`,
        ...manyLines(partText(part)).map((line) => `  ${line}`),
      ]),
    );
  },
});
