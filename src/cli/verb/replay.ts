/** Computes every hash of a session's log again; or runs turns again in a fork, and compares. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { ReplayReport } from "../../core/turn/run-comparison.ts";
import type { ReplayCheck } from "../../runtime/replay/replay-check.ts";
import type { ReplayProgress } from "../../runtime/replay/replay.ts";
import { budgetOf, budgetOptions } from "../command/budget-options.ts";
import { standsStill } from "../command/exit-code.ts";
import { present } from "../command/input.ts";
import { locateStore } from "../../store/registry.ts";
import { openOutput } from "../command/output.ts";
import { placeOf } from "../command/position.ts";
import type { Screen } from "../command/screen.ts";
import { count, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

const mismatchesShown = 20;

export const replay = verb({
  name: "replay",
  line: "Compute every state and context again; or run turns again in a fork, and compare.",
  args: ["ID"],
  options: {
    from: { type: "place", value: "SEQ|NAME", what: "run again from here; the same as ID@SEQ" },
    model: { type: "text", value: "PROVIDER/MODEL", what: "with another model" },
    instructions: { type: "text", what: "with these in place of the agent's" },
    tools: {
      type: "text",
      choices: ["recorded", "live"],
      what: "live: unrecorded calls run if they only read; by default recorded",
    },
    name: { type: "text", what: "a short name of the fork, for lists" },
    save: { type: "text", value: "FILE", what: "write the report to a file: .html or .json" },
    ...budgetOptions,
  },
  about: [
    "Without a position the log is folded again from its first record; the hash of what the session " +
      "knew at the end of each turn, and the digest of each context, must equal the recorded ones. It " +
      "only reads, and exits with 1 on a mismatch.",
    "With a position the turns that had not ended there run again, in a fork that leaves right " +
      "before the first of them. The fork gets the same inputs in the same order. Tool calls that the " +
      "original also made get its recorded results; others are an error, and nothing outside is " +
      "touched. It exits with 7 when it stopped before the end.",
  ],
  examples: [
    "skein replay 4x8kz1  # check every turn and every request",
    "skein replay 4x8kz1 --from 12  # run again from 12",
    'skein replay 4x8kz1@12 --model offline/offline --instructions "Be brief." --save x.html  ' +
      "# otherwise, and side by side on a page",
  ],
  async run({ args, options, out, session, untilStopped, place }) {
    const { from, name, model, instructions, save } = options;
    const kind = save === undefined ? undefined : kindOf(save);
    if (args.ID.includes("@") && from !== undefined)
      throw new SkeinError("invalid", "replay: --from: the position is given twice", {
        hint: "remove one of them",
      });
    const { session: found, seq } = await placeOf("replay", args.ID, from, session);
    const progress = out.progress();
    const show = ({ what, done, of }: ReplayProgress): void =>
      progress.show(`${count(done)} of ${plural(of, what.slice(0, -1))}`);
    const how = present({ name, model, instructions, budget: budgetOf(options) });
    const tools = present({ tools: options.tools as "recorded" | "live" | undefined });
    if (seq === null) {
      checkOnlyRuns(options);
      const report = await found.replay({ progress: show }).finally(() => progress.end());
      await out.answer(report, () => checkLines(report, out));
      return report.ok ? 0 : 1;
    }
    const run = (): Promise<ReplayReport> =>
      found
        .replay({ ...how, ...tools, from: seq, progress: show, signal: untilStopped() })
        .finally(() => progress.end());
    const report = await saved(out, { save, kind, store: (await locateStore(place)).files[0] ?? "" }, run);
    const { replayLines } = await import("../format/replay-text.ts");
    await out.answer(report, () => [
      ...replayLines(report, out),
      ...(save === undefined ? [] : ["", `wrote ${save}`]),
    ]);
    return report.stopped === null ? 0 : standsStill;
  },
});

const forRuns = ["model", "instructions", "tools", "name", "save", ...Object.keys(budgetOptions)];

function checkOnlyRuns(options: Readonly<Record<string, unknown>>): void {
  const idle = forRuns.find((name) => options[name] !== undefined);
  if (idle === undefined) return;
  throw new SkeinError("invalid", `replay: --${idle} requires --from`, {
    hint: idle === "save" ? "add --from, or use --json" : "add --from SEQ|NAME",
  });
}

function kindOf(file: string): "html" | "json" {
  const [, kind] = /\.(html|json)$/i.exec(file) ?? [];
  if (kind !== undefined) return kind.toLowerCase() as "html" | "json";
  throw new SkeinError("invalid", `replay: --save: expected a .html or .json file, got ${quote(file)}`, {
    hint: "for example --save report.html",
  });
}

/** The file is opened before anything runs, so that an unwritable path costs nothing. */
async function saved(
  out: Screen,
  where: {
    readonly save: string | undefined;
    readonly kind: "html" | "json" | undefined;
    readonly store: string;
  },
  run: () => Promise<ReplayReport>,
): Promise<ReplayReport> {
  const { save, kind, store } = where;
  if (save === undefined) return run();
  let report: ReplayReport | null = null;
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    report = await run();
    const text =
      kind === "html"
        ? (await import("../format/replay-html.ts")).replayHtml(report)
        : `${JSON.stringify(report, null, 2)}\n`;
    yield Buffer.from(text);
  };
  const file = await openOutput(save, out, { store, replace: true });
  await file.write(chunks());
  if (report === null) throw new Error("invariant: what was saved was run");
  return report;
}

function checkLines(report: ReplayCheck, out: Screen): string[] {
  const { ok, records, turns, requests, mismatches, left } = report;
  const counted = `${plural(records, "record")}, ${plural(turns, "turn")}, ${plural(requests, "context")}`;
  const gone = (["erased", "newer"] as const).flatMap((why) => {
    const many = left.filter((one) => one.why === why).length;
    const reason = why === "erased" ? "content was erased" : "a newer version of Skein wrote them";
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
