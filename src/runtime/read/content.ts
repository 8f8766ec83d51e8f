/** Contents of records, wherever they are stored. */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Store } from "../../store/port.ts";

/** The content at a position; undefined when there is none or it was erased. */
export async function readContent(store: Store, session: LogId, seq: number): Promise<unknown> {
  const page = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  return page[0] === undefined ? undefined : contentOf(store, page[0]);
}

/** The content of a record that was read with its content; undefined when there is none or it was erased. */
export async function contentOf(store: Store, record: StoredRecord): Promise<unknown> {
  if (record.content === null) return undefined;
  let content: unknown;
  try {
    content = JSON.parse(record.content);
  } catch (cause) {
    const { seq, session } = record;
    throw new SkeinError("corrupt", `record ${seq} of ${session} cannot be read: its content is not JSON`, {
      hint: `run "skein verify ${session}" to see what is damaged`,
      cause,
    });
  }
  return inflate(store, content);
}

/** The original content: if it is stored as a blob, the blob's. */
export async function inflate(store: Store, content: unknown): Promise<unknown> {
  const reference = blobReference(content);
  if (reference === null) return content;
  const chunks = await store.blob(reference.sha256);
  if (chunks === undefined) {
    throw new SkeinError("corrupt", `blob ${reference.sha256} is missing from the store`, {
      hint: 'run "skein verify --all" to see what is damaged',
    });
  }
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  const bytes = Buffer.concat(parts);
  if (bytes.length === reference.bytes) return JSON.parse(bytes.toString("utf8"));
  throw new SkeinError(
    "corrupt",
    `blob ${reference.sha256} has ${bytes.length} bytes, not ${reference.bytes}`,
    {
      hint: 'run "skein verify --all" to see what is damaged',
    },
  );
}

export function blobReference(content: unknown): { readonly sha256: string; readonly bytes: number } | null {
  if (typeof content !== "object" || content === null || !(blobField in content)) return null;
  return content[blobField] as { sha256: string; bytes: number };
}

interface SizedContent {
  readonly content: unknown;
  readonly contentBytes: number | null;
}

export const isKeptAsBlob = (content: unknown): boolean => blobReference(content) !== null;

/** The output size of an event's content: a blob counts, not its reference. */
export const givenBytes = (event: SizedContent): number =>
  event.content === undefined ? 0 : (blobReference(event.content)?.bytes ?? event.contentBytes ?? 0);

/**
 * Called with each event of a result that is returned whole; throws once they exceed what may be held and
 * written out at once.
 */
export function makeWhole(session: LogId): (event: SizedContent) => void {
  let bytes = 0;
  return (event) => {
    // A pruned event keeps the reference, and nothing of the blob.
    bytes += isKeptAsBlob(event.content) ? 0 : givenBytes(event);
    if (bytes <= limit.wholeBytesMax) return;
    throw new SkeinError("refused", `the contents of ${session} exceed ${limit.wholeBytesMax} bytes`, {
      hint: "read the events in pages, or call `fold` for the state without contents",
    });
  };
}

/** A whole blob. Rejects with `not-found` when the store no longer has it. */
export async function readBlob(store: Store, hash: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of readChunks(store, hash)) parts.push(chunk);
  return Buffer.concat(parts);
}

/** A blob in chunks, as it is read. */
export async function* readChunks(store: Store, hash: string): AsyncGenerator<Uint8Array> {
  const chunks = /^[0-9a-f]{64}$/.test(hash) ? await store.blob(hash) : undefined;
  if (chunks === undefined) throw new SkeinError("not-found", `blob ${quote(hash)} is not in the store`);
  yield* chunks;
}

/** Concurrent reads for one answer: with a remote store each is a round trip. */
const besideMax = 16;

/** The results of concurrent reads, in the order of the input. */
export async function sideBySide<T, R>(of: readonly T[], read: (one: T) => Promise<R>): Promise<R[]> {
  const found: R[] = [];
  for (let from = 0; from < of.length; from += besideMax)
    found.push(...(await Promise.all(of.slice(from, from + besideMax).map(read))));
  return found;
}

/** The field that marks a content as stored in a blob. */
export const blobField = "$blob";

/** The block that holds a long output whole. */
export const isWholeOutput = (block: { readonly type: string; readonly mediaType?: unknown }): boolean =>
  block.type === "file" && block.mediaType === "text/plain";
