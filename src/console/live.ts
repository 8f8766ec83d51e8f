/**
 * Live updates: one stream per tab, of everything or of a family. A hidden tab closes its stream, because a
 * browser allows only six connections to a server, and resumes from the same position when it is visible
 * again. Nothing is missed.
 */
import { useEffect, useRef } from "react";
import type { FollowUpdate } from "../client/connect.ts";
import { connection, mended } from "./connection.ts";
import { engine } from "./server.ts";
import { after } from "./world.ts";

/** The updates for views. After a rollback they read again. */
export type LiveUpdate = Exclude<FollowUpdate, { readonly rollback: unknown }>;

const againMs = 2_000;
const settleMs = 250;

/** Follows until the returned function is called. Any session names its family. */
function follow(family: string | null, hear: (update: LiveUpdate) => void, missed: () => void): () => void {
  let position: string | null = null;
  let stream: AbortController | null = null;
  let isOver = false;
  let waiting: (() => void) | null = null;

  async function run(signal: AbortSignal): Promise<void> {
    const options = {
      signal,
      ...(family === null ? {} : { family }),
      ...(position === null ? {} : { after: position }),
    };
    // Covers updates between the first read and the start of the stream.
    const settled = position === null ? after(settleMs, missed) : null;
    try {
      for await (const update of engine.follow(options)) {
        if (signal.aborted) return;
        if ("position" in update) ({ position } = update);
        // The page may show a lost history: it is read again.
        if ("rollback" in update) missed();
        else hear(update);
      }
    } catch {
      // The position may belong to a lost store: the page is read again, and followed from now on.
      position = null;
      if (!signal.aborted) missed();
    }
    settled?.();
    if (!signal.aborted && !isOver) waiting = after(againMs, look);
  }

  function look(): void {
    waiting?.();
    waiting = null;
    const wanted = !isOver && !document.hidden && connection.get() !== "out";
    if (wanted && stream === null) {
      const made = new AbortController();
      stream = made;
      void run(made.signal).finally(() => {
        if (stream === made) stream = null;
      });
    } else if (!wanted && stream !== null) {
      stream.abort();
      stream = null;
    }
  }

  document.addEventListener("visibilitychange", look);
  const unwatch = [connection.watch(look), mended.watch(look)];
  look();
  return () => {
    isOver = true;
    document.removeEventListener("visibilitychange", look);
    for (const end of unwatch) end();
    look();
  };
}

/** Follows while the component is mounted. */
export function useFollow(
  family: string | null | undefined,
  hear: (update: LiveUpdate) => void,
  missed: () => void,
): void {
  const latest = useRef({ hear, missed });
  latest.current = { hear, missed };
  useEffect(() => {
    if (family === undefined) return;
    return follow(
      family,
      (update) => latest.current.hear(update),
      () => latest.current.missed(),
    );
  }, [family]);
}
