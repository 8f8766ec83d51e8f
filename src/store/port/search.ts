/** Search, items and queries: projections that the runtime makes of the feed. */
import type { LogId, SessionId } from "../../core/ids.ts";
import type { Answer, QueryOptions } from "../sql/query-result.ts";

/** An item in the index. */
export interface ItemRow {
  readonly kind: string;
  readonly key: string;
  readonly seq: number;
  readonly at: number;
  readonly status: string | null;
  /** A text as it is, anything else as JSON; null when erased. */
  readonly value: string | null;
  readonly because: string | null;
}

/** A step of the projections, from one position of the feed to a later one. */
export interface Projection {
  readonly from: string | null;
  readonly to: string;
  readonly texts: readonly { readonly session: LogId; readonly seq: number; readonly text: string }[];
  /** The whole durable tier of each session that changed. */
  readonly items: readonly { readonly session: SessionId; readonly rows: readonly ItemRow[] }[];
}

/** The capability of a store to search texts and run SQL. */
export interface SearchStore {
  /** How far the projections (search, items) have come in the feed. Null: they know nothing. */
  projected(): Promise<string | null>;
  /**
   * One step forward, all or none. False when `from` is not where they stand any more, because somebody else
   * went first, or because something was erased since: then what the step brings may hold it.
   */
  project(step: Projection): Promise<boolean>;
  /**
   * Records whose content holds every word of the text, the latest first; a trailing `*` finds beginnings.
   */
  search(
    text: string,
    options: { readonly limit: number; readonly session?: LogId },
  ): Promise<readonly { readonly session: LogId; readonly seq: number }[]>;
  /**
   * Runs one read-only statement over the documented views. Rejects with `invalid` for anything else. Ended
   * early, where the driver can, when the signal is aborted.
   */
  query(sql: string, options: QueryOptions): Promise<Answer>;
}
