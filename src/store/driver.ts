/**
 * The contract between Skein and a store driver: a driver turns an address into a `StorePlace`, and the place
 * opens the store. The registry (registry.ts) finds the driver by the URL scheme of the address.
 */
import type { WorkspaceId } from "../core/ids.ts";
import type { Durability, LogStore, Store, StoreWorld } from "./port.ts";

/** Returns the place of an address, without opening or reading anything. */
export type StoreDriver = (address: string) => StorePlace;

/** Where a store is, and how to open it. Only `open` is required. */
export interface StorePlace {
  /**
   * Opens the store, and creates it if it does not exist and `create` is not false. Missing capabilities are
   * supplied in memory.
   */
  open(options: StoreOpening): Promise<Store | LogStore>;
  /** The address for messages. By default the registry removes the password of a URL. */
  readonly shown?: string;
  /**
   * The address for other processes: absolute, and without its password. Default: `shown`; null for a store
   * that ends with its process.
   */
  readonly address?: string | null;
  /** The files of the store on this machine, the main one first. Agent tools do not open them. */
  readonly files?: readonly string[];
  /** Whether the store exists. Default: true, because the driver cannot know without a connection. */
  exists?(): boolean;
  /** For a database that holds the stores of several tenants. */
  readonly tenancy?: Tenancy;
  /**
   * The checks of `skein doctor`, first of the machine and last of the store. `opened` opens the store and
   * runs the checks that apply to every driver; it rejects if the store does not open.
   */
  diagnose?(world: StoreWorld, opened: () => Promise<readonly StoreCheck[]>): Promise<readonly StoreCheck[]>;
}

/** The options that a store driver is opened with. */
export interface StoreOpening {
  readonly world: StoreWorld;
  /** For a new store: the id of its workspace. */
  readonly workspace: WorkspaceId;
  readonly tenant?: string;
  readonly durability?: Durability;
  /** Whether to create a store that does not exist; default: true. */
  readonly create?: boolean;
  /** How long to wait for a lock that another program holds. */
  readonly lockWaitMs?: number;
}

/** A finding of `skein doctor` about a store. */
export interface StoreCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly found: string;
  /** What to do about a failed check. */
  readonly todo?: string;
}

/** The tenants of a driver that keeps several workspaces. */
export interface Tenancy {
  /** The tenant in the address; `default` if there is none. */
  readonly tenant: string;
  /** The address of another tenant's store in the same database. */
  addressOf(tenant: string): string;
  /** Whether the database holds this workspace. The database answers, because it may have many addresses. */
  holds(workspace: WorkspaceId, world: StoreWorld): Promise<boolean>;
  /** Opens the administration of the tenants. */
  administer(options: Pick<StoreOpening, "world" | "workspace">): Promise<Tenants>;
}

/** A tenant of a store. */
export interface Tenant {
  readonly name: string;
  /** Sessions that live here; `bytes` counts only theirs, too. */
  readonly sessions: number;
  /** Of contents and blobs. */
  readonly bytes: number;
  /** The quota; null: none. */
  readonly sessionsMax: number | null;
  readonly bytesMax: number | null;
  /** A login with this role sees this tenant only. */
  readonly role: string | null;
  readonly program: string;
}

/** The changes; absent fields stay as they are. */
export interface TenantChange {
  readonly sessionsMax?: number | null;
  readonly bytesMax?: number | null;
  readonly role?: string | null;
}

/** The administration of the tenants of a store. */
export interface Tenants {
  /** Ordered by name. A role bound to a tenant sees only that one. */
  list(): Promise<readonly Tenant[]>;
  /** Creates the tenant if it does not exist. */
  set(name: string, change: TenantChange): Promise<Tenant>;
  /**
   * The model costs of each tenant: its name, and `costSums` of cost-view-sql.ts. Refused for a role that is
   * bound to a tenant.
   */
  costs(between: {
    readonly since?: number;
    readonly until?: number;
  }): Promise<readonly (readonly unknown[])[]>;
  close(): Promise<void>;
}
