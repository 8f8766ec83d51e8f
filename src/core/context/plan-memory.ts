/** Memory in a plan: which entries are shown, each of them once. */
import { field } from "./source.ts";
import { nested, textOf } from "./text.ts";

/** The entries of one `memory.carried`. */
export interface PlannedMemory {
  readonly seq: number;
  /** Null: its content was erased. */
  readonly items: readonly unknown[] | null;
}

export interface ChosenMemory {
  readonly seq: number;
  /** Numbers of the entries: 1, 2, 3… */
  readonly shown: number[];
}

/** One entry of memory in one line. */
export function memoryLine(item: unknown): string {
  const why = field(item, "why");
  const because = typeof why === "string" ? ` (${why})` : "";
  const [kind, key, value] = ["kind", "key", "value"].map((name) => textOf(field(item, name)));
  return `- ${nested(`${kind} ${key}: ${value}${because}`)}`;
}

/** As many entries as fit; of entries with one name only the newest. */
export function planMemory(
  memory: readonly PlannedMemory[],
  count: (line: string) => number,
  roomTokens: number,
): { readonly chosen: readonly ChosenMemory[]; readonly usedTokens: number } {
  const newest = new Map<string, string>();
  for (const { seq, items } of memory)
    for (const [place, item] of (items ?? []).entries()) newest.set(nameOf(item), `${seq} ${place}`);
  let left = roomTokens;
  const chosen = memory.map(({ seq, items }): ChosenMemory => {
    const shown: number[] = [];
    for (const [place, item] of (items ?? []).entries()) {
      if (newest.get(nameOf(item)) !== `${seq} ${place}`) continue;
      const tokens = count(memoryLine(item));
      if (tokens > left) continue;
      left -= tokens;
      shown.push(place + 1);
    }
    return { seq, shown };
  });
  return { chosen, usedTokens: roomTokens - left };
}

const nameOf = (item: unknown): string =>
  JSON.stringify(["scope", "kind", "key"].map((name) => textOf(field(item, name))));
