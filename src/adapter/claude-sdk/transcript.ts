/** The transcripts of one session of the Claude Agent SDK: the fold of the records of a drawer. Pure. */
import type { StoredDrawerRecord } from "../drawer.ts";

/** A line of a transcript. */
export interface TranscriptLine {
  readonly uuid?: unknown;
}

/** What a record adds or removes. The empty subpath is the main transcript. */
export interface TranscriptChange {
  readonly subpath: string;
  /** Absent: the transcript is removed. */
  readonly entries?: readonly TranscriptLine[];
}

interface OneTranscript {
  readonly uuids: Set<string>;
  entries: TranscriptLine[];
  /** The record ranges that hold its entries. */
  readonly ranges: (readonly [number, number])[];
}

/** Called with the entries that a record added to the main transcript. */
export type OnMainEntries = (entries: readonly TranscriptLine[], mtime: number) => void;

/** The state of one session; it keeps entries only if asked to. */
export class Transcripts {
  readonly #keepsEntries: boolean;
  readonly #onMain: OnMainEntries;
  readonly #all = new Map<string, OneTranscript>();
  #nextSeq = 1;
  #mtime = 0;

  constructor({ keepsEntries, onMain = () => undefined }: { keepsEntries: boolean; onMain?: OnMainEntries }) {
    this.#keepsEntries = keepsEntries;
    this.#onMain = onMain;
  }

  /** The first position that was not read. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** Milliseconds of the last append, by the store's clock; it moves with every append. */
  get mtime(): number {
    return this.#mtime;
  }

  has(subpath: string): boolean {
    return this.#all.has(subpath);
  }

  entriesOf(subpath: string): readonly TranscriptLine[] | null {
    return this.#all.get(subpath)?.entries ?? null;
  }

  rangesOf(subpath: string): readonly (readonly [number, number])[] {
    return this.#all.get(subpath)?.ranges ?? [];
  }

  /** The subpaths that have entries, without the main transcript. */
  get subpaths(): string[] {
    return [...this.#all.keys()].filter((subpath) => subpath !== "");
  }

  /** Without the entries that are there already, or twice among these. */
  newOf<T extends TranscriptLine>(subpath: string, entries: readonly T[]): T[] {
    const known = this.#all.get(subpath)?.uuids;
    const seen = new Set<string>();
    return entries.filter(({ uuid }) => {
      if (typeof uuid !== "string") return true;
      if (known?.has(uuid) === true || seen.has(uuid)) return false;
      seen.add(uuid);
      return true;
    });
  }

  apply({ seq, firstSeq, at, noun, value, erased }: StoredDrawerRecord): void {
    if (seq < this.#nextSeq) return;
    this.#nextSeq = seq + 1;
    if (noun !== "entries" || erased) return;
    const { subpath, entries } = value as TranscriptChange;
    if (entries === undefined) {
      this.#all.delete(subpath);
      return;
    }
    const added = this.newOf(subpath, entries);
    if (added.length === 0) return;
    const one = this.#all.get(subpath) ?? { uuids: new Set<string>(), entries: [], ranges: [] };
    this.#all.set(subpath, one);
    for (const entry of added) {
      if (typeof entry.uuid === "string") one.uuids.add(entry.uuid);
      if (this.#keepsEntries) one.entries.push(entry);
    }
    one.ranges.push([firstSeq, seq]);
    this.#mtime = Math.max(at, this.#mtime + 1);
    if (subpath === "") this.#onMain(added, this.#mtime);
  }
}
