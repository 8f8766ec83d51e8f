/**
 * The history of a session: the fold of its records into a list of items. Pure. The body of a record says
 * what it changes, by the ids of items; its value holds the items that it brings, as JSON.
 */
import type { DrawerRecord, StoredDrawerRecord } from "../drawer.ts";
import { digestOf } from "./item.ts";

/** Tells an item: the position of the record that brought it, and its place in there. */
export type ItemId = `${number}.${number}`;

/** What a record changes. */
export interface HistoryChange {
  /** How many items it appends: those of its value. */
  readonly append?: number;
  /** The item of its value takes the place of this one. */
  readonly set?: ItemId;
  readonly remove?: readonly ItemId[];
  /** Removes this many at the end; only when the last item is still `ifLast`. */
  readonly dropLast?: number;
  readonly ifLast?: ItemId | null;
  /** Removes all before it, and forgets all operations. */
  readonly clear?: true;
  /** The digests of an operation's id and of its transaction: it takes effect once. */
  readonly operation?: string;
  readonly digest?: string;
}

export const nouns = ["items", "pop", "clear", "replace"] as const;

/** What a record did: another process may have been faster. */
export type ChangeResult = "applied" | "void" | "repeated" | "reused";

interface Entry {
  readonly id: ItemId;
  /** Undefined: erased. It keeps its place. */
  json: unknown;
}

/** The items of a session. */
export class History {
  #entries: Entry[] = [];
  #operations = new Map<string, string>();
  readonly #refused = new Map<number, ChangeResult>();
  #next = 1;
  /** The records that hold items: to erase when all is cleared. */
  #firstSeq: number | null = null;

  /** The first position that was not read. */
  get next(): number {
    return this.#next;
  }

  /** The first record that holds an item, also one that was removed; null when there is none. */
  get firstSeq(): number | null {
    return this.#firstSeq;
  }

  /** What the record at a position did. */
  resultOf(seq: number): ChangeResult {
    return this.#refused.get(seq) ?? "applied";
  }

  /** Notes that the contents of all items until now are erased. */
  noteErased(): void {
    this.#firstSeq = null;
  }

  /** The items, in order, without those that were erased. */
  get items(): unknown[] {
    return this.#visible().map(({ json }) => json);
  }

  /** The id of the last item that is not erased. */
  get lastItem(): { readonly id: ItemId; readonly json: unknown } | null {
    return this.#visible().at(-1) ?? null;
  }

  /** The digest of the transaction that an operation had. */
  transactionOf(operation: string): string | undefined {
    return this.#operations.get(operation);
  }

  /** The change that replaces the items at the end; null when they are others. */
  replaceSuffix(expected: readonly unknown[]): Pick<HistoryChange, "dropLast" | "ifLast"> | null {
    const visible = this.#visible();
    const from = visible.length - expected.length;
    if (from < 0) return null;
    const isSame = expected.every((json, place) => digestOf(json) === digestOf(visible[from + place]?.json));
    if (!isSame) return null;
    const first = visible[from];
    const dropLast = first === undefined ? 0 : this.#entries.length - this.#entries.indexOf(first);
    return { dropLast, ifLast: this.#entries.at(-1)?.id ?? null };
  }

  /** The ids of the items of a kind, in order. */
  idsWhere(test: (json: unknown) => boolean): ItemId[] {
    return this.#visible()
      .filter(({ json }) => test(json))
      .map(({ id }) => id);
  }

  /** Reads a record. Those that were read before count once. */
  apply({ seq, firstSeq, noun, body, value, erased }: StoredDrawerRecord): void {
    if (seq < this.#next) return;
    this.#next = seq + 1;
    if (!(nouns as readonly string[]).includes(noun)) return;
    const change = body as HistoryChange;
    const brings = change.append !== undefined || change.set !== undefined;
    if (brings && !erased) this.#firstSeq ??= firstSeq;
    const result = this.#once(change, () => this.#change(change, seq, erased ? [] : (value as unknown[])));
    if (result !== "applied") this.#refused.set(seq, result);
  }

  #once({ operation, digest = "" }: HistoryChange, work: () => ChangeResult): ChangeResult {
    if (operation === undefined) return work();
    const known = this.#operations.get(operation);
    if (known !== undefined) return known === digest ? "repeated" : "reused";
    const result = work();
    if (result === "applied") this.#operations.set(operation, digest);
    return result;
  }

  #change(change: HistoryChange, seq: number, items: readonly unknown[]): ChangeResult {
    const { append = 0, set, remove = [], dropLast, ifLast } = change;
    if (dropLast !== undefined) {
      if ((this.#entries.at(-1)?.id ?? null) !== ifLast) return "void";
      this.#entries.splice(this.#entries.length - dropLast, dropLast);
    }
    if (change.clear === true) {
      this.#entries = [];
      if (append === 0) this.#operations.clear();
    }
    const entry = this.#entries.find(({ id }) => id === set);
    const gone = new Set(remove);
    const kept = this.#entries.filter(({ id }) => !gone.has(id));
    const isPop = remove.length > 0 && set === undefined;
    if ((set !== undefined && entry === undefined) || (isPop && kept.length === this.#entries.length))
      return "void";
    if (entry !== undefined) entry.json = items[0];
    this.#entries = kept;
    for (let place = 0; place < append; place++)
      this.#entries.push({ id: `${seq}.${place}`, json: items[place] });
    return "applied";
  }

  #visible(): Entry[] {
    return this.#entries.filter(({ json }) => json !== undefined);
  }
}

/** Records that append items: one for each, or for several when there are more than an append may hold. */
export function itemRecords(items: readonly unknown[], recordsMax: number): DrawerRecord[] {
  const size = Math.ceil(items.length / recordsMax);
  const records: DrawerRecord[] = [];
  for (let from = 0; from < items.length; from += size) {
    const value = items.slice(from, from + size);
    records.push({ noun: "items", body: { append: value.length }, value });
  }
  return records;
}
