/** Computes every hash of a session's log again. */
import type { ReplayCheck } from "../../runtime/replay-check.ts";
import type { ReplayProgress } from "../../runtime/replay.ts";
import type { Screen } from "../screen.ts";
import { count, plural } from "../text.ts";
import { verb } from "../verb.ts";

const mismatchesShown = 20;

export const replay = verb({
  name: "replay",
  line: "Compute every state and every context again, and compare with the log.",
  args: ["ID"],
  options: {},
  about: [
    "The log is folded again from its first record; the hash of what the session knew at the end of each " +
      "turn, and the digest of each context that a model was sent, must come out as they were recorded. " +
      "It only reads, and exits with 1 when something does not match.",
  ],
  examples: [{ command: "skein replay 4x8kz1", what: "every turn and every request" }],
  async run({ args, out, session }) {
    const found = await session(args.ID);
    const progress = out.progress();
    const show = ({ done, of }: ReplayProgress): void =>
      progress.show(`${count(done)} of ${plural(of, "record")}`);
    const report = await found.replay({ progress: show }).finally(() => progress.end());
    await out.answer(report, () => checkLines(report, out));
    return report.ok ? 0 : 1;
  },
});

function checkLines(report: ReplayCheck, out: Screen): string[] {
  const { ok, records, turns, requests, mismatches, left } = report;
  const counted = `${plural(records, "record")}, ${plural(turns, "turn")}, ${plural(requests, "context")}`;
  const gone = (["erased", "newer"] as const).flatMap((why) => {
    const many = left.filter((one) => one.why === why).length;
    const reason = why === "erased" ? "something was erased" : "a newer Skein wrote them";
    return many === 0 ? [] : [`${count(many)} cannot be made again: ${reason}`];
  });
  if (ok) return [`${out.green("ok")}: ${counted}; all come out as recorded`, ...gone];
  return [
    `${out.red("not ok")}: ${plural(mismatches.length, "mismatch")} in ${counted}`,
    ...mismatches
      .slice(0, mismatchesShown)
      .map(
        ({ seq, what, recorded, found }) =>
          `  ${seq} ${what}: recorded ${recorded.slice(0, 12)}, now ${found.slice(0, 12)}`,
      ),
    ...(mismatches.length > mismatchesShown
      ? [out.dim(`  and ${count(mismatches.length - mismatchesShown)} more`)]
      : []),
    ...gone,
  ];
}
