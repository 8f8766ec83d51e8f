/**
 * The layout of a Skein store in SQLite. Records lie in commit order, which is the cheapest to append to and
 * is the feed; an index by (log, seq) finds them. Repeated names (types, actors) are numbers. The views at
 * the end are documented in docs/views.md and are all that `query` may read.
 */

import { viewNames } from "../sql/query-result.ts";
import { costsView, packedCosts } from "./packed-costs.ts";

/** "SKN1": identifies a Skein store among SQLite files. */
export const applicationId = 0x534b4e31;
export const schemaVersion = 7;
export const pageBytes = 8_192;

/**
 * How far `active_at` may lag behind. A longer lag makes appends cheaper, and listing many busy sessions more
 * expensive.
 */
export const activeLagMs = 50;

/** Types that indexes and views reference by number. Their numbers are part of the layout. */
export const reservedNames = ["tool.requested", "tool.settled", "model.responded"] as const;

const tables = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

-- One row a log: of a session (listed = 1), of the workspace or a session that is not seen (listed = 0).
-- dropped: 0 it is seen, 1 deleted, 2 a prefix of a session that never lived here, 3 being received.
-- parent is the log it was forked from, base the one that holds the record at fork_seq; both share fork_seq.
-- The head of a log is its last record. So that an append need not touch this row, active_at lags behind the
-- time of that record, by less than activeLagMs.
CREATE TABLE logs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  session TEXT NOT NULL,
  listed INTEGER NOT NULL,
  dropped INTEGER NOT NULL DEFAULT 0,
  parent INTEGER,
  base INTEGER,
  fork_seq INTEGER NOT NULL DEFAULT 0,
  depth INTEGER NOT NULL DEFAULT 0,
  opened_at INTEGER NOT NULL,
  active_at INTEGER NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  status TEXT,
  agent TEXT,
  priority INTEGER
) STRICT;
CREATE UNIQUE INDEX logs_session ON logs (tenant, session);
CREATE INDEX logs_recent ON logs (tenant, active_at, session, status, agent) WHERE listed = 1;
CREATE INDEX logs_parent ON logs (parent) WHERE parent IS NOT NULL;
CREATE INDEX logs_base ON logs (base) WHERE base IS NOT NULL;
CREATE INDEX logs_dropped ON logs (id) WHERE dropped = 1;

CREATE TABLE records (
  position INTEGER PRIMARY KEY,
  log INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type INTEGER NOT NULL,
  v INTEGER NOT NULL,
  actor INTEGER NOT NULL,
  turn INTEGER,
  cause INTEGER,
  key BLOB,
  body TEXT NOT NULL,
  content_hash BLOB,
  content_bytes INTEGER,
  hash BLOB NOT NULL,
  salt BLOB,
  content TEXT
) STRICT;
CREATE UNIQUE INDEX records_seq ON records (log, seq);
CREATE UNIQUE INDEX records_key ON records (log, key) WHERE key IS NOT NULL;
CREATE INDEX records_requested ON records (log, json_extract(body, '$.call')) WHERE type = 1;
CREATE INDEX records_settled ON records (log, json_extract(body, '$.call')) WHERE type = 2;
CREATE INDEX records_responded ON records (log, seq) WHERE type = 3;

CREATE TABLE leases (log INTEGER PRIMARY KEY, holder TEXT NOT NULL, until_ms INTEGER NOT NULL) STRICT;

-- bytes is null until all chunks are there. Blobs that no record refers to are swept away after a day.
CREATE TABLE blobs (
  id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, hash BLOB NOT NULL, put_at INTEGER NOT NULL, bytes INTEGER,
  UNIQUE (tenant, hash)
) STRICT;
CREATE TABLE blob_refs (
  blob INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (blob, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_position ON blob_refs (position);
CREATE TABLE blob_chunks (
  blob INTEGER NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, UNIQUE (blob, number)
) STRICT;
`;

/** Derived data, which may be dropped and rebuilt. last_row replaces the row ids that FTS5 leaves behind. */
const derived = `
CREATE TABLE last_row (id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE titles (log INTEGER PRIMARY KEY, name TEXT, objective TEXT) STRICT;
CREATE TABLE labels (
  log INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (log, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_value ON labels (key, value, log);
CREATE TABLE snapshots (
  log INTEGER NOT NULL, seq INTEGER NOT NULL, form INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (log, seq)
) STRICT;
CREATE TABLE item_rows (
  log INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
  status TEXT, value TEXT, because TEXT, UNIQUE (log, kind, key)
) STRICT;
CREATE VIRTUAL TABLE search USING fts5(
  text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2"
);
`;

/**
 * Since layout 2. While more of a log is received, it is visible up to until_seq. copy: it lives in another
 * store. Received records lie in `records` from before they were visible, so the feed returns these positions
 * of a log at another: that of the arrival, which no record has.
 */
const receptions = `
ALTER TABLE logs ADD COLUMN until_seq INTEGER;
ALTER TABLE logs ADD COLUMN copy INTEGER NOT NULL DEFAULT 0;
CREATE TABLE arrivals (
  position INTEGER PRIMARY KEY, log INTEGER NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL
) STRICT;
CREATE INDEX arrivals_log ON arrivals (log);
`;

/**
 * Since layout 3. A segment holds the records from_seq to to_seq of a log, see segment.ts, and `records` no
 * longer does. The packed part of a log is its beginning, and never its last record, unless the log was
 * deleted and exists for its forks. What must be found without unpacking is stored next to it: places in the
 * feed, in runs; the first six bytes of keys; the view rows of costs and tool calls. outbox: messages without
 * confirmed delivery. A row `scrub` in meta means that the file may still hold traces of erased or deleted
 * data.
 */
const segments = `
ALTER TABLE logs ADD COLUMN outbox INTEGER NOT NULL DEFAULT 0;
ALTER TABLE logs ADD COLUMN inbox_full INTEGER NOT NULL DEFAULT 0;
CREATE INDEX logs_outbox ON logs (tenant, id) WHERE outbox > 0;
CREATE TABLE segments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  log INTEGER NOT NULL,
  from_seq INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  from_at INTEGER NOT NULL,
  to_at INTEGER NOT NULL,
  content_bytes INTEGER NOT NULL,
  heads BLOB NOT NULL,
  contents BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX segments_seq ON segments (log, to_seq);
CREATE TABLE packed_places (
  position INTEGER PRIMARY KEY, log INTEGER NOT NULL, seq INTEGER NOT NULL, count INTEGER NOT NULL
) STRICT;
CREATE TABLE packed_keys (
  log INTEGER NOT NULL, key INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (log, key, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE packed_costs (
  log INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
  model ANY, input_tokens ANY, output_tokens ANY, nano_usd ANY, PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE packed_calls (
  log INTEGER NOT NULL, call ANY NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, type INTEGER NOT NULL,
  tool ANY, effect ANY, status ANY, ms ANY, PRIMARY KEY (log, call, seq)
) STRICT, WITHOUT ROWID;
`;

/** Since layout 3, and derived: the sessions that are due or watched, and the registered workers. */
const schedule = `
CREATE TABLE schedule (
  log INTEGER PRIMARY KEY, tenant TEXT NOT NULL, priority INTEGER NOT NULL, agent TEXT NOT NULL,
  due INTEGER, since INTEGER NOT NULL, deadline INTEGER, model TEXT, watches INTEGER NOT NULL,
  waits TEXT, triggers TEXT, zone TEXT, cost INTEGER NOT NULL
) STRICT;
CREATE INDEX schedule_due ON schedule (tenant, priority, agent, due, since) WHERE due IS NOT NULL;
CREATE INDEX schedule_deadline ON schedule (tenant, priority, deadline)
  WHERE due = 0 AND deadline IS NOT NULL;
CREATE INDEX schedule_next ON schedule (tenant, due) WHERE due IS NOT NULL;
CREATE INDEX schedule_watches ON schedule (log) WHERE watches = 1;
CREATE TABLE workers (
  tenant TEXT NOT NULL, name TEXT NOT NULL, since_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL,
  concurrency INTEGER NOT NULL, limits TEXT NOT NULL, PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
`;

/** Since layout 6: the money columns of lists besides `cost`; see core/budget/money.ts. */
const spend = `
ALTER TABLE schedule ADD COLUMN unconfirmed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedule ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
${packedCosts}`;

/** Since layout 4, and derived: the server processes and their URLs. */
const servers = `
CREATE TABLE servers (
  tenant TEXT NOT NULL, holder TEXT NOT NULL, address TEXT NOT NULL, secret TEXT NOT NULL,
  until_ms INTEGER NOT NULL, PRIMARY KEY (tenant, holder)
) STRICT, WITHOUT ROWID;
`;

/** Since layout 5: the origin that a log's first record names, see core/branch/origin.ts. */
const origins = `
ALTER TABLE logs ADD COLUMN origin TEXT;
CREATE INDEX logs_origin ON logs (origin) WHERE origin IS NOT NULL;
`;

/**
 * Since layout 7, and derived, each filled when it is first needed. word_steps: the ranges of a log's own
 * records whose words log_words has, and which words these are (a JSON array); seqs: positions, separated by
 * commas. vectors: numbers of 32 bits, of the texts of a record.
 */
const ranking = `
CREATE TABLE word_steps (
  log INTEGER NOT NULL, to_seq INTEGER NOT NULL, from_seq INTEGER NOT NULL, words TEXT NOT NULL,
  PRIMARY KEY (log, to_seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE log_words (
  log INTEGER NOT NULL, word TEXT NOT NULL, to_seq INTEGER NOT NULL, seqs TEXT NOT NULL,
  PRIMARY KEY (log, word, to_seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE vectors (
  id INTEGER PRIMARY KEY, log INTEGER NOT NULL, seq INTEGER NOT NULL, model TEXT NOT NULL,
  digest TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (model, digest, log, seq)
) STRICT;
CREATE INDEX vectors_record ON vectors (log, seq);
`;

/** Of unpacked records; `fillPackedOrigins` does the rest. */
const fillOrigins = `
UPDATE logs SET origin = o.origin FROM (
  SELECT r.log, CASE WHEN json_valid(r.body) THEN
    coalesce(json_extract(r.body, '$.parent.session'), json_extract(r.body, '$.from')) END AS origin
  FROM logs l JOIN records r ON r.log = l.id AND r.seq = 1 WHERE l.fork_seq = 0
    AND r.type = (SELECT id FROM names WHERE name = 'session.opened')
) o WHERE o.log = logs.id AND o.origin IS NOT NULL;
`;

/** Older sessions count as due until a worker has checked them. */
const scheduleAll = `
INSERT INTO schedule (log, tenant, priority, agent, due, since, watches, cost)
SELECT id, tenant, ifnull(priority, 5), ifnull(agent, ''), 0, ifnull(active_at, 0), 0, 0 FROM logs
WHERE listed = 1 AND copy = 0 AND status IN ('open', 'running', 'sleeping', 'suspended');
`;

/** What the views can see of packed records. */
interface PackedView {
  /** More rows of `events`. */
  readonly events: string;
  /** SQL for the content of a packed record. */
  content(log: string, seq: string): string;
}

const seenUpTo = (log: string, seq: string): string => `${seq} <= ifnull(${log}.until_seq, ${seq})`;

const viewsWith = (packed: PackedView): string => `
CREATE VIEW sessions AS
SELECT l.session, l.status, l.agent, t.name, t.objective, l.priority,
  (SELECT json_group_object(key, value) FROM labels WHERE log = l.id) AS labels,
  (SELECT max(seq) FROM records WHERE log = l.id AND ${seenUpTo("l", "seq")}) AS head_seq,
  l.opened_at,
  (SELECT at FROM records WHERE log = l.id AND ${seenUpTo("l", "seq")} ORDER BY seq DESC LIMIT 1)
    AS active_at,
  (SELECT session FROM logs p WHERE p.id = l.parent) AS parent, nullif(l.fork_seq, 0) AS parent_seq
FROM logs l LEFT JOIN titles t ON t.log = l.id WHERE l.listed = 1;

CREATE VIEW events AS
SELECT l.session, r.seq, r.at, n.name AS type, r.v, a.name AS actor, r.turn, r.cause, r.body, r.content,
  r.content_bytes, r.content_hash IS NOT NULL AND r.content IS NULL AS erased, lower(hex(r.hash)) AS hash
FROM records r JOIN logs l ON l.id = r.log AND l.dropped = 0 AND ${seenUpTo("l", "r.seq")}
JOIN names n ON n.id = r.type JOIN names a ON a.id = r.actor${packed.events};

CREATE VIEW tool_calls AS
SELECT l.session, q.seq, json_extract(q.body, '$.call') AS call, json_extract(q.body, '$.tool') AS tool,
  json_extract(q.body, '$.effect') AS effect, q.at AS requested_at, q.content ->> '$.input' AS input,
  json_extract(s.body, '$.status') AS status, s.seq AS settled_seq, s.at AS settled_at,
  json_extract(s.body, '$.ms') AS ms, s.content ->> '$.output' AS output
FROM records q JOIN logs l ON l.id = q.log AND l.dropped = 0 AND ${seenUpTo("l", "q.seq")}
LEFT JOIN records s ON s.log = q.log AND s.seq = (
  SELECT min(seq) FROM records WHERE log = q.log AND type = 2 AND seq > q.seq
  AND json_extract(body, '$.call') = json_extract(q.body, '$.call')
)
WHERE q.type = 1
UNION ALL
SELECT l.session, q.seq, q.call, q.tool, q.effect, q.at, ${packed.content("q.log", "q.seq")} ->> '$.input',
  CASE WHEN p.seq IS NULL THEN json_extract(s.body, '$.status') ELSE p.status END, ifnull(p.seq, s.seq),
  ifnull(p.at, s.at), CASE WHEN p.seq IS NULL THEN json_extract(s.body, '$.ms') ELSE p.ms END,
  CASE WHEN p.seq IS NULL THEN s.content ELSE ${packed.content("p.log", "p.seq")} END ->> '$.output'
FROM packed_calls q JOIN logs l ON l.id = q.log AND l.dropped = 0 AND ${seenUpTo("l", "q.seq")}
LEFT JOIN packed_calls p ON p.log = q.log AND p.call = q.call AND p.seq = (
  SELECT min(seq) FROM packed_calls WHERE log = q.log AND call = q.call AND type = 2 AND seq > q.seq
)
LEFT JOIN records s ON p.seq IS NULL AND s.log = q.log AND s.seq = (
  SELECT min(seq) FROM records WHERE log = q.log AND type = 2 AND seq > q.seq
  AND json_extract(body, '$.call') = q.call
)
WHERE q.type = 1;

CREATE VIEW items AS
SELECT l.session, i.kind, i.key, i.seq, i.at, i.status, i.value, i.because
FROM item_rows i JOIN logs l ON l.id = i.log AND l.listed = 1;

CREATE VIEW decisions AS
SELECT session, key, value AS decision, because, seq, at FROM items WHERE kind = 'decision';

CREATE VIEW costs AS ${costsView(seenUpTo)};
`;

/** As any program sees them that opens the file: only Skein can unpack. */
const views = viewsWith({ events: "", content: () => "NULL" });

/**
 * The unpacking functions of a query: the positions of a segment as a JSON array, and a field of one record.
 */
export const unpackPositions = "unpack_positions";
export const unpackField = "unpack_field";

const field = (name: string): string => `${unpackField}(l.id, j.value, '${name}')`;

/** The same views with the two functions above: for `query`. */
export const queryViews = viewsWith({
  content: (log, seq) => `${unpackField}(${log}, ${seq}, 'content')`,
  events: `
UNION ALL
SELECT l.session, j.value, ${field("at")}, ${field("type")}, ${field("v")}, ${field("actor")},
  ${field("turn")}, ${field("cause")}, ${field("body")}, ${field("content")}, ${field("contentBytes")},
  ${field("erased")}, ${field("hash")}
FROM logs l JOIN segments s ON s.log = l.id
JOIN json_each(${unpackPositions}(s.from_seq, s.to_seq)) j ON ${seenUpTo("l", "j.value")}
WHERE l.dropped = 0`,
});

const newer = `${servers}${origins}${spend}${ranking}`;
export const schema = `${tables}${derived}${receptions}${segments}${schedule}${newer}${views}`;

/** Names of the views that `query` may read. */

/** Migrates an older layout to this one. No record changes. `addPackedCosts` does the rest. */
export function upgradeFrom(layout: number): string {
  const without = viewNames.map((name) => `DROP VIEW ${name};`).join(" ");
  const withOrigins = `${origins}${fillOrigins}`;
  const steps = [receptions, segments, `${schedule}${scheduleAll}`, servers, withOrigins, spend, ranking];
  const from = { 1: 0, 2: 1, 3: 3, 4: 4, 5: 5, 6: 6 }[layout] ?? steps.length;
  return `${without}${steps.slice(from).join("")}${views}PRAGMA user_version=${schemaVersion}`;
}
