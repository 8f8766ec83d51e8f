/**
 * How much of what is remembered is about a text: BM25 over three fields, of which a key says the most and a
 * reason the least. The index is kept up entry by entry, and belongs to one reader.
 */
import { wordsOf } from "./words.ts";

/** What of an entry is compared. */
export interface MemoryText {
  readonly key: string;
  readonly value: string;
  readonly because: string;
}

export interface Relevant {
  readonly id: string;
  readonly score: number;
  /** The words that both have, the most telling first. */
  readonly words: readonly string[];
  /** Whether one of them is in the key. */
  readonly inKey: boolean;
}

const fields = ["key", "value", "because"] as const;
type Field = (typeof fields)[number];
/** What a word counts in each field. */
const weight: Readonly<Record<Field, number>> = { key: 2.5, value: 1, because: 0.6 };
/** How much the length of a field takes away from what a word in it counts. */
const lengthShare: Readonly<Record<Field, number>> = { key: 0.3, value: 0.6, because: 0.6 };
const saturation = 1.2;
/** What a word counts at least, as a share of one that a single entry has. */
const rarityShareMin = 0.35;
/** Words of a question; past that it is about too much. The rarest are kept. */
const askedMax = 64;

interface Slot {
  readonly lengths: Readonly<Record<Field, number>>;
  readonly counts: ReadonlyMap<string, Readonly<Record<Field, number>>>;
}

export class Relevance {
  readonly #slots = new Map<string, Slot>();
  /** By word: the entries that have it. */
  readonly #having = new Map<string, Map<string, Slot>>();
  readonly #lengths: Record<Field, number> = { key: 0, value: 0, because: 0 };

  get size(): number {
    return this.#slots.size;
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
    const slot: Slot = { lengths, counts };
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
    for (const field of fields) this.#lengths[field] -= slot.lengths[field];
    for (const word of slot.counts.keys()) {
      const having = this.#having.get(word);
      having?.delete(id);
      if (having?.size === 0) this.#having.delete(word);
    }
  }

  /** The score of an entry that has in its key one word of the question that no other has: the yardstick. */
  get telling(): number {
    return this.#rarity(1) * saturated(weight.key);
  }

  /** What is about the text, of the entries that may be: in no order. */
  about(text: string, may: (id: string) => boolean): Relevant[] {
    const asked = [...new Set(wordsOf(text))]
      .flatMap((word) => {
        const having = this.#having.get(word);
        return having === undefined ? [] : [{ word, having, rarity: this.#rarity(having.size) }];
      })
      .toSorted((a, b) => b.rarity - a.rarity)
      .slice(0, askedMax);
    const found = new Map<
      string,
      { score: number; inKey: boolean; words: { word: string; score: number }[] }
    >();
    for (const { word, having, rarity } of asked) {
      for (const [id, slot] of having) {
        const known = found.get(id);
        if (known === undefined && !may(id)) continue;
        const score = rarity * saturated(this.#frequency(word, slot));
        const inKey = (slot.counts.get(word)?.key ?? 0) > 0;
        if (known === undefined) found.set(id, { score, inKey, words: [{ word, score }] });
        else {
          known.score += score;
          known.inKey ||= inKey;
          known.words.push({ word, score });
        }
      }
    }
    return [...found].map(([id, { score, inKey, words }]) => ({
      id,
      score,
      inKey,
      words: words.toSorted((a, b) => b.score - a.score).map(({ word }) => word),
    }));
  }

  /** What many have still says something: memory may be about little else. */
  #rarity(count: number): number {
    return Math.max(this.#plainRarity(count), this.#plainRarity(1) * rarityShareMin);
  }

  #plainRarity(count: number): number {
    return Math.log(1 + (this.#slots.size - count + 0.5) / (count + 0.5));
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
