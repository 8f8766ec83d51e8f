/**
 * The registry of store drivers: one table by URL scheme. A built-in driver is its folder and one line here;
 * a third-party driver registers itself with `registerStore`. An address without a scheme is a path, which
 * SQLite opens.
 */
import { SkeinError } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import type { StoreDriver, StoreOpening, StorePlace } from "./driver.ts";
import { isComplete } from "./capabilities.ts";
import type { LogStore, Store } from "./port.ts";

/** Loaded on first use: a program on a file loads nothing of PostgreSQL. */
const drivers = new Map<string, () => StoreDriver | Promise<StoreDriver>>([
  ["memory", async () => (await import("./memory/store-driver.ts")).memoryDriver],
  ["sqlite", async () => (await import("./sqlite/store-driver.ts")).sqliteDriver],
  ["postgres", async () => (await import("./postgres/store-driver.ts")).postgresDriver],
  ["postgresql", async () => (await import("./postgres/store-driver.ts")).postgresDriver],
]);

/**
 * Registers a driver for the addresses of a scheme, for the whole process: after
 * `registerStore("redis", (address) => ({ open: (options) => openRedis(address, options) }))` an engine opens
 * on `redis://…`. The built-in schemes cannot be replaced.
 */
export function registerStore(scheme: string, driver: StoreDriver): void {
  const name = scheme.replace(/:(\/\/)?$/, "").toLowerCase();
  if (!/^[a-z][a-z0-9+.-]{1,20}$/.test(name)) {
    throw new SkeinError("invalid", `registerStore: scheme: expected a URL scheme, got ${quote(scheme)}`, {
      hint: 'for example "redis"',
    });
  }
  if (typeof driver !== "function") {
    throw new SkeinError("invalid", `registerStore: driver: expected a function, got ${typeof driver}`, {
      hint: "(address) => ({ open: (options) => … })",
    });
  }
  if (drivers.has(name)) {
    throw new SkeinError("conflict", `registerStore: scheme: ${quote(name)} already has a driver`, {
      hint: "choose another scheme",
    });
  }
  drivers.set(name, () => driver);
}

/** A place with the defaults of the contract filled in. */
export interface LocatedStore extends StorePlace {
  readonly shown: string;
  readonly address: string | null;
  readonly files: readonly string[];
  exists(): boolean;
  open(options: StoreOpening): Promise<Store>;
}

/** The place of an address. Rejects with `invalid` if no driver has its scheme. */
export async function locateStore(address: string): Promise<LocatedStore> {
  const place = (await driverOf(address))(address);
  const shown = place.shown ?? withoutPassword(address);
  return {
    ...place,
    shown,
    address: place.address === undefined ? shown : place.address,
    files: place.files ?? [],
    exists: place.exists ?? (() => true),
    open: async (options) => openWhole(await place.open(options), options),
  };
}

/** A store with every capability; the adapter for incomplete drivers is loaded only for them. */
export async function openWhole(
  store: Store | LogStore,
  options: Pick<StoreOpening, "world">,
): Promise<Store> {
  if (isComplete(store)) return store;
  const { completeStore } = await import("./complete-store.ts");
  return completeStore(store, options);
}

async function driverOf(address: string): Promise<StoreDriver> {
  const [, scheme = "", slashes] = /^([a-z][a-z0-9+.-]{1,20}):(\/\/)?/i.exec(address) ?? [];
  const load =
    drivers.get(scheme.toLowerCase()) ?? (slashes === undefined ? drivers.get("sqlite") : undefined);
  if (load !== undefined) return load();
  throw new SkeinError("invalid", `store: unknown scheme ${quote(`${scheme}:`)}`, {
    hint: `use the path of a file, or ${[...drivers.keys()].map((name) => `${name}:`).join(", ")}`,
  });
}

function withoutPassword(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.password === "") return address;
  url.password = "";
  return url.href;
}
