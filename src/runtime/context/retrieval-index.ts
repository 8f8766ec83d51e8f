/**
 * Indexes that retrieval keeps between turns: of the items of a session, and of the sections of a document.
 * They are derived, bounded, and gone with the process; a text that was erased since is not found in the log,
 * and so not brought in.
 */
import { type Cache, makeCache } from "../../core/cache.ts";
import { Relevance } from "../../core/memory/relevance.ts";
import { outlineOf, type Section } from "../../core/rank/outline.ts";
import { corpusMin } from "../../core/rank/rank.ts";
import type { ItemRef } from "../../core/state.ts";

/** Items by position. */
export interface ItemIndex {
  readonly relevance: Relevance;
  readonly names: Map<string, number>;
}

/** Sections by their place in the outline. */
export interface DocumentIndex {
  readonly relevance: Relevance;
  readonly sections: readonly Section[];
}

export interface RetrievalCache {
  readonly items: Cache<string, ItemIndex>;
  readonly documents: Cache<string, DocumentIndex>;
  /** By log: the position up to which the store has its words. */
  readonly words: Cache<string, number>;
}

/** Characters of a document that are indexed: about 1,500 pages. */
const indexedCharsMax = 4_000_000;

export const makeRetrievalCache = (): RetrievalCache => ({
  items: makeCache(20),
  documents: makeCache(5),
  words: makeCache(1_000),
});

const newIndex = (): Relevance => new Relevance(corpusMin);

/** What items say, as far as the log has it. */
export interface ItemWords {
  readonly value: string;
  readonly because: string;
}

/** The index of these items; reads those that are new. */
export async function indexItems(
  cache: RetrievalCache,
  session: string,
  items: ReadonlyMap<string, ItemRef>,
  read: (refs: readonly ItemRef[]) => Promise<readonly (ItemWords | null)[]>,
): Promise<ItemIndex> {
  const index = cache.items.get(session) ?? { relevance: newIndex(), names: new Map<string, number>() };
  cache.items.set(session, index);
  for (const [name, seq] of index.names) {
    if (items.get(name)?.seq === seq) continue;
    index.relevance.remove(String(seq));
    index.names.delete(name);
  }
  const missing = [...items].filter(([name]) => !index.names.has(name));
  const words = await read(missing.map(([, ref]) => ref));
  for (const [place, [name, { seq, key }]] of missing.entries()) {
    index.names.set(name, seq);
    const said = words[place];
    if (said !== undefined && said !== null) index.relevance.set(String(seq), { key, ...said });
  }
  return index;
}

/** The index of a document by its digest; its text is read only for a new one. */
export async function indexDocument(
  cache: RetrievalCache,
  digest: string,
  read: () => Promise<{ readonly text: string; readonly path: string | null } | null>,
): Promise<DocumentIndex | null> {
  const known = cache.documents.get(digest);
  if (known !== undefined) return known;
  const found = await read();
  if (found === null) return null;
  const { text, path } = found;
  const sections = outlineOf(text, path);
  const relevance = newIndex();
  const above: string[] = [];
  for (const [place, { title, level, from, to }] of sections.entries()) {
    if (to > indexedCharsMax) break;
    above.length = Math.max(0, level - 1);
    if (level > 0) above[level - 1] = title;
    // A part is about what the headings above it say.
    const key = level === 0 ? "" : above.filter((one) => one !== undefined).join(" ");
    relevance.set(String(place), { key, value: text.slice(from, to), because: "" });
  }
  const index = { relevance, sections };
  cache.documents.set(digest, index);
  return index;
}
