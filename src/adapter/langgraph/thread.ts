/**
 * One thread: its index, derived from the records of its session, and their values.
 *
 * The index holds which checkpoints and writes there are and where their values were written. It is read once
 * when the thread is first used, and continued by what this process appends; `refresh` reads on, so that what
 * other processes wrote is seen. A checkpoint points to the record that wrote each channel: versions are not
 * enough, since two branches from one checkpoint both count to the same one.
 */
import { makeCache } from "../../core/cache.ts";
import { SkeinError } from "../../core/error.ts";
import type { Drawer, DrawerAppend, DrawerRecord, StoredDrawerRecord } from "../drawer.ts";
import { charsOf, isList, type StoredValue, type TypedText, type ValuePlace } from "./value.ts";

/** What a checkpoint's record holds. */
export interface CheckpointRecord {
  readonly ns: string;
  readonly id: string;
  readonly parent?: string;
  /** The checkpoint without its values. */
  readonly checkpoint: TypedText;
  readonly metadata: TypedText;
  /** The channels that have a value: written here, or a place where it was written before. */
  readonly channels: readonly ChannelEntry[];
}

export interface ChannelEntry {
  readonly name: string;
  readonly version: number | string | null;
  readonly value?: StoredValue;
  readonly at?: readonly [firstSeq: number, seq: number, place: number];
}

/** What a record of writes holds: those of one task on one checkpoint. */
export interface WritesRecord {
  readonly ns: string;
  readonly id: string;
  readonly task: string;
  readonly writes: readonly (readonly [index: number, channel: string, value: TypedText])[];
}

/** Where the value of a channel is. */
export interface ChannelPointer extends ValuePlace {
  readonly version: number | string | null;
}

/** How a list was stored, to decide when to store it whole again. */
export interface ListChain {
  readonly depth: number;
  readonly wholeChars: number;
  readonly tailChars: number;
}

/** A checkpoint in the index. */
export interface CheckpointEntry {
  readonly ns: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly firstSeq: number;
  readonly seq: number;
  readonly channels: ReadonlyMap<string, ChannelPointer>;
  /** Counts from 1: a second checkpoint on one parent begins the next branch. */
  readonly branch: number;
}

interface WriteEntry {
  readonly task: string;
  readonly index: number;
  readonly channel: string;
  readonly place: ValuePlace;
}

interface NamespaceIndex {
  readonly checkpoints: Map<string, CheckpointEntry>;
  /** By checkpoint, then by task and index, in the order in which they were first written. */
  readonly writes: Map<string, Map<string, WriteEntry>>;
  readonly parents: Set<string>;
  branches: number;
  latest: string | undefined;
}

/** A write as it is read. */
export interface ReadWrite {
  readonly task: string;
  readonly index: number;
  readonly channel: string;
  readonly value: TypedText;
}

/** Lists and records that are cached for each thread, at least. */
const listsCached = 16;
const recordsCached = 64;

/** A thread of the saver. */
export class Thread {
  readonly drawer: Drawer;
  readonly #namespaces = new Map<string, NamespaceIndex>();
  readonly #chains = new Map<string, ListChain>();
  readonly #records = makeCache<number, unknown>(recordsCached);
  readonly #lists = makeCache<string, readonly string[]>(listsCached);
  /** The first position that the index does not have. */
  #next = 1;

  readonly #isVerbatim: boolean;

  /** Not verbatim: the stored value may differ from the given one, so it is read back. */
  constructor(drawer: Drawer, { isVerbatim }: { readonly isVerbatim: boolean }) {
    this.drawer = drawer;
    this.#isVerbatim = isVerbatim;
  }

  /** Reads the records appended since, by any process. */
  async refresh(): Promise<void> {
    for await (const record of this.drawer.read(this.#next)) this.#apply(record);
  }

  /** Appends one record. What it holds is in the index at once, unless another process was faster. */
  async append(record: DrawerRecord): Promise<DrawerAppend> {
    const written = await this.drawer.append([record]);
    const { firstSeq, headSeq: seq } = written;
    if (this.#isVerbatim && firstSeq === this.#next)
      this.#apply({ ...record, firstSeq, seq, at: 0, erased: false });
    return written;
  }

  /** The checkpoint with an id, or the one with the greatest id. */
  checkpoint(ns: string, id: string | undefined): CheckpointEntry | undefined {
    const known = this.#namespaces.get(ns);
    const wanted = id ?? known?.latest;
    return wanted === undefined ? undefined : known?.checkpoints.get(wanted);
  }

  /** All checkpoints, of one namespace or all. */
  *checkpoints(ns: string | undefined): Generator<CheckpointEntry> {
    for (const [name, { checkpoints }] of this.#namespaces)
      if (ns === undefined || name === ns) yield* checkpoints.values();
  }

  /** The branch of a checkpoint that is put now. */
  branchFor(ns: string, parent: string | undefined): number {
    const known = this.#namespaces.get(ns);
    if (known === undefined) return 1;
    const before = parent === undefined ? undefined : known.checkpoints.get(parent);
    if (before !== undefined && !known.parents.has(before.id)) return before.branch;
    return known.branches + 1;
  }

  async readCheckpoint({ firstSeq, seq }: CheckpointEntry): Promise<CheckpointRecord> {
    return (await this.#record(firstSeq, seq)) as CheckpointRecord;
  }

  /** The writes on a checkpoint, in the order in which they were first written. */
  async readWrites(ns: string, id: string): Promise<ReadWrite[]> {
    const entries = this.#namespaces.get(ns)?.writes.get(id)?.values() ?? [];
    const found: ReadWrite[] = [];
    for (const { task, index, channel, place } of entries) {
      const { writes } = (await this.#record(place.firstSeq, place.seq)) as WritesRecord;
      const value = writes[place.place]?.[2];
      if (value !== undefined) found.push({ task, index, channel, value });
    }
    return found;
  }

  /** A stored value: whole, or the elements of a list. */
  async readValue(
    at: ValuePlace,
  ): Promise<{ readonly whole: TypedText } | { readonly items: readonly string[] }> {
    const known = this.#lists.get(placeKey(at));
    if (known !== undefined) return { items: known };
    // From the newest part back to the whole list, then forward again: a chain may be long.
    const parts: { readonly at: ValuePlace; readonly items: readonly string[]; readonly keep: number }[] = [];
    let items: readonly string[] | undefined;
    for (let next: ValuePlace | null = at; next !== null && items === undefined;) {
      const value: StoredValue = await this.#valueAt(next);
      if (!isList(value)) return value;
      parts.push({ at: next, items: value.items, keep: value.keep ?? 0 });
      next = value.base === undefined ? null : placeOf(value.base);
      items = next === null ? undefined : this.#lists.get(placeKey(next));
    }
    const list = [...(items ?? [])];
    for (const part of parts.toReversed()) {
      list.length = part.keep;
      for (const item of part.items) list.push(item);
    }
    this.#lists.set(placeKey(at), list);
    return { items: list };
  }

  /** Notes the elements of a list that was just written: the next put compares with them. */
  noteList(at: ValuePlace, items: readonly string[]): void {
    if (this.#isVerbatim) this.#lists.set(placeKey(at), items);
  }

  chainOf = (at: ValuePlace): ListChain | undefined => this.#chains.get(placeKey(at));

  async #valueAt(at: ValuePlace): Promise<StoredValue> {
    const { channels } = (await this.#record(at.firstSeq, at.seq)) as CheckpointRecord;
    const value = channels[at.place]?.value;
    if (value !== undefined) return value;
    throw new SkeinError(
      "corrupt",
      `record ${at.seq} of ${this.drawer.session} does not hold channel ${at.place}`,
    );
  }

  async #record(firstSeq: number, seq: number): Promise<unknown> {
    const known = this.#records.get(seq);
    if (known !== undefined) return known;
    for await (const record of this.drawer.read(firstSeq, seq)) {
      if (record.erased) break;
      this.#records.set(seq, record.value);
      return record.value;
    }
    throw new SkeinError("refused", `the contents of record ${seq} of ${this.drawer.session} were erased`, {
      hint: "later checkpoints share them; continue from another checkpoint, or delete the thread",
    });
  }

  #apply(record: StoredDrawerRecord): void {
    const { seq, value, erased } = record;
    if (seq < this.#next) return;
    this.#next = seq + 1;
    // Of an erased record nothing is left but its position.
    if (erased) return;
    this.#records.set(seq, value);
    if (record.noun === "checkpoint") this.#addCheckpoint(record, value as CheckpointRecord);
    else if (record.noun === "writes") this.#addWrites(record, value as WritesRecord);
  }

  #namespace(ns: string): NamespaceIndex {
    const known = this.#namespaces.get(ns);
    if (known !== undefined) return known;
    const checkpoints = new Map<string, CheckpointEntry>();
    const made: NamespaceIndex = {
      checkpoints,
      writes: new Map(),
      parents: new Set(),
      branches: 0,
      latest: undefined,
    };
    this.#namespaces.set(ns, made);
    return made;
  }

  #addCheckpoint({ firstSeq, seq }: StoredDrawerRecord, record: CheckpointRecord): void {
    const { ns, id, parent, channels } = record;
    const before = this.#namespaces.get(ns)?.checkpoints.get(id);
    const branch = before?.branch ?? this.branchFor(ns, parent);
    const known = this.#namespace(ns);
    const pointers = new Map<string, ChannelPointer>();
    for (const [place, { name, version, value, at }] of channels.entries()) {
      const own: ValuePlace = at === undefined ? { firstSeq, seq, place } : placeOf(at);
      pointers.set(name, { ...own, version });
      if (value !== undefined && isList(value)) this.#chains.set(placeKey(own), this.#nextChain(value));
    }
    known.checkpoints.set(id, { ns, id, parent, firstSeq, seq, channels: pointers, branch });
    known.branches = Math.max(known.branches, branch);
    if (parent !== undefined) known.parents.add(parent);
    if (known.latest === undefined || id > known.latest) known.latest = id;
  }

  #nextChain({ items, base }: { items: readonly string[]; base?: PlaceTuple }): ListChain {
    const chars = charsOf(items);
    const before = base === undefined ? undefined : this.chainOf(placeOf(base));
    if (before === undefined) return { depth: 0, wholeChars: chars, tailChars: 0 };
    return { ...before, depth: before.depth + 1, tailChars: before.tailChars + chars };
  }

  #addWrites({ firstSeq, seq }: StoredDrawerRecord, { ns, id, task, writes }: WritesRecord): void {
    const known = this.#namespace(ns).writes;
    const entries = known.get(id) ?? new Map<string, WriteEntry>();
    known.set(id, entries);
    for (const [place, [index, channel]] of writes.entries()) {
      const key = `${index},${task}`;
      // Of ordinary writes the first stays, of the special ones (errors, interrupts) the last counts.
      if (index < 0 || !entries.has(key))
        entries.set(key, { task, index, channel, place: { firstSeq, seq, place } });
    }
  }
}

type PlaceTuple = readonly [firstSeq: number, seq: number, place: number];

const placeOf = ([firstSeq, seq, place]: PlaceTuple): ValuePlace => ({ firstSeq, seq, place });
const placeKey = ({ seq, place }: ValuePlace): string => `${seq}:${place}`;
