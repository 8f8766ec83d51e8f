/**
 * The relevance of memory entries to a text: BM25 over three fields; the key weighs the most and the reason
 * the least. The index is updated per entry. Each reader has its own.
 */
import { wordsOf } from "./words.ts";

/** The compared fields of an entry. */
export interface MemoryText {
  readonly key: string;
  readonly value: string;
  readonly because: string;
}

export interface RelevanceHit {
  readonly id: string;
  readonly score: number;
  /** The common words, as spelled in the query, the most distinctive first. */
  readonly words: readonly string[];
  /** Whether the key contains one of them. */
  readonly inKey: boolean;
  /** Whether the key begins with one of them. */
  readonly begins: boolean;
  /** Whether any key begins with one of them. */
  readonly isTopic: boolean;
}

const fields = ["key", "value", "because"] as const;
type Field = (typeof fields)[number];
/** The weight of a word by field. */
const weight: Readonly<Record<Field, number>> = { key: 2.5, value: 1, because: 0.6 };
/** How much the length of a field lowers the weight of its words. */
const lengthShare: Readonly<Record<Field, number>> = { key: 0.3, value: 0.6, because: 0.6 };
const saturation = 1.2;
/** The minimum weight of a word, as a share of a word that a single entry has. */
const rarityShareMin = 0.35;
/** Words of a query; of a longer one the rarest are kept. */
const askedMax = 64;

interface Slot {
  /** The first word of the key. */
  readonly head: string;
  readonly place: number;
  readonly lengths: Readonly<Record<Field, number>>;
  readonly counts: ReadonlyMap<string, Readonly<Record<Field, number>>>;
}

export class Relevance {
  #slots = new Map<string, Slot>();
  /** By word: the entries that contain it. */
  #having = new Map<string, Map<string, Slot>>();
  #lengths: Record<Field, number> = { key: 0, value: 0, because: 0 };
  /** By first word: how many keys begin with it. */
  #heads = new Map<string, number>();
  #added = 0;

  /** The words of this many more entries count as the usual ones: with few entries no word is rare. */
  readonly #background: number;

  constructor(background = 0) {
    this.#background = background;
  }

  /** The same entries, scored as if there were so many others. It follows the changes of this one. */
  among(others: number): Relevance {
    const view = new Relevance(others);
    [view.#slots, view.#having, view.#lengths] = [this.#slots, this.#having, this.#lengths];
    view.#heads = this.#heads;
    return view;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Grows in the order in which entries were added. */
  placeOf(id: string): number {
    return this.#slots.get(id)?.place ?? 0;
  }

  set(id: string, text: MemoryText): void {
    this.remove(id);
    const counts = new Map<string, Record<Field, number>>();
    const lengths: Record<Field, number> = { key: 0, value: 0, because: 0 };
    for (const field of fields) {
      for (const word of wordsOf(text[field])) {
        const count = counts.get(word) ?? { key: 0, value: 0, because: 0 };
        counts.set(word, count);
        count[field]++;
        lengths[field]++;
      }
      this.#lengths[field] += lengths[field];
    }
    const [head = ""] = wordsOf(text.key);
    this.#heads.set(head, (this.#heads.get(head) ?? 0) + 1);
    const slot: Slot = { head, place: this.#added++, lengths, counts };
    this.#slots.set(id, slot);
    for (const word of counts.keys()) {
      const having = this.#having.get(word);
      if (having === undefined) this.#having.set(word, new Map([[id, slot]]));
      else having.set(id, slot);
    }
  }

  remove(id: string): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    this.#slots.delete(id);
    const heads = (this.#heads.get(slot.head) ?? 1) - 1;
    if (heads === 0) this.#heads.delete(slot.head);
    else this.#heads.set(slot.head, heads);
    for (const field of fields) this.#lengths[field] -= slot.lengths[field];
    for (const word of slot.counts.keys()) {
      const having = this.#having.get(word);
      having?.delete(id);
      if (having?.size === 0) this.#having.delete(word);
    }
  }

  /** The score of an entry whose key has one query word that no other entry has: the reference. */
  get telling(): number {
    return this.#rarity(1) * saturated(weight.key);
  }

  /**
   * The score of an entry whose key has all words of the text, or of a longer text the most distinctive ones:
   * the reference for a share. Words that no entry has count as those that one entry has.
   */
  full(text: string, wordsMax: number): number {
    const rarities = [...new Set(wordsOf(text))].map((word) =>
      this.#rarity(Math.max(1, this.#having.get(word)?.size ?? 0)),
    );
    const telling = rarities.toSorted((a, b) => b - a).slice(0, wordsMax);
    return telling.reduce((sum, rarity) => sum + rarity, 0) * saturated(weight.key);
  }

  /** The share of the words of both entries that both have. */
  likeness(one: string, other: string): number {
    const [a, b] = [this.#slots.get(one)?.counts, this.#slots.get(other)?.counts];
    if (a === undefined || b === undefined) return 0;
    let both = 0;
    for (const word of a.keys()) if (b.has(word)) both++;
    return both / (a.size + b.size - both);
  }

  /**
   * The entries that share words with the text, among those allowed; unordered. With a share, only those that
   * score at least that share of the best.
   */
  about(text: string, may: (id: string) => boolean, bestShare = 0): RelevanceHit[] {
    const forms = new Map<string, string>();
    const asked = [...new Set(wordsOf(text, forms))]
      .flatMap((word) => {
        const having = this.#having.get(word);
        return having === undefined ? [] : [{ word, having, rarity: this.#rarity(having.size) }];
      })
      .toSorted((a, b) => b.rarity - a.rarity)
      .slice(0, askedMax);
    const found = new Map<
      string,
      { score: number; inKey: boolean; slot: Slot; words: { word: string; score: number }[] }
    >();
    for (const { word, having, rarity } of asked) {
      for (const [id, slot] of having) {
        const known = found.get(id);
        if (known === undefined && !may(id)) continue;
        const score = rarity * saturated(this.#frequency(word, slot));
        const inKey = (slot.counts.get(word)?.key ?? 0) > 0;
        if (known === undefined) found.set(id, { score, inKey, slot, words: [{ word, score }] });
        else {
          known.score += score;
          known.inKey ||= inKey;
          known.words.push({ word, score });
        }
      }
    }
    let best = 0;
    for (const { score } of found.values()) best = Math.max(best, score);
    const hits = [...found].filter(([, { score }]) => score >= best * bestShare);
    return hits.map(([id, { score, inKey, slot, words }]) => ({
      id,
      score,
      inKey,
      begins: words.some(({ word }) => word === slot.head),
      isTopic: words.some(({ word }) => this.#heads.has(word)),
      words: words.toSorted((a, b) => b.score - a.score).map(({ word }) => forms.get(word) ?? word),
    }));
  }

  /** A common word still counts: memory may be about little else. */
  #rarity(count: number): number {
    return Math.max(this.#plainRarity(count), this.#plainRarity(1) * rarityShareMin);
  }

  #plainRarity(count: number): number {
    const size = this.#slots.size + this.#background;
    return Math.log(1 + (size - count + 0.5) / (count + 0.5));
  }

  #frequency(word: string, { lengths, counts }: Slot): number {
    const count = counts.get(word);
    if (count === undefined) return 0;
    let sum = 0;
    for (const field of fields) {
      if (count[field] === 0) continue;
      const average = this.#lengths[field] / this.#slots.size || 1;
      const share = lengthShare[field];
      sum += (weight[field] * count[field]) / (1 - share + (share * lengths[field]) / average);
    }
    return sum;
  }
}

const saturated = (frequency: number): number => frequency / (saturation + frequency);
