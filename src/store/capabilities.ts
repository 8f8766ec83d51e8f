/** The capabilities of the port that a driver has. */
import type { LogStore, Store } from "./port.ts";

/** The methods of each capability, which identify it. */
export const capabilities = {
  blobs: ["putBlob", "dropBlob", "blob"],
  snapshots: ["putSnapshot", "snapshot"],
  index: ["logs", "list", "endingWith", "forks", "openedFrom", "index"],
  search: [
    ...(["projected", "project", "search", "query"] as const),
    ...(["wordGaps", "addWords", "rank", "vectors", "putVectors"] as const),
  ],
  schedule: [
    ...(["now", "readClock", "renew", "due", "nextDue", "leased", "scheduled"] as const),
    ...(["beat", "workers", "announce", "servers"] as const),
  ],
  receive: ["receive", "put", "finish", "discard"],
  maintenance: ["clearDerived", "sweep", "pack", "packedTo", "scrub", "check", "stats", "bytes"],
} as const satisfies Readonly<Record<string, readonly (keyof Store)[]>>;

/** The name of a capability that a driver may have besides its log. */
export type Capability = keyof typeof capabilities;

/** The capabilities of a driver: those with every method implemented. */
export function capabilitiesOf(store: LogStore): ReadonlySet<Capability> {
  const names = Object.keys(capabilities) as Capability[];
  const has = (name: string): boolean => typeof Reflect.get(store, name) === "function";
  return new Set(names.filter((name) => capabilities[name].every(has)));
}

/** Whether a driver has every capability. */
export const isComplete = (store: Store | LogStore): store is Store =>
  capabilitiesOf(store).size === Object.keys(capabilities).length;
