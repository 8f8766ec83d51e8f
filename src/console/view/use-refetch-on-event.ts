/** What is shown is read again a moment after something was heard of it, however much that was. */
import { useEffect, useRef } from "react";
import { useFollow } from "../live.ts";
import { refresh } from "../query-cache.ts";
import { after } from "../world.ts";

const gatherMs = 500;

/** `of`: which types of events matter here. `again`: the beginnings of keys that are read again. */
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
    (told) => {
      if ("event" in told && of.test(told.event.type)) reread();
    },
    reread,
  );
}

/** What nobody heard of while nobody looked is read again when somebody comes back to it. */
export function useReadAgain(prefix: string): void {
  useEffect(() => () => void after(0, () => refresh(prefix)), [prefix]);
}
