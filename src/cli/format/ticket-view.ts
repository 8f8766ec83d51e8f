/** Tickets on a screen: a table that is redrawn in place during a run, or a line a change. */
import { shortId } from "../../core/text/short-id.ts";
import type { TicketRow, TicketStatus } from "../../tickets/tickets.ts";
import { addShown, noSpend, spendText } from "../../core/text/money.ts";
import { roughly } from "../../core/text/utc.ts";
import type { Screen } from "../command/screen.ts";
import { table, type Column } from "./table.ts";
import { oneLine, plural } from "./text.ts";

const statusOrder: readonly TicketStatus[] = [
  "running",
  "blocked",
  "failed",
  "ready",
  "waiting",
  "skipped",
  "done",
];

/** The lines of a table: each ticket with its status, cost, time, branch and session. */
export function ticketTable(
  rows: readonly TicketRow[],
  out: Screen,
  sinceMs: (row: TicketRow) => number = ({ wallMs }) => wallMs,
): string[] {
  const paints: Readonly<Partial<Record<TicketStatus, (text: string) => string>>> = {
    done: out.green,
    failed: out.red,
    blocked: out.yellow,
    running: out.bold,
  };
  const hasBranch = rows.some(({ branch }) => branch !== null);
  const paint = (text: string): string => paints[text.trim() as TicketStatus]?.(text) ?? text;
  const columns: readonly Column[] = [
    { title: "TICKET" },
    { title: "STATUS", paint },
    { title: "COST", align: "right" },
    { title: "TIME", align: "right" },
    ...(hasBranch ? [{ title: "BRANCH", flexible: true }] : []),
    { title: "SESSION" },
    { title: "ABOUT" },
  ];
  const cells = rows.map((row) => [
    row.ticket,
    row.status,
    row.session === null ? "" : spendText(row),
    row.session === null ? "" : roughly(sinceMs(row)),
    ...(hasBranch ? [row.branch ?? ""] : []),
    row.session === null ? "" : shortId(row.session),
    oneLine(row.why === null ? row.title : `${row.title}: ${row.why}`),
  ]);
  return table(columns, cells, { width: out.columns, heading: out.dim });
}

/** "3 done, 1 blocked". */
export function summed(rows: readonly TicketRow[]): string {
  const counts = statusOrder.toReversed().flatMap((status) => {
    const count = rows.filter((row) => row.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  const cost = rows.reduce(addShown, noSpend);
  return `${plural(rows.length, "ticket")}: ${counts.join(", ")}; ${spendText(cost)}`;
}

export interface TicketView {
  show(rows: readonly TicketRow[]): void;
  /** A further message. */
  note(text: string): void;
  /** Removes the live table. */
  end(): Promise<void>;
}

const drawMs = 100;
const tickMs = 1_000;

export function makeTicketView(out: Screen): TicketView {
  return out.columns === null || out.json ? plainView(out) : liveView(out);
}

/** A line for each ticket whose status has changed. */
function plainView(out: Screen): TicketView {
  const printed = new Map<string, string>();
  return {
    show(rows) {
      for (const { ticket, status, why, session } of rows) {
        const said = `${status}${why === null ? "" : `: ${oneLine(why)}`}`;
        const isNews =
          printed.get(ticket) !== said && (printed.has(ticket) || !["waiting", "ready"].includes(status));
        printed.set(ticket, said);
        if (isNews) out.note(`${ticket} ${said}${session === null ? "" : out.dim(` (${shortId(session)})`)}`);
      }
    },
    note: (text) => out.note(oneLine(text)),
    end: async () => undefined,
  };
}

/** One line a ticket, redrawn in place; of more than fit, the most important ones. */
function liveView(out: Screen): TicketView {
  const began = new Map<string, number>();
  let latest: readonly TicketRow[] = [];
  let drawn = 0;
  let drawing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;
  const sinceMs = ({ ticket, status, wallMs }: TicketRow): number =>
    status === "running" ? Date.now() - (began.get(ticket) ?? Date.now()) : wallMs;
  const erase = (): string => (drawn === 0 ? "" : `\u001b[${drawn}A\r\u001b[J`);
  const draw = (): void => {
    const height = Math.max(3, (process.stdout.rows || 24) - 2);
    const byUrgency = latest.toSorted(
      (a, b) => statusOrder.indexOf(a.status) - statusOrder.indexOf(b.status),
    );
    const kept = new Set(byUrgency.slice(0, latest.length <= height - 1 ? latest.length : height - 2));
    const shown = latest.filter((row) => kept.has(row));
    const hidden = latest.length - shown.length;
    const lines = ticketTable(shown, out, sinceMs);
    if (hidden > 0) lines.push(out.dim(`and ${hidden} more`));
    const text = `${erase()}${lines.join("\n")}\n`;
    drawn = lines.length;
    drawing = drawing.then(() => out.text(text));
  };
  const later = (ms: number): void => {
    timer ??= setTimeout(() => {
      timer = null;
      draw();
      later(tickMs);
    }, ms);
  };
  return {
    show(rows) {
      latest = rows;
      for (const { ticket, status, wallMs } of rows)
        if (status === "running" && !began.has(ticket)) began.set(ticket, Date.now() - wallMs);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      later(drawMs);
    },
    note(text) {
      const said = `${erase()}${oneLine(text)}\n`;
      drawn = 0;
      drawing = drawing.then(() => out.text(said));
    },
    async end() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      await drawing;
      if (drawn > 0) await out.text(erase());
      drawn = 0;
    },
  };
}
