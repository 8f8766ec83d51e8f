/** Goes on with the mind of an earlier position. */
import { SkeinError } from "../../core/error.ts";
import type { RewindResult } from "../../runtime/branch/rewind-files.ts";
import { answerChange } from "../command/change-verb.ts";
import { present } from "../command/input.ts";
import { oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const rewind = verb({
  name: "rewind",
  line: "Go on with the mind of an earlier position; what came since stays in the log.",
  args: ["ID"],
  options: {
    to: { type: "place", value: "SEQ|NAME", what: "the position or checkpoint" },
    files: { type: "flag", what: "undo what its tools did to files since, too; all of it or nothing" },
    requeue: { type: "flag", what: "put inputs that were taken up since into the inbox again" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  about: [
    "What the session knows goes back: items, scratch, transcript. How it stands does not: labels, budget, " +
      "what was used, checkpoints. A rewind can be rewound, also to a position that was rewound away.",
    "With --files the files that its tools changed below bound directories are put back as they were. One " +
      "that somebody else has changed since is shown, and then nothing at all is done.",
  ],
  examples: [
    "skein rewind 4x8kz1 --to 12  # to a position",
    "skein rewind 4x8kz1 --to 12 --files  # with its files",
    'skein rewind 4x8kz1 --to before-run --reason "wrong rates"  # to a checkpoint',
  ],
  async run({ args, options, out, session }) {
    const { to, requeue, reason, files } = options;
    if (to === undefined) {
      throw new SkeinError("invalid", "rewind: --to is missing", {
        hint: "give a position or the name of a checkpoint: skein rewind ID --to 12",
      });
    }
    const found = await session(args.ID);
    const flags = { ...(requeue ? { requeue } : {}), ...(files ? { files } : {}) };
    const written = await found.rewind(to, { ...present({ reason }), ...flags });
    if (written.files === undefined) return answerChange(out, found, written, `rewound to ${to}`);
    const text = filesText(written.files);
    await out.answer({ session: found.id, ...written }, () => [
      `rewound to ${to} at ${written.seq} of ${found.id}`,
      ...text,
    ]);
  },
});

/** Of many paths the first are named. */
const shownMax = 20;

function filesText({ restored, unkept }: NonNullable<RewindResult["files"]>): readonly string[] {
  const more = restored.length - shownMax;
  return [
    restored.length === 0 ? "no file had changed" : `${plural(restored.length, "path")} put back`,
    ...restored.slice(0, shownMax).map((path) => `  ${oneLine(path)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...unkept.map(({ seq, why }) => `left as it is, at ${seq}: ${oneLine(why)}`),
  ];
}
