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

/** The words of some records of one log, for `rank`. */
export interface WordStep {
  readonly session: LogId;
  /** Positions of the log's own records; those without words count as indexed. */
  readonly fromSeq: number;
  readonly toSeq: number;
  /** As `wordGaps` returned it, before the records were read. */
  readonly erasures: number;
  /** Words are compared as they are. */
  readonly texts: readonly { readonly seq: number; readonly words: readonly string[] }[];
}

/** A log, and the last of its positions that counts. */
export interface WordLog {
  readonly session: LogId;
  readonly toSeq: number;
}

/** A record that shares words with a query. */
export interface RankHit {
  readonly session: LogId;
  readonly seq: number;
  /** Above 0: higher for more words, and for rarer ones. */
  readonly score: number;
}

/** The vector of a text of one record, by an embedding model. */
export interface RecordVector {
  /** The log that holds the record itself. */
  readonly session: LogId;
  readonly seq: number;
  /** Identifies the text, and tells nothing of it. */
  readonly digest: string;
  readonly vector: Float32Array;
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
   * `session`: only of this log; `logs`: only of these, which may be thousands.
   */
  search(
    text: string,
    options: {
      readonly limit: number;
      readonly session?: LogId;
      readonly logs?: readonly LogId[];
    },
  ): Promise<readonly { readonly session: LogId; readonly seq: number }[]>;
  /**
   * Ranges of the log's own records up to a position whose words `rank` does not have, ascending; none for a
   * log that does not exist. An erasure makes new ones. With the number of erasures and deletions so far.
   */
  wordGaps(
    session: LogId,
    toSeq: number,
  ): Promise<{ readonly gaps: readonly (readonly [number, number])[]; readonly erasures: number }>;
  /**
   * Adds the words of a range of one log, all or none. False if some of the range has its words already, if
   * it is beyond the end of the log, or if something was erased since `erasures` was read.
   */
  addWords(step: WordStep): Promise<boolean>;
  /**
   * The records of these logs that share at least one of the words, up to a position of each, the best first.
   * A record shares a word if it has exactly that word, of which the first 100 characters count. The cost
   * follows the matches in these logs alone, whatever other logs hold: of a word with many matches in a log
   * the latest are looked at (at least 200), of the words the first 64.
   */
  rank(
    words: readonly string[],
    options: { readonly limit: number; readonly logs: readonly WordLog[] },
  ): Promise<readonly RankHit[]>;
  /**
   * The vectors that the store has of these texts, by digest; at most 10,000 digests. With the number of
   * erasures and deletions so far.
   */
  vectors(
    model: string,
    digests: readonly string[],
  ): Promise<{ readonly vectors: ReadonlyMap<string, Float32Array>; readonly erasures: number }>;
  /**
   * Keeps vectors until their record is erased or deleted, or `clearDerived`; of records that do not exist
   * none. False, and nothing is kept, if something was erased since `erasures` was read.
   */
  putVectors(
    model: string,
    list: readonly RecordVector[],
    options: { readonly erasures: number },
  ): Promise<boolean>;
  /**
   * Runs one read-only statement over the documented views. Rejects with `invalid` for anything else.
   * Aborting the signal ends it early, if the driver can.
   */
  query(sql: string, options: QueryOptions): Promise<QueryRows>;
}
