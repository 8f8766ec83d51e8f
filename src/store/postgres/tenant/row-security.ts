/**
 * The second barrier between tenants, for roles bound to one: row-level security. It does not bind the owner
 * of the tables, which names the tenant in every statement; a role in `skein.tenants.role` sees and writes
 * only the rows of that tenant, whatever it sends.
 */

/** Each table with a tenant, except the partitions of `events`, which only their owner can access. */
const tenantTables = `SELECT c.oid::regclass AS name FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'skein'
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition`;

/** A migration that adds a table ends with `SELECT skein.wall()`, and grants access to every role again. */
export const wallsText = `
ALTER TABLE skein.tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON skein.tenants USING (role = current_user);

CREATE FUNCTION skein.wall() RETURNS void LANGUAGE plpgsql AS $$
DECLARE found record;
BEGIN
  FOR found IN ${tenantTables} AND NOT c.relrowsecurity LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', found.name);
    EXECUTE format('CREATE POLICY own ON %s USING
      (tenant = (SELECT t.id FROM skein.tenants t WHERE t.role = current_user))', found.name);
  END LOOP;
END $$;

CREATE FUNCTION skein.admit(to_role name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE found record;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA skein, skein_views TO %I', to_role);
  EXECUTE format('GRANT SELECT ON skein.migrations, skein.tenants TO %I', to_role);
  EXECUTE format('GRANT UPDATE (program, erased, scrubbed, projected) ON skein.tenants TO %I', to_role);
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA skein_views TO %I', to_role);
  EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA skein TO %I', to_role);
  FOR found IN ${tenantTables} LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', found.name, to_role);
  END LOOP;
END $$;

CREATE FUNCTION skein.dismiss(of_role name) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA skein, skein_views FROM %I', of_role);
  EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA skein FROM %I', of_role);
  EXECUTE format('REVOKE ALL ON SCHEMA skein, skein_views FROM %I', of_role);
END $$;

SELECT skein.wall();
`;
