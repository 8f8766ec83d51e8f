/**
 * The layout of Skein in PostgreSQL: numbered migrations, each an SQL text that runs once, in order, in a
 * separate transaction. A released migration never changes. The views are documented in docs/views.md and are
 * all that `query` may read; they show the tenant in `skein.tenant`.
 */
import { logNumbersText } from "./log/log-numbers.ts";
import { originsText } from "./log/origins.ts";
import { rankingText } from "./derived/ranking.ts";
import { spendText } from "./derived/cost-layout.ts";
import { viewsText } from "./derived/views.ts";
import { wallsText } from "./tenant/row-security.ts";

/** The partitions of events, by the hash of their log. Changing it later needs a move. */
const partitions = 16;

/**
 * How far `logs.active_at` may lag behind the time of the last record. An append within it touches no index
 * of `logs`.
 */
export const activeLagMs = 500;

const tables = `
CREATE TABLE skein.tenants (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  workspace text COLLATE "C" NOT NULL,
  program text COLLATE "C" NOT NULL,
  -- Whoever logs in as this role sees this tenant alone; see docs/operating.md.
  role name UNIQUE,
  -- How often something was erased or deleted, and up to which number that was scrubbed.
  erased bigint NOT NULL DEFAULT 0,
  scrubbed bigint NOT NULL DEFAULT 0,
  -- How far the projections have come in the feed.
  projected text,
  -- The quota; null: none.
  sessions_max bigint,
  bytes_max bigint
);

CREATE SEQUENCE skein.log_numbers;

-- One row a log, small, since every append moves it: where the log ends, and who runs it.
-- state: 0 it is seen, 1 deleted, 2 a prefix of a session that never lived here, 3 being received.
-- seq, hash, at: its last record that is seen; before the first the fork point, or 0 and 32 zero bytes.
-- put_seq, put_hash: the last that was put, while more is being received than is seen; else null.
-- active_at is what logs.active_at holds. epoch: 0, or the seq of the record that took the lease.
CREATE TABLE skein.heads (
  tenant integer NOT NULL,
  state smallint NOT NULL,
  copy boolean NOT NULL DEFAULT false,
  log bigint NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  active_at bigint NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  until_ms bigint,
  -- Of two leases the one with the smaller number was taken first.
  lease_order bigint,
  put_seq bigint,
  -- Contents of its own records that are not erased.
  bytes bigint NOT NULL DEFAULT 0,
  session text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  put_hash bytea,
  holder text,
  PRIMARY KEY (tenant, session)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX heads_log ON skein.heads (log);
CREATE INDEX heads_ending ON skein.heads (tenant, reverse(session)) WHERE state = 0;
CREATE INDEX heads_leased ON skein.heads (tenant, log) WHERE epoch > 0;
CREATE INDEX heads_unseen ON skein.heads (tenant, log) WHERE state <> 0;
CREATE SEQUENCE skein.lease_numbers;

-- What changes seldom, and what lists show. parent is the log it was forked from, base the one that holds the
-- record at fork_seq. tags: labels as texts that begin with the tenant.
CREATE TABLE skein.logs (
  id bigint PRIMARY KEY,
  tenant integer NOT NULL,
  listed boolean NOT NULL,
  inbox_full boolean NOT NULL DEFAULT false,
  session text COLLATE "C" NOT NULL,
  parent bigint,
  base bigint,
  fork_seq bigint NOT NULL,
  depth integer NOT NULL,
  priority integer,
  outbox integer NOT NULL DEFAULT 0,
  opened_at bigint NOT NULL,
  active_at bigint NOT NULL,
  -- When something was last put to it, while it is being received.
  put_at bigint,
  status text COLLATE "C",
  agent text COLLATE "C",
  name text COLLATE "C",
  objective text COLLATE "C",
  labels jsonb NOT NULL DEFAULT '{}',
  tags text[] COLLATE "C" NOT NULL DEFAULT '{}',
  UNIQUE (tenant, session)
) WITH (fillfactor = 80);
-- Lists are merged from one stretch of these for each status.
CREATE INDEX logs_status ON skein.logs (tenant, status, active_at DESC, session DESC) WHERE listed;
CREATE INDEX logs_agent ON skein.logs (tenant, agent, status, active_at DESC, session DESC) WHERE listed;
CREATE INDEX logs_parent ON skein.logs (parent) WHERE parent IS NOT NULL;
CREATE INDEX logs_base ON skein.logs (base) WHERE base IS NOT NULL;
CREATE INDEX logs_outbox ON skein.logs (tenant, id) WHERE outbox > 0;
CREATE INDEX logs_tags ON skein.logs USING gin (tags);

-- xid is the transaction that wrote the record, by which the feed goes; null: its place is a row of places.
CREATE TABLE skein.events (
  tenant integer NOT NULL,
  v integer NOT NULL,
  log bigint NOT NULL,
  seq bigint NOT NULL,
  xid xid8,
  at bigint NOT NULL,
  cause bigint,
  turn integer,
  content_bytes integer,
  type text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  key bytea,
  body text COLLATE "C" NOT NULL,
  content_hash bytea,
  hash bytea NOT NULL,
  salt bytea,
  content text COLLATE "C",
  PRIMARY KEY (log, seq)
) PARTITION BY HASH (log);
CREATE INDEX events_feed ON skein.events (tenant, xid, log, seq) WHERE xid IS NOT NULL;
CREATE INDEX events_costs ON skein.events (tenant, log, seq) WHERE type = 'model.responded';
${Array.from(
  { length: partitions },
  (_, place) =>
    `CREATE TABLE skein.events_${place} PARTITION OF skein.events
  FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${place});`,
).join("\n")}

-- Idempotency keys, of records whether packed or not.
CREATE TABLE skein.keys (
  tenant integer NOT NULL, log bigint NOT NULL, seq bigint NOT NULL, key bytea NOT NULL,
  PRIMARY KEY (log, key)
);

-- The place in the feed of records that do not bear it themselves: of what was packed, and of what arrived.
CREATE TABLE skein.places (
  tenant integer NOT NULL, xid xid8 NOT NULL, log bigint NOT NULL,
  from_seq bigint NOT NULL, to_seq bigint NOT NULL,
  PRIMARY KEY (tenant, xid, log, from_seq)
);
CREATE INDEX places_log ON skein.places (log, from_seq);

-- A segment holds the records from_seq to to_seq of a log, each column as an array, compressed by TOAST.
-- What is packed of a log is its beginning, and never its last record.
CREATE TABLE skein.segments (
  tenant integer NOT NULL,
  log bigint NOT NULL,
  from_seq bigint NOT NULL,
  to_seq bigint NOT NULL,
  content_bytes bigint NOT NULL,
  ats bigint[] NOT NULL,
  vs integer[] NOT NULL,
  types text[] COLLATE "C" NOT NULL,
  actors text[] COLLATE "C" NOT NULL,
  turns integer[] NOT NULL,
  causes bigint[] NOT NULL,
  keys bytea[] NOT NULL,
  bodies text[] COLLATE "C" NOT NULL,
  content_hashes bytea[] NOT NULL,
  content_lengths integer[] NOT NULL,
  hashes bytea[] NOT NULL,
  salts bytea[] NOT NULL,
  contents text[] COLLATE "C" NOT NULL,
  PRIMARY KEY (log, to_seq)
);

CREATE TABLE skein.snapshots (
  tenant integer NOT NULL, log bigint NOT NULL, seq bigint NOT NULL, form integer NOT NULL,
  text text COLLATE "C" NOT NULL,
  PRIMARY KEY (log, seq)
);

-- bytes is null until all chunks are there: till then its hash is a name that no blob has. Blobs that no
-- record refers to are swept away after a day. One that is lost (put_at = -1) has such a name again, and its
-- chunks go in small steps.
CREATE TABLE skein.blobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant integer NOT NULL, put_at bigint NOT NULL, bytes bigint, hash bytea NOT NULL,
  UNIQUE (tenant, hash)
);
CREATE INDEX blobs_part ON skein.blobs (tenant, id) WHERE bytes IS NULL;
CREATE TABLE skein.blob_chunks (
  tenant integer NOT NULL, number integer NOT NULL, blob bigint NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (blob, number)
);
ALTER TABLE skein.blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE skein.blob_refs (
  tenant integer NOT NULL, blob bigint NOT NULL, log bigint NOT NULL, seq bigint NOT NULL,
  PRIMARY KEY (blob, log, seq)
);
CREATE INDEX blob_refs_record ON skein.blob_refs (log, seq);

-- Derived: search, items, what is due. Words begin with the tenant: 5:word.
CREATE TABLE skein.texts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant integer NOT NULL, log bigint NOT NULL, seq bigint NOT NULL, words tsvector NOT NULL,
  UNIQUE (log, seq)
);
CREATE INDEX texts_words ON skein.texts USING gin (words);
CREATE INDEX texts_latest ON skein.texts (tenant, id);
CREATE TABLE skein.item_rows (
  tenant integer NOT NULL, log bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL,
  kind text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, status text, value text, because text,
  PRIMARY KEY (log, kind, key)
);
CREATE TABLE skein.schedule (
  log bigint PRIMARY KEY,
  tenant integer NOT NULL,
  priority integer NOT NULL,
  watches boolean NOT NULL,
  due bigint,
  since bigint NOT NULL,
  deadline bigint,
  cost bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  model text COLLATE "C",
  waits text,
  triggers text,
  zone text
) WITH (fillfactor = 70);
CREATE INDEX schedule_due ON skein.schedule (tenant, priority, agent, due, since) WHERE due IS NOT NULL;
CREATE INDEX schedule_deadline ON skein.schedule (tenant, priority, deadline)
  WHERE due = 0 AND deadline IS NOT NULL;
CREATE INDEX schedule_next ON skein.schedule (tenant, due) WHERE due IS NOT NULL;
CREATE INDEX schedule_watches ON skein.schedule (tenant, log) WHERE watches;
CREATE TABLE skein.workers (
  tenant integer NOT NULL, concurrency integer NOT NULL, since_ms bigint NOT NULL, until_ms bigint NOT NULL,
  name text COLLATE "C" NOT NULL, limits text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- LZ4 packs prose as well as the usual method, and repetitions far better; not every server has it.
DO $$ BEGIN
  FOR part IN 0..${partitions - 1} LOOP
    EXECUTE format('ALTER TABLE skein.events_%s ALTER COLUMN content SET COMPRESSION lz4', part);
  END LOOP;
  ALTER TABLE skein.snapshots ALTER COLUMN text SET COMPRESSION lz4;
  ALTER TABLE skein.segments ALTER COLUMN types SET COMPRESSION lz4, ALTER COLUMN actors SET COMPRESSION lz4,
    ALTER COLUMN bodies SET COMPRESSION lz4, ALTER COLUMN contents SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
`;

const functions = `
-- The database's clock in milliseconds since 1970; tests give one of their own.
CREATE FUNCTION skein.clock(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(given, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;

-- Where positions of a log lie, as it reads them: among its own, and among those of its ancestors.
CREATE FUNCTION skein.stretches(of_log bigint, from_seq bigint, to_seq bigint)
RETURNS TABLE (log bigint, first bigint, last bigint) LANGUAGE sql STABLE ROWS 2 AS $$
  WITH RECURSIVE up (id, base, fork_seq, upto) AS (
    SELECT l.id, l.base, l.fork_seq, to_seq FROM skein.logs l WHERE l.id = of_log
    UNION ALL
    SELECT l.id, l.base, l.fork_seq, least(up.upto, up.fork_seq)
    FROM up JOIN skein.logs l ON l.id = up.base WHERE up.fork_seq >= from_seq
  )
  SELECT up.id, greatest(from_seq, up.fork_seq + 1), up.upto FROM up
  WHERE up.upto >= greatest(from_seq, up.fork_seq + 1) ORDER BY 2
$$;

-- The place in the feed of what this transaction writes behind a record of a log: its own number, or that of
-- the record, whichever is greater. Whoever locks several heads has its number before it has them all, and
-- another may have written to the last of them since, under a greater one. What is read is the same: until
-- both have ended, neither is below the horizon.
CREATE FUNCTION skein.place_after(of_log bigint, after_seq bigint) RETURNS xid8 LANGUAGE sql VOLATILE AS $$
  SELECT greatest(
    pg_current_xact_id(),
    (SELECT e.xid FROM skein.events e WHERE e.log = of_log AND e.seq = after_seq),
    (SELECT p.xid FROM skein.places p WHERE p.log = of_log AND p.from_seq <= after_seq
      ORDER BY p.from_seq DESC LIMIT 1)
  )
$$;

-- A log's own record, packed or not.
CREATE FUNCTION skein.point(of_log bigint, at_seq bigint)
RETURNS TABLE (at bigint, hash bytea) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT e.at, e.hash FROM skein.events e WHERE e.log = of_log AND e.seq = at_seq
  UNION ALL
  SELECT s.ats[at_seq - s.from_seq + 1], s.hashes[at_seq - s.from_seq + 1] FROM skein.segments s
  WHERE s.log = of_log AND s.to_seq >= at_seq AND s.from_seq <= at_seq
$$;
`;

/** Server processes and their URLs; see `announce` in ../port/schedule.ts. */
const servers = `
CREATE TABLE skein.servers (
  tenant integer NOT NULL, until_ms bigint NOT NULL,
  holder text COLLATE "C" NOT NULL, address text COLLATE "C" NOT NULL, secret text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, holder)
);
SELECT skein.wall();
SELECT skein.admit(role) FROM skein.tenants WHERE role IS NOT NULL;
`;

/**
 * Events are long, and found by their keys alone: a small sample tells the planner as much as a large one.
 */
const fewSamples = `
DO $$ DECLARE one name; BEGIN
  FOR one IN SELECT attname FROM pg_attribute
    WHERE attrelid = 'skein.events'::regclass AND attnum > 0 AND NOT attisdropped
  LOOP
    EXECUTE format('ALTER TABLE skein.events ALTER COLUMN %I SET STATISTICS 10', one);
  END LOOP;
END $$;
`;

/** Each migrates the layout to its number, from the previous one. */
export const migrations: readonly string[] = [
  `${tables}${functions}${viewsText}${wallsText}`,
  servers,
  fewSamples,
  logNumbersText,
  originsText,
  spendText,
  rankingText,
];

export const layout = migrations.length;
