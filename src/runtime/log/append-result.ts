/** The result of a change to a log. */

/** The position of a change. */
export interface AppendResult {
  /** The first record of the change. */
  readonly seq: number;
  readonly headSeq: number;
  /** True when a change with the same key existed, and nothing was written now. */
  readonly duplicate: boolean;
}
