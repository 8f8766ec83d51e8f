/** The sums over imported sessions as tables: by tool, project, model and week. */
import type { ImportedRow, ImportedStats, ImportedSum } from "../../runtime/read/imported-stats.ts";
import { spendText } from "../../core/budget/money.ts";
import type { Screen } from "../command/screen.ts";
import { table } from "./table.ts";
import { count, oneLine } from "./text.ts";

/** More projects than this do not fit a screen: the rest is one row. */
const rowsMax = 20;

export function importedLines(
  { total, tools, projects, models, weeks }: ImportedStats,
  out: Screen,
): { readonly lines: readonly string[]; readonly notes?: readonly string[] } {
  if (total.answers === 0 && total.sessions === 0)
    return { lines: [], notes: ["no imported sessions; skein import TOOL imports them"] };
  const parts: [string, readonly ImportedRow[]][] = [
    ["TOOL", tools],
    ["PROJECT", projects],
    ["MODEL", models],
    ["WEEK OF", weeks],
  ];
  const lines = parts.flatMap(([title, rows]) => [...gridOf(title, rows, out), ""]);
  return { lines: [...lines, ...gridOf("", [{ group: "in all", ...total }], out)] };
}

function gridOf(title: string, rows: readonly ImportedRow[], out: Screen): string[] {
  const shown = rows.slice(0, rowsMax);
  const more = rows.length - shown.length;
  const columns = [
    { title, flexible: true },
    ...["SESSIONS", "ANSWERS", "TOKENS IN", "OUT", "COST", "HOURS"].map((name) => ({
      title: name,
      align: "right" as const,
    })),
  ];
  const cells = shown.map((row) => [oneLine(row.group ?? "(unknown)"), ...figuresOf(row)]);
  const lines = table(columns, cells, { width: out.columns, heading: out.bold });
  return more === 0 ? lines : [...lines, out.dim(`and ${count(more)} more; --json lists all`)];
}

const figuresOf = (sum: ImportedSum): string[] => [
  count(sum.sessions),
  count(sum.answers),
  count(sum.inputTokens),
  count(sum.outputTokens),
  spendText({ ...sum, unconfirmedNanoUsd: 0 }),
  (sum.activeMs / 3_600_000).toFixed(1),
];
