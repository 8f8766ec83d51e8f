/** Computes every hash of a session's log again; or runs turns again in a fork, and compares. */
import { quote } from "../../core/ids.ts";
import type { ReplayReport } from "../../core/turn/run-comparison.ts";
import type { ReplayCheck } from "../../runtime/replay/replay-check.ts";
import type { ReplayProgress } from "../../runtime/replay/replay.ts";
import { budgetOptions } from "../command/budget-options.ts";
import { standsStill } from "../command/exit-code.ts";
import { locateStore } from "../../store/registry.ts";
import { openOutput } from "../command/output.ts";
import { invalid, plain } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { count, plural } from "../format/text.ts";

const mismatchesShown = 20;

export const replayPlain = plain("session.replay", {
  options: { save: { type: "text", value: "FILE", what: "write the report to a file: .html or .json" } },
  prepare({ params, args, given }) {
    if (given.save !== undefined) kindOf(given.save);
    const isPlaced = args["ID"]?.includes("@") === true;
    if (isPlaced && params.from !== undefined)
      throw invalid("replay: --from: the position is given twice", "remove one of them");
    if (!isPlaced && params.from === undefined) checkOnlyRuns(given);
  },
  async call({ found, params: { from, ...how }, given: { save }, out, place, untilStopped }) {
    const shown = out.progress();
    const progress = ({ what, done, of }: ReplayProgress): void =>
      shown.show(`${count(done)} of ${plural(of, what.slice(0, -1))}`);
    if (from === undefined) return found.replay({ progress }).finally(() => shown.end());
    const run = (): Promise<ReplayReport> =>
      found.replay({ ...how, from, progress, signal: untilStopped() }).finally(() => shown.end());
    return save === undefined ? run() : saved(save, (await locateStore(place)).files[0] ?? "", out, run);
  },
  async print(report, { given: { save }, out }) {
    if ("ok" in report) return { lines: checkLines(report, out), code: report.ok ? 0 : 1 };
    const { replayLines } = await import("../format/replay-text.ts");
    return {
      lines: [...replayLines(report, out), ...(save === undefined ? [] : ["", `wrote ${save}`])],
      code: report.stopped === null ? 0 : standsStill,
    };
  },
});

const forRuns = ["model", "instructions", "tools", "name", "save", ...Object.keys(budgetOptions)];

function checkOnlyRuns(options: Readonly<Record<string, unknown>>): void {
  const idle = forRuns.find((name) => options[name] !== undefined);
  if (idle === undefined) return;
  throw invalid(
    `replay: --${idle} requires --from`,
    idle === "save" ? "add --from, or use --json" : "add --from SEQ|NAME",
  );
}

function kindOf(file: string): "html" | "json" {
  const [, kind] = /\.(html|json)$/i.exec(file) ?? [];
  if (kind !== undefined) return kind.toLowerCase() as "html" | "json";
  throw invalid(
    `replay: --save: expected a .html or .json file, got ${quote(file)}`,
    "for example --save report.html",
  );
}

/** The file is opened before anything runs, so that an unwritable path costs nothing. */
async function saved(
  save: string,
  store: string,
  out: Screen,
  run: () => Promise<ReplayReport>,
): Promise<ReplayReport> {
  let report: ReplayReport | null = null;
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    report = await run();
    const text =
      kindOf(save) === "html"
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
  const gone = (["erased", "newer", "outside"] as const).flatMap((why) => {
    const many = left.filter((one) => one.why === why).length;
    const reasons = {
      erased: "content was erased",
      newer: "a newer version of Skein wrote them",
      outside: "an executor kept the context outside",
    };
    const reason = reasons[why];
    return many === 0 ? [] : [`${count(many)} cannot be made again: ${reason}`];
  });
  if (ok) return [`${out.green("ok")}: ${counted}; all match the log`, ...gone];
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
