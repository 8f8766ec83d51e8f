/** Tenants of a database: their usage and quota, and the role bound to each. */
import { SkeinError } from "../../../core/error.ts";
import { quote, type WorkspaceId } from "../../../core/ids.ts";
import type { Tenant, TenantChange, Tenants } from "../../driver.ts";
import type { StoreWorld } from "../../port.ts";
import { costSums } from "../../../core/budget/cost-view-sql.ts";
import { checkTenant, parseAddress } from "../connection/address.ts";
import { openDatabase, type Database, type SqlRow, type Statement } from "../connection/connection.ts";
import { openTenant, startLayout, startStore } from "../connection/start.ts";

export interface TenantsOptions {
  readonly url: string;
  readonly world: StoreWorld;
  /** For a new tenant: the id of its workspace. */
  readonly workspace: WorkspaceId;
}

export function openTenants({ url, world, workspace }: TenantsOptions): Tenants {
  const database = openDatabase({ address: parseAddress(url), world, clock: "database" });
  const start = { workspace, durability: "process" } as const;
  return {
    async list() {
      // Another tenant's program may ask: a missing default tenant must not fail it.
      await startStore(database, { ...start, tenant: "default", create: false }).catch(
        unlessNoTenant(database),
      );
      return (await database.run<TenantColumns>(tenantsQuery, [null])).map(tenantOf);
    },
    async set(name, change) {
      checkTenant(name);
      await startLayout(database, { ...start, create: true });
      // A new tenant persists only if the whole change does.
      const tenant = await database.transaction(
        async (run) => {
          const way = { run, shown: database.shown };
          const started = await openTenant(way, { tenant: name, workspace, create: true });
          await setTenant(run, { tenant: started.tenant, name, change });
          return started.tenant;
        },
        { twice: true },
      );
      const [row] = await database.run<TenantColumns>(tenantsQuery, [tenant]);
      if (row === undefined)
        throw new SkeinError("not-found", `tenant ${quote(name)} not found`, {
          hint: '"skein tenants" lists the tenants',
        });
      return tenantOf(row);
    },
    async costs(between) {
      await startLayout(database, { ...start, create: false });
      return database.transaction((run) => costsOf(run, between), { twice: true });
    },
    close: () => database.close(),
  };
}

async function costsOf(
  run: Statement,
  { since = 0, until = Number.MAX_SAFE_INTEGER }: { readonly since?: number; readonly until?: number },
): Promise<readonly (readonly unknown[])[]> {
  const [kept] = await run<{ kept: boolean }>("SELECT row_security_active('skein.tenants') AS kept");
  if (kept?.kept !== false) {
    throw new SkeinError("refused", "cost: by: the role is restricted to one tenant", {
      hint: "use the role that owns the tables, or omit --by tenant",
    });
  }
  const found: (readonly unknown[])[] = [];
  for (const { id, name } of await run<{ id: number; name: string }>(
    "SELECT id, name FROM skein.tenants ORDER BY name",
  )) {
    await run("SELECT set_config('skein.tenant', $1::text, true)", [String(id)]);
    const [row] = await run(tenantCosts, [since, until]);
    if (row !== undefined && row["calls"] !== null) found.push([name, ...Object.values(row)]);
  }
  return found;
}

const tenantCosts = `SELECT ${costSums} FROM skein_views.costs c WHERE c.at >= $1 AND c.at < $2`;

/** Whether a database has the workspace for one of its visible tenants. */
export async function holdsWorkspace({ url, world, workspace }: TenantsOptions): Promise<boolean> {
  const database = openDatabase({ address: parseAddress(url), world, clock: "database" });
  try {
    const [found] = await database.run<{ there: boolean }>(
      "SELECT to_regclass('skein.tenants') IS NOT NULL AS there",
    );
    if (found?.there !== true) return false;
    const rows = await database.run("SELECT 1 AS one FROM skein.tenants WHERE workspace = $1", [workspace]);
    return rows.length > 0;
  } finally {
    await database.close();
  }
}

const unlessNoTenant =
  ({ run }: Database) =>
  async (error: unknown): Promise<void> => {
    const [found] = await run<{ there: boolean }>("SELECT to_regclass('skein.tenants') IS NOT NULL AS there");
    if (!(error instanceof SkeinError && error.code === "not-found" && found?.there === true)) throw error;
  };

interface TenantColumns extends SqlRow {
  readonly name: string;
  readonly sessions: number;
  readonly bytes: number;
  readonly sessions_max: number | null;
  readonly bytes_max: number | null;
  readonly role: string | null;
  readonly program: string;
}

const tenantsQuery = `SELECT t.name, t.sessions_max, t.bytes_max, t.role::text AS role, t.program,
  coalesce(l.sessions, 0) AS sessions, coalesce(h.bytes, 0) + coalesce(b.bytes, 0) AS bytes
  FROM skein.tenants t
  LEFT JOIN (SELECT tenant, count(*) AS sessions FROM skein.logs
    WHERE listed AND status IS DISTINCT FROM 'moved' AND tenant = coalesce($1, tenant)
    GROUP BY tenant) l ON l.tenant = t.id
  LEFT JOIN (SELECT h.tenant, sum(h.bytes)::bigint AS bytes FROM skein.heads h
    JOIN skein.logs g ON g.id = h.log AND g.status IS DISTINCT FROM 'moved'
    WHERE h.tenant = coalesce($1, h.tenant) GROUP BY h.tenant) h ON h.tenant = t.id
  LEFT JOIN (SELECT tenant, sum(bytes)::bigint AS bytes FROM skein.blobs
    WHERE tenant = coalesce($1, tenant) GROUP BY tenant) b ON b.tenant = t.id
  WHERE t.id = coalesce($1::integer, t.id) ORDER BY t.name`;

const tenantOf = (row: TenantColumns): Tenant => ({
  name: row.name,
  sessions: row.sessions,
  bytes: row.bytes,
  sessionsMax: row.sessions_max,
  bytesMax: row.bytes_max,
  role: row.role,
  program: row.program,
});

interface TenantSetting {
  readonly tenant: number;
  readonly name: string;
  readonly change: TenantChange;
}

async function setTenant(run: Statement, { tenant, name, change }: TenantSetting): Promise<void> {
  const [found] = await run<{ role: string | null }>(
    "SELECT role::text AS role FROM skein.tenants WHERE id = $1 FOR UPDATE",
    [tenant],
  );
  const { sessionsMax, bytesMax, role } = change;
  await run(
    `UPDATE skein.tenants SET sessions_max = CASE WHEN $2 THEN $3::bigint ELSE sessions_max END,
       bytes_max = CASE WHEN $4 THEN $5::bigint ELSE bytes_max END WHERE id = $1`,
    [tenant, sessionsMax !== undefined, sessionsMax ?? null, bytesMax !== undefined, bytesMax ?? null],
  );
  if (role === undefined) return;
  const before = found?.role ?? null;
  if (before !== null && before !== role) await run("SELECT skein.dismiss($1::text::name)", [before]);
  if (role !== null) await checkRole(run, { tenant, name, role });
  await run("UPDATE skein.tenants SET role = $2::text::name WHERE id = $1", [tenant, role]);
  if (role !== null) await run("SELECT skein.admit($1::text::name)", [role]);
}

const roleQuery = `SELECT r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, c.relowner, 'MEMBER') AS free,
  (SELECT t.name FROM skein.tenants t WHERE t.role = r.rolname AND t.id <> $2) AS other
  FROM pg_roles r, pg_class c WHERE r.rolname = $1::text AND c.oid = 'skein.tenants'::regclass`;

interface RoleColumns extends SqlRow {
  readonly free: boolean;
  readonly other: string | null;
}

/** A role that bypasses row-level security, or is bound elsewhere, would only seem bound to the tenant. */
async function checkRole(
  run: Statement,
  { tenant, name, role }: { readonly tenant: number; readonly name: string; readonly role: string },
): Promise<void> {
  const [found] = await run<RoleColumns>(roleQuery, [role, tenant]);
  const wrong = (message: string, hint: string) => new SkeinError("refused", message, { hint });
  if (found === undefined) {
    throw new SkeinError("not-found", `role ${quote(role)} not found`, {
      hint: `create it first: CREATE ROLE ${role} LOGIN PASSWORD '…'`,
    });
  }
  if (found.free) {
    throw wrong(
      `role ${quote(role)} cannot be restricted to a tenant`,
      "use a role that is not a superuser, does not own the tables and lacks BYPASSRLS",
    );
  }
  if (found.other !== null) {
    throw wrong(
      `role ${quote(role)} is already restricted to tenant ${quote(found.other)}`,
      `release it first: skein tenants set ${found.other} --role none, or another for ${name}`,
    );
  }
}
