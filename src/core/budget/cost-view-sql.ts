/**
 * The view `costs`, the same on every SQL store: money and tokens as money.ts defines them, one row per model
 * call, and one per correction of a lost call. test/runtime/read/cost-surfaces.test.ts compares it with the
 * fold.
 */

/** Records that open or settle a call, in SQL. A compaction or handoff without usage settles none. */
export const callTypesText =
  "'model.requested', 'model.responded', 'model.failed', 'transcript.compacted', 'handoff.written', " +
  "'proxy.requested', 'proxy.responded', 'proxy.failed'";
/** Opens a call, in SQL; fails a call; is a call whatever its body says. */
export const opensCall = (type: string): string => `${type} IN ('model.requested', 'proxy.requested')`;
export const failsCall = (type: string): string => `${type} IN ('model.failed', 'proxy.failed')`;
/** May say how much more the call can have cost. */
export const boundsCall = (type: string): string => `(${failsCall(type)} OR ${type} = 'proxy.responded')`;
export const isModelCall = (type: string): string => `(${type} LIKE 'model.%' OR ${type} LIKE 'proxy.%')`;

/**
 * `records` is a query for such records: session, agent, seq, at, type, model, input_tokens, output_tokens,
 * nano_usd, estimated (0 or 1), of the reservation or the upper bound bound_tokens, bound_nano and has_bound
 * (0 or 1), and the same for the released amounts. `day` converts `at` to a day.
 */
export const spendView = (records: string, day: string): string => `
SELECT session, agent, model, ${day} AS day, seq, at,
  CASE WHEN is_lost = 1 THEN 0 ELSE coalesce(input_tokens, 0) END AS input_tokens,
  CASE WHEN is_lost = 1 THEN 0 ELSE coalesce(output_tokens, 0) END AS output_tokens,
  CASE WHEN is_call = 0 OR nano_usd IS NOT NULL OR most_nano IS NOT NULL THEN coalesce(nano_usd, 0) END
    AS nano_usd,
  type, is_call AS calls,
  CASE WHEN is_call = 0 OR nano_usd IS NOT NULL OR most_nano IS NOT NULL THEN 0 ELSE 1 END AS unpriced,
  CASE WHEN is_lost = 1 THEN 0 ELSE estimated END AS estimated,
  coalesce(most_tokens, 0) - coalesce(released_tokens, 0) AS unconfirmed_tokens,
  coalesce(most_nano, 0) - coalesce(released_nano, 0) AS unconfirmed_nano_usd
FROM (
  SELECT o.*, 1 - o.has_released AS is_call,
    CASE WHEN o.is_lost = 0 THEN o.bound_tokens WHEN ${opensCall("o.before_type")} THEN o.before_tokens
      END AS most_tokens,
    CASE WHEN o.is_lost = 0 THEN o.bound_nano WHEN ${opensCall("o.before_type")} THEN o.before_nano
      END AS most_nano
  FROM (
    SELECT r.*,
      CASE WHEN ${failsCall("r.type")} AND r.nano_usd IS NULL AND r.has_bound = 0 AND r.has_released = 0
        THEN 1 ELSE 0 END AS is_lost,
      lag(r.type) OVER (PARTITION BY r.session, r.has_released ORDER BY r.seq) AS before_type,
      lag(r.bound_tokens) OVER (PARTITION BY r.session, r.has_released ORDER BY r.seq) AS before_tokens,
      lag(r.bound_nano) OVER (PARTITION BY r.session, r.has_released ORDER BY r.seq) AS before_nano,
      lead(r.type) OVER (PARTITION BY r.session, r.has_released ORDER BY r.seq) AS next_type
    FROM (${records}) r
  ) o
  WHERE NOT ${opensCall("o.type")} OR o.next_type IS NULL OR ${opensCall("o.next_type")}
) c`;

/** Sums over rows `c` of the view, in the order of the fields of `Spend`. */
export const costSums = `sum(c.calls) AS calls, sum(c.input_tokens) AS input_tokens,
  sum(c.output_tokens) AS output_tokens, sum(coalesce(c.nano_usd, 0)) AS nano_usd,
  sum(c.unpriced) AS unpriced, sum(c.estimated) AS estimated, sum(c.unconfirmed_tokens) AS unconfirmed_tokens,
  sum(c.unconfirmed_nano_usd) AS unconfirmed_nano_usd`;
