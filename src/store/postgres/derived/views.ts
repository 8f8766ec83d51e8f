/**
 * The views that `query` may read in PostgreSQL, documented in docs/views.md, with the functions that make
 * queries read the same as on SQLite. They show the tenant in `skein.tenant`. As security barriers they keep
 * conditions that could leak rows through errors away from the rows of others; and they use the invoker's
 * rights, so that a role bound to its tenant stays there.
 */

/** Names of the views that `query` may read. */

const tenant = "current_setting('skein.tenant')::integer";
const view = (name: string): string =>
  `CREATE VIEW skein_views.${name} WITH (security_barrier, security_invoker) AS`;

/** JSON as text: the value at a path, even where PostgreSQL cannot represent the document. */
const functions = `
CREATE FUNCTION skein.told(content text, path text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN content::json #>> path;
EXCEPTION WHEN untranslatable_character OR invalid_text_representation THEN
  -- U+0000, or half of a pair.
  RETURN regexp_replace(content, '\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\\\ufffd', 'g')::json #>> path;
END $$;
CREATE FUNCTION skein.whole(number text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN number ~ '^-?[0-9]{1,18}$' THEN number::bigint END
$$;

CREATE FUNCTION skein_views.json_extract(content text, path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT skein.told(content, CASE WHEN left(path, 1) = '$'
    THEN string_to_array(nullif(ltrim(
      regexp_replace(substr(path, 2), '\\[(\\d+)\\]', '.\\1', 'g'), '.'), ''), '.')
    ELSE ARRAY[path] END)
$$;
CREATE OPERATOR skein_views.->> (LEFTARG = text, RIGHTARG = text, FUNCTION = skein_views.json_extract);
CREATE FUNCTION skein_views.datetime(seconds bigint, unit text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') WHERE unit = 'unixepoch'
$$;
CREATE FUNCTION skein_views.date(seconds bigint, unit text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD') WHERE unit = 'unixepoch'
$$;
CREATE FUNCTION skein_views.one_more(so_far bigint, is_true boolean) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN is_true IS NULL THEN so_far ELSE coalesce(so_far, 0) + is_true::integer END
$$;
CREATE AGGREGATE skein_views.sum(boolean) (SFUNC = skein_views.one_more, STYPE = bigint);
CREATE FUNCTION skein_views.text_more(so_far double precision, number text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT so_far + CASE WHEN number ~ '^-?[0-9]+([.][0-9]+)?$' THEN number::double precision ELSE 0 END
$$;
CREATE AGGREGATE skein_views.total(text) (
  SFUNC = skein_views.text_more, STYPE = double precision, INITCOND = '0'
);
CREATE FUNCTION skein_views.number_more(so_far double precision, number numeric) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT so_far + coalesce(number, 0)::double precision
$$;
CREATE AGGREGATE skein_views.total(numeric) (
  SFUNC = skein_views.number_more, STYPE = double precision, INITCOND = '0'
);
CREATE FUNCTION skein_views.joined_more(so_far text, more text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN so_far IS NULL THEN more WHEN more IS NULL THEN so_far ELSE so_far || ',' || more END
$$;
CREATE AGGREGATE skein_views.group_concat(text) (SFUNC = skein_views.joined_more, STYPE = text);
`;

const packed = `skein.heads h JOIN skein.segments s ON s.log = h.log AND s.tenant = h.tenant`;
const seen = `h.tenant = ${tenant} AND h.state = 0`;

const views = `
${view("sessions")}
SELECT h.session, l.status, l.agent, l.name, l.objective, l.priority, l.labels::text AS labels,
  h.seq AS head_seq, l.opened_at, h.at AS active_at,
  (SELECT p.session FROM skein.logs p WHERE p.id = l.parent) AS parent, nullif(l.fork_seq, 0) AS parent_seq
FROM skein.heads h JOIN skein.logs l ON l.id = h.log WHERE ${seen} AND l.listed;

${view("events")}
SELECT h.session, e.seq, e.at, e.type, e.v, e.actor, e.turn, e.cause, e.body, e.content, e.content_bytes,
  (e.content_hash IS NOT NULL AND e.content IS NULL)::integer AS erased, encode(e.hash, 'hex') AS hash
FROM skein.heads h JOIN skein.events e ON e.log = h.log AND e.tenant = h.tenant AND e.seq <= h.seq
WHERE ${seen}
UNION ALL
SELECT h.session, s.from_seq + r.place - 1, r.at, r.type, r.v, r.actor, r.turn, r.cause, r.body, r.content,
  r.content_bytes, (r.content_hash IS NOT NULL AND r.content IS NULL)::integer, encode(r.hash, 'hex')
FROM ${packed}
CROSS JOIN LATERAL unnest(s.ats, s.types, s.vs, s.actors, s.turns, s.causes, s.bodies, s.contents,
  s.content_lengths, s.content_hashes, s.hashes) WITH ORDINALITY
  AS r (at, type, v, actor, turn, cause, body, content, content_bytes, content_hash, hash, place)
WHERE ${seen} AND s.from_seq + r.place - 1 <= h.seq;

${view("tool_calls")}
SELECT q.session, q.seq, q.call, q.body::json ->> 'tool' AS tool, q.body::json ->> 'effect' AS effect,
  q.at AS requested_at, skein.told(q.content, '{input}') AS input, s.body::json ->> 'status' AS status,
  s.seq AS settled_seq, s.at AS settled_at, skein.whole(s.body::json ->> 'ms') AS ms,
  skein.told(s.content, '{output}') AS output
FROM (
  SELECT c.*, min(c.seq) FILTER (WHERE c.type = 'tool.settled') OVER (
    PARTITION BY c.session, c.call ORDER BY c.seq ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
  ) AS settled_seq
  FROM (
    SELECT e.session, e.seq, e.at, e.type, e.body, e.content, e.body::json ->> 'call' AS call
    FROM skein_views.events e WHERE e.type IN ('tool.requested', 'tool.settled')
  ) c
) q
LEFT JOIN skein_views.events s ON s.session = q.session AND s.seq = q.settled_seq
WHERE q.type = 'tool.requested';

${view("items")}
SELECT h.session, i.kind, i.key, i.seq, i.at, i.status, i.value, i.because
FROM skein.heads h JOIN skein.logs l ON l.id = h.log AND l.listed
JOIN skein.item_rows i ON i.log = h.log AND i.tenant = h.tenant WHERE ${seen};

${view("decisions")}
SELECT session, key, value AS decision, because, seq, at FROM skein_views.items WHERE kind = 'decision';

${view("costs")}
SELECT h.session, l.agent, r.body::json ->> 'model' AS model,
  to_char(to_timestamp(r.at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, r.seq, r.at,
  skein.whole(r.body::json #>> '{usage,inputTokens}') AS input_tokens,
  skein.whole(r.body::json #>> '{usage,outputTokens}') AS output_tokens,
  skein.whole(r.body::json ->> 'costNanoUsd') AS nano_usd
FROM (
  SELECT e.tenant, e.log, e.seq, e.at, e.body FROM skein.events e
  WHERE e.tenant = ${tenant} AND e.type = 'model.responded'
  UNION ALL
  SELECT s.tenant, s.log, s.from_seq + p.place - 1, p.at, p.body FROM skein.segments s
  CROSS JOIN LATERAL unnest(s.ats, s.types, s.bodies) WITH ORDINALITY AS p (at, type, body, place)
  WHERE s.tenant = ${tenant} AND p.type = 'model.responded'
) r
JOIN skein.heads h ON h.log = r.log AND r.seq <= h.seq JOIN skein.logs l ON l.id = r.log WHERE ${seen};
`;

/** The last part of the first layout; a later change of a view is a separate migration. */
export const viewsText = `CREATE SCHEMA skein_views;\n${functions}${views}`;
