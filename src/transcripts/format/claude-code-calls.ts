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

/** Calls by their ids, those that only a result names included, with the nodes of their results. */
export class CallLists {
  readonly #ids = new IdTable();
  readonly #nodeOf = new NumberColumn(Int32Array);
  readonly #firstCall = new NumberColumn(Int32Array);
  readonly #nextCall = new NumberColumn(Int32Array);
  /** The results of each call, as a list of their nodes. */
  readonly #firstResult = new NumberColumn(Int32Array);
  readonly #lastResult = new NumberColumn(Int32Array);
  readonly #resultNode = new NumberColumn(Int32Array);
  readonly #nextResult = new NumberColumn(Int32Array);

  /** Adds the next node with its calls and results. A call belongs to the first record that has it. */
  add(node: number, calls: readonly string[], results: readonly string[]): void {
    this.#firstCall.push(none);
    let last = none;
    for (const id of calls) {
      const call = this.#callOf(id);
      if (this.#nodeOf.at(call) !== none) continue;
      this.#nodeOf.set(call, node);
      if (last === none) this.#firstCall.set(node, call);
      else this.#nextCall.set(last, call);
      last = call;
    }
    for (const id of results) this.#addResult(node, this.#callOf(id));
  }

  #callOf(id: string): number {
    const call = this.#ids.add(id);
    if (call === this.#nodeOf.length)
      for (const column of [this.#nodeOf, this.#nextCall, this.#firstResult, this.#lastResult])
        column.push(none);
    return call;
  }

  #addResult(node: number, call: number): void {
    const result = this.#resultNode.length;
    this.#resultNode.push(node);
    this.#nextResult.push(none);
    const last = this.#lastResult.at(call);
    if (last === none) this.#firstResult.set(call, result);
    else this.#nextResult.set(last, result);
    this.#lastResult.set(call, result);
  }

  /** The nodes of a call's results. */
  resultsOf(call: number): readonly number[] {
    const found: number[] = [];
    for (let at = this.#firstResult.at(call); at !== none; at = this.#nextResult.at(at))
      found.push(this.#resultNode.at(at));
    return found;
  }

  /** The calls that a node is the first to have. */
  callsOf(node: number): readonly number[] {
    const first = this.#firstCall.at(node);
    if (first === none) return noCalls;
    const found: number[] = [];
    for (let call = first; call !== none; call = this.#nextCall.at(call)) found.push(call);
    return found;
  }

  has(id: string): boolean {
    const call = this.#ids.get(id);
    return call !== none && this.#nodeOf.at(call) !== none;
  }

  /** Calls without a result, as the nodes that have them. */
  *unpaired(): Generator<number> {
    for (let call = 0; call < this.#nodeOf.length; call++)
      if (this.#nodeOf.at(call) !== none && this.#firstResult.at(call) === none) yield this.#nodeOf.at(call);
  }
}
