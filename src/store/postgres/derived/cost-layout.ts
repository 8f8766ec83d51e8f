/**
 * Migrates a store to the layout in which lists and the view `costs` have all money; see
 * core/budget/money.ts.
 */
import {
  boundsCall,
  callTypesText,
  failsCall,
  isModelCall,
  opensCall,
  spendView,
} from "../../../core/budget/cost-view-sql.ts";

const tenant = "current_setting('skein.tenant')::integer";

/**
 * The body in a form that PostgreSQL can parse: without U+0000 and lone surrogates, which settings may hold.
 */
const readable = (body: string): string => `CASE WHEN strpos(${body}, '\\u') = 0 THEN ${body}
        ELSE regexp_replace(${body}, '\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\\\ufffd', 'g')
        END AS body`;
const part = (path: string): string => `r.body::json #>> '{${path}}'`;
const whole = (path: string): string => `skein.whole(${part(path)})`;
/** The reservation of a request, or the unconfirmed bound of a failed call. */
const bound = (field: string): string => `CASE WHEN ${opensCall("r.type")} THEN ${whole(`reserved,${field}`)}
      WHEN ${boundsCall("r.type")} THEN ${whole(`unconfirmed,${field}`)} END`;
const has = (field: string): string =>
  `CASE WHEN ${failsCall("r.type")} AND ${part(field)} IS NOT NULL THEN 1 ELSE 0 END`;

const records = `
    SELECT h.session, l.agent, r.seq, r.at, r.type, ${part("model")} AS model,
      ${whole("usage,inputTokens")} AS input_tokens, ${whole("usage,outputTokens")} AS output_tokens,
      ${whole("costNanoUsd")} AS nano_usd,
      CASE WHEN ${part("usage,estimated")} = 'true' THEN 1 ELSE 0 END AS estimated,
      ${bound("tokens")} AS bound_tokens, ${bound("nanoUsd")} AS bound_nano,
      ${has("unconfirmed")} AS has_bound, ${has("released")} AS has_released,
      ${whole("released,tokens")} AS released_tokens, ${whole("released,nanoUsd")} AS released_nano
    FROM (
      SELECT e.log, e.seq, e.at, e.type, ${readable("e.body")} FROM skein.events e
      WHERE e.tenant = ${tenant} AND e.type IN (${callTypesText})
      UNION ALL
      SELECT s.log, s.from_seq + p.place - 1, p.at, p.type, ${readable("p.body")} FROM skein.segments s
      CROSS JOIN LATERAL unnest(s.ats, s.types, s.bodies) WITH ORDINALITY AS p (at, type, body, place)
      WHERE s.tenant = ${tenant} AND p.type IN (${callTypesText})
    ) r
    JOIN skein.heads h ON h.log = r.log AND r.seq <= h.seq JOIN skein.logs l ON l.id = r.log
    WHERE h.tenant = ${tenant} AND h.state = 0
      AND (${isModelCall("r.type")} OR ${part("usage,inputTokens")} IS NOT NULL)`;

export const spendText = `
ALTER TABLE skein.schedule ADD COLUMN unconfirmed bigint NOT NULL DEFAULT 0,
  ADD COLUMN unpriced integer NOT NULL DEFAULT 0;
DROP INDEX skein.events_costs;
CREATE INDEX events_calls ON skein.events (tenant, log, seq) WHERE type IN (${callTypesText});
CREATE OR REPLACE VIEW skein_views.costs WITH (security_barrier, security_invoker) AS
${spendView(records, "to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')")};
`;
