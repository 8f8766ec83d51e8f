/** What a change of a log gives back. */

/** Where a change ended up. */
export interface AppendResult {
  /** The first record that the change wrote. */
  readonly seq: number;
  readonly headSeq: number;
  /** True when a change with the same key had been written before, and nothing was written now. */
  readonly duplicate: boolean;
}
