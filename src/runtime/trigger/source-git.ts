/** Triggers on Git: they fire when a ref points to another commit, or when such commits touch given paths. */
import { join } from "node:path";
import { lstat } from "node:fs/promises";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { SpecOf } from "../../core/trigger/trigger.ts";
import type { World } from "../world.ts";
import { watchFolders } from "./folder-watch.ts";
import { movedBetween, type CommitRange } from "./git-log.ts";
import {
  beforeRebase,
  findRepository,
  foldersOf,
  fullName,
  isOfRefs,
  isSwitched,
  pointed,
  repositoryAt,
  type RefTarget,
  type Repository,
} from "./git-refs.ts";
import { watchLevel, type WatchedState, type Subject } from "./watch-hub.ts";
import type { Source } from "./source.ts";
import { boundPlace } from "./watched-path.ts";

/** Refs move in one step; a few in a row are combined. */
const gitDebounceMs = 100;
const idChars = 40;
const digestChars = 64;
const shortChars = 10;

export const gitSource: Source = {
  kinds: ["git"],
  async prepare(_, { spec, bindings }) {
    const { ref, ...given } = spec as SpecOf<"git">;
    const place = await boundPlace(given.path, bindings);
    const repository = place.isDirectory ? await findRepository(place.path, place.root) : null;
    if (repository === null) {
      throw new SkeinError("invalid", `path: ${given.path} is not a Git repository`, {
        hint: "use a repository inside a bound directory",
      });
    }
    if (await lstat(join(repository.shared, "reftable")).catch(() => null))
      throw new SkeinError("invalid", `${given.path}: the reftable format is not supported`);
    for (const path of given.paths ?? []) checkPath(path);
    const name = ref === undefined || ref === "HEAD" ? undefined : await fullName(repository, ref);
    if (name === null) {
      throw new SkeinError("not-found", `${repository.top} has no ref ${quote(ref)}`, {
        hint: "a branch or a tag, for example main, origin/main or refs/tags/v1",
      });
    }
    const { id } = await standing(repository, name);
    const named = name === undefined ? {} : { ref: name };
    return { spec: { ...given, path: repository.top, ...named }, digest: digestOf(id) };
  },
  watch(deps, watch, how) {
    const spec = watch.spec as SpecOf<"git">;
    const { path, ref = "HEAD", paths = [] } = spec;
    const key = `git ${JSON.stringify([path, ref, paths])}`;
    const make = (notice: () => void): Subject => gitSubject(deps.world, spec, notice);
    return watchLevel(deps, { key, debounceMs: gitDebounceMs, make }, watch, how);
  },
};

function checkPath(path: string): void {
  if (!path.startsWith("/") && !path.startsWith(":") && !path.split("/").includes("..")) return;
  throw new SkeinError("invalid", `paths: ${quote(path)} is outside the repository`, {
    hint: "paths are relative to the repository's root, for example src/core or docs/*.md",
  });
}

/** What is checked out, or the ref. During a rebase, HEAD counts as where it was before. */
async function standing(repository: Repository, ref: string | undefined): Promise<RefTarget> {
  const found = await pointed(repository, ref ?? "HEAD");
  const before = ref === undefined ? await beforeRebase(repository) : null;
  return before === null ? found : { ...found, id: before };
}

/** A commit's id is already a digest; it is only padded to the same length, and can be read back. */
const digestOf = (id: string | null): string => (id ?? "").padEnd(digestChars, "0");

function commitOf(digest: string | null): string | null {
  if (digest === null || /^0*$/.test(digest)) return null;
  return digest.endsWith("0".repeat(digestChars - idChars)) ? digest.slice(0, idChars) : digest;
}

function gitSubject(world: World, spec: SpecOf<"git">, notice: () => void): Subject {
  const { path: top, ref, paths = [] } = spec;
  const folders = watchFolders(notice, isOfRefs);
  let last: string | null | undefined;

  async function look(): Promise<RefTarget> {
    const repository = await repositoryAt(top);
    if (repository === null) throw new SkeinError("not-found", `${top} is no longer a Git repository`);
    const { way } = await pointed(repository, ref ?? "HEAD");
    folders.keep(await foldersOf(repository, way));
    // Detects what moved before the watch began.
    return standing(repository, ref);
  }

  return {
    async look(): Promise<WatchedState> {
      const { id, way } = await look();
      last = id;
      const asked = new Map<string, Promise<CommitRange>>();
      return {
        digest: digestOf(id),
        async tell({ name }, was) {
          const from = commitOf(was);
          const where = `${way.at(-1)} of ${top}`;
          if (id === null) return { text: `Trigger "${name}" fired: ${where} is gone.`, detail: { from } };
          if (from === null)
            return { text: `Trigger "${name}" fired: ${where} is at ${short(id)} now.`, detail: { to: id } };
          const moved = asked.get(from) ?? movedBetween(world, top, { from, to: id, paths });
          asked.set(from, moved);
          const range = await moved;
          if (!range.touches) return null;
          const repository = ref === undefined ? await repositoryAt(top) : null;
          const switched = repository !== null && (await isSwitched(repository, from));
          return describeMove(name, where, { from, to: id, paths }, { ...range, switched });
        },
      };
    },
    poll: async () => (await look()).id !== last,
    isAnnounced: folders.isAnnounced,
    end: folders.end,
  };
}

const short = (id: string): string => id.slice(0, shortChars);

function describeMove(
  name: string,
  where: string,
  { from, to, paths }: { readonly from: string; readonly to: string; readonly paths: readonly string[] },
  { isForced, commits, subjects, switched }: CommitRange & { readonly switched: boolean },
) {
  const how = isForced && !switched ? " by force: the new commit does not follow from the old one" : "";
  const touching =
    paths.length === 0 ? "" : ` that ${commits === 1 ? "touches" : "touch"} ${paths.join(", ")}`;
  const counted = commits === 0 ? [] : [`${commits} ${commits === 1 ? "commit" : "commits"}${touching}:`];
  const more = commits > subjects.length ? [`… and ${commits - subjects.length} before them`] : [];
  const what = switched ? `another branch is checked out: ${where}` : `${where} moved`;
  const head = `Trigger "${name}" fired: ${what}, ${short(from)}..${short(to)}${how}.`;
  const manner = switched ? { forced: false, switched } : { forced: isForced };
  const text = [head, ...counted, ...subjects.map((subject) => `  ${subject}`), ...more].join("\n");
  return { text, detail: { from, to, ...manner, commits } };
}
