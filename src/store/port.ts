/**
 * The store port: what Skein needs of a store for logs. The comments in port/ are the contract; the
 * conformance suite (conformance/) tests every driver against it, capability by capability.
 *
 * A store is opened for one tenant, and every key in it starts with that tenant. It keeps logs (of sessions
 * and of the workspace), and data derived from them: the session index, snapshots, search, items. Derived
 * data may be deleted at any time and rebuilt from the logs; `clearDerived` does the first, the runtime the
 * second.
 *
 * Not guaranteed: any order between logs other than that of the feed; the requested length of a page; that
 * two reads see one moment, unless a single call made both.
 */
import type { LogId } from "../core/ids.ts";
import type { BlobStore } from "./port/blob.ts";
import type { Head, LogStore } from "./port/log.ts";
import type { Maintenance } from "./port/maintenance.ts";
import type { ReceiveStore } from "./port/receive.ts";
import type { ScheduleStore } from "./port/schedule.ts";
import type { SearchStore } from "./port/search.ts";
import type { IndexStore } from "./port/session-index.ts";
import type { SnapshotStore } from "./port/snapshot.ts";

export type { BlobStore, Chunks } from "./port/blob.ts";
export type {
  AppendedPart,
  Draft,
  DraftContent,
  Durability,
  Expect,
  FeedPage,
  Head,
  LogStore,
  Outcome,
  Part,
  ReadRange,
  StoreWorld,
} from "./port/log.ts";
export type { Maintenance, PackResult, StoreStats } from "./port/maintenance.ts";
export type { FinishRequest, ReceivedLog, ReceivedRecord, ReceiveStore, Reception } from "./port/receive.ts";
export type {
  DueRow,
  RunMatch,
  ScheduledRow,
  ScheduleStore,
  ServerRow,
  SpendField,
  WorkerRow,
} from "./port/schedule.ts";
export type {
  ItemRow,
  Projection,
  RankHit,
  RecordVector,
  SearchStore,
  WordLog,
  WordStep,
} from "./port/search.ts";
export type { IndexEntry, IndexStore, ResultPage, SessionFilter, SessionRow } from "./port/session-index.ts";
export type { Snapshot, SnapshotStore } from "./port/snapshot.ts";

/** A log store with every capability, like the built-in drivers. */
export interface Store
  extends
    LogStore,
    BlobStore,
    SnapshotStore,
    IndexStore,
    SearchStore,
    ScheduleStore,
    ReceiveStore,
    Maintenance {
  head(session: LogId): Promise<Head | undefined>;
  /** Derived data starts empty with each opening: the engine rebuilds it (complete-store.ts). */
  readonly derivedInMemory?: true;
}
