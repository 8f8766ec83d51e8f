/** Blobs: bytes beside the log. Without them, contents of more than 64 KiB are refused. */

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The capability of a store to keep contents that are too large for a record. */
export interface BlobStore {
  /**
   * Keeps bytes by the hash of the whole, durable when it resolves. Writing one that is there already is
   * free. One that no record comes to refer to within a day may be swept away. Rejects with `refused` when it
   * `begins` something, and the tenant has used up its quota.
   */
  putBlob(hash: string, chunks: Chunks, how?: { readonly begins: boolean }): Promise<void>;
  /** Gives back a blob, whole or not, that no record refers to. Any other stays. */
  dropBlob(hash: string): Promise<void>;
  /** In chunks; undefined when it is not there, or not whole. */
  blob(hash: string): Promise<AsyncIterable<Uint8Array> | undefined>;
}
