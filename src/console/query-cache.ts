/**
 * The cache of server reads, by key: shown at once on return, and read again when it may have changed. A key
 * begins with its subject: `session/ID/state`, `sessions`, `agents`.
 */
import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import { connection, mended } from "./connection.ts";

export interface CachedQuery<T> {
  /** The last value; undefined before the first read. */
  readonly value: T | undefined;
  /** Why the last attempt failed; undefined if it did not. */
  readonly error: Error | undefined;
  readonly isLoading: boolean;
}

interface Entry {
  reading: CachedQuery<unknown>;
  readonly watchers: Set<() => void>;
  load: (() => Promise<unknown>) | null;
  /** Requested while another read was in progress. */
  again: boolean;
  stale: boolean;
}

const entriesMax = 400;
const entries = new Map<string, Entry>();
const nothing: CachedQuery<never> = { value: undefined, error: undefined, isLoading: false };

function entryOf(key: string): Entry {
  const known = entries.get(key);
  if (known !== undefined) {
    entries.delete(key);
    entries.set(key, known);
    return known;
  }
  const made: Entry = {
    reading: { ...nothing, isLoading: true },
    watchers: new Set(),
    load: null,
    again: false,
    stale: true,
  };
  entries.set(key, made);
  for (const [old, entry] of entries) {
    if (entries.size <= entriesMax) break;
    if (entry.watchers.size === 0) entries.delete(old);
  }
  return made;
}

function tell(entry: Entry, reading: CachedQuery<unknown>): void {
  entry.reading = reading;
  for (const heard of entry.watchers) heard();
}

async function read(entry: Entry): Promise<void> {
  const { load } = entry;
  if (load === null) return;
  if (entry.reading.isLoading && !entry.stale) {
    entry.again = true;
    return;
  }
  entry.stale = false;
  tell(entry, { ...entry.reading, isLoading: true });
  try {
    const value = await load();
    tell(entry, { value, error: undefined, isLoading: false });
  } catch (error) {
    tell(entry, { value: entry.reading.value, error: error as Error, isLoading: false });
  }
  if (!entry.again) return;
  entry.again = false;
  if (entry.watchers.size > 0) await read(entry);
  else entry.stale = true;
}

/** Reads, and shows the previous value until then. A null key reads nothing. */
export function useReading<T>(key: string | null, load: () => Promise<T>): CachedQuery<T> {
  const latest = useRef(load);
  latest.current = load;
  const watch = useCallback(
    (heard: () => void) => {
      if (key === null) return () => undefined;
      const entry = entryOf(key);
      entry.watchers.add(heard);
      return () => void entry.watchers.delete(heard);
    },
    [key],
  );
  const get = useCallback((): CachedQuery<unknown> => (key === null ? nothing : entryOf(key).reading), [key]);
  useEffect(() => {
    if (key === null) return;
    const entry = entryOf(key);
    entry.load = () => latest.current();
    if (entry.stale) void read(entry);
  }, [key]);
  return useSyncExternalStore(watch, get) as CachedQuery<T>;
}

/** These keys may have changed: visible ones are read again now, others later. */
export function refresh(prefix: string): void {
  for (const [key, entry] of entries) {
    if (key !== prefix && !key.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`)) continue;
    if (entry.watchers.size > 0) void read(entry);
    else entry.stale = true;
  }
}

/** Drops a key, as of a deleted session. */
export function forget(prefix: string): void {
  for (const key of entries.keys()) if (key.startsWith(prefix)) entries.delete(key);
}

mended.watch(() => {
  if (connection.get() !== "live") return;
  for (const entry of entries.values()) {
    if (entry.watchers.size > 0) void read(entry);
    else entry.stale = true;
  }
});
