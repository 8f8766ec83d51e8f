/**
 * The store port: what Skein needs of a place that keeps logs. The comments in port/ are the contract; the
 * conformance suite (conformance/) holds every driver to it, capability by capability.
 *
 * A store is opened for one tenant, and every key in it starts with that tenant. It keeps logs (of sessions
 * and of the workspace), and things derived from them: the session index, snapshots, search, items. Derived
 * things may be deleted at any time and are made again from the logs; `clearDerived` does the first, the
 * runtime the second.
 *
 * Not promised: any order between logs other than that of the feed; that a page is as long as was asked for;
 * that two reads see one moment, unless a single call made both.
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
  Appended,
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
export type { Maintenance, Packed, StoreStats } from "./port/maintenance.ts";
export type { Finished, Received, ReceivedRecord, ReceiveStore, Reception } from "./port/receive.ts";
export type {
  DueRow,
  RunMatch,
  ScheduledRow,
  ScheduleStore,
  ServerRow,
  SpendField,
  WorkerRow,
} from "./port/schedule.ts";
export type { ItemRow, Projection, SearchStore } from "./port/search.ts";
export type { IndexEntry, IndexStore, ResultPage, SessionFilter, SessionRow } from "./port/session-index.ts";
export type { Snapshot, SnapshotStore } from "./port/snapshot.ts";

/** A log with every capability, as the built-in drivers have. */
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
  /** What is derived starts empty with each opening: the engine rebuilds it (complete-store.ts). */
  readonly derivedInMemory?: true;
}
