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
export type { BlobStore, Chunks } from "../store/port/blob.ts";
export type {
  AppendedPart,
  Draft,
  DraftContent,
  Durability,
  Expect,
  FeedPage,
  Head,
  LogHead,
  LogStore,
  Outcome,
  Part,
  ReadRange,
  StoreWorld,
} from "../store/port/log.ts";
export type { RankHit, RecordVector, WordLog, WordStep } from "../store/port/search.ts";
export type { Maintenance, PackResult, StoreStats } from "../store/port/maintenance.ts";
export type {
  FinishRequest,
  ReceivedLog,
  ReceivedRecord,
  ReceiveStore,
  Reception,
} from "../store/port/receive.ts";
export type {
  DueRow,
  RunMatch,
  ScheduledRow,
  ScheduleField,
  ScheduleStore,
  ServerRow,
  SpendField,
  WorkerRow,
} from "../store/port/schedule.ts";
export type { ItemRow, Projection, SearchStore } from "../store/port/search.ts";
export type {
  IndexEntry,
  IndexStore,
  ResultPage,
  SessionFilter,
  SessionRow,
} from "../store/port/session-index.ts";
export type { Snapshot, SnapshotStore } from "../store/port/snapshot.ts";
export type { Store } from "../store/port.ts";
export type { Capability } from "../store/capabilities.ts";
export { registerStore } from "../store/registry.ts";
export type { QueryRows, QueryOptions } from "../store/sql/query-result.ts";
