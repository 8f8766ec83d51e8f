/**
 * Merging: what another session learned since the base, compared with what this one knows. Three-way, item by
 * item, by kind and key:
 *
 *   they changed nothing                      nothing is merged
 *   both made the same change                 nothing is merged
 *   only they changed it                      their change is taken; a retraction is a change
 *   both changed it differently               a conflict, which the caller resolves by name
 *
 * The value counts, status and confidence; a change of the reason alone is taken only if nothing else
 * changed. An erased base counts as changed on both sides, because its value is unknown. An item erased on
 * their side cannot be copied: it is left out, and listed.
 */
import { shortId } from "../text/short-id.ts";
import { defaultStatus, type ItemKind, type ItemStatus } from "../item/kind.ts";
import { present } from "../present.ts";
import { itemKey } from "../item/fold.ts";
import { sameJson } from "../text/json.ts";
import { limit } from "../limit.ts";
import type { ItemRef } from "../state.ts";

/** An item with its content, and its author. */
export interface MergeItem {
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: unknown;
  readonly because: string | null;
  readonly status: ItemRef["status"];
  readonly confidence?: number;
  readonly evidence?: readonly string[];
  readonly erased: boolean;
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  /** The salted hash of its content: two items with the same hash are one record. */
  readonly hash: string | null;
}

/** By `kind/key`. */
export type MergeItems = ReadonlyMap<string, MergeItem>;

/** One item in three versions: absent if it was never recorded, or was retracted. */
export interface Triple {
  /** `kind/key`. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly key: string;
  readonly base: MergeItem | null;
  readonly ours: MergeItem | null;
  readonly theirs: MergeItem | null;
}

export interface MergeOutcome {
  /** Only they changed it. */
  readonly taken: readonly Triple[];
  /** Both changed it to the same. */
  readonly same: readonly Triple[];
  /** They changed it, and their version is erased. */
  readonly left: readonly Triple[];
  readonly conflicts: readonly Triple[];
}

export function mergeItems(base: MergeItems, ours: MergeItems, theirs: MergeItems): MergeOutcome {
  const merged: { readonly [K in keyof MergeOutcome]: Triple[] } = {
    taken: [],
    same: [],
    left: [],
    conflicts: [],
  };
  for (const name of [...new Set([...base.keys(), ...theirs.keys()])].toSorted()) {
    const triple = tripleOf(name, base.get(name), ours.get(name), theirs.get(name));
    const fate = fateOf(triple);
    if (fate !== null) merged[fate].push(triple);
  }
  return merged;
}

function tripleOf(
  name: string,
  base: MergeItem | undefined,
  ours: MergeItem | undefined,
  theirs: MergeItem | undefined,
): Triple {
  const mark = name.indexOf("/");
  const kind = name.slice(0, mark);
  const key = name.slice(mark + 1);
  return { name, kind, key, base: base ?? null, ours: ours ?? null, theirs: theirs ?? null };
}

/** Null: nothing is merged, and nothing reported. */
function fateOf({ base, ours, theirs }: Triple): keyof MergeOutcome | null {
  if (isOneRecord(theirs, base)) return null;
  if (isUnchanged(theirs, base)) {
    const untouched = isUnchanged(ours, base) && ours?.because === base?.because;
    return untouched && theirs?.because !== base?.because ? "taken" : null;
  }
  if (isEqual(ours, theirs)) return "same";
  if (theirs?.erased === true) return "left";
  return isUnchanged(ours, base) ? "taken" : "conflicts";
}

const isUnchanged = (item: MergeItem | null, base: MergeItem | null): boolean =>
  base?.erased !== true && isEqual(item, base);

function isEqual(a: MergeItem | null, b: MergeItem | null): boolean {
  if (a === null || b === null) return a === b;
  if (isOneRecord(a, b)) return true;
  if (a.erased || b.erased || a.status !== b.status) return false;
  return a.confidence === b.confidence && sameJson(a.value, b.value);
}

/** Two items, or references to them, that are the same record, even if its content is erased. */
export const isOneRecord = (
  a: { readonly hash: string | null } | null | undefined,
  b: { readonly hash: string | null } | null | undefined,
): boolean => typeof a?.hash === "string" && a.hash === b?.hash;

/** The resolution of a conflict. */
export type MergeResolution =
  | { readonly take: "ours" | "theirs" | "both"; readonly because?: string }
  | {
      readonly take: "value";
      readonly value: unknown;
      readonly because?: string;
      /** By default theirs. */
      readonly status?: ItemStatus;
    };

/** A change that a merge makes to the items of the target session. */
export type MergeWrite =
  | {
      readonly write: "record";
      readonly kind: ItemKind;
      readonly key: string;
      readonly value: unknown;
      readonly because?: string;
      readonly status?: ItemStatus;
      readonly confidence?: number;
      readonly evidence?: readonly string[];
      readonly origin?: { readonly session: string; readonly seq: number };
      /** In a report: the value that it replaces; absent for a new item. Not stored. */
      readonly was?: unknown;
    }
  | {
      readonly write: "retract";
      readonly kind: ItemKind;
      readonly key: string;
      readonly because?: string;
    };

/** Copies an item of the other session. */
export function takeTheirs({ kind, key, theirs }: Triple, from: string, as: string = key): MergeWrite {
  if (theirs === null) return { write: "retract", kind, key, because: `it no longer holds in ${from}` };
  const { value, because, status, confidence, evidence, seq } = theirs;
  return {
    write: "record",
    kind,
    key: as,
    value,
    ...(because === null ? {} : { because }),
    ...(status === null ? {} : { status }),
    ...present({ confidence, evidence }),
    origin: { session: from, seq },
  };
}

/** The changes of a resolution; none if the item stays as it is. */
export function resolve(
  conflict: Triple,
  resolution: MergeResolution,
  { from, isTaken }: { readonly from: string; readonly isTaken: (name: string) => boolean },
): readonly MergeWrite[] {
  const { kind, key, ours, theirs } = conflict;
  switch (resolution.take) {
    case "ours":
      return [];
    case "theirs":
      return [takeTheirs(conflict, from)];
    case "both":
      return [takeTheirs(conflict, from, besideKey(kind, key, from, isTaken))];
    case "value": {
      const { value, because } = resolution;
      const status = resolution.status ?? theirs?.status ?? ours?.status ?? defaultStatus(kind);
      const reason = because === undefined ? {} : { because };
      return [{ write: "record", kind, key, value, ...reason, ...(status === null ? {} : { status }) }];
    }
  }
}

/**
 * The key of their version if both are kept: `key (from 4x8kz1ab)`, the suffix of their id; or with a number.
 */
function besideKey(kind: ItemKind, key: string, from: string, isTaken: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const mark = ` (from ${shortId(from)}${number === 1 ? "" : ` ${number}`})`;
    const beside = `${key.slice(0, limit.keyCharsMax - mark.length).toWellFormed()}${mark}`;
    if (!isTaken(itemKey(kind, beside))) return beside;
  }
}
