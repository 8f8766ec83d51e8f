/** Erases contents for good. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { EraseOptions, EraseReport } from "../../runtime/govern/erase.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { invalid, plain } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { bytes, count, cut, oneLine, plural } from "../format/text.ts";

/** Rows of one list to show; the rest is counted. */
const rowsMax = 20;

export const erasePlain = plain("session.erase", {
  options: { yes: { type: "flag", short: "y", what: "without a confirmation" } },
  prepare({ params, given }) {
    const words = (given as { readonly seq?: readonly string[] }).seq ?? [];
    if (words.length > 0) params.ranges = words.map(rangeOf);
  },
  async call({ found, params: { dryRun = false, ...wanted }, given: { yes }, out }) {
    const plan = await withProgress(out, found, { ...wanted, dryRun: true }, "looked at");
    if (dryRun) return plan;
    if (!out.json && (!isEmpty(plan) || plan.copies.length > 0 || plan.kept.length > 0))
      for (const line of planLines(plan, out)) await out.line(line);
    if (!isEmpty(plan) && !yes) {
      const { confirm } = await import("../chat/typed-lines.ts");
      if (out.json || !(await confirm("Erase it for good?"))) throw unsure(plan);
    }
    return withProgress(out, found, wanted, "erased");
  },
  print(report, { params: { dryRun }, out }) {
    if (dryRun === true) return { lines: [...planLines(report, out), "nothing was erased"] };
    return { lines: doneLines(report, out), code: report.scrubbed ? 0 : notScrubbed };
  },
});

/** As for an unavailable store. */
const notScrubbed = 4;

export function rangeOf(text: string): [number, number] {
  const [, from, to] = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(text) ?? [];
  if (from !== undefined && Number(from) > 0) return [Number(from), Number(to ?? from)];
  throw invalid(`--seq: expected a position or a range, got ${quote(text)}`, "for example 12 or 12..15");
}

const isEmpty = ({ records, copies, withCopies }: EraseReport): boolean =>
  records === 0 && (!withCopies || copies.length === 0);

async function withProgress(
  out: Screen,
  session: Session,
  options: EraseOptions,
  done: string,
): Promise<EraseReport> {
  const shown = out.progress();
  try {
    return await session.erase({
      ...options,
      progress: ({ records }) => shown.show(`${done} ${plural(records, "record")}`),
    });
  } finally {
    shown.end();
  }
}

const unsure = (plan: EraseReport): SkeinError =>
  new SkeinError("refused", `${plural(goingOf(plan), "content")} would be erased permanently`, {
    hint: "add --yes to confirm; nothing was erased",
  });

const goingOf = ({ records, copies, withCopies, session }: EraseReport): number =>
  records + (withCopies ? copies.filter((copy) => copy.session !== session).length : 0);

function planLines(plan: EraseReport, out: Screen): string[] {
  const { session, records, already, ranges, forks, copies, withCopies } = plan;
  const where = ranges.map(([from, to]) => (from === to ? `${from}` : `${from}..${to}`));
  const places = records === 0 ? "" : ` at ${where.slice(0, rowsMax).join(", ")}`;
  const more = where.length > rowsMax ? ` and ${count(where.length - rowsMax)} more ranges` : "";
  const before = already === 0 ? "" : out.dim(`; ${count(already)} erased before`);
  const shared = copies.filter((copy) => copy.shared === true);
  const copied = copies.filter((copy) => copy.shared !== true);
  const one = ({ length }: readonly unknown[], single: string, many: string) =>
    length === 1 ? single : many;
  const fate = (list: readonly unknown[], way: string): string =>
    withCopies ? `${one(list, "goes", "go")} too` : `${one(list, "stays", "stay")} (${way})`;
  return [
    `${plural(records, "content")} of ${session}${places}${more} (${bytes(plan.bytes)})${before}`,
    ...(forks.length === 0
      ? []
      : [`${plural(forks.length, "fork")} lose${forks.length === 1 ? "s" : ""} it too:`]),
    ...rows(forks, out, ({ session: fork, records: lost, elsewhere }) => {
      const kept = elsewhere === true ? "; it lives elsewhere, and keeps it there" : "";
      return `${fork}  ${plural(lost, "content")}${kept}`;
    }),
    ...(shared.length === 0
      ? []
      : [
          `${plural(shared.length, "content")} in the log of its parent ` +
            `${fate(shared, "erase them there, or with --copies")}:`,
        ]),
    ...rows(shared, out, ({ session: log, seq, type }) => `${log}@${seq}  ${type}`),
    ...(copied.length === 0
      ? []
      : [
          `${count(copied.length)} ${one(copied, "copy", "copies")} ` +
            `${fate(copied, "--copies takes them too")}:`,
        ]),
    ...rows(copied, out, ({ session: log, seq, type, why }) => `${log}@${seq}  ${type}  ${oneLine(why)}`),
    ...keptLines(plan, out),
  ];
}

/** Shown before and also when nothing else is left, because it remains. */
function keptLines({ kept }: EraseReport, out: Screen): string[] {
  if (kept.length === 0) return [];
  const holds = kept.length === 1 ? "holds" : "hold";
  return [
    `${plural(kept.length, "record")} ${holds} it in a key, label or name, which cannot be erased:`,
    ...rows(kept, out, ({ session, seq, type }) => `${session}@${seq}  ${type}`),
  ];
}

function rows<T>(list: readonly T[], out: Screen, text: (one: T) => string): string[] {
  const room = out.columns === null ? Infinity : Math.max(20, out.columns - 2);
  return [
    ...list.slice(0, rowsMax).map((one) => `  ${cut(text(one), room)}`),
    ...(list.length > rowsMax ? [out.dim(`  and ${count(list.length - rowsMax)} more`)] : []),
  ];
}

function doneLines(report: EraseReport, out: Screen): string[] {
  const trace = "scrub pending: the store's files may still hold traces; run this again later";
  const { copies, kept } = report;
  const but = copies.length + kept.length === 0 ? "" : " here; what is listed above stays";
  return [
    isEmpty(report)
      ? `nothing is left to erase${but}`
      : `erased ${plural(goingOf(report), "content")} for good`,
    ...(report.scrubbed ? [] : [out.yellow(trace)]),
  ];
}
