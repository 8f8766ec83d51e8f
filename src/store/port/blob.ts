/** Blobs: bytes besides the log. Without them, contents of more than 64 KiB are refused. */

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The capability of a store to keep contents that are too large for a record. */
export interface BlobStore {
  /**
   * Stores bytes under the hash of the whole, durable when it resolves. Writing an existing one is free. One
   * that no record refers to within a day may be deleted. Rejects with `refused` if it `begins` new work and
   * the tenant's quota is exhausted.
   */
  putBlob(hash: string, chunks: Chunks, how?: { readonly begins: boolean }): Promise<void>;
  /** Deletes a blob, complete or not, that no record refers to. Any other stays. */
  dropBlob(hash: string): Promise<void>;
  /** In chunks; undefined if it is missing or incomplete. */
  blob(hash: string): Promise<AsyncIterable<Uint8Array> | undefined>;
}
