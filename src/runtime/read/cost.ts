/**
 * The cost of model calls, by group. One query over the view `costs` (src/core/budget/cost-view-sql.ts), on
 * every store with SQL; test/runtime/read/cost-surfaces.test.ts compares it with the fold.
 */
import { LabelKey } from "../../core/schema.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type ProjectId, type SessionId } from "../../core/ids.ts";
import { addSpend, type Spend } from "../../core/budget/money.ts";
import { costSums } from "../../core/budget/cost-view-sql.ts";

const costGroups = ["session", "agent", "model", "day", "user"] as const;

/** Options of `engine.cost`: the grouping and filters. */
export interface CostOptions {
  /** `session` (the default), `agent`, `model`, `day` (UTC), `user`, or `label:KEY`. */
  readonly by?: string;
  /** One session alone, by its id or a suffix. */
  readonly session?: string;
  /** With `session`: also its forks, children, successors and ancestors. */
  readonly family?: boolean;
  /** Only the sessions of this project, by its id or a suffix. */
  readonly project?: string;
  /** Calls that ended at or after this moment, and before that one; in milliseconds since 1970. */
  readonly since?: number;
  readonly until?: number;
  /** A row for each day (UTC) of each group. */
  readonly daily?: boolean;
}

/** The cost of one group: a row of `engine.cost`. */
export interface CostRow extends Spend {
  /** Null: sessions without an agent, user or label. */
  readonly group: string | null;
  /** With `daily`: such as `2026-11-17`. */
  readonly day?: string;
}

/** Sessions of one query: its text has a limit (`queryCharsMax`), so larger families take several. */
const sessionsAtOnce = 100;

/** `sessions` are whole ids, or those of a project; null: all sessions. */
export async function readCost(
  query: (sql: string) => Promise<{ readonly rows: readonly (readonly unknown[])[] }>,
  options: CostOptions,
  sessions: readonly SessionId[] | ProjectId | null,
): Promise<CostRow[]> {
  if (sessions === null || typeof sessions === "string")
    return (await query(costQuery(options, sessions))).rows.map(costRow);
  const sums = new Map<string, CostRow>();
  for (let at = 0; at < sessions.length; at += sessionsAtOnce) {
    const { rows } = await query(costQuery(options, sessions.slice(at, at + sessionsAtOnce)));
    for (const row of rows.map(costRow)) {
      const key = JSON.stringify([row.group, row.day]);
      const before = sums.get(key);
      sums.set(key, before === undefined ? row : { ...row, ...addSpend(before, row) });
    }
  }
  return [...sums.values()].toSorted(options.by === "day" ? latestFirst : mostExpensiveFirst);
}

const byGroup = (a: CostRow, b: CostRow): number => ((a.group ?? "") < (b.group ?? "") ? -1 : 1);
const latestFirst = (a: CostRow, b: CostRow): number => byGroup(b, a);
const mostExpensiveFirst = (a: CostRow, b: CostRow): number =>
  b.nanoUsd - a.nanoUsd || b.unpriced - a.unpriced || byGroup(a, b);

/** One query for any number of sessions; one for each hundred would take as long as all their starts. */
const membersOf = (project: ProjectId): string =>
  `SELECT json_extract(e.body, '$.session') FROM events e
   WHERE e.session = '${project}' AND e.type = 'project.joined'`;

function costQuery(options: CostOptions, sessions: readonly SessionId[] | ProjectId | null): string {
  const { by = "session", since, until, daily = false } = options;
  const group = groupOf(by);
  const wanted = [
    ...(sessions === null ? [] : [`c.session IN (${idsOf(sessions)})`]),
    ...(since === undefined ? [] : [`c.at >= ${whole("since", since)}`]),
    ...(until === undefined ? [] : [`c.at < ${whole("until", until)}`]),
  ];
  const tables = by === "user" ? [userTable] : [];
  return `${tables.length === 0 ? "" : `WITH RECURSIVE ${tables.join(",\n")} `}SELECT ${group}, ${costSums}
${daily ? `, ${groups.day}` : ""}
FROM costs c ${joinOf(by)} ${wanted.length === 0 ? "" : `WHERE ${wanted.join(" AND ")}`}
GROUP BY 1${daily ? ", 10" : ""} ORDER BY ${by === "day" ? "1 DESC" : "5 DESC, 6 DESC, 1"}`;
}

const idsOf = (sessions: readonly SessionId[] | ProjectId): string =>
  typeof sessions === "string" ? membersOf(sessions) : sessions.map((one) => `'${one}'`).join(", ");

function joinOf(by: string): string {
  if (by === "user") return "LEFT JOIN owners o ON o.session = c.session";
  return by.startsWith("label:") ? "LEFT JOIN sessions s ON s.session = c.session" : "";
}

/** PostgreSQL returns large numbers as texts. */
export function costRow([group, ...rest]: readonly unknown[]): CostRow {
  const numbers = rest.slice(0, 8);
  const day = rest[8];
  const [calls = 0, input = 0, output = 0, nano = 0, unpriced = 0, estimated = 0, tokens = 0, bound = 0] =
    numbers.map(Number);
  return {
    group: typeof group === "string" ? group : null,
    calls,
    inputTokens: input,
    outputTokens: output,
    nanoUsd: nano,
    unpriced,
    estimated,
    unconfirmedTokens: tokens,
    unconfirmedNanoUsd: bound,
    ...(typeof day === "string" ? { day } : {}),
  };
}

const groups: Readonly<Record<(typeof costGroups)[number], string>> = {
  session: "c.session",
  agent: "c.agent",
  model: "c.model",
  day: "c.day",
  user: "o.actor",
};

function groupOf(by: string): string {
  const known = costGroups.find((one) => one === by);
  if (known !== undefined) return groups[known];
  const key = by.startsWith("label:") ? by.slice("label:".length) : "";
  if (!LabelKey.safeParse(key).success) {
    throw new SkeinError(
      "invalid",
      `cost: by: expected ${costGroups.join(", ")} or label:KEY, got ${quote(by)}`,
      by === "tenant" ? { hint: "skein cost --by tenant, on the database itself" } : {},
    );
  }
  // A key of digits alone would be read as an array index.
  return `s.labels ->> '${/^\d+$/.test(key) ? `$.${key}` : key}'`;
}

function whole(name: string, value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new SkeinError("invalid", `cost: ${name}: expected milliseconds, got ${quote(value)}`);
}

/** The first record of a session: who opened it, and its parent. */
const firsts = `
  SELECT s.session, e.actor,
    coalesce(s.parent, e.body ->> '$.parent.session', e.body ->> '$.from') AS up
  FROM sessions s JOIN events e ON e.session = s.session AND e.seq = coalesce(s.parent_seq, 0) + 1`;

/** The user who opened a session; for a child, the user of its parent. */
const userTable = `
openers AS (${firsts}),
chain AS (
  SELECT session, actor, up FROM openers
  UNION ALL
  SELECT c.session, p.actor, p.up FROM chain c JOIN openers p ON p.session = c.up
  WHERE c.actor NOT LIKE 'user:%'
), owners AS (SELECT session, actor FROM chain WHERE actor LIKE 'user:%')`;
