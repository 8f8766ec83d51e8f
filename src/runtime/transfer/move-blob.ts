/** Blobs that travel: which of them a record refers to, and their bytes, verified on the way. */
import { createHash } from "node:crypto";
import { isForeign } from "../../core/catalog.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Store } from "../../store/port.ts";
import { blobReference } from "../read/content.ts";

const hashForm = /^[0-9a-f]{64}$/;

/** The blobs that a record's content refers to, as noted when it was written. */
export interface BlobsOfRecord {
  /** The blob that holds the content. Without it the record cannot be read. */
  readonly whole: string | null;
  /** The blobs that its blocks name. A lost one is shown as such, and bricks nothing. */
  readonly named: readonly string[];
}

/** `read` returns the text of a blob with the length that the record states. */
export async function blobsOf(
  { type, content }: StoredRecord,
  read: (hash: string, bytes: number) => Promise<string>,
): Promise<BlobsOfRecord> {
  if (content === null || !(content.includes('"blob"') || content.includes('"$blob"'))) return none;
  const value = parse(content);
  const reference = isReference(value) ? blobReference(value) : null;
  if (reference === null) return isForeign(type) ? none : { whole: null, named: named(value) };
  const whole = reference.sha256;
  if (typeof whole !== "string" || !hashForm.test(whole)) {
    throw new SkeinError("corrupt", "a content has an invalid blob reference", {
      detail: "received",
    });
  }
  const text = await read(whole, reference.bytes);
  if (isForeign(type)) return { whole, named: [] };
  const inner = text.includes('"blob"') ? named(parse(text)) : [];
  return { whole, named: inner.filter((hash) => hash !== whole) };
}

const none: BlobsOfRecord = { whole: null, named: [] };

/** All of them that this store has. Reports lost ones. */
export async function blobsHere(
  store: Store,
  { whole, named }: BlobsOfRecord,
  lost: (hash: string) => void,
): Promise<readonly string[]> {
  const here: string[] = whole === null ? [] : [whole];
  for (const hash of named) {
    if ((await store.blob(hash)) === undefined) lost(hash);
    else here.push(hash);
  }
  return here;
}

const isReference = (value: unknown): boolean => {
  const reference: unknown =
    typeof value === "object" && value !== null && "$blob" in value ? value.$blob : null;
  return typeof reference === "object" && reference !== null;
};

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SkeinError("corrupt", "a content is not JSON", { cause, detail: "received" });
  }
}

function named(value: unknown): readonly string[] {
  const blocks: unknown =
    typeof value === "object" && value !== null && "blocks" in value ? value.blocks : null;
  if (!Array.isArray(blocks)) return [];
  const hashes = blocks.flatMap((block: unknown) => {
    const blob: unknown = typeof block === "object" && block !== null && "blob" in block ? block.blob : null;
    return typeof blob === "string" && hashForm.test(blob) ? [blob] : [];
  });
  return [...new Set(hashes)];
}

/** The content that a store holds in a blob. */
export async function blobText(store: Store, hash: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of await blobIn(store, hash)) {
    bytes += chunk.length;
    if (bytes > limit.documentContentBytesMax) {
      throw new SkeinError("corrupt", `blob ${hash} exceeds the size limit of a content`, {
        detail: "received",
      });
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** The same, if it has the length that the record states. */
export async function blobTextOf(store: Store, hash: string, bytes: number): Promise<string> {
  const text = await blobText(store, hash);
  if (Buffer.byteLength(text) === bytes) return text;
  throw new SkeinError("corrupt", `blob ${hash} is not as long as a record says`, { detail: "received" });
}

export async function blobIn(store: Store, hash: string): Promise<AsyncIterable<Uint8Array>> {
  const chunks = await store.blob(hash);
  if (chunks !== undefined) return chunks;
  throw new SkeinError("corrupt", `blob ${hash} is missing`, {
    hint: 'run "skein verify --all" to see what is damaged',
    detail: "received",
  });
}

/** The same chunks; fails at the end unless they match this hash, so that they are not kept. */
export async function* checkedChunks(
  hash: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const sum = createHash("sha256");
  for await (const chunk of chunks) {
    sum.update(chunk);
    yield chunk;
  }
  if (sum.digest("hex") === hash) return;
  throw new SkeinError("corrupt", `blob ${hash} does not match its hash`, {
    hint: 'run "skein verify --all" in its source store',
    detail: "received",
  });
}

/** Copies the blobs of a record from one store to another; returns how many were missing there. */
export async function copyBlobs(from: Store, to: Store, record: StoredRecord): Promise<number> {
  let count = 0;
  const refers = await blobsOf(record, (blob) => blobText(from, blob));
  for (const hash of await blobsHere(from, refers, () => undefined)) {
    if ((await to.blob(hash)) !== undefined) continue;
    await to.putBlob(hash, checkedChunks(hash, await blobIn(from, hash)));
    count++;
  }
  return count;
}
