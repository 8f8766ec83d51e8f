/**
 * Notifications of commits by other processes. The -wal file changes before a commit is readable, so after
 * each notification the database is polled again a little later, and also at intervals. Each poll also checks
 * that the file is still in place. The next call of the store reports any problem.
 */
import { watch as watchFile, type FSWatcher } from "node:fs";
import type { StoreWorld } from "../port.ts";
import type { SqliteConnection } from "./connection.ts";

const againMs = [2, 20] as const;
const anywayMs = 250;

export interface Watch {
  add(changed: () => void): () => void;
  /** Something was committed here. */
  notify(): void;
  close(): void;
}

export function makeWatch(connection: SqliteConnection, path: string, world: StoreWorld): Watch {
  const listeners = new Set<() => void>();
  const version = connection.database.prepare("PRAGMA data_version");
  version.setReturnArrays(true);
  let seen: unknown;
  let file: FSWatcher | null = null;
  let stopped: AbortController | null = null;
  let closed = false;

  const notify = () => {
    for (const listener of listeners) listener();
  };

  const read = (): unknown => connection.guard(() => (version.get() as unknown as [number])[0]);

  /** `data_version` changes only with commits of other connections. */
  function look(): void {
    if (closed || connection.poison() !== null) return;
    try {
      const now = read();
      if (now !== seen && seen !== undefined) notify();
      seen = now;
    } catch {
      // The next poll retries after a lock; after anything worse nothing works any more.
    }
    if (connection.poison() !== null) endInTrouble();
  }

  /** Waiting readers read once more, and get the error. */
  function endInTrouble(): void {
    stop();
    notify();
  }

  async function lookAgain(): Promise<void> {
    for (const ms of againMs) {
      await world.sleep(ms);
      look();
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await world.sleep(anywayMs, signal);
      if (signal.aborted) return;
      connection.lookForFile();
      if (connection.poison() !== null) return endInTrouble();
      look();
    }
  }

  function start(): void {
    try {
      seen = read();
    } catch {
      // Its first poll meets it again.
    }
    try {
      file ??= watchFile(`${path}-wal`, { persistent: false }, () => void lookAgain());
      file.on("error", unwatch);
    } catch {
      // Without file system notifications, polling every 250 ms remains.
    }
    stopped = new AbortController();
    void run(stopped.signal);
  }

  function unwatch(): void {
    file?.close();
    file = null;
  }

  function stop(): void {
    stopped?.abort();
    unwatch();
  }

  return {
    notify,
    add(changed) {
      listeners.add(changed);
      if (listeners.size === 1) start();
      return () => {
        if (listeners.delete(changed) && listeners.size === 0) stop();
      };
    },
    close() {
      closed = true;
      stop();
      // Waiting readers read once more, and find that the store is closed.
      notify();
      listeners.clear();
    },
  };
}
