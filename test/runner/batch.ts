/**
 * Which test files share a process. Loading the sources is most of what a short file costs, and files that
 * share a process load them once. A file whose tests measure or change their process keeps it for itself by a
 * line `// Process of its own: <reason>.`
 */
import { readFileSync } from "node:fs";

/** Their tests work on values and on stores of their own, and leave nothing behind in their process. */
const shared: ReadonlySet<string> = new Set([
  "adapter",
  "browser",
  "cli",
  "client",
  "console",
  "core",
  "examples",
  "flip",
  "golden",
  "model",
  "protocol",
  "repo",
  "runtime",
  "server",
  "store",
  "tickets",
  "tool",
  "transcripts",
]);

/** Few enough that a file that hangs holds up only a few. */
const filesMax = 16;

const ownProcess = /^\/\/ Process of its own: .+\.$/m;

/** The files of each process, in the order given. */
export function batchesOf(files: readonly string[]): readonly (readonly string[])[] {
  const open = new Map<string, string[]>();
  const batches: string[][] = [];
  for (const file of files) {
    const folder = folderOf(file);
    const batch = open.get(folder);
    const isShared = shared.has(folder) && !ownProcess.test(readFileSync(file, "utf8"));
    if (isShared && batch !== undefined && batch.length < filesMax) {
      batch.push(file);
      continue;
    }
    const next = [file];
    batches.push(next);
    if (isShared) open.set(folder, next);
  }
  return batches;
}

const folderOf = (file: string): string => /(?:^|\/)test\/([^/]+)\//.exec(file)?.[1] ?? "";
