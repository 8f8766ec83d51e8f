/**
 * The entries of a Claude Code file: which records make each. They lie in typed arrays, since a file of a
 * gigabyte has half a million of them, and become objects one by one.
 */
import type { ForeignEntry, PlannedEntries, PlannedEntry, SourceRange } from "../model.ts";
import type { ClaudeScan } from "./claude-code-scan.ts";
import { NumberColumn } from "./id-table.ts";

const none = -1;
const kinds: readonly ForeignEntry["kind"][] = ["input", "answer", "compaction"];
const [input, answer, compaction] = [0, 1, 2];

export class ClaudePlanner {
  readonly #scan: ClaudeScan;
  /** The entry of a node; entries of all paths are numbered together. */
  readonly #entryOf: Int32Array;
  /** The entry that a result was given to last. */
  #ownerOf: Int32Array;
  /** The entry of a message. */
  #answerOf: Int32Array;
  readonly #kinds = new NumberColumn(Uint8Array);
  /** The record that an entry begins with gives it its id. */
  readonly #begins = new NumberColumn(Int32Array);
  /** The records of each entry, as a list of their nodes. */
  readonly #first = new NumberColumn(Int32Array);
  #last = new NumberColumn(Int32Array);
  readonly #record = new NumberColumn(Int32Array);
  readonly #next = new NumberColumn(Int32Array);
  /** Ids of answers that a person interrupted. */
  readonly interrupted = new Set<string>();

  constructor(scan: ClaudeScan) {
    this.#scan = scan;
    const { size, messages } = scan.tree;
    this.#entryOf = new Int32Array(size).fill(none);
    this.#ownerOf = new Int32Array(size).fill(none);
    this.#answerOf = new Int32Array(messages).fill(none);
  }

  /** The id of a node's entry. */
  entryOf(node: number): string | null {
    const entry = this.#entryOf[node] ?? none;
    return entry === none ? null : this.#idOf(entry);
  }

  /** The entry of a node, or of the nearest record above it that has one, in file order. */
  entryAt(node: number): string | null {
    for (let at = node; at >= 0; at--) {
      const entry = this.entryOf(at);
      if (entry !== null) return entry;
    }
    return null;
  }

  #idOf = (entry: number): string => this.#scan.tree.uuid(this.#begins.at(entry));

  /** The entry with this number. */
  entry(entry: number): PlannedEntry {
    const { tree, file } = this.#scan;
    const records: SourceRange[] = [];
    for (let at = this.#first.at(entry); at !== none; at = this.#next.at(at))
      records.push({ file, ...tree.range(this.#record.at(at)) });
    return { id: this.#idOf(entry), kind: kinds[this.#kinds.at(entry)] ?? "input", records };
  }

  /** The entries of a path. */
  plan(nodes: Int32Array): PlannedEntries {
    const from = this.#kinds.length;
    let lastAnswer = none;
    for (const node of nodes) {
      const entry = this.#addNode(node, from);
      if (entry !== none && this.#kinds.at(entry) === answer) lastAnswer = Math.max(lastAnswer, entry);
      if (lastAnswer !== none && this.#scan.interruptions.has(node))
        this.interrupted.add(this.#idOf(lastAnswer));
    }
    const moved = this.#attachResults(nodes, from);
    const kept = new Int32Array(this.#kinds.length - from - moved.count);
    let length = 0;
    for (let entry = from; entry < this.#kinds.length; entry++)
      if (moved.flags[entry - from] !== 1) kept[length++] = entry;
    return new EntryList(this, kept);
  }

  /** Forgets what only planning needs. */
  release(): void {
    this.#ownerOf = new Int32Array(0);
    this.#answerOf = new Int32Array(0);
    this.#last = new NumberColumn(Int32Array);
  }

  /** The entry that a node begins or continues; -1 when it is in none. */
  #addNode(node: number, from: number): number {
    const { tree } = this.#scan;
    const kind = tree.kind(node);
    const last = this.#kinds.length - 1;
    if (kind === "link") return none;
    if (kind === "answer") {
      const message = tree.message(node);
      const known = message === none ? none : (this.#answerOf[message] ?? none);
      if (known >= from) return this.#continue(known, node);
      const entry = this.#begin(node, answer);
      if (message !== none) this.#answerOf[message] = entry;
      return entry;
    }
    if (kind === "boundary") return this.#begin(node, compaction);
    if (kind !== "summary") return this.#begin(node, input);
    const isOpen =
      last >= from && this.#kinds.at(last) === compaction && this.#first.at(last) === this.#last.at(last);
    return isOpen ? this.#continue(last, node) : this.#begin(node, compaction);
  }

  #begin(node: number, kind: number): number {
    const entry = this.#kinds.length;
    this.#kinds.push(kind);
    this.#begins.push(node);
    this.#first.push(none);
    this.#last.push(none);
    return this.#continue(entry, node);
  }

  #continue(entry: number, node: number): number {
    this.#addRecord(entry, node);
    this.#entryOf[node] = entry;
    return entry;
  }

  #addRecord(entry: number, node: number): void {
    const at = this.#record.length;
    this.#record.push(node);
    this.#next.push(none);
    if (this.#first.at(entry) === none) this.#first.set(entry, at);
    else this.#next.set(this.#last.at(entry), at);
    this.#last.set(entry, at);
  }

  /** Adds the records of results to the answers that hold their calls: then they are not inputs. */
  #attachResults(nodes: Int32Array, from: number): { readonly flags: Uint8Array; readonly count: number } {
    const { tree, saysMore } = this.#scan;
    const flags = new Uint8Array(this.#kinds.length - from);
    let count = 0;
    /** Results that answer calls of several entries. */
    const shared = new Map<number, Set<number>>();
    for (const node of nodes)
      for (const call of tree.calls.callsOf(node))
        for (const result of tree.calls.resultsOf(call)) {
          const entry = this.#entryOf[node] ?? none;
          if (entry === none || result === node) continue;
          const owner = this.#ownerOf[result] ?? none;
          const owners = shared.get(result) ?? new Set(owner < from ? [] : [owner]);
          if (owners.has(entry)) continue;
          if (owners.size > 0) shared.set(result, owners.add(entry));
          this.#ownerOf[result] = entry;
          this.#addRecord(entry, result);
          // A record may hold text or orphans beside its results: then it is an input, too.
          const isMore = saysMore.has(result) || tree.calls.orphansOf(result) !== undefined;
          if (owner >= from || tree.kind(result) !== "result" || isMore) continue;
          const own = this.#entryOf[result] ?? none;
          if (own >= from && this.#kinds.at(own) === input && this.#begins.at(own) === result) {
            flags[own - from] = 1;
            count += 1;
          }
          this.#entryOf[result] = entry;
        }
    return { flags, count };
  }
}

class EntryList implements PlannedEntries {
  readonly #planner: ClaudePlanner;
  readonly #entries: Int32Array;

  constructor(planner: ClaudePlanner, entries: Int32Array) {
    this.#planner = planner;
    this.#entries = entries;
  }

  get length(): number {
    return this.#entries.length;
  }

  at(index: number): PlannedEntry | undefined {
    const entry = this.#entries.at(index);
    return entry === undefined ? undefined : this.#planner.entry(entry);
  }

  slice(from?: number, to?: number): PlannedEntries {
    const start = from ?? 0;
    return new EntryList(this.#planner, this.#entries.subarray(start, to));
  }

  *[Symbol.iterator](): Generator<PlannedEntry> {
    for (const entry of this.#entries) yield this.#planner.entry(entry);
  }
}
