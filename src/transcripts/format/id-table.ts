/**
 * Columns and ids in typed arrays: a file of a gigabyte has a million records, and maps of strings would need
 * several times the memory.
 */

const empty = -1;
const columnBits = 14;
const columnMask = (1 << columnBits) - 1;

type Cells = Float64Array | Int32Array | Uint8Array;

/** A list of numbers in typed arrays. It grows by pieces, so that nothing is copied. */
export class NumberColumn {
  readonly #pieces: Cells[] = [];
  readonly #cells: new (length: number) => Cells;
  #length = 0;

  constructor(cells: new (length: number) => Cells = Float64Array) {
    this.#cells = cells;
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if ((this.#length & columnMask) === 0) this.#pieces.push(new this.#cells(1 << columnBits));
    this.set(this.#length++, value);
  }

  /** All values, as whole numbers. */
  toInts(): Int32Array {
    const all = new Int32Array(this.#length);
    for (let at = 0; at < this.#length; at++) all[at] = this.at(at);
    return all;
  }

  at(index: number): number {
    return this.#pieces[index >> columnBits]?.[index & columnMask] ?? 0;
  }

  set(index: number, value: number): void {
    const piece = this.#pieces[index >> columnBits];
    if (piece !== undefined) piece[index & columnMask] = value;
  }
}

const pieceBytes = 262_144;
/** Longer ids, and those with characters beyond Latin-1, are rare: they stay strings. */
const packedMax = 255;
const uuidBytes = 16;
/** Positions are 32-bit numbers. */
const piecesMax = 8_000;

/** Numbers ids in the order of their first appearance. A UUID takes about 30 bytes. */
export class IdTable {
  readonly #pieces: Uint8Array[] = [];
  #used = pieceBytes;
  /** Where the bytes of an id begin: its length, 0 for a UUID, then its bytes. -1: it is a string. */
  readonly #begins = new NumberColumn(Int32Array);
  #slots = new Int32Array(1024).fill(empty);
  readonly #strings = new Map<string, number>();
  readonly #stringOf = new Map<number, string>();
  readonly #packed = new Uint8Array(packedMax + 1);

  get size(): number {
    return this.#begins.length;
  }

  /** The number of an id, given now if it has none. */
  add(id: string): number {
    return this.#lookup(id, true);
  }

  /** The number of an id, or -1. */
  get(id: string): number {
    return this.#lookup(id, false);
  }

  /** The id of a number. */
  text(number: number): string {
    const begin = this.#begins.at(number);
    if (begin === empty) return this.#stringOf.get(number) ?? "";
    const piece = this.#pieces[Math.floor(begin / pieceBytes)] ?? new Uint8Array();
    const at = (begin % pieceBytes) + 1;
    const length = piece[at - 1] ?? 0;
    const bytes = Buffer.from(piece.buffer, at, length || uuidBytes);
    if (length > 0) return bytes.toString("latin1");
    const hex = bytes.toString("hex");
    const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
    return parts.join("-");
  }

  #lookup(id: string, insert: boolean): number {
    const length = pack(id, this.#packed);
    if (length === empty) return this.#lookupString(id, insert);
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(this.#packed, length) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] ?? empty;
      if (number === empty && this.#pieces.length > piecesMax) return this.#lookupString(id, insert);
      if (number === empty) return insert ? this.#insert(slot, length) : empty;
      if (this.#isAt(number, length)) return number;
    }
  }

  #isAt(number: number, length: number): boolean {
    const begin = this.#begins.at(number);
    const piece = this.#pieces[Math.floor(begin / pieceBytes)];
    if (piece === undefined) return false;
    const at = begin % pieceBytes;
    for (let i = 0; i < length; i++) if (piece[at + i] !== this.#packed[i]) return false;
    return true;
  }

  #lookupString(id: string, insert: boolean): number {
    const known = this.#strings.get(id);
    if (known !== undefined) return known;
    if (!insert) return empty;
    const number = this.size;
    this.#strings.set(id, number);
    this.#stringOf.set(number, id);
    this.#begins.push(empty);
    return number;
  }

  #insert(slot: number, length: number): number {
    if (this.#used + length > pieceBytes) {
      this.#pieces.push(new Uint8Array(pieceBytes));
      this.#used = 0;
    }
    this.#pieces.at(-1)?.set(this.#packed.subarray(0, length), this.#used);
    const number = this.size;
    this.#begins.push((this.#pieces.length - 1) * pieceBytes + this.#used);
    this.#used += length;
    this.#slots[slot] = number;
    if (this.size * 3 > this.#slots.length * 2) this.#rehash();
    return number;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(empty);
    const mask = this.#slots.length - 1;
    for (let number = 0; number < this.size; number++) {
      const begin = this.#begins.at(number);
      const piece = this.#pieces[Math.floor(begin / pieceBytes)];
      if (piece === undefined) continue;
      const at = begin % pieceBytes;
      let slot = hashOf(piece.subarray(at), 1 + ((piece[at] ?? 0) || uuidBytes)) & mask;
      while (this.#slots[slot] !== empty) slot = (slot + 1) & mask;
      this.#slots[slot] = number;
    }
  }
}

/** The number of bytes that an id takes, its length included; -1 when it is kept as a string. */
function pack(id: string, to: Uint8Array): number {
  if (id.length === 36 && packUuid(id, to)) return 1 + uuidBytes;
  if (id.length === 0 || id.length > packedMax) return empty;
  to[0] = id.length;
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    if (code > 0xff) return empty;
    to[i + 1] = code;
  }
  return 1 + id.length;
}

/** Only the lower-case form is packed: the id must come out as it went in. */
function packUuid(id: string, to: Uint8Array): boolean {
  to[0] = 0;
  let digit = 0;
  for (let i = 0; i < 36; i++) {
    const code = id.charCodeAt(i);
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (code !== 0x2d) return false;
      continue;
    }
    const value =
      code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
    if (value === -1) return false;
    const at = 1 + (digit >> 1);
    to[at] = digit % 2 === 0 ? value << 4 : (to[at] ?? 0) | value;
    digit += 1;
  }
  return true;
}

function hashOf(bytes: Uint8Array, length: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < length; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
}
