/** Memory in a plan: which entries are shown, each of them once. */
import { kindRank } from "../item/kind.ts";
import { field } from "./source.ts";
import { nested, textOf } from "./text.ts";

/** The entries of one `memory.carried`. */
export interface PlannedMemory {
  readonly seq: number;
  /** Null: its content was erased. */
  readonly items: readonly unknown[] | null;
  /** Names that no longer hold. */
  readonly withdrawn?: readonly unknown[];
}

export interface ChosenMemory {
  readonly seq: number;
  /** Numbers of the entries: 1, 2, 3… */
  readonly shown: number[];
  /** Entries that hold and do not fit. */
  readonly left?: number;
}

/** One entry of memory in one line. */
export function memoryLine(item: unknown): string {
  const why = field(item, "why");
  const because = typeof why === "string" ? ` (${why})` : "";
  const [kind, key, value] = ["kind", "key", "value"].map((name) => textOf(field(item, name)));
  return `- ${nested(`${kind} ${key}: ${value}${because}`)}`;
}

/**
 * As many entries as fit, the most important kinds first, the newest first in each; of entries with one name
 * only the newest, and none that was withdrawn since.
 */
export function planMemory(
  memory: readonly PlannedMemory[],
  count: (line: string) => number,
  roomTokens: number,
): { readonly chosen: readonly ChosenMemory[]; readonly usedTokens: number } {
  const newest = new Map<string, Entry>();
  for (const [event, { items, withdrawn = [] }] of memory.entries()) {
    for (const [place, item] of (items ?? []).entries()) newest.set(nameOf(item), { event, place, item });
    for (const name of withdrawn) newest.delete(nameOf(name));
  }
  let left = roomTokens;
  const chosen = memory.map(({ seq }) => ({ seq, shown: [] as number[], left: 0 }));
  for (const { event, place, item } of [...newest.values()].toSorted(byImportance)) {
    const tokens = count(memoryLine(item));
    const its = chosen[event];
    if (its === undefined) continue;
    if (tokens > left) its.left += 1;
    else {
      left -= tokens;
      its.shown.push(place + 1);
    }
  }
  const isSaid = ({ shown, left: more }: ChosenMemory, place: number): boolean =>
    shown.length > 0 || (more ?? 0) > 0 || memory[place]?.items === null;
  return {
    chosen: chosen.filter(isSaid).map((one) => ({ ...one, shown: one.shown.toSorted((a, b) => a - b) })),
    usedTokens: roomTokens - left,
  };
}

interface Entry {
  /** The place of its `memory.carried`. */
  readonly event: number;
  readonly place: number;
  readonly item: unknown;
}

const byImportance = (a: Entry, b: Entry): number =>
  rankOf(a.item) - rankOf(b.item) || b.event - a.event || a.place - b.place;

const rankOf = (item: unknown): number => kindRank(textOf(field(item, "kind")));

const nameOf = (item: unknown): string =>
  JSON.stringify(["scope", "kind", "key"].map((name) => textOf(field(item, name))));
