/** Searches for a text in contents, also in blobs that hold a content or that it refers to; and in bodies. */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { Store } from "../../store/port.ts";
import { blobReference, readBlob } from "../read/content.ts";
import { vocabulary } from "../log/redact.ts";

/** How deep JSON within JSON is searched. */
const quotingMax = 3;

/** A function that checks whether the content of a record holds the text. */
export function makeFinder(store: Store, text: string): (record: StoredRecord) => Promise<boolean> {
  const spellings = [text];
  for (let level = 1; level <= quotingMax; level++)
    spellings.push(JSON.stringify(spellings.at(-1)).slice(1, -1));
  // A content is JSON, so the plain text cannot stand there; a blob may be anything.
  const quoted = [...new Set(spellings.slice(1))];
  const bytes = [...new Set(spellings)].map((one) => Buffer.from(one));
  const known = new Map<string, boolean>();

  async function inBlob(hash: string): Promise<boolean> {
    const before = known.get(hash);
    if (before !== undefined) return before;
    const chunks = await store.blob(hash);
    const holds = chunks !== undefined && (await streamHolds(chunks, bytes));
    known.set(hash, holds);
    return holds;
  }

  return async ({ content }) => {
    if (content === null) return false;
    const whole = content.startsWith('{"$blob"') ? await inflated(store, content) : content;
    if (quoted.some((one) => whole.includes(one))) return true;
    for (const [, hash] of whole.matchAll(/"([0-9a-f]{64})"/g))
      if (hash !== undefined && (await inBlob(hash))) return true;
    return false;
  };
}

/**
 * A function that checks whether a body holds the text: in a key, a label or a name. Words of the catalog,
 * ids and hashes are not personal.
 */
export function makeBodyFinder(text: string): (record: Pick<StoredRecord, "body">) => boolean {
  const quoted = JSON.stringify(text).slice(1, -1);
  return ({ body }) => {
    if (!body.includes(quoted)) return false;
    return leavesOf(JSON.parse(body)).some(
      (leaf) => leaf.includes(text) && !vocabulary().has(leaf) && !isOpaque(leaf),
    );
  };
}

const isOpaque = (leaf: string): boolean => /^(?:[0-9a-f]{64}|[a-z]{3}_[0-9a-z]{26})$/.test(leaf);

/** Names of fields, and texts. */
function leavesOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const names = Array.isArray(value) ? [] : Object.keys(value);
  return [...names, ...Object.values(value).flatMap(leavesOf)];
}

async function inflated(store: Store, content: string): Promise<string> {
  const reference = blobReference(JSON.parse(content));
  if (reference === null) return content;
  try {
    return (await readBlob(store, reference.sha256)).toString("utf8");
  } catch (error) {
    if (error instanceof SkeinError && error.code === "not-found") return "";
    throw error;
  }
}

/** A text may begin in one chunk and end in another. */
async function streamHolds(
  chunks: AsyncIterable<Uint8Array>,
  texts: readonly Uint8Array[],
): Promise<boolean> {
  const keep = Math.max(...texts.map(({ length }) => length)) - 1;
  let before = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const here = Buffer.concat([before, chunk]);
    if (texts.some((text) => here.includes(text))) return true;
    before = here.subarray(Math.max(0, here.length - keep));
  }
  return false;
}
