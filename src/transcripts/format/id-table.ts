/**
 * Numbers ids in the order of their first appearance. A UUID takes 24 bytes in typed arrays: a file of a
 * gigabyte has a million of them, and a map of strings would need several times the memory.
 */

const empty = -1;

export class IdTable {
  #keys = new Uint32Array(4 * 1024);
  #slots = new Int32Array(4 * 1024).fill(empty);
  #uuids = 0;
  /** Number of an id by the index of its UUID. */
  #numbers = new Int32Array(1024);
  readonly #others = new Map<string, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of an id, given now if it has none. */
  add(id: string): number {
    return this.#lookup(id, true);
  }

  /** The number of an id, or -1. */
  get(id: string): number {
    return this.#lookup(id, false);
  }

  #lookup(id: string, insert: boolean): number {
    const words = uuidWords(id);
    if (words === undefined) return this.#lookupOther(id, insert);
    const [a, b, c, d] = words;
    const mask = this.#slots.length - 1;
    for (let slot = (a ^ Math.imul(d, 0x9e3779b1) ^ (b << 7) ^ c) & mask; ; slot = (slot + 1) & mask) {
      const index = this.#slots[slot] ?? empty;
      if (index === empty) return insert ? this.#insert(slot, words) : empty;
      const at = index * 4;
      if (
        this.#keys[at] === a &&
        this.#keys[at + 1] === b &&
        this.#keys[at + 2] === c &&
        this.#keys[at + 3] === d
      )
        return this.#numbers[index] ?? empty;
    }
  }

  #lookupOther(id: string, insert: boolean): number {
    const known = this.#others.get(id);
    if (known !== undefined) return known;
    if (!insert) return empty;
    this.#others.set(id, this.#size);
    return this.#size++;
  }

  #insert(slot: number, words: readonly [number, number, number, number]): number {
    const index = this.#uuids++;
    if (index * 4 + 4 > this.#keys.length) {
      this.#keys = grown(this.#keys, new Uint32Array(this.#keys.length * 2));
      this.#numbers = grown(this.#numbers, new Int32Array(this.#numbers.length * 2));
    }
    this.#keys.set(words, index * 4);
    this.#numbers[index] = this.#size;
    this.#slots[slot] = index;
    if (this.#uuids * 2 > this.#slots.length) this.#rehash();
    return this.#size++;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(empty);
    const mask = this.#slots.length - 1;
    for (let index = 0; index < this.#uuids; index++) {
      const [a = 0, b = 0, c = 0, d = 0] = this.#keys.subarray(index * 4, index * 4 + 4);
      let slot = (a ^ Math.imul(d, 0x9e3779b1) ^ (b << 7) ^ c) & mask;
      while (this.#slots[slot] !== empty) slot = (slot + 1) & mask;
      this.#slots[slot] = index;
    }
  }
}

function grown<A extends Uint32Array | Int32Array>(from: A, to: A): A {
  to.set(from);
  return to;
}

/** Only the lower-case form is packed: the id must come out as it went in. */
function uuidWords(id: string): readonly [number, number, number, number] | undefined {
  if (id.length !== 36) return undefined;
  const words: [number, number, number, number] = [0, 0, 0, 0];
  let digit = 0;
  for (let i = 0; i < 36; i++) {
    const code = id.charCodeAt(i);
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (code !== 0x2d) return undefined;
      continue;
    }
    const value =
      code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
    if (value === -1) return undefined;
    words[digit >> 3] = ((words[digit >> 3] ?? 0) << 4) | value;
    digit += 1;
  }
  return [words[0] >>> 0, words[1] >>> 0, words[2] >>> 0, words[3] >>> 0];
}

/** A list of numbers in a typed array that grows. */
export class NumberColumn {
  #values = new Float64Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const wider = new Float64Array(this.#length * 2);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.#length++] = value;
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number): void {
    this.#values[index] = value;
  }
}
