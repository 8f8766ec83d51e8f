/** The result of a change to a log. */

/** The position of a change. */
export interface AppendResult {
  /** The first record of the change. */
  readonly seq: number;
  readonly headSeq: number;
  /** True when a change with the same key existed, and nothing was written now. */
  readonly duplicate: boolean;
  /** The session that took it, when the one it was sent to went on as that one. */
  readonly session?: string;
}

/** The result of a change, as a call returns it. `sentTo`: the session that the caller named. */
export function appendResult(
  change: { readonly firstSeq: number; readonly headSeq: number; readonly duplicate: boolean } & {
    readonly session?: string;
  },
  sentTo?: string,
): AppendResult {
  const { firstSeq, headSeq, duplicate, session } = change;
  const elsewhere = session === undefined || sentTo === undefined || session === sentTo ? {} : { session };
  return { seq: firstSeq, headSeq, duplicate, ...elsewhere };
}
