/** The subpath `skein/store`: the port that a store driver implements, and the registry of drivers. */
export type { Digest, StoredRecord } from "../core/chain.ts";
export type { LogId, WorkspaceId } from "../core/ids.ts";
export type {
  StoreCheck,
  StoreDriver,
  StoreOpening,
  StorePlace,
  Tenancy,
  Tenant,
  TenantChange,
  Tenants,
} from "../store/driver.ts";
export type {
  DueRow,
  RunMatch,
  ScheduleField,
  ScheduleStore,
  ScheduledRow,
  ServerRow,
  SpendField,
  WorkerRow,
} from "../store/port-schedule.ts";
export type {
  Appended,
  Chunks,
  Draft,
  DraftContent,
  Durability,
  Expect,
  FeedPage,
  Finished,
  Head,
  IndexEntry,
  ItemRow,
  Outcome,
  Packed,
  Part,
  Projection,
  ReadRange,
  Received,
  ReceivedRecord,
  Reception,
  ResultPage,
  SessionFilter,
  SessionRow,
  Snapshot,
  Store,
  StoreStats,
  StoreWorld,
} from "../store/port.ts";
export { registerStore } from "../store/registry.ts";
export type { Answer, QueryOptions } from "../store/sql/query-result.ts";
