/**
 * Sums over the sessions that other tools had, by tool, project, model and week. One query over the views
 * `events` and `sessions`: it reads the bodies of imported records, not what was said. A fork has only its
 * own records there, so that what branches share counts once.
 */

/** Sums over imported sessions, or a part of them. */
export interface ImportedSum {
  /** Conversations; a branch of one does not count again. */
  readonly sessions: number;
  readonly answers: number;
  /** Includes what was read from or written to a cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Billionths of a dollar: as the tool stored it, or by Skein's price list at import. */
  readonly nanoUsd: number;
  /** Answers, and tokens of no answer, of an unknown price: they are not in the amount. */
  readonly unpriced: number;
  /** Time between one record and the next; a pause of more than 15 minutes does not count. */
  readonly activeMs: number;
}

/** One tool, project, model or week. Null: the source does not say. */
export interface ImportedRow extends ImportedSum {
  readonly group: string | null;
}

/** The part `imported` of `engine.stats({ imported: true })`. */
export interface ImportedStats {
  readonly total: ImportedSum;
  readonly tools: readonly ImportedRow[];
  /** By working directory. */
  readonly projects: readonly ImportedRow[];
  readonly models: readonly ImportedRow[];
  /** By the Monday (UTC) that the week begins with, such as `2026-11-16`, the latest first. */
  readonly weeks: readonly ImportedRow[];
}

const pauseMs = 900_000;
const dayMs = 86_400_000;

/** Does not count a branch of a conversation; counts what a tool added to an export of another session. */
const sums = `count(DISTINCT CASE WHEN coalesce(p.tool, '') <> f.tool THEN t.session END), sum(t.answers),
  sum(t.input_tokens), sum(t.output_tokens), sum(t.nano_usd), sum(t.unpriced),
  sum(CASE WHEN t.gap BETWEEN 0 AND ${pauseMs} THEN t.gap ELSE 0 END)`;

const groups = {
  total: "CAST(NULL AS text)",
  tools: "f.tool",
  projects: "f.project",
  models: "t.model",
  // 1970-01-01 was a Thursday.
  weeks: `CAST((t.at / ${dayMs} + 3) / 7 AS text)`,
} as const;

const number = (path: string): string => `CAST(e.body ->> '$.${path}' AS bigint)`;

/** An answer that another session has too, or an addition to one, does not count again. */
const isAnswer =
  "e.type = 'answer.imported' AND e.body ->> '$.copied' IS NULL AND e.body ->> '$.continues' IS NULL";

/**
 * A call, and what a person says next, belongs to the model that answered before it; what comes before every
 * answer to the first; tokens of no answer to the last. A record without a time belongs to the week in which
 * its session began.
 */
const sql = `WITH facts AS (
  SELECT e.session, max(e.body ->> '$.tool') AS tool, max(e.content ->> '$.cwd') AS project
  FROM events e WHERE e.type = 'source.imported' GROUP BY e.session
), entries AS (
  SELECT e.session, e.seq, e.body ->> '$.model' AS model, ${number("atMs")} AS at,
    CASE WHEN e.type = 'answer.imported' THEN 1 ELSE 0 END AS begins,
    CASE WHEN ${isAnswer} THEN 1 ELSE 0 END AS answers,
    coalesce(${number("usage.inputTokens")}, 0) AS input_tokens,
    coalesce(${number("usage.outputTokens")}, 0) AS output_tokens,
    coalesce(${number("costNanoUsd")}, 0) AS nano_usd,
    CASE WHEN ((${isAnswer}) OR e.type = 'source.imported') AND e.body ->> '$.costNanoUsd' IS NULL
      THEN 1 ELSE 0 END AS unpriced
  FROM events e WHERE e.type IN ('input.imported', 'answer.imported', 'call.imported')
    OR (e.type = 'source.imported' AND e.body ->> '$.usage' IS NOT NULL)
), placed AS (
  SELECT e.*, e.at - lag(e.at) OVER (PARTITION BY e.session ORDER BY e.seq) AS gap,
    sum(e.begins) OVER (PARTITION BY e.session ORDER BY e.seq) AS answer
  FROM entries e
), timed AS (
  SELECT p.session, p.gap, p.answers, p.input_tokens, p.output_tokens, p.nano_usd, p.unpriced,
    coalesce(p.at, min(p.at) OVER (PARTITION BY p.session)) AS at,
    max(p.model) OVER (PARTITION BY p.session, CASE WHEN p.answer = 0 THEN 1 ELSE p.answer END) AS model
  FROM placed p
)
${Object.entries(groups)
  .map(
    ([name, group]) => `SELECT '${name}', ${group}, ${sums}
FROM timed t JOIN sessions s ON s.session = t.session LEFT JOIN facts f ON f.session = t.session
  LEFT JOIN facts p ON p.session = s.parent
GROUP BY ${name === "total" ? "1" : "2"}`,
  )
  .join("\nUNION ALL\n")}`;

export async function readImportedStats(
  query: (sql: string) => Promise<{ readonly rows: readonly (readonly unknown[])[] }>,
): Promise<ImportedStats> {
  const { rows } = await query(sql);
  const of = (name: keyof typeof groups): ImportedRow[] =>
    rows.flatMap(([by, group, ...figures]) => (by === name ? [rowOf(group, figures)] : []));
  const { group: _group, ...total } = of("total")[0] ?? rowOf(null, []);
  return {
    total,
    tools: of("tools").toSorted(largestFirst),
    projects: of("projects").toSorted(largestFirst),
    models: of("models").toSorted(largestFirst),
    weeks: of("weeks")
      .map((row) => ({ ...row, group: mondayOf(row.group) }))
      .toSorted((a, b) => compare(b.group, a.group)),
  };
}

/** PostgreSQL returns large numbers as texts. */
function rowOf(group: unknown, figures: readonly unknown[]): ImportedRow {
  const [sessions = 0, answers = 0, input = 0, output = 0, nano = 0, unpriced = 0, active = 0] =
    figures.map(Number);
  return {
    group: typeof group === "string" ? group : null,
    sessions,
    answers,
    inputTokens: input,
    outputTokens: output,
    nanoUsd: nano,
    unpriced,
    activeMs: active,
  };
}

const mondayOf = (week: string | null): string | null =>
  week === null ? null : new Date((Number(week) * 7 - 3) * dayMs).toISOString().slice(0, 10);

const compare = (a: string | null, b: string | null): number =>
  (a ?? "") < (b ?? "") ? -1 : (a ?? "") > (b ?? "") ? 1 : 0;

const largestFirst = (a: ImportedRow, b: ImportedRow): number =>
  b.nanoUsd - a.nanoUsd ||
  b.inputTokens + b.outputTokens - (a.inputTokens + a.outputTokens) ||
  b.sessions - a.sessions ||
  compare(a.group, b.group);
