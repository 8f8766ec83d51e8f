/** Triggers on files: they fire when the contents of files below a bound path change. */
import { basename, dirname, join } from "node:path";
import type { SessionId } from "../../core/ids.ts";
import { SkeinError } from "../../core/error.ts";
import { globMatcher, isLeftOpen } from "../../core/text/glob.ts";
import { quote } from "../../core/ids.ts";
import type { SpecOf } from "../../core/trigger/trigger.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import type { World } from "../world.ts";
import { watchLevel, type WatchedState, type Subject, type WatchId } from "./watch-hub.ts";
import type { Source, TriggerWatch } from "./source.ts";
import { ignoredNames } from "../../platform/file-look.ts";
import { Tree, type FolderHashes, type TreeOptions } from "./folder-tree.ts";
import { boundPlace } from "./watched-path.ts";

/** The watched files. A path that ends with a slash is a directory, any other is a file. */
export type FileScope = Pick<SpecOf<"file">, "path" | "glob">;

export const fileDebounceMs = 300;
/** The maximum number of files that a change names. */
const namedMax = 100;
/** A firing keeps the list of files, to name the next changes, if there are few. */
const keptFilesMax = 500;
const keptCharsMax = 24_000;
const keptHashChars = 16;

export const fileSource: Source = {
  kinds: ["file"],
  async prepare({ world }, { spec, bindings }) {
    const given = spec as SpecOf<"file">;
    const { path, isDirectory } = await boundPlace(given.path, bindings);
    const ready = { ...given, path: isDirectory ? join(path, "/") : path };
    checkGlob(ready);
    return { spec: ready, digest: (await lookOnce(world, ready)).digest };
  },
  watch(deps, watch, how) {
    const spec = watch.spec as SpecOf<"file">;
    return watchFiles(deps, spec, { debounceMs: spec.debounceMs ?? fileDebounceMs, watch, how });
  },
};

export function watchFiles(
  deps: Deps,
  scope: FileScope,
  {
    debounceMs,
    watch,
    how,
  }: {
    readonly debounceMs: number;
    readonly watch: TriggerWatch;
    readonly how: Parameters<Source["watch"]>[2];
  },
): Promise<void> {
  const { path, glob = "" } = scope;
  const make = (notice: () => void): Subject => fileSubject(deps, scope, notice);
  return watchLevel(deps, { key: `file ${path}\n${glob}`, debounceMs, make }, watch, how);
}

/** The current files, by one scan; rejects for what cannot be watched. */
export async function lookOnce(world: World, scope: FileScope): Promise<{ readonly digest: string }> {
  const { root, options, matches } = shapeOf(scope);
  const tree = new Tree(world, root, { ...options, watched: false });
  const listing = await tree.list(matches);
  if (tree.trouble !== null) throw new SkeinError("invalid", tree.trouble);
  if (options.only !== undefined && listing.length === 0) {
    throw new SkeinError("invalid", `path: ${scope.path} cannot be watched as a file`, {
      hint: "bind a database as a database, and watch it as a resource",
    });
  }
  return { digest: digestOf(world, listing) };
}

function checkGlob({ path, glob }: FileScope): void {
  if (glob === undefined) return;
  if (!path.endsWith("/")) {
    throw new SkeinError("invalid", `glob: not allowed, ${path} is a file`, {
      hint: "omit the glob, or watch the directory",
    });
  }
  if (glob.startsWith("/") || glob.split(/[/{},]/).includes("..")) {
    throw new SkeinError("invalid", `glob: ${quote(glob)} is outside ${path}`, {
      hint: "a glob matches paths below the directory, for example src/**/*.ts",
    });
  }
  globMatcher(glob);
  if (isLeftOpen(glob)) {
    throw new SkeinError("invalid", `glob: unclosed bracket in ${quote(glob)}`, {
      hint: "close [a-z] and {a,b}; escape a literal bracket with a backslash",
    });
  }
}

interface Shape {
  readonly root: string;
  readonly options: Omit<TreeOptions, "watched">;
  readonly matches: (path: string) => boolean;
}

function shapeOf({ path, glob }: FileScope): Shape {
  if (!path.endsWith("/"))
    return { root: dirname(path), options: { passedOver: [], only: basename(path) }, matches: () => true };
  const isAsked = (name: string): boolean => path.includes(`/${name}/`) || glob?.includes(name) === true;
  return {
    root: path.length > 1 ? path.slice(0, -1) : path,
    options: { passedOver: ignoredNames.filter((name) => !isAsked(name)) },
    matches: glob === undefined ? () => true : globMatcher(glob),
  };
}

const digestOf = (world: World, listing: FolderHashes): string => world.digest("", JSON.stringify(listing));

/** Shared by all globs over one directory. */
export interface SharedTree {
  readonly tree: Tree;
  users: number;
}

function shareTree(
  { world, shared: { trees: all } }: Deps,
  { root, options }: Shape,
): { readonly tree: Tree; end(): void } {
  const key = JSON.stringify([root, options]);
  const shared = all.get(key) ?? { tree: new Tree(world, root, { ...options, watched: true }), users: 0 };
  all.set(key, shared);
  shared.users++;
  return {
    tree: shared.tree,
    end() {
      if (--shared.users > 0) return;
      all.delete(key);
      shared.tree.end();
    },
  };
}

/** How many listings are cached, to name the changes since. */
const listingsMax = 4;

function fileSubject(deps: Deps, scope: FileScope, notice: () => void): Subject {
  const shape = shapeOf(scope);
  const shared = shareTree(deps, shape);
  const { tree } = shared;
  const listings = new Map<string, FolderHashes>();
  const unlisten = tree.listen((path, isNamed) => {
    if (isNamed || shape.matches(path)) notice();
  });
  let isOver = false;
  return {
    async look(): Promise<WatchedState> {
      const listing = await tree.list(shape.matches);
      const digest = digestOf(deps.world, listing);
      listings.delete(digest);
      listings.set(digest, listing);
      const [oldest] = listings.keys();
      if (listings.size > listingsMax && oldest !== undefined) listings.delete(oldest);
      return {
        digest,
        ...(tree.trouble === null ? {} : { trouble: tree.trouble }),
        async tell(watch, was) {
          const before =
            was === null ? undefined : (listings.get(was) ?? (await keptListing(deps, watch, was)));
          return describeChange(watch.name, scope.path, before, listing);
        },
      };
    },
    poll: () => tree.poll(),
    isAnnounced: () => tree.isAnnounced,
    end() {
      if (isOver) return;
      isOver = true;
      unlisten();
      shared.end();
    },
  };
}

/** The list of files that a firing keeps. */
interface CachedTree {
  readonly files?: Readonly<Record<string, string>>;
}

/** The list of files when the trigger fired for this digest, if it was kept. */
async function keptListing(
  { store }: Deps,
  { session, name }: WatchId,
  digest: string,
): Promise<FolderHashes | undefined> {
  if (session === null) return undefined;
  const seq = await lastFired(store, session, name, digest);
  const content = seq === undefined ? undefined : await readContent(store, session, seq);
  const files = (content as { readonly detail?: CachedTree } | undefined)?.detail?.files;
  return files === undefined ? undefined : Object.entries(files);
}

async function lastFired(
  store: Deps["store"],
  session: SessionId,
  name: string,
  digest: string,
): Promise<number | undefined> {
  const head = await store.head(session);
  if (head === undefined) return undefined;
  const range = {
    fromSeq: 1,
    toSeq: head.seq,
    reverse: true,
    types: ["trigger.fired"],
    limit: 100,
    contents: false,
  };
  const page = await store.read(session, range);
  const isIt = (body: { readonly name?: unknown; readonly digest?: unknown }): boolean =>
    body.name === name && body.digest === digest;
  return page.find(({ body }) => isIt(JSON.parse(body) as object))?.seq;
}

function describeChange(name: string, path: string, before: FolderHashes | undefined, now: FolderHashes) {
  const files = Object.fromEntries(now.map(([one, hash]) => [one, hash.slice(0, keptHashChars)]));
  const isKept = now.length <= keptFilesMax && JSON.stringify(files).length <= keptCharsMax;
  const kept = isKept ? { files } : {};
  const what = path.endsWith("/") ? `below ${path}` : path;
  if (before === undefined) {
    const text = `Trigger "${name}" fired: the files changed: ${what}`;
    return { text, detail: { path, ...kept } };
  }
  const changes = changesOf(before, now);
  const counted = changes.added.length + changes.changed.length + changes.removed.length;
  const named: Record<string, readonly string[]> = {};
  let left = namedMax;
  for (const [kind, paths] of Object.entries(changes)) {
    if (paths.length > 0) named[kind] = paths.slice(0, left);
    left = Math.max(0, left - paths.length);
  }
  const lines = Object.entries(named).map(([kind, paths]) => `${kind}: ${paths.map(shown).join(", ")}`);
  const more = counted > namedMax ? [`and ${counted - namedMax} more`] : [];
  const head = `Trigger "${name}" fired: ${counted} ${counted === 1 ? "file" : "files"} changed ${what}`;
  return { text: [head, ...lines, ...more].join("\n"), detail: { path, ...named, count: counted, ...kept } };
}

/** A name with unusual characters is quoted, so that it cannot pass for more than a name. */
const shown = (path: string): string =>
  /^[\p{L}\p{N} ._/@+~#=-]+$/u.test(path) ? path : JSON.stringify(path);

function changesOf(before: FolderHashes, now: FolderHashes) {
  const were = new Map(before);
  const are = new Map(now);
  const isOther = (a: string, b: string): boolean => !a.startsWith(b.slice(0, keptHashChars));
  return {
    added: now.filter(([path]) => !were.has(path)).map(([path]) => path),
    changed: now.filter(([path, hash]) => isOther(hash, were.get(path) ?? hash)).map(([path]) => path),
    removed: before.filter(([path]) => !are.has(path)).map(([path]) => path),
  };
}
