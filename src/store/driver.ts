/**
 * The contract between Skein and a store driver: a driver makes a `StorePlace` of an address, and the place
 * opens the store. The registry (registry.ts) finds the driver by the URL scheme of the address.
 */
import type { WorkspaceId } from "../core/ids.ts";
import type { Durability, LogStore, Store, StoreWorld } from "./port.ts";

/** Makes the place of an address, without opening or reading anything there. */
export type StoreDriver = (address: string) => StorePlace;

/** Where a store is, and how to open it. Only `open` is required. */
export interface StorePlace {
  /**
   * Opens the store, and creates it when there is none and `create` is not false. What a driver lacks of the
   * capabilities is supplied in memory.
   */
  open(options: StoreOpening): Promise<Store | LogStore>;
  /** The address as messages show it. By default the registry removes the password of a URL. */
  readonly shown?: string;
  /**
   * What other processes reach the store by: absolute, and without its password. By default `shown`; null for
   * a store that ends with its process.
   */
  readonly address?: string | null;
  /** The files of the store on this machine, the main one first. Tools of agents do not open them. */
  readonly files?: readonly string[];
  /** Whether there is a store. By default true: the driver cannot tell without a connection. */
  exists?(): boolean;
  /** For a database that holds the stores of several tenants. */
  readonly tenancy?: Tenancy;
  /**
   * The checks of `skein doctor`, of the machine first and of the store last. `opened` opens the store and
   * checks what every driver has; it rejects when the store does not open.
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
  /** Whether to create a store that does not exist; by default true. */
  readonly create?: boolean;
  /** How long to wait for a lock that another program holds. */
  readonly lockWaitMs?: number;
}

/** A finding of `skein doctor` about a store. */
export interface StoreCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly found: string;
  /** What to do, when it is not ok. */
  readonly todo?: string;
}

/** The tenants of a driver that keeps several workspaces. */
export interface Tenancy {
  /** The tenant that the address names; `default` when it names none. */
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
  /** Sessions that live here; `bytes` counts theirs only, too. */
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

/** What to change; absent: as before. */
export interface TenantChange {
  readonly sessionsMax?: number | null;
  readonly bytesMax?: number | null;
  readonly role?: string | null;
}

/** The administration of the tenants of a store. */
export interface Tenants {
  /** In order of name. A role that is bound to a tenant sees that one only. */
  list(): Promise<readonly Tenant[]>;
  /** Creates the tenant when it does not exist. */
  set(name: string, change: TenantChange): Promise<Tenant>;
  /**
   * What each tenant has spent on model calls: its name, and `costSums` of spend-sql.ts. Refused to a role
   * that is bound to a tenant.
   */
  costs(between: {
    readonly since?: number;
    readonly until?: number;
  }): Promise<readonly (readonly unknown[])[]>;
  close(): Promise<void>;
}
