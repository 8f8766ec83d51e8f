/** The output of a whole move: its progress and its result. */
import type { MigrateAllReport, MigrateProgress } from "../../runtime/transfer/move-all.ts";
import type { Screen } from "../command/screen.ts";
import { count, oneLine, plural } from "./text.ts";

/** Before this an estimate of the remaining time is useless. */
const guessAfterMs = 2_000;

export function movingText({ sessions, sessionsAll, records, recordsAll, ms }: MigrateProgress): string {
  const done = `${count(sessions)} of ${plural(sessionsAll, "session")}, ${plural(records, "record")}`;
  if (records === 0 || ms < guessAfterMs) return done;
  const left = Math.max(0, recordsAll - records) * (ms / records);
  return `${done}, ${rate(records, ms)}, ${lasting(left)} left`;
}

const rate = (records: number, ms: number): string =>
  `${count(Math.round((records * 1_000) / Math.max(1, ms)))}/s`;

function lasting(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** The number of left sessions to show; --json shows all. */
const shownMax = 20;

export function allMoved(report: MigrateAllReport, place: string, out: Screen): string[] {
  const { dryRun, moved, projects, copied, before, elsewhere, left, ms, stopped } = report;
  const verb = dryRun ? "would go to" : "moved to";
  const head = `${plural(moved, "session")} ${verb} ${oneLine(place)}${dryRun ? "" : ` in ${lasting(ms)}`}`;
  const rows: readonly (readonly [string, string | null])[] = [
    ["projects", projects === 0 ? null : plural(projects, "project")],
    ["records", sent(report)],
    [
      "verified",
      dryRun
        ? null
        : `${plural(report.verified, "record")} read back there, with the hashes that they have here`,
    ],
    ["carried", carried(report)],
    ["copies", copied === 0 ? null : `${plural(copied, "session")} that live in yet other stores`],
    ["before", before === 0 ? null : `${plural(before, "session")} had arrived there already`],
    [
      "elsewhere",
      elsewhere === 0 ? null : `${plural(elsewhere, "session")} were moved to other stores earlier`,
    ],
  ];
  const shown = left.slice(0, shownMax).map(({ session, why }) => `  ${session}  ${oneLine(why)}`);
  const more = left.length - shown.length;
  return [
    out.bold(head),
    ...rows.flatMap(([title, text]) => (text === null ? [] : [`  ${title.padEnd(10)} ${text}`])),
    ...(left.length === 0
      ? []
      : [out.bold(`${dryRun ? "would be left" : "left"} here: ${count(left.length)}`)]),
    ...shown,
    ...(more > 0 ? [out.dim(`  and ${count(more)} more; --json shows all`)] : []),
    ...(stopped ? ["stopped before the end; run it again to continue"] : []),
    ...(left.length > 0 && !dryRun && !stopped ? ["run it again to take them along"] : []),
  ];
}

function sent({ dryRun, records, blobs, verified, ms }: MigrateAllReport): string {
  if (dryRun) return count(records);
  const with_ = blobs === 0 ? "" : ` and ${plural(blobs, "blob")}`;
  return `${count(records)}${with_} sent, ${rate(verified, ms)}`;
}

function carried({
  carried: { agents, memory, policies, templates, deleted },
}: MigrateAllReport): string | null {
  const all = [
    [agents, `${plural(agents, "version")} of agents`],
    [memory, `${count(memory)} of memory`],
    [policies, policies === 1 ? "1 policy" : `${count(policies)} policies`],
    [templates, plural(templates, "template")],
    [deleted, plural(deleted, "deletion")],
  ] as const;
  const some = all.flatMap(([number, text]) => (number === 0 ? [] : [text]));
  return some.length === 0 ? null : some.join(", ");
}
