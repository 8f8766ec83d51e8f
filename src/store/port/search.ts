/** Search, items and queries: projections that the runtime builds from the feed. */
import type { LogId, SessionId } from "../../core/ids.ts";
import type { QueryRows, QueryOptions } from "../sql/query-result.ts";

/** An item in the index. */
export interface ItemRow {
  readonly kind: string;
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly status: string | null;
  /** A text as it is, anything else as JSON; null if erased. */
  readonly value: string | null;
  readonly because: string | null;
}

/** A step of the projections, from one position of the feed to a later one. */
export interface Projection {
  readonly from: string | null;
  readonly to: string;
  readonly texts: readonly { readonly session: LogId; readonly seq: number; readonly text: string }[];
  /** The whole durable tier of each changed session. */
  readonly items: readonly { readonly session: SessionId; readonly rows: readonly ItemRow[] }[];
}

/** The capability of a store to search texts and run SQL. */
export interface SearchStore {
  /** The position of the projections (search, items) in the feed. Null: they are empty. */
  projected(): Promise<string | null>;
  /**
   * One step forward, all or none. False if the projections are no longer at `from`, because another process
   * went first, or because of an erasure since: then the step may contain erased text.
   */
  project(step: Projection): Promise<boolean>;
  /**
   * Records whose content has every word of the text, the latest first; a trailing `*` matches prefixes.
   * `session`: only of this log; `logs`: only of these, which may be thousands. With `among` it may look at
   * only so many of the latest matches of all sessions, so that common words of a large store cost no more
   * than those of a small one.
   */
  search(
    text: string,
    options: {
      readonly limit: number;
      readonly session?: LogId;
      readonly logs?: readonly LogId[];
      readonly among?: number;
    },
  ): Promise<readonly { readonly session: LogId; readonly seq: number }[]>;
  /**
   * Runs one read-only statement over the documented views. Rejects with `invalid` for anything else.
   * Aborting the signal ends it early, if the driver can.
   */
  query(sql: string, options: QueryOptions): Promise<QueryRows>;
}
