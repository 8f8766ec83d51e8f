/** Erases contents for good. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { EraseOptions, EraseReport } from "../../runtime/govern/erase.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { present } from "../command/input.ts";
import type { Screen } from "../command/screen.ts";
import { bytes, count, cut, oneLine, plural } from "../format/text.ts";
import { confirm } from "../chat/typed-lines.ts";
import { verb } from "../command/verb.ts";

/** Rows of one list to show; the rest is counted. */
const rowsMax = 20;

export const erase = verb({
  name: "erase",
  line: "Erase contents for good; hashes, money and lineage stay, and the chain still verifies.",
  args: ["ID"],
  options: {
    seq: { type: "list", value: "A..B", what: "only these positions; may be given several times" },
    match: { type: "text", value: "TEXT", what: "only contents that contain exactly this text" },
    copies: { type: "flag", what: "also its copies: summaries, merges, messages, memory" },
    reason: { type: "text", what: "the reason; the log keeps it" },
    "dry-run": { type: "flag", what: "show what would be erased, and change nothing" },
    yes: { type: "flag", short: "y", what: "without a confirmation" },
  },
  about: [
    "Without --seq and --match, every content of the session's own records goes. Every fork that " +
      "shares a position loses it too, and its log says so. Copies elsewhere are listed, and go with " +
      "--copies; with --match that is everything in the store that contains the text.",
    "Names, keys, labels, names of tools and numbers are not contents and stay. What left the " +
      "store, such as exports, backups and requests to providers, is out of reach. A hold forbids all " +
      "of it.",
  ],
  examples: [
    "skein erase 4x8kz1 --seq 12..15 --dry-run  # what would go, and from whom",
    'skein erase 4x8kz1 --match "jane@example.com" --copies  # a text, wherever it went',
    'skein erase 4x8kz1 --yes --reason "asked for by the user"  # all that was said',
  ],
  async run({ args, options, out, session }) {
    const ranges = options.seq.map(rangeOf);
    const found = await session(args.ID);
    const wanted: EraseOptions = {
      ...(ranges.length === 0 ? {} : { ranges }),
      ...present({ match: options.match, reason: options.reason }),
      ...(options.copies ? { copies: true } : {}),
    };
    const plan = await withProgress(out, found, { ...wanted, dryRun: true }, "looked at");
    if (options["dry-run"]) {
      await out.answer(plan, () => [...planLines(plan, out), "nothing was erased"]);
      return;
    }
    if (!out.json && (!isEmpty(plan) || plan.copies.length > 0 || plan.kept.length > 0))
      for (const line of planLines(plan, out)) await out.line(line);
    if (!isEmpty(plan)) {
      if (!options.yes && (out.json || !(await confirm("Erase it for good?")))) throw unsure(plan);
    }
    const report = await withProgress(out, found, wanted, "erased");
    await out.answer(report, () => doneLines(report, out));
    return report.scrubbed ? 0 : notScrubbed;
  },
});

/** As for an unavailable store. */
const notScrubbed = 4;

function rangeOf(text: string): readonly [number, number] {
  const [, from, to] = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(text) ?? [];
  if (from !== undefined && Number(from) > 0) return [Number(from), Number(to ?? from)];
  throw new SkeinError("invalid", `--seq: expected a position or a range, got ${quote(text)}`, {
    hint: "for example 12 or 12..15",
  });
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
