/**
 * The owners of log numbers. Keys of logs and records begin with the log's number alone, so a role bound to
 * one tenant must not write a row under a number of another: the other's appends would fail on the key, and
 * its readers would read that row. `skein.numbers` records the tenant of each number; row-level security
 * checks every row that such a role writes against it. Rows under keys without a log number carry the tenant
 * in the key, or an id that only the database assigns.
 */

/** Tables with the columns that name a log of the same tenant. */
const checked: Readonly<Record<string, readonly string[]>> = {
  heads: ["log"],
  logs: ["id", "parent", "base"],
  events: ["log"],
  keys: ["log"],
  places: ["log"],
  segments: ["log"],
  snapshots: ["log"],
  blob_refs: ["log"],
  texts: ["log"],
  item_rows: ["log"],
  schedule: ["log"],
};

const isOwn = "tenant = (SELECT t.id FROM skein.tenants t WHERE t.role = current_user)";
/** The policy on `numbers` itself shows a role only its own. */
const isOwnNumber = (column: string): string =>
  `EXISTS (SELECT 1 FROM skein.numbers n WHERE n.log = ${column})`;

const checks = Object.entries(checked).map(([table, columns]) => {
  const all = columns.map((column) => {
    const own = isOwnNumber(`${table}.${column}`);
    return column === "parent" || column === "base" ? `(${table}.${column} IS NULL OR ${own})` : own;
  });
  return `ALTER POLICY own ON skein.${table} USING (${isOwn}) WITH CHECK (${[isOwn, ...all].join(" AND ")});`;
});

/**
 * Deletes rows that a role planted before there was a check: under another's number, or an unassigned one.
 */
const cleared = Object.entries(checked).map(([table, [column = "log"]]) => {
  const foreign = `n.log = x.${column} AND n.tenant <> x.tenant`;
  return `DELETE FROM skein.${table} x USING skein.tenants t
  WHERE t.role IS NOT NULL AND x.tenant = t.id AND (x.${column} > (SELECT last_value FROM skein.log_numbers)
    OR EXISTS (SELECT 1 FROM skein.numbers n WHERE ${foreign}));`;
});

/** Migrates a store to the layout in which numbers have owners. */
export const logNumbersText = `
CREATE TABLE skein.numbers (
  log bigint PRIMARY KEY DEFAULT nextval('skein.log_numbers'),
  tenant integer NOT NULL
);
INSERT INTO skein.numbers (log, tenant)
  SELECT h.log, h.tenant FROM skein.heads h WHERE h.log <= (SELECT last_value FROM skein.log_numbers);
INSERT INTO skein.numbers (log, tenant)
  SELECT l.id, l.tenant FROM skein.logs l WHERE l.id <= (SELECT last_value FROM skein.log_numbers)
  ON CONFLICT DO NOTHING;
${cleared.join("\n")}
-- Whoever takes a lease locks the row of the tenant; see append-judged.ts.
CREATE TABLE skein.lease_locks (tenant integer PRIMARY KEY);
INSERT INTO skein.lease_locks SELECT id FROM skein.tenants;
UPDATE skein.logs l SET parent = NULL, base = NULL, fork_seq = 0 FROM skein.tenants t
  WHERE t.role IS NOT NULL AND l.tenant = t.id
    AND EXISTS (SELECT 1 FROM skein.numbers n WHERE n.log IN (l.parent, l.base) AND n.tenant <> l.tenant);

-- Blobs have ids that the database gives, also when a role asks for another one: see skein.admit.
ALTER TABLE skein.blob_chunks DROP CONSTRAINT blob_chunks_pkey, ADD PRIMARY KEY (tenant, blob, number);
ALTER TABLE skein.blob_refs DROP CONSTRAINT blob_refs_pkey, ADD PRIMARY KEY (tenant, blob, log, seq);

SELECT skein.wall();
${checks.join("\n")}

CREATE OR REPLACE FUNCTION skein.admit(to_role name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE found record;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA skein, skein_views TO %I', to_role);
  EXECUTE format('GRANT SELECT ON skein.migrations, skein.tenants TO %I', to_role);
  EXECUTE format('GRANT UPDATE (program, erased, scrubbed, projected) ON skein.tenants TO %I', to_role);
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA skein_views TO %I', to_role);
  EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA skein TO %I', to_role);
  FOR found IN SELECT c.oid::regclass AS name FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'skein'
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname NOT IN ('numbers', 'blobs', 'texts')
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', found.name, to_role);
  END LOOP;
  -- Numbers and ids are the database's to give: who may name one can name that which another is given next.
  EXECUTE format('REVOKE ALL ON skein.numbers, skein.blobs, skein.texts FROM %I', to_role);
  -- To update is to lock: see lockRecords.
  EXECUTE format('GRANT SELECT, INSERT (tenant), UPDATE (tenant) ON skein.numbers TO %I', to_role);
  EXECUTE format('GRANT SELECT, UPDATE, DELETE, INSERT (tenant, put_at, bytes, hash) ON skein.blobs TO %I',
    to_role);
  EXECUTE format('GRANT SELECT, UPDATE, DELETE, INSERT (tenant, log, seq, words) ON skein.texts TO %I',
    to_role);
END $$;
SELECT skein.admit(role) FROM skein.tenants WHERE role IS NOT NULL;
`;
