/** `skein tickets merge`: the branches of finished tickets come to a base branch, each after its checks. */
import type { Engine } from "../../runtime/engine/engine.ts";
import { mergePlan, type MergePlanOptions, type MergeRow, type Plan } from "../../tickets/tickets.ts";
import { shortId } from "../../core/text/short-id.ts";
import { oneOf } from "../command/args.ts";
import { standsStill } from "../command/exit-code.ts";
import { present } from "../command/input.ts";
import type { Screen } from "../command/screen.ts";
import { table, type Column } from "../format/table.ts";
import { oneLine, plural } from "../format/text.ts";

const methods = ["merge", "rebase"] as const;

/** The queue's own options of the verb `tickets`. */
export const mergeOptions = {
  method: { type: "text", value: "merge|rebase", what: "merge: how; by default merge" },
  accept: { type: "list", value: "CHECK", what: "merge: a further check, such as 'command: npm test'" },
  unchecked: { type: "flag", what: "merge: also tickets without a check of a command or file" },
} as const;

export interface MergeWords {
  readonly base: string | undefined;
  readonly method: string | undefined;
  readonly accept: readonly string[];
  readonly unchecked: boolean;
}

export async function runMerge(
  out: Screen,
  engine: Engine,
  plan: Plan,
  given: MergeWords & Omit<MergePlanOptions, "base" | "method" | "accept" | "tell">,
): Promise<number> {
  const { method: word, base = "", accept, unchecked, ...rest } = given;
  const method = word === undefined ? undefined : oneOf("--method", word, methods);
  const tell = out.json ? undefined : teller(out);
  const rows = await mergePlan(engine, plan, {
    base,
    accept,
    unchecked,
    ...rest,
    ...present({ method, tell }),
  });
  if (out.json) for (const row of rows) await out.emit(row);
  else {
    for (const line of mergeTable(rows, out)) await out.line(line);
    out.note(summary(rows, base));
  }
  if (given.dryRun === true) return 0;
  if (rows.some(({ status }) => status === "failed" || status === "conflict")) return 1;
  return rows.every(({ status }) => status === "merged") ? 0 : standsStill;
}

/** A line for each ticket whose status has changed. */
function teller(out: Screen): (rows: readonly MergeRow[]) => void {
  const printed = new Map<string, string>();
  return (rows) => {
    for (const { ticket, status, why } of rows) {
      const said = `${status}${why === null ? "" : `: ${oneLine(why)}`}`;
      const isNews =
        printed.get(ticket) !== said && (printed.has(ticket) || !["waiting", "ready"].includes(status));
      printed.set(ticket, said);
      if (isNews) out.note(`${ticket} ${said}`);
    }
  };
}

function mergeTable(rows: readonly MergeRow[], out: Screen): string[] {
  const paints: Readonly<Record<string, (text: string) => string>> = {
    merged: out.green,
    failed: out.red,
    conflict: out.red,
    blocked: out.yellow,
  };
  const columns: readonly Column[] = [
    { title: "TICKET" },
    { title: "STATUS", paint: (text) => paints[text.trim()]?.(text) ?? text },
    { title: "COMMIT" },
    { title: "BRANCH", flexible: true },
    { title: "SESSION" },
    { title: "ABOUT" },
  ];
  const cells = rows.map(({ ticket, status, commit, branch, session, title, why }) => [
    ticket,
    status,
    commit?.slice(0, 10) ?? "",
    branch ?? "",
    session === null ? "" : shortId(session),
    oneLine(why === null ? title : `${title}: ${why}`),
  ]);
  return table(columns, cells, { width: out.columns, heading: out.dim });
}

function summary(rows: readonly MergeRow[], base: string): string {
  const merged = rows.filter(({ status }) => status === "merged").length;
  const rest = rows.length - merged;
  return `${plural(rows.length, "ticket")}: ${merged} in ${base}${rest === 0 ? "" : `, ${rest} not`}`;
}
