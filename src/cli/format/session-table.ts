/** The table of sessions and their status. On a terminal ids and times are short; elsewhere whole. */
import { shortId } from "../../core/text/short-id.ts";
import { spendText } from "../../core/budget/money.ts";
import type { SessionSummary } from "../../runtime/read/session-list.ts";
import { ago, exact } from "./moment.ts";
import type { Screen } from "../command/screen.ts";
import { table, type Column } from "./table.ts";
import { count, oneLine } from "./text.ts";
import { titleOf } from "./title.ts";

interface ShownColumn extends Column {
  readonly cell: (row: SessionSummary) => string;
  /** True when a row has a value there; an empty column is left out on a terminal. */
  readonly says?: (row: SessionSummary) => boolean;
  readonly wide?: true;
}

const priorityUsual = 5;

export function standingTable(
  rows: readonly SessionSummary[],
  out: Pick<Screen, "columns" | "bold" | "dim" | "green" | "yellow">,
  { nowMs, wide = false }: { readonly nowMs: number; readonly wide?: boolean },
): string[] {
  const short = out.columns !== null;
  const shown = columnsFor(out, nowMs).filter(
    ({ says = () => true, wide: only }) =>
      wide || (only !== true && (!short || rows.some((row) => says(row)))),
  );
  const cells = rows.map((row) => shown.map(({ cell }) => cell(row)));
  return table(shown, cells, { width: out.columns, heading: out.bold });
}

/** The status; and blocked messages: to it, or from it. */
function statusWord({ status, copy, full, outbox = 0 }: SessionSummary): string {
  if (copy === true) return "copy";
  const held = [...(full === true ? ["inbox full"] : []), ...(outbox > 0 ? [`outbox ${count(outbox)}`] : [])];
  return [status ?? "?", ...held].join(", ");
}

function columnsFor(
  { columns, dim, green, yellow }: Pick<Screen, "columns" | "dim" | "green" | "yellow">,
  nowMs: number,
): ShownColumn[] {
  const short = columns !== null;
  const color = { open: green, running: green, suspended: yellow, sleeping: yellow };
  return [
    { title: "ID", cell: ({ session }) => (short ? shortId(session) : session) },
    {
      title: "STATUS",
      cell: statusWord,
      paint: (text) => (color[text.trim().split(",")[0] as keyof typeof color] ?? dim)(text),
    },
    { title: "AGENT", cell: ({ agent }) => agent ?? "-" },
    { title: "MODEL", cell: ({ model }) => model ?? "-", wide: true },
    {
      title: "PRIO",
      align: "right",
      cell: ({ priority }) => String(priority),
      says: ({ priority }) => priority !== priorityUsual,
    },
    {
      title: "CONTEXT",
      cell: ({ zone }) => (zone === "smart" ? "OK" : zone),
      says: ({ zone }) => zone !== "smart",
    },
    {
      title: "COST",
      align: "right",
      cell: spendText,
      says: ({ nanoUsd, unpriced, unconfirmedNanoUsd }) => nanoUsd + unpriced + unconfirmedNanoUsd > 0,
    },
    { title: "EVENTS", align: "right", cell: ({ headSeq }) => count(headSeq), wide: true },
    {
      title: "ACTIVE",
      cell: ({ activeAt }) => (short ? ago(activeAt, nowMs) : exact(activeAt)),
      paint: dim,
    },
    {
      title: "NOW",
      flexible: true,
      cell: (row) => oneLine(standingText(row)) || "-",
      says: (row) => standingText(row) !== "",
    },
    {
      title: "DEADLINE",
      cell: ({ deadlineMs }) => (deadlineMs === null ? "-" : exact(deadlineMs).replace(/:00\.000Z$/, "Z")),
      says: ({ deadlineMs }) => deadlineMs !== null,
    },
    {
      title: "TRIGGER",
      flexible: true,
      cell: ({ triggers }) => oneLine(triggers ?? "-"),
      says: ({ triggers }) => triggers !== null,
    },
    {
      title: "OBJECTIVE",
      cell: ({ name, objective, parent }) =>
        titleOf({ name, objective, fork: parent && { parent: parent.session, seq: parent.seq } }),
    },
  ];
}

/** In words, for a table: `queued, waiting for agent limit (2 of 2)`. */
function standingText({ runnable, waitingFor: what, runBy }: SessionSummary): string {
  if (runBy !== null) return `running on ${runBy}`;
  const waits = what === null ? "" : `waiting for ${what}`.replace("for time until", "until");
  return runnable ? ["queued", waits].filter((text) => text !== "").join(", ") : waits;
}
