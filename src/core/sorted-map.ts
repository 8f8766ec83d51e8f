/**
 * An immutable map from strings to values, sorted by key in chunks: setting one entry copies one chunk and
 * the spine, never the whole map. Its sorted entries are its canonical form.
 */

const chunkEntriesMax = 64;

type Entry<T> = readonly [key: string, value: T];
type Chunk<T> = readonly Entry<T>[];

/** An immutable map, sorted by key. */
export class SortedMap<T> {
  readonly #chunks: readonly Chunk<T>[];
  readonly size: number;

  private constructor(chunks: readonly Chunk<T>[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  static empty<T>(): SortedMap<T> {
    return new SortedMap<T>([], 0);
  }

  /** From entries in any order; of two with the same key the last wins. */
  static from<T>(entries: Iterable<Entry<T>>): SortedMap<T> {
    const sorted = [...new Map(entries)].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const chunks: Chunk<T>[] = [];
    for (let i = 0; i < sorted.length; i += chunkEntriesMax)
      chunks.push(sorted.slice(i, i + chunkEntriesMax));
    return new SortedMap<T>(chunks, sorted.length);
  }

  get(key: string): T | undefined {
    const chunk = this.#chunks[this.#chunkFor(key)];
    return chunk?.find(([at]) => at === key)?.[1];
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, value: T): SortedMap<T> {
    const place = Math.max(0, this.#chunkFor(key));
    const chunk = this.#chunks[place] ?? [];
    const at = chunk.findIndex(([other]) => other >= key);
    const slot = at === -1 ? chunk.length : at;
    const replaces = chunk[slot]?.[0] === key;
    const grown = chunk.toSpliced(slot, replaces ? 1 : 0, [key, value]);
    return new SortedMap<T>(
      this.#chunks.toSpliced(place, 1, ...split(grown)),
      this.size + (replaces ? 0 : 1),
    );
  }

  delete(key: string): SortedMap<T> {
    const place = this.#chunkFor(key);
    const chunk = this.#chunks[place];
    const slot = chunk?.findIndex(([other]) => other === key) ?? -1;
    if (chunk === undefined || slot === -1) return this;
    const shrunk = chunk.toSpliced(slot, 1);
    return new SortedMap<T>(
      this.#chunks.toSpliced(place, 1, ...(shrunk.length > 0 ? [shrunk] : [])),
      this.size - 1,
    );
  }

  *entries(): IterableIterator<Entry<T>> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  *keys(): IterableIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): IterableIterator<T> {
    for (const [, value] of this.entries()) yield value;
  }

  /** JSON is the sorted list of entries; `Keyed.from` reads it back. */
  toJSON(): readonly Entry<T>[] {
    return [...this.entries()];
  }

  /** The last chunk whose first key is not above `key`, or the first one; -1 when empty. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    if (high === -1) return -1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#chunks[middle]?.[0]?.[0] ?? "") <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function split<T>(chunk: Chunk<T>): Chunk<T>[] {
  if (chunk.length <= chunkEntriesMax) return [chunk];
  const middle = chunk.length >> 1;
  return [chunk.slice(0, middle), chunk.slice(middle)];
}
