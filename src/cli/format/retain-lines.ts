/** The report of a retention run, for people. */
import type { RetainAction, RetainReport, RetainSkip } from "../../runtime/govern/retain.ts";
import type { Screen } from "../command/screen.ts";
import { bytes, count, oneLine, plural } from "./text.ts";

/** The number of rows of each kind to show; --json shows all. */
const shownMax = 20;

const words = {
  expire: ["expired", "would expire"],
  archive: ["archived", "would be archived"],
  delete: ["deleted", "would be deleted"],
  pack: ["packed", "would be packed"],
} as const;

export function retainLines(report: RetainReport, out: Screen): string[] {
  const { dryRun, sessions, done, kept, bytesBefore, bytesAfter, stopped, swept } = report;
  const lines: string[] = [];
  for (const what of ["expire", "archive", "delete", "pack"] as const) {
    const concerned = done.filter((one) => one.do === what);
    if (concerned.length === 0) continue;
    lines.push(out.bold(`${words[what][dryRun ? 1 : 0]}: ${count(concerned.length)}${sum(concerned)}`));
    lines.push(...few(concerned.map(doneLine), out));
  }
  if (kept.length > 0) {
    lines.push(out.bold(`left as they are: ${count(kept.length)}`), ...few(kept.map(keptLine), out));
  }
  if (done.length === 0 && kept.length === 0) lines.push(`nothing is due for ${plural(sessions, "session")}`);
  if (!dryRun && bytesBefore !== null && bytesAfter !== null && done.length > 0)
    lines.push(`the store took ${bytes(bytesBefore)} and takes ${bytes(bytesAfter)}`);
  if (stopped) lines.push("stopped before the end; run it again to continue");
  else if (!dryRun && !swept)
    lines.push("another program keeps reading from the store; run it again to finish");
  return lines;
}

const few = (lines: readonly string[], out: Screen): string[] => [
  ...lines.slice(0, shownMax).map((line) => `  ${line}`),
  ...(lines.length > shownMax
    ? [out.dim(`  and ${count(lines.length - shownMax)} more; --json shows all`)]
    : []),
];

function sum(list: readonly RetainAction[]): string {
  const records = list.reduce((total, one) => total + one.records, 0);
  if (records === 0) return "";
  const before = list.reduce((total, one) => total + one.bytesBefore, 0);
  const after = list.every((one) => one.bytesAfter === null)
    ? ""
    : ` to ${bytes(list.reduce((total, one) => total + (one.bytesAfter ?? 0), 0))}`;
  return `, ${plural(records, "record")}, ${bytes(before)}${after}`;
}

function doneLine({ session, policy, because, besides, records }: RetainAction): string {
  const by = policy === null ? "" : `policy ${oneLine(policy)}: `;
  const also = besides.length === 0 ? "" : `; also due by ${oneLine(besides.join(", "))}`;
  return `${session}  ${records === 0 ? "" : `${plural(records, "record")}, `}${by}${because}${also}`;
}

const keptLine = ({ session, do: what, policy, why }: RetainSkip): string =>
  `${session}  ${policy === null ? what : `policy ${oneLine(policy)}, ${what}`}: ${oneLine(why)}`;
