/** One frame of `top`: a summary line, the table with the selected row, and the keys. */
import { oneOf } from "../command/args.ts";
import { addShown, noSpend, spendText } from "../../core/text/money.ts";
import type { Screen } from "../command/screen.ts";
import type { SessionSummary } from "../../runtime/read/session-list.ts";
import { standingTable } from "./session-table.ts";
import { cut, plural } from "./text.ts";

export const sorts = ["active", "priority", "cost", "agent", "status"] as const;
export type TopSort = (typeof sorts)[number];

export interface Top {
  /** In order. */
  readonly rows: readonly SessionSummary[];
  readonly sort: TopSort;
  /** Reversed. */
  readonly turned: boolean;
  readonly chosen: string | null;
  /** The result of the last key. */
  readonly says: string;
}

export const sortBy = (word: string): TopSort => oneOf("--sort", word, sorts);

const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

const orders: Readonly<Record<TopSort, (a: SessionSummary, b: SessionSummary) => number>> = {
  active: (a, b) => b.activeAt - a.activeAt,
  priority: (a, b) => a.priority - b.priority,
  // An unknown price may be any: it comes before a known one of the same amount.
  cost: (a, b) =>
    b.nanoUsd - a.nanoUsd || b.unpriced - a.unpriced || b.unconfirmedNanoUsd - a.unconfirmedNanoUsd,
  agent: (a, b) => byText(a.agent ?? "", b.agent ?? ""),
  status: (a, b) => byText(a.status, b.status),
};

/** Among equals the most recently active first. */
export function sorted(rows: readonly SessionSummary[], sort: TopSort, turned: boolean): SessionSummary[] {
  const inOrder = rows.toSorted(
    (a, b) => orders[sort](a, b) || orders.active(a, b) || byText(a.session, b.session),
  );
  return turned ? inOrder.toReversed() : inOrder;
}

type Paints = Pick<Screen, "columns" | "bold" | "dim" | "green" | "yellow">;

/** The lines of a frame; with a height, those around the selected row. */
export function frameOf(
  { rows, sort, turned, chosen, says }: Top,
  out: Paints,
  { nowMs, height }: { readonly nowMs: number; readonly height: number | null },
): string[] {
  const running = rows.filter(({ runBy }) => runBy !== null).length;
  const runnable = rows.filter((row) => row.runnable).length;
  const cost = rows.reduce(addShown, noSpend);
  const head = [
    `${plural(rows.length, "session")}: ${running} run, ${runnable} could be run`,
    spendText(cost),
    `by ${sort}${turned ? ", turned" : ""}`,
  ].join("; ");
  const at = Math.max(
    0,
    rows.findIndex(({ session }) => session === chosen),
  );
  const room = height === null ? rows.length : Math.max(1, height - 5);
  const from = Math.max(0, Math.min(at - Math.floor(room / 2), rows.length - room));
  const seen = rows.slice(from, from + room);
  const narrower = { ...out, columns: out.columns === null ? null : out.columns - 2 };
  const [titles = "", ...lines] = standingTable(seen, narrower, { nowMs });
  const marked = lines.map((line, place) => `${seen[place]?.session === chosen ? ">" : " "} ${line}`);
  const keys = "Enter: open  f: follow  s: suspend  i: interrupt  a p c n t: sort  q: quit";
  const foot = height === null ? [] : ["", out.dim(cut(says === "" ? keys : says, out.columns ?? Infinity))];
  return [out.bold(head), "", `  ${titles}`, ...marked, ...foot];
}
