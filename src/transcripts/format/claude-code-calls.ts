/** Which records of a Claude Code file belong together: those of a message, and a call with its results. */
import { IdTable, NumberColumn } from "./id-table.ts";

const none = -1;
const noCalls: readonly number[] = [];

/** The nodes of each message, as a list in file order. */
export class MessageLists {
  readonly #ids = new IdTable();
  readonly #messageOf = new NumberColumn(Int32Array);
  readonly #first = new NumberColumn(Int32Array);
  readonly #last = new NumberColumn(Int32Array);
  readonly #next = new NumberColumn(Int32Array);

  /** How many messages there are: the number of each is less. */
  get size(): number {
    return this.#ids.size;
  }

  /** Adds the next node: its message, or null when it is part of none. */
  add(node: number, id: string | null): void {
    this.#next.push(none);
    const message = id === null ? none : this.#ids.add(id);
    this.#messageOf.push(message);
    if (message === none) return;
    if (message < this.#first.length) {
      this.#next.set(this.#last.at(message), node);
      this.#last.set(message, node);
    } else {
      this.#first.push(node);
      this.#last.push(node);
    }
  }

  messageOf(node: number): number {
    return this.#messageOf.at(node);
  }

  *nodesOf(message: number): Generator<number> {
    for (let node = this.#first.at(message); node !== none; node = this.#next.at(node)) yield node;
  }
}

/**
 * Calls and their results. Some providers give several calls the same id: the n-th result of an id then
 * belongs to the n-th call of it. A result that no call is left for is an orphan.
 */
export class CallLists {
  readonly #ids = new IdTable();
  /** By id: its calls and results, as lists in file order. */
  readonly #calls = new Queues();
  readonly #results = new Queues();
  /** By call, and by result: their nodes. */
  readonly #nodeOf = new NumberColumn(Int32Array);
  readonly #resultNode = new NumberColumn(Int32Array);
  /** By node: the calls that it has. Those of a node follow each other. */
  readonly #firstCall = new NumberColumn(Int32Array);
  /** By call: its result. By node: the places of its orphans among its results. */
  #resultOf: Int32Array | undefined;
  readonly #orphans = new Map<number, Set<number>>();
  readonly #firstResult = new Map<number, number>();

  /** Adds the next node with its calls and results, which are in the order of its content. */
  add(node: number, calls: readonly string[], results: readonly string[]): void {
    this.#firstCall.push(this.#nodeOf.length);
    for (const id of calls) {
      this.#calls.push(this.#ids.add(id));
      this.#nodeOf.push(node);
    }
    if (results.length > 1) this.#firstResult.set(node, this.#resultNode.length);
    for (const id of results) {
      this.#results.push(this.#ids.add(id));
      this.#resultNode.push(node);
    }
  }

  #paired(): Int32Array {
    if (this.#resultOf !== undefined) return this.#resultOf;
    const resultOf = new Int32Array(this.#nodeOf.length).fill(none);
    for (let id = 0; id < this.#ids.size; id++) {
      let call = this.#calls.first(id);
      for (let result = this.#results.first(id); result !== none; result = this.#results.next(result)) {
        if (call === none) this.#addOrphan(result);
        else {
          resultOf[call] = result;
          call = this.#calls.next(call);
        }
      }
    }
    return (this.#resultOf = resultOf);
  }

  #addOrphan(result: number): void {
    const node = this.#resultNode.at(result);
    const place = result - (this.#firstResult.get(node) ?? result);
    this.#orphans.set(node, (this.#orphans.get(node) ?? new Set()).add(place));
  }

  /** The node of a call's result; none, or one. */
  resultsOf(call: number): readonly number[] {
    const result = this.#paired()[call] ?? none;
    return result === none ? noCalls : [this.#resultNode.at(result)];
  }

  /** The calls of a node. */
  callsOf(node: number): readonly number[] {
    const first = this.#firstCall.at(node);
    const end = node + 1 < this.#firstCall.length ? this.#firstCall.at(node + 1) : this.#nodeOf.length;
    return first === end ? noCalls : Array.from({ length: end - first }, (_, at) => first + at);
  }

  /** The places of a node's results that belong to no call. */
  orphansOf(node: number): ReadonlySet<number> | undefined {
    this.#paired();
    return this.#orphans.get(node);
  }

  /** Calls without a result, as the nodes that have them. */
  *unpaired(): Generator<number> {
    const resultOf = this.#paired();
    for (let call = 0; call < this.#nodeOf.length; call++)
      if (resultOf[call] === none) yield this.#nodeOf.at(call);
  }
}

/** A list of numbers for each id. */
class Queues {
  readonly #first = new NumberColumn(Int32Array);
  readonly #last = new NumberColumn(Int32Array);
  readonly #next = new NumberColumn(Int32Array);

  /** Adds the next number to the list of an id. */
  push(id: number): void {
    while (this.#first.length <= id) {
      this.#first.push(none);
      this.#last.push(none);
    }
    const at = this.#next.length;
    this.#next.push(none);
    if (this.#first.at(id) === none) this.#first.set(id, at);
    else this.#next.set(this.#last.at(id), at);
    this.#last.set(id, at);
  }

  first(id: number): number {
    return id < this.#first.length ? this.#first.at(id) : none;
  }

  next(at: number): number {
    return this.#next.at(at);
  }
}
