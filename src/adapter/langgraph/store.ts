/**
 * LangGraph's long-term memory in Skein: a store is a session, and the puts of a batch are one append. The
 * items lie in memory too, read once and continued from the log, so that a search reads no record.
 */
import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import type { Engine } from "../../runtime/engine/engine.ts";
import { isGone, makeDrawers, type Drawer, type Drawers, type StoredDrawerRecord } from "../drawer.ts";

/** Options of `SkeinStore`. */
export interface SkeinStoreOptions {
  /** Tells stores in one Skein store apart; by default there is one, `default`. */
  readonly name?: string;
  /**
   * Redacts secrets, so that items that hold one do not come back equal. By default items come back as they
   * were given, and those with a secret that the engine knows are refused.
   */
  readonly redact?: boolean;
}

/** What a record of puts holds: an item, or null for one that was deleted. */
interface PutRecord {
  readonly namespace: readonly string[];
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>> | null;
}

/**
 * Long-term memory that keeps items in Skein. Values are JSON. A search with `query` filters and does not
 * rank: it has no embedding index.
 */
export class SkeinStore extends BaseStore {
  readonly #drawers: Drawers;
  readonly #name: string;
  #open: Promise<OpenStore> | null = null;

  constructor(engine: Engine, options: SkeinStoreOptions = {}) {
    super();
    this.#name = options.name ?? "default";
    this.#drawers = makeDrawers(engine, {
      adapter: "langgraph",
      kind: "store",
      nouns: ["items"],
      objective: () => "LangGraph store",
      redact: options.redact,
    });
  }

  /** Reads see the state before the batch, and of two puts on one key the last counts. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    for (let tries = 0; ; tries++) {
      try {
        return (await this.#batch(operations)) as OperationResults<Op>;
      } catch (error) {
        if (!isGone(error) || tries > 0) throw error;
        // The session was deleted: the store begins anew.
        this.#open = null;
      }
    }
  }

  async #batch(operations: readonly Operation[]): Promise<unknown[]> {
    const puts = new Map<string, PutRecord>();
    for (const operation of operations)
      if (isPut(operation)) puts.set(keyOf(operation), putRecord(operation));
    const store = await this.#opened(puts.size > 0);
    await store?.refresh();
    const items = [...(store?.items() ?? [])];
    const results = operations.map((operation) => {
      if (isPut(operation)) return undefined;
      if (isGet(operation)) return copyOf(store?.get(operation));
      if (isSearch(operation)) return search(items, operation);
      return listNamespaces(store?.namespaces() ?? [], operation);
    });
    if (puts.size > 0) await store?.put([...puts.values()]);
    return results;
  }

  /** The store; null when nothing was ever put and nothing is to be put now. */
  async #opened(toWrite: boolean): Promise<OpenStore | null> {
    if (this.#open !== null) return this.#open;
    const drawer = toWrite ? null : await this.#drawers.find(this.#name);
    if (!toWrite && drawer === null) return null;
    const opening = (drawer === null ? this.#drawers.open(this.#name) : Promise.resolve(drawer)).then(
      (found) => new OpenStore(found),
    );
    this.#open = opening;
    opening.catch(() => {
      this.#open = null;
    });
    return opening;
  }
}

/** The items of a store, derived from its records. */
class OpenStore {
  /** By namespace and key, both in the order in which they were first put. */
  readonly #items = new Map<string, Map<string, Item>>();
  readonly #drawer: Drawer;
  #next = 1;

  constructor(drawer: Drawer) {
    this.#drawer = drawer;
  }

  async refresh(): Promise<void> {
    for await (const record of this.#drawer.read(this.#next)) {
      if (record.seq < this.#next) continue;
      this.#next = record.seq + 1;
      if (!record.erased) this.#apply(record);
    }
  }

  get({ namespace, key }: GetOperation): Item | undefined {
    return this.#items.get(JSON.stringify(namespace))?.get(key);
  }

  *items(): Generator<Item> {
    for (const items of this.#items.values()) yield* items.values();
  }

  /** The namespaces that hold an item. */
  *namespaces(): Generator<readonly string[]> {
    for (const items of this.#items.values())
      for (const { namespace } of [...items.values()].slice(0, 1)) yield namespace;
  }

  async put(puts: readonly PutRecord[]): Promise<void> {
    await this.#drawer.append([{ noun: "items", body: { puts: puts.length }, value: puts }]);
  }

  #apply({ at, value }: StoredDrawerRecord): void {
    for (const put of value as readonly PutRecord[]) {
      const name = JSON.stringify(put.namespace);
      const items = this.#items.get(name) ?? new Map<string, Item>();
      this.#items.set(name, items);
      if (put.value === null) items.delete(put.key);
      else {
        const updatedAt = new Date(at);
        const createdAt = items.get(put.key)?.createdAt ?? updatedAt;
        items.set(put.key, {
          value: put.value,
          key: put.key,
          namespace: [...put.namespace],
          createdAt,
          updatedAt,
        });
      }
    }
  }
}

const keyOf = ({ namespace, key }: PutOperation): string => JSON.stringify([namespace, key]);

const isPut = (operation: Operation): operation is PutOperation => "value" in operation;
const isGet = (operation: Operation): operation is GetOperation =>
  "key" in operation && "namespace" in operation;
const isSearch = (operation: Operation): operation is SearchOperation => "namespacePrefix" in operation;

const putRecord = ({ namespace, key, value }: PutOperation): PutRecord => ({
  namespace: [...namespace],
  key,
  // A copy: the caller may change it before it is written.
  value: value === null ? null : structuredClone(value),
});

/** A copy, since callers may change it. */
function copyOf(item: Item | undefined): Item | null {
  return item === undefined ? null : structuredClone(item);
}

function search(items: readonly Item[], operation: SearchOperation): SearchItem[] {
  const { namespacePrefix: prefix, filter = {}, offset = 0, limit = 10 } = operation;
  const found = items.filter(
    ({ namespace, value }) =>
      prefix.every((label, place) => namespace[place] === label) &&
      Object.entries(filter).every(([field, wanted]) => matches(fieldOf(value, field), wanted)),
  );
  return found.slice(offset, offset + limit).map((item) => structuredClone(item));
}

const fieldOf = (value: Readonly<Record<string, unknown>>, field: string): unknown =>
  Object.hasOwn(value, field) ? value[field] : undefined;

/** A filter of one field: operators, or a value that it equals. */
function matches(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  const entries = Object.entries(wanted);
  if (!entries.every(([name]) => operators.has(name))) return value === wanted;
  return entries.every(([name, operand]) => compare(name, value, operand));
}

const operators: ReadonlySet<string> = new Set(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"]);

function compare(operator: string, value: unknown, operand: unknown): boolean {
  switch (operator) {
    case "$eq":
      return value === operand;
    case "$ne":
      return value !== operand;
    case "$gt":
      return Number(value) > Number(operand);
    case "$gte":
      return Number(value) >= Number(operand);
    case "$lt":
      return Number(value) < Number(operand);
    case "$lte":
      return Number(value) <= Number(operand);
    case "$in":
      return Array.isArray(operand) && operand.includes(value);
    default:
      return !Array.isArray(operand) || !operand.includes(value);
  }
}

function listNamespaces(
  known: Iterable<readonly string[]>,
  operation: ListNamespacesOperation,
): readonly (readonly string[])[] {
  const { matchConditions = [], maxDepth, offset, limit } = operation;
  const found = new Map<string, readonly string[]>();
  for (const namespace of known) {
    if (!matchConditions.every((condition) => isMatch(condition, namespace))) continue;
    const cut = maxDepth === undefined ? namespace : namespace.slice(0, maxDepth);
    found.set(JSON.stringify(cut), cut);
  }
  const sorted = [...found.values()].toSorted((one, other) => one.join(":").localeCompare(other.join(":")));
  const from = offset ?? 0;
  return sorted.slice(from, from + (limit ?? sorted.length)).map((namespace) => [...namespace]);
}

/** `*` stands for any one label. */
function isMatch({ matchType, path }: MatchCondition, namespace: readonly string[]): boolean {
  const from = matchType === "prefix" ? 0 : namespace.length - path.length;
  return (
    path.length <= namespace.length &&
    path.every((label, place) => label === "*" || namespace[from + place] === label)
  );
}
