/**
 * Opening a store in PostgreSQL: checks the server's durability, migrates the layout, and finds the tenant's
 * row.
 */
import { SkeinError } from "../../../core/error.ts";
import { parseLogId, quote, type WorkspaceId } from "../../../core/ids.ts";
import { isLater, version } from "../../../core/version.ts";
import type { Durability } from "../../port.ts";
import type { Database } from "./connection.ts";
import { layout, migrations } from "../schema.ts";

export interface StartOptions {
  readonly tenant: string;
  /** For a new tenant: the id of its workspace. */
  readonly workspace: WorkspaceId;
  /** Whether to create a missing layout and tenant. */
  readonly create: boolean;
  readonly durability: Durability;
}

export interface StartedConnection {
  /** The tenant's number. */
  readonly tenant: number;
  readonly workspace: WorkspaceId;
  /** The newest version of Skein that opened this tenant. */
  readonly program: string;
}

/** The version and settings of the server; for opening, and for diagnosis. */
export interface ServerState {
  readonly version: number;
  readonly shownVersion: string;
  readonly encoding: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  readonly synchronousCommit: string;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** The number of the existing layout; 0: none. */
  readonly layout: number;
  readonly role: string;
  readonly connections: number;
  readonly connectionsMax: number;
  readonly nowMs: number;
}

const versionMin = 150_000;

export async function startStore(database: Database, options: StartOptions): Promise<StartedConnection> {
  await startLayout(database, options);
  return openTenant(database, options);
}

/** The server and the layout only. */
export async function startLayout(
  database: Database,
  { create, durability }: Pick<StartOptions, "create" | "durability">,
): Promise<void> {
  const found = await serverState(database);
  const wrong = serverFlaw(found, database.shown, durability);
  if (wrong !== null) throw wrong;
  if (found.layout === 0 && !create) throw noStore(database.shown);
  if (found.layout < layout) await bringUp(database);
}

/**
 * `skein.migrations` may not exist, so no statement names it before this check. For others' connections an
 * unprivileged role sees who and where, but not their type.
 */
const stateQuery = `SELECT current_setting('server_version_num')::integer AS version,
  current_setting('server_version') AS shown_version, current_setting('server_encoding') AS encoding,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
  current_setting('synchronous_commit') AS synchronous_commit, pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only') AS read_only, current_user::text AS role,
  to_regclass('skein.migrations') IS NOT NULL AS there,
  (SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend'
    OR (backend_type IS NULL AND usesysid IS NOT NULL AND datid IS NOT NULL)) AS connections,
  current_setting('max_connections')::integer AS connections_max,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms`;

export async function serverState(database: Database): Promise<ServerState> {
  const askedAt = database.localNow();
  const [row = {}] = await database.run(stateQuery);
  database.heardClock(Number(row["now_ms"]), askedAt);
  return {
    version: Number(row["version"]),
    shownVersion: String(row["shown_version"]),
    encoding: String(row["encoding"]),
    fsync: row["fsync"] === "on",
    fullPageWrites: row["full_page_writes"] === "on",
    synchronousCommit: String(row["synchronous_commit"]),
    isStandby: row["standby"] === true,
    isReadOnly: row["read_only"] === "on",
    layout: row["there"] === true ? await layoutOf(database) : 0,
    role: String(row["role"]),
    connections: Number(row["connections"]),
    connectionsMax: Number(row["connections_max"]),
    nowMs: Number(row["now_ms"]),
  };
}

async function layoutOf({ run }: Pick<Database, "run">): Promise<number> {
  const [row] = await run<{ layout: number }>(
    "SELECT coalesce(max(number), 0) AS layout FROM skein.migrations",
  );
  return row?.layout ?? 0;
}

/** Why a store cannot be opened there as requested; null if it can. */
export function serverFlaw(found: ServerState, place: string, durability: Durability): SkeinError | null {
  const refused = (message: string, hint: string) =>
    new SkeinError("refused", `${message}: ${place}`, { hint, where: place });
  if (found.version < versionMin) {
    return refused(
      `PostgreSQL ${found.shownVersion} is not supported; Skein requires 15 or later`,
      "upgrade the server; the database is unchanged",
    );
  }
  if (found.encoding !== "UTF8") {
    return refused(
      `the database encoding is ${found.encoding}; Skein requires UTF8`,
      "create another: createdb --encoding=UTF8 --template=template0 NAME",
    );
  }
  if (found.isStandby) {
    return refused("the server is a read-only standby", "use the URL of the primary");
  }
  if (found.isReadOnly) {
    return refused(
      "the role's transactions are read-only",
      "set default_transaction_read_only = off for the role or the database",
    );
  }
  if (found.layout > layout) {
    return refused(
      `store layout ${found.layout} is not supported; this Skein reads layouts up to ${layout}`,
      "update Skein; the store is unchanged",
    );
  }
  return durability === "disk" ? durabilityFlaw(found, refused) : null;
}

function durabilityFlaw(
  { fsync, fullPageWrites, synchronousCommit }: ServerState,
  refused: (message: string, hint: string) => SkeinError,
): SkeinError | null {
  const weak = (name: string, then: string) =>
    refused(`the server has ${name} = off: ${then}`, `set ${name} = on, or choose the durability "process"`);
  if (!fsync) return weak("fsync", "a power loss may destroy the whole database");
  if (!fullPageWrites) return weak("full_page_writes", "a power loss may leave a torn page");
  return synchronousCommit === "off"
    ? weak("synchronous_commit", "a power loss may lose acknowledged writes")
    : null;
}

/** Arbitrary, but the same in every process that migrates a layout. */
const migrationLock = 0x534b4e31;

/** Every process that opens a store may migrate at once: the first does it, the others find it done. */
async function bringUp(database: Database): Promise<void> {
  await database.transaction(
    async (run) => {
      await run("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
      await run("CREATE SCHEMA IF NOT EXISTS skein");
      await run(`CREATE TABLE IF NOT EXISTS skein.migrations
        (number integer PRIMARY KEY, program text NOT NULL, at bigint NOT NULL)`);
      const from = await layoutOf({ run });
      for (let number = from + 1; number <= layout; number++) {
        await run(migrations[number - 1] ?? "");
        await run(
          `INSERT INTO skein.migrations (number, program, at)
           VALUES ($1, $2, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`,
          [number, version],
        );
      }
    },
    { twice: true },
  );
}

const noStore = (place: string): SkeinError =>
  new SkeinError("not-found", `no store at ${place}`, {
    hint: 'check the URL; "skein open" creates a new store',
    where: place,
  });

const noTenant = (tenant: string, place: string): SkeinError =>
  new SkeinError("not-found", `tenant ${quote(tenant)} not found, or not visible to this role: ${place}`, {
    hint:
      'check ?tenant=NAME in the URL; "skein open" creates a tenant; to give a role access: ' +
      `skein tenants set ${tenant} --role ROLE`,
    where: place,
  });

type TenantRow = StartedConnection & { readonly workspace: string };

/** Finds or creates it, within a transaction or without. */
export async function openTenant(
  database: Pick<Database, "run" | "shown">,
  { tenant, workspace, create }: Pick<StartOptions, "tenant" | "workspace" | "create">,
): Promise<StartedConnection> {
  const find = async (): Promise<TenantRow | undefined> =>
    (
      await database.run<TenantRow & Readonly<Record<string, unknown>>>(
        "SELECT id AS tenant, workspace, program FROM skein.tenants WHERE name = $1",
        [tenant],
      )
    )[0];
  let row = await find();
  if (row === undefined) {
    if (!create) throw noTenant(tenant, database.shown);
    await database.run(
      `WITH made AS (
         INSERT INTO skein.tenants (name, workspace, program) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO NOTHING RETURNING id
       )
       INSERT INTO skein.lease_locks (tenant) SELECT id FROM made`,
      [tenant, workspace, version],
    );
    row = await find();
  }
  if (row === undefined) {
    throw new SkeinError("refused", `the role has no access to tenant ${quote(tenant)}: ${database.shown}`, {
      hint: `use the role's tenant, ?tenant=NAME, or give it access: skein tenants set ${tenant} --role ROLE`,
      where: database.shown,
    });
  }
  const { program } = row;
  if (isLater(version, program)) {
    await database.run("UPDATE skein.tenants SET program = $2 WHERE id = $1 AND program = $3", [
      row.tenant,
      version,
      program,
    ]);
  }
  return {
    tenant: row.tenant,
    workspace: parseLogId(row.workspace) as WorkspaceId,
    program: isLater(version, program) ? version : program,
  };
}
