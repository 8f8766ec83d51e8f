/**
 * Detects changed files below a directory between two scans, by size, inode and times in nanoseconds. A file
 * written just before the first scan could change again within the same clock tick, so its hash is kept too.
 */
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { databaseOf } from "./live-database.ts";
import type { ToolWorld } from "./port.ts";
import { ignoredNames, unsettledMs } from "../platform/file-look.ts";
import type { IsReserved } from "./reserved-names.ts";

const changeLimit = {
  /** Entries of one scan. A larger tree is not compared. */
  entriesMax: 20_000,
  doubtfulBytesMax: 1_048_576,
  doubtfulMax: 500,
} as const;

type Look = ReadonlyMap<string, { readonly print: string; readonly hash: string | undefined }>;

export type Changes =
  | { readonly changed: readonly string[] }
  /** Why the changes are unknown. */
  | { readonly changed: null; readonly why: string };

/** Scans now; the returned function scans again and compares. */
export async function watchChanges(
  world: Pick<ToolWorld, "now" | "hashBytes">,
  directory: string,
  isReserved: IsReserved,
): Promise<() => Promise<Changes>> {
  const where = { directory, isReserved };
  const before = await look(world, where, undefined);
  return async () => {
    const after = before && (await look(world, where, before));
    if (before === undefined || after === undefined) {
      return {
        changed: null,
        why: `more than ${changeLimit.entriesMax} entries, too many to tell what changed`,
      };
    }
    const paths = new Set([...before.keys(), ...after.keys()]);
    const changed = [...paths].filter((path) => {
      const [was, is] = [before.get(path), after.get(path)];
      return was?.print !== is?.print || was?.hash !== is?.hash;
    });
    return { changed: changed.toSorted() };
  };
}

async function look(
  world: Pick<ToolWorld, "now" | "hashBytes">,
  { directory, isReserved }: { readonly directory: string; readonly isReserved: IsReserved },
  before: Look | undefined,
): Promise<Look | undefined> {
  const seen = new Map<string, { print: string; hash: string | undefined }>();
  const folders = [""];
  let doubtful = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const here: string = folder;
    const entries = await readdir(join(directory, here), { withFileTypes: true }).catch(() => []);
    if (seen.size + entries.length > changeLimit.entriesMax) return undefined;
    const names = new Set(entries.map(({ name }) => name));
    const kept = entries.filter(
      ({ name }) =>
        !ignoredNames.includes(name) &&
        !isOfLiveDatabase(name, names) &&
        !isReserved(join(directory, here, name)),
    );
    folders.push(...kept.filter((entry) => entry.isDirectory()).map(({ name }) => join(here, name)));
    const files = kept.filter((entry) => !entry.isDirectory()).map(({ name }) => join(here, name));
    const stats = await Promise.all(
      files.map((path) => lstat(join(directory, path), { bigint: true }).catch(() => undefined)),
    );
    for (const [place, path] of files.entries()) {
      const stat = stats[place];
      if (stat === undefined) continue;
      const print = [stat.ino, stat.size, stat.mode, stat.mtimeNs, stat.ctimeNs].join(" ");
      const isFresh = world.now() - Number(stat.ctimeMs) < unsettledMs(stat.ctimeNs);
      const isDoubtful =
        before === undefined
          ? isFresh && doubtful < changeLimit.doubtfulMax
          : before.get(path)?.hash !== undefined;
      const isSmall = stat.isFile() && stat.size <= changeLimit.doubtfulBytesMax;
      if (isDoubtful && isSmall) doubtful += 1;
      seen.set(path, {
        print,
        hash: isDoubtful && isSmall ? await hashOf(world, join(directory, path)) : undefined,
      });
    }
  }
  return seen;
}

/** Changes in an open database are not the command's, and it must not be opened here. */
const isOfLiveDatabase = (name: string, names: ReadonlySet<string>): boolean =>
  names.has(`${databaseOf(name)}-shm`);

async function hashOf(world: Pick<ToolWorld, "hashBytes">, path: string): Promise<string | undefined> {
  return readFile(path).then(
    (bytes) => world.hashBytes(bytes),
    () => undefined,
  );
}
