/** Says what sessions have cost. */
import { SkeinError } from "../../core/error.ts";
import type { Lineage } from "../../runtime/lineage.ts";
import { oneLine, count, plural } from "../text.ts";
import { money } from "../money.ts";
import { table } from "../table.ts";
import { ending } from "../title.ts";
import { verb } from "../verb.ts";

const groupings = ["session", "agent", "model", "day"] as const;
type Grouping = (typeof groupings)[number];

interface Row {
  readonly group: string | null;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What is known of it. */
  readonly nanoUsd: number;
  /** Calls whose price, or whose end, nobody knows. */
  readonly unpriced: number;
}

export const cost = verb({
  name: "cost",
  line: "Say what models have cost: by session, agent, model or day.",
  args: ["ID?"],
  options: {
    by: { type: "text", choices: groupings, what: "by default session; with an ID alone, model" },
    family: {
      type: "flag",
      what: "of ID and all that it was forked with: its ancestors, and all their forks",
    },
    since: { type: "time", what: "only from this moment on" },
    until: { type: "time", what: "only before this moment" },
  },
  about: [
    "Answers, failed calls and compactions count. Where the price of a model is not known, or a call was " +
      "cut off and nobody knows what it came to, the cost is unknown and said to be so; it is never taken " +
      'for zero. A budget counts what was reserved for a call that was cut off; see "skein budget".',
  ],
  examples: [
    { command: "skein cost", what: "by session, the dearest first" },
    { command: "skein cost --by day --since 2026-11-01", what: "a month" },
    { command: "skein cost 4x8kz1 --by model --json", what: "one session, for programs" },
    { command: "skein cost 4x8kz1 --family", what: "a session with all its forks, by session" },
  ],
  async run({ args, options, out, engine }) {
    const opened = await engine();
    if (options.family && args.ID === undefined) {
      throw new SkeinError("invalid", "cost: --family needs an ID", { hint: "any session of the family" });
    }
    const id = args.ID === undefined ? null : (await opened.session(args.ID)).id;
    const by = (options.by ?? (id === null || options.family ? "session" : "model")) as Grouping;
    const conditions = [
      ...(id === null ? [] : [options.family ? familyOf(await opened.lineage(id)) : `e.session = '${id}'`]),
      ...(options.since === undefined ? [] : [`e.at >= ${options.since}`]),
      ...(options.until === undefined ? [] : [`e.at < ${options.until}`]),
    ];
    const { rows } = await opened.query(costQuery(by, conditions));
    const found = rows.map(rowOf);
    if (out.json) {
      for (const { group, ...rest } of found) await out.emit({ [by]: group, ...rest });
      return;
    }
    if (found.length === 0) {
      out.note("no model was called");
      return;
    }
    const columns = [
      { title: by.toUpperCase() },
      { title: "CALLS", align: "right" },
      { title: "TOKENS IN", align: "right" },
      { title: "OUT", align: "right" },
      { title: "COST", align: "right" },
    ] as const;
    const lines = found.map((row) => cells(by, row));
    const total = found.length === 1 ? [] : [cells("model", { ...found.reduce(sum), group: "in all" })];
    const width = out.columns;
    for (const line of table(columns, [...lines, ...total], { width, heading: out.bold }))
      await out.line(line);
  },
});

/**
 * Found by the query itself, however large the family is: from its first session down. Sessions that are
 * absent lead nowhere, so that they are given too, and the one that was asked for.
 */
function familyOf({ nodes, session }: Lineage): string {
  const [first] = nodes;
  const absent = nodes.filter(({ status }) => status === "absent").slice(0, absentMax);
  const starts = new Set([first?.session ?? session, session, ...absent.map((node) => node.session)]);
  return `e.session IN (
    WITH RECURSIVE family (session) AS (
      VALUES ${[...starts].map((start) => `('${start}')`).join(", ")}
      UNION SELECT s.session FROM sessions s JOIN family f ON s.parent = f.session
    ) SELECT session FROM family)`;
}

/** A query has so many characters at most. */
const absentMax = 100;

const groups: Readonly<Record<Grouping, string>> = {
  session: "e.session",
  agent: "s.agent",
  model: "e.body ->> '$.model'",
  day: "date(e.at / 1000, 'unixepoch')",
};

/** From the events: the view of costs has answers only. What names no model costs nothing. */
function costQuery(by: Grouping, conditions: readonly string[]): string {
  const where = [
    "e.type IN ('model.responded', 'model.failed', 'transcript.compacted', 'handoff.written')",
    "e.body ->> '$.model' IS NOT NULL",
    ...conditions,
  ];
  return `SELECT ${groups[by]}, count(*), total(e.body ->> '$.usage.inputTokens'),
    total(e.body ->> '$.usage.outputTokens'), total(e.body ->> '$.costNanoUsd'),
    sum(e.body ->> '$.costNanoUsd' IS NULL)
    FROM events e ${by === "agent" ? "LEFT JOIN sessions s ON s.session = e.session" : ""}
    WHERE ${where.join(" AND ")} GROUP BY 1 ORDER BY ${by === "day" ? "1 DESC" : "5 DESC, 6 DESC, 1"}`;
}

const rowOf = ([group, calls, input, output, nanoUsd, unpriced]: readonly unknown[]): Row => ({
  group: typeof group === "string" ? group : null,
  calls: Number(calls),
  inputTokens: Number(input),
  outputTokens: Number(output),
  nanoUsd: Number(nanoUsd),
  unpriced: Number(unpriced),
});

const sum = (a: Row, b: Row): Row => ({
  group: null,
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  nanoUsd: a.nanoUsd + b.nanoUsd,
  unpriced: a.unpriced + b.unpriced,
});

function cells(by: Grouping, { group, calls, inputTokens, outputTokens, nanoUsd, unpriced }: Row): string[] {
  const name = group === null ? "(none)" : by === "session" ? ending(group) : oneLine(group);
  const unknown =
    unpriced === calls ? "unknown" : `${money(nanoUsd)} and ${plural(unpriced, "call")} unknown`;
  const shown = unpriced === 0 ? money(nanoUsd) : unknown;
  return [name, count(calls), count(inputTokens), count(outputTokens), shown];
}
