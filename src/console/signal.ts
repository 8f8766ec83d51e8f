/** An observable value: the one kind of state outside of components. */
import { useSyncExternalStore } from "react";

export interface Cell<T> {
  get(): T;
  set(value: T): void;
  /** Until the returned function is called. */
  watch(heard: () => void): () => void;
}

export function cell<T>(first: T): Cell<T> {
  let value = first;
  const watchers = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const heard of watchers) heard();
    },
    watch(heard) {
      watchers.add(heard);
      return () => void watchers.delete(heard);
    },
  };
}

export const useCell = <T>(watched: Cell<T>): T => useSyncExternalStore(watched.watch, watched.get);
