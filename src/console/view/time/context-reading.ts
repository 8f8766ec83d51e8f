/** The context at a position: what the model was last sent, or would be sent next. */
import { useEffect, useRef, useState } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { useReading, type CachedQuery } from "../../query-cache.ts";
import { after } from "../../world.ts";
import { useScope } from "../session/scope.ts";
import { requestBefore } from "./reading.ts";

export type Context = Awaited<ReturnType<RemoteSession["context"]>>;
/** `sent`: by the last request at or before the position. `next`: by one right after it. */
export type Which = "sent" | "next";

export async function readContext(session: RemoteSession, seq: number, which: Which): Promise<Context> {
  const request = which === "sent" ? await requestBefore(session, seq) : null;
  return session.context({ atSeq: request ?? seq });
}

export const contextKey = (id: string, which: Which, seq: number): string => `context/${id}/${which}/${seq}`;

interface ContextReading {
  /** Of another position, while this one loads. */
  readonly isBehind: boolean;
  readonly context: CachedQuery<Context>;
}

/** Null reads nothing, and the last value stays. */
export function useContextAt(seq: number | null, which: Which): ContextReading {
  const { id, session } = useScope();
  const key = seq === null ? null : contextKey(id, which, seq);
  const reading = useReading(key, () => readContext(session, seq ?? 1, which));
  const last = useRef<Context | undefined>(undefined);
  if (reading.value !== undefined) last.current = reading.value;
  const isBehind = reading.value === undefined && reading.error === undefined;
  if (!isBehind || last.current === undefined) return { isBehind, context: reading };
  return { isBehind, context: { ...reading, value: last.current } };
}

/** A value once it has not changed for so long; the first one at once. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(
    () => (Object.is(value, settled) ? undefined : after(ms, () => setSettled(value))),
    [value, ms, settled],
  );
  return settled;
}
