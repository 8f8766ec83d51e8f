/** The current keys as a list for people: each action once, with all its keys. */
import type { Shortcut } from "./shortcut.ts";

export interface KeyRow {
  readonly what: string;
  readonly keys: readonly string[];
}

/** The view's own first. For a key with several meanings, the innermost counts, as when it is pressed. */
export function keyRows(tables: readonly (readonly Pick<Shortcut, "key" | "what">[])[]): readonly KeyRow[] {
  const taken = new Set<string>();
  const rows = new Map<string, string[]>();
  for (const table of tables.toReversed()) {
    const free = table.filter(({ key }) => !taken.has(key));
    for (const { key, what } of free) {
      taken.add(key);
      rows.set(what, [...(rows.get(what) ?? []), key]);
    }
  }
  return [...rows].map(([what, keys]) => ({ what, keys }));
}

const names: Readonly<Record<string, string>> = {
  " ": "Space",
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
};

export const keyName = (key: string): string =>
  names[key] ?? key.replace(/^ctrl\+(.)/, (_, one: string) => `Ctrl ${one.toUpperCase()}`);
