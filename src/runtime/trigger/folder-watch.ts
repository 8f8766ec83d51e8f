/** Single directories with change notifications, for files in a few known directories. */
import { watch, type FSWatcher } from "node:fs";
import { basename } from "node:path";

export interface FolderWatch {
  /** Watches exactly these directories from now on. One that cannot be watched is retried next time. */
  keep(folders: Iterable<string>): void;
  isAnnounced(): boolean;
  end(): void;
}

export function watchFolders(notice: () => void, counts: (name: string) => boolean): FolderWatch {
  const watchers = new Map<string, FSWatcher | null>();
  let isOver = false;

  function begin(folder: string): FSWatcher | null {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        const isItself = event === "rename" && (name === null || name === basename(folder));
        if (isItself) lose();
        if (isItself || name === null || counts(name)) notice();
      });
      const lose = (): void => {
        watcher.close();
        if (watchers.get(folder) === watcher) watchers.set(folder, null);
      };
      watcher.on("error", lose);
      return watcher;
    } catch {
      return null;
    }
  }

  return {
    keep(folders) {
      if (isOver) return;
      const wanted = new Set(folders);
      for (const [folder, watcher] of watchers)
        if (!wanted.has(folder)) {
          watcher?.close();
          watchers.delete(folder);
        }
      for (const folder of wanted) watchers.set(folder, watchers.get(folder) ?? begin(folder));
    },
    isAnnounced: () => watchers.size > 0 && [...watchers.values()].every((watcher) => watcher !== null),
    end() {
      isOver = true;
      for (const watcher of watchers.values()) watcher?.close();
      watchers.clear();
    },
  };
}
