/**
 * Triggers on a bound resource. Files and directories are watched as such. An SQLite database fires when its
 * files were written: they are not opened, because closing them would drop the locks that this process holds
 * on an open database. A checkpoint counts as well; watch the result of a query with a check.
 */
import type { Binding } from "../../core/tool/commands.ts";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { SpecOf } from "../../core/trigger/trigger.ts";
import type { World } from "../world.ts";
import { watchFolders } from "./folder-watch.ts";
import { watchLevel, type WatchedState, type Subject } from "./watch-hub.ts";
import { fileDebounceMs, lookOnce, watchFiles } from "./source-file.ts";
import type { Source } from "./source.ts";
import { boundPlace } from "./watched-path.ts";

/** Prefix of the path of a database. */
const databaseMark = "file:";

export const resourceSource: Source = {
  kinds: ["resource"],
  async prepare({ world }, { spec, bindings }) {
    const given = spec as SpecOf<"resource">;
    const path = await pathOf(given.binding, bindings);
    const { digest } = path.startsWith(databaseMark)
      ? await lookAtDatabase(world, path.slice(databaseMark.length))
      : await lookOnce(world, { path });
    return { spec: { ...given, path }, digest };
  },
  async watch(deps, watch, how) {
    const { path, debounceMs = fileDebounceMs, binding } = watch.spec as SpecOf<"resource">;
    if (path === undefined)
      return how.trouble(`trigger "${watch.name}": it is not known where ${binding} is`);
    if (!path.startsWith(databaseMark)) return watchFiles(deps, { path }, { debounceMs, watch, how });
    const make = (notice: () => void): Subject =>
      databaseSubject(deps.world, path.slice(databaseMark.length), notice);
    await watchLevel(deps, { key: path, debounceMs, make }, watch, how);
  },
};

/** The path of the binding; a directory ends with a slash, a database has its prefix. */
async function pathOf(name: string, bindings: readonly Binding[]): Promise<string> {
  const binding = bindings.find((one) => (one.name ?? one.path ?? one.url ?? one.kind) === name);
  if (binding === undefined) {
    throw new SkeinError("not-found", `no resource is bound as ${quote(name)}`, {
      hint: `bindings: ${bindings.map((one) => one.name ?? one.path ?? one.kind).join(", ") || "nothing"}`,
    });
  }
  const { kind, path, url } = binding;
  if ((kind === "file" || kind === "directory") && path !== undefined) {
    const place = await boundPlace(path, [binding]);
    return place.isDirectory ? place.path.replace(/\/?$/, "/") : place.path;
  }
  const file = path ?? (url?.startsWith(databaseMark) === true ? url.slice(databaseMark.length) : undefined);
  if (kind === "database" && file !== undefined) {
    const real = await realpath(resolve(file)).catch(() => null);
    if (real !== null) return `${databaseMark}${real}`;
    throw new SkeinError("not-found", `database ${quote(name)} does not exist: ${file}`);
  }
  throw new SkeinError("invalid", `${quote(name)} cannot be watched: it sends no change events`, {
    hint: "bound files, directories and SQLite databases can; for all else set a check (kind: query)",
  });
}

async function lookAtDatabase(world: World, path: string): Promise<{ readonly digest: string }> {
  const main = await lstat(path, { bigint: true }).catch(() => null);
  if (main === null || !main.isFile()) throw new SkeinError("not-found", `${path} does not exist`);
  const ahead = await lstat(`${path}-wal`, { bigint: true }).catch(() => null);
  const seen = [main.ino, main.size, main.mtimeNs];
  if (ahead !== null && ahead.size > 0n) seen.push(ahead.ino, ahead.size, ahead.mtimeNs);
  return { digest: world.digest("", `database ${seen.join(" ")}`) };
}

function databaseSubject(world: World, path: string, notice: () => void): Subject {
  const names = ["", "-wal", "-journal"].map((ending) => basename(path) + ending);
  const folders = watchFolders(notice, (name) => names.includes(name));
  let last = "";
  return {
    async look(): Promise<WatchedState> {
      folders.keep([dirname(path)]);
      const { digest } = await lookAtDatabase(world, path);
      last = digest;
      const tell: WatchedState["tell"] = async ({ name }) => ({
        text: `Trigger "${name}" fired: the database ${path} was written.`,
        detail: { path },
      });
      return { digest, tell };
    },
    poll: async () => (await lookAtDatabase(world, path)).digest !== last,
    isAnnounced: folders.isAnnounced,
    end: folders.end,
  };
}
