/** Reads again a moment after relevant events, however many. */
import { useEffect, useRef } from "react";
import { useFollow } from "../live.ts";
import { refresh } from "../query-cache.ts";
import { after } from "../world.ts";

const gatherMs = 500;

/** `of`: the relevant event types. `again`: the key prefixes to read again. */
export function useHeard(of: RegExp, again: readonly string[]): void {
  const waiting = useRef<(() => void) | null>(null);
  useEffect(() => () => waiting.current?.(), []);
  const reread = (): void => {
    waiting.current ??= after(gatherMs, () => {
      waiting.current = null;
      for (const prefix of again) refresh(prefix);
    });
  };
  useFollow(
    null,
    (update) => {
      if ("event" in update && of.test(update.event.type)) reread();
    },
    reread,
  );
}

/** Changes that were missed while the view was hidden are read on return. */
export function useReadAgain(prefix: string): void {
  useEffect(() => () => void after(0, () => refresh(prefix)), [prefix]);
}
