/** Moves between rows by keys: j and k, or the arrows. Tab reaches the actions of a row. */
import { useShortcuts } from "../shortcut.ts";

/** `rows`: the selector of the rows, each focusable. */
export function useRowKeys(rows: string): void {
  const move = (step: number): void => {
    const all = [...document.querySelectorAll<HTMLElement>(rows)];
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const next = at === -1 ? (step > 0 ? 0 : all.length - 1) : at + step;
    all[Math.max(0, Math.min(next, all.length - 1))]?.focus();
  };
  useShortcuts([
    { key: "j", what: "Next row", act: () => move(1) },
    { key: "k", what: "Previous row", act: () => move(-1) },
    { key: "ArrowDown", what: "Next row", act: () => move(1) },
    { key: "ArrowUp", what: "Previous row", act: () => move(-1) },
  ]);
}
