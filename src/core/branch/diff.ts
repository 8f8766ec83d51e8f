/** Differences: between two durable tiers, two sets of fields, two lists of parts. Pure. */
import type { ItemKind, ItemStatus } from "../item/kind.ts";
import { sameJson } from "../text/json.ts";

/** The fields of an item that can differ. */
export interface DiffItem {
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: unknown;
  readonly because: string | null;
  readonly status: ItemStatus | null;
  readonly erased: boolean;
}

/** An item that differs between two states. */
export interface ItemChange {
  readonly change: "added" | "removed" | "changed";
  readonly kind: ItemKind;
  readonly key: string;
  readonly from: DiffItem | null;
  readonly to: DiffItem | null;
}

/** By kind and key, in the order of the keys. */
export function diffItems(from: readonly DiffItem[], to: readonly DiffItem[]): readonly ItemChange[] {
  const before = new Map(from.map((item) => [`${item.kind}/${item.key}`, item]));
  const after = new Map(to.map((item) => [`${item.kind}/${item.key}`, item]));
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return names.flatMap((name): ItemChange[] => {
    const [was, is] = [before.get(name) ?? null, after.get(name) ?? null];
    const { kind, key } = (is ?? was) as DiffItem;
    if (was === null || is === null)
      return [{ change: was === null ? "added" : "removed", kind, key, from: was, to: is }];
    return isSame(was, is) ? [] : [{ change: "changed", kind, key, from: was, to: is }];
  });
}

const isSame = (a: DiffItem, b: DiffItem): boolean =>
  a.erased === b.erased && a.status === b.status && a.because === b.because && sameJson(a.value, b.value);

/** A value that only one side has is undefined on the other; JSON leaves it out. */
export interface FieldChange {
  /** A path of names: `budget.limits.steps`. */
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Objects are compared field by field; everything else, lists too, as a whole. */
export function diffFields(from: object, to: object, path = ""): readonly FieldChange[] {
  const [before, after] = [from as Record<string, unknown>, to as Record<string, unknown>];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): readonly FieldChange[] => {
    const field = `${path}${name}`;
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    const is = Object.hasOwn(after, name) ? after[name] : undefined;
    if (isPlain(was) && isPlain(is)) return diffFields(was, is, `${field}.`);
    return sameJson(was, is) ? [] : [{ field, from: was, to: is }];
  });
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The common entries of two lists, by digest. Indices count from 0. */
export interface ListChange {
  /** The length of the common prefix: what a provider's prompt cache can reuse. */
  readonly shared: number;
  readonly removed: readonly number[];
  readonly added: readonly number[];
}

/** Above this many pairs, the rests of two lists are not compared. */
const pairsMax = 4_000_000;

export function diffLists(from: readonly string[], to: readonly string[]): ListChange {
  let shared = 0;
  while (shared < from.length && shared < to.length && from[shared] === to[shared]) shared += 1;
  const [before, after] = [from.slice(shared), to.slice(shared)];
  const kept = before.length * after.length > pairsMax ? [] : longestCommon(before, after);
  const [keptBefore, keptAfter] = [new Set(kept.map(([a]) => a)), new Set(kept.map(([, b]) => b))];
  return {
    shared,
    removed: before.flatMap((_, place) => (keptBefore.has(place) ? [] : [shared + place])),
    added: after.flatMap((_, place) => (keptAfter.has(place) ? [] : [shared + place])),
  };
}

/** Index pairs of a longest common subsequence. */
function longestCommon(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}
