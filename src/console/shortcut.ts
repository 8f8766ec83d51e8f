/**
 * Keyboard shortcuts. One table per mounted view: a single key, or Ctrl (Command on a Mac) with one. In a
 * text field only Ctrl shortcuts and Escape count. `?` shows the list.
 */
import { useEffect, useRef } from "react";
import { cell } from "./signal.ts";

export interface Shortcut {
  /** As `event.key` has it: `j`, `Enter`, `?`; with Ctrl `ctrl+k`; two in a row `g s`. */
  readonly key: string;
  readonly what: string;
  readonly act: () => void;
}

/** Those of all mounted views, the innermost last. */
export const shortcuts = cell<readonly (readonly Shortcut[])[]>([]);

let before = "";

function hear(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const target = event.target as HTMLElement;
  const isTyping = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  const withCtrl = event.ctrlKey || event.metaKey;
  if (document.querySelector("dialog[open]") !== null && !withCtrl) return;
  if (isTyping && !withCtrl) return;
  const key = withCtrl ? `ctrl+${event.key.toLowerCase()}` : event.key;
  const all = shortcuts.get().flat();
  // Enter and Space belong to the focused element.
  const isOwn = ["Enter", " "].includes(key) && /^(A|BUTTON|SUMMARY)$/.test(target.tagName);
  const found = isOwn
    ? undefined
    : (all.findLast((one) => one.key === `${before} ${key}`) ?? all.findLast((one) => one.key === key));
  before = withCtrl ? "" : key;
  if (found === undefined) return;
  before = "";
  event.preventDefault();
  found.act();
}

export const startShortcuts = (): void => window.addEventListener("keydown", hear);

/** While the component is mounted. `outer`: inner views may override these keys. */
export function useShortcuts(list: readonly Shortcut[], { outer = false } = {}): void {
  const latest = useRef(list);
  latest.current = list;
  const keys = list.map(({ key }) => key).join("\n");
  useEffect(() => {
    const own = latest.current.map((shortcut, place) => ({
      ...shortcut,
      act: () => latest.current[place]?.act(),
    }));
    shortcuts.set(outer ? [own, ...shortcuts.get()] : [...shortcuts.get(), own]);
    return () => shortcuts.set(shortcuts.get().filter((one) => one !== own));
  }, [keys]);
}
