/**
 * Git for the merge queue. Candidates are made beside the base: as objects, and in worktrees of the queue.
 * Only `advanceBranch` changes a branch, by compare-and-swap. Every step can be repeated after a crash.
 */
import { mkdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SkeinError } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import type { World } from "../runtime/world.ts";
import { identity, must, runGit } from "./git-worktree.ts";

export interface MergeBase {
  readonly top: string;
  /** The branch that tickets are merged into. */
  readonly name: string;
}

const refOf = (branch: string): string => `refs/heads/${branch}`;
/** A landing: of a ticket, from this end of its branch. */
export interface LandingPlace {
  readonly plan: string;
  readonly ticket: string;
  readonly head: string;
}

/** Keeps what a session committed while it landed a ticket; no branch. */
const tipRef = ({ plan, ticket, head }: LandingPlace): string => `refs/skein/merge/${plan}/${ticket}/${head}`;
export const landingDirectory = (top: string, plan: string, ticket: string): string =>
  join(top, ".skein", "merge", plan, ticket);

/** The commit of a name; null if there is none. */
async function commitAt(world: World, top: string, name: string): Promise<string | null> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const { code, stdout } = await runGit(world, top, args);
  return code === 0 ? stdout.trim() : null;
}

export const branchHead = (world: World, top: string, branch: string): Promise<string | null> =>
  commitAt(world, top, refOf(branch));

export async function isAncestor(world: World, top: string, one: string, other: string): Promise<boolean> {
  return (await runGit(world, top, ["merge-base", "--is-ancestor", one, other])).code === 0;
}

/** The commit of the base. Throws unless it is a local branch that may be moved. */
export async function baseCommit(world: World, { top, name }: MergeBase): Promise<string> {
  const commit = await branchHead(world, top, name);
  if (commit === null)
    throw new SkeinError("not-found", `merge: base: there is no branch ${quote(name)}`, {
      hint: `git branch ${name}, or name a branch that exists`,
    });
  const link = await runGit(world, top, ["symbolic-ref", "--quiet", refOf(name)]);
  if (link.code === 0)
    throw new SkeinError("refused", `merge: base: ${name} only points to ${link.stdout.trim()}`, {
      hint: "name the branch itself",
    });
  await assertNotCheckedOut(world, { top, name });
  return commit;
}

/**
 * Moving a branch that is checked out would leave its files and index behind. The queue never touches a
 * checkout, so it refuses such a base, with or without changes.
 */
async function assertNotCheckedOut(world: World, { top, name }: MergeBase): Promise<void> {
  const all = await must(world, top, ["worktree", "list", "--porcelain", "-z"], "listing the worktrees");
  const entry = all.split("\0\0").find((one) => one.split("\0").includes(`branch ${refOf(name)}`));
  if (entry === undefined) return;
  const where = entry.split("\0")[0]?.slice("worktree ".length) ?? top;
  const { stdout } = await runGit(world, where, ["status", "--porcelain", "-z"]);
  const how = stdout === "" ? "" : ", with changes";
  throw new SkeinError("refused", `merge: base: ${name} is checked out in ${where}${how}`, {
    hint: `name a branch that is not: git branch integration ${name}; or: git -C ${where} switch --detach`,
  });
}

/** Moves the base to a commit that follows it; false if the base is no longer where it was. */
export async function advanceBranch(
  world: World,
  base: MergeBase,
  { from, to, ticket }: { readonly from: string; readonly to: string; readonly ticket: string },
): Promise<boolean> {
  if (!(await isAncestor(world, base.top, from, to)))
    throw new SkeinError("refused", `merge: ${to} does not follow ${base.name}`);
  if ((await baseCommit(world, base)) !== from) return false;
  const why = `skein merge: ticket ${ticket}`;
  const args = ["update-ref", "--no-deref", "-m", why, refOf(base.name), to, from];
  const { code } = await runGit(world, base.top, args);
  if (code === 0) return true;
  if ((await branchHead(world, base.top, base.name)) !== from) return false;
  throw new SkeinError("refused", `merge: ${base.name} could not be moved to ${to}`, {
    hint: `git update-ref ${refOf(base.name)} ${to} ${from}`,
  });
}

/** A commit with the work of both, or the files in which they conflict. */
export type Candidate =
  | { readonly commit: string }
  | { readonly commit: null; readonly conflicts: readonly string[] };

export interface Sides {
  readonly base: string;
  /** The ticket's branch, or what a session made of it. */
  readonly tip: string;
  readonly message: string;
}

/** Merges without a working tree. A tip that follows the base is the candidate itself. */
export async function mergeCandidate(
  world: World,
  top: string,
  { base, tip, message }: Sides,
): Promise<Candidate> {
  if (await isAncestor(world, top, base, tip)) return { commit: tip };
  const args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", base, tip];
  const { code, stdout, stderr } = await runGit(world, top, args);
  if (code !== 0 && code !== 1)
    throw new SkeinError("refused", `merge: ${stderr.trim().split("\n").at(-1) ?? "git merge-tree failed"}`, {
      hint: "Git 2.38 or newer is required",
    });
  const [tree = "", ...names] = stdout.split("\0").filter((one) => one !== "");
  if (code === 1) return { commit: null, conflicts: [...new Set(names)] };
  const who = await identity(world, top);
  const words = [...who, "commit-tree", tree, "-p", base, "-p", tip, "-m", message];
  return { commit: (await must(world, top, words, "committing the merge")).trim() };
}

/** Rebases in the landing's worktree; null where that conflicts. */
export async function rebaseCandidate(
  world: World,
  top: string,
  { base, tip, directory }: { readonly base: string; readonly tip: string; readonly directory: string },
): Promise<string | null> {
  if (await isAncestor(world, top, base, tip)) return tip;
  await placeAt(world, top, directory, tip);
  const who = await identity(world, directory);
  const { code } = await runGit(world, directory, [...who, "rebase", "--quiet", base]);
  if (code === 0) return commitAt(world, directory, "HEAD");
  await runGit(world, directory, ["rebase", "--abort"]);
  return null;
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The landing's worktree, fresh, at a commit. Call it only when nothing of what is there is to be kept. */
export async function placeAt(world: World, top: string, directory: string, commit: string): Promise<void> {
  await removeLanding(world, top, directory);
  await mkdir(dirname(directory), { recursive: true });
  const what = `making the worktree ${directory}`;
  await must(world, top, ["worktree", "add", "--detach", "--force", directory, commit], what);
}

export async function removeLanding(world: World, top: string, directory: string): Promise<void> {
  // An interrupted creation or removal leaves part of it.
  await runGit(world, top, ["worktree", "remove", "--force", "--force", directory]);
  await rm(directory, { recursive: true, force: true });
  await runGit(world, top, ["worktree", "unlock", directory]);
  await must(world, top, ["worktree", "prune"], "clearing removed worktrees");
}

/** What a landing's worktree holds. */
export interface LandingTree {
  readonly head: string;
  /** The commit that is being merged into it; null: none. */
  readonly merging: string | null;
  /** Paths that are not committed. */
  readonly changed: readonly string[];
}

/** Null if there is no whole worktree. */
export async function landingTree(world: World, directory: string): Promise<LandingTree | null> {
  if (!(await isThere(join(directory, ".git")))) return null;
  const head = await commitAt(world, directory, "HEAD");
  if (head === null) return null;
  const status = await runGit(world, directory, ["status", "--porcelain", "-z", "--no-renames"]);
  if (status.code !== 0) return null;
  const changed = status.stdout.split("\0").flatMap((line) => (line === "" ? [] : [line.slice(3)]));
  return { head, merging: await commitAt(world, directory, "MERGE_HEAD"), changed };
}

/** Begins a merge that conflicts, and leaves it to a session. */
export async function beginConflict(
  world: World,
  top: string,
  { base, tip, directory }: { readonly base: string; readonly tip: string; readonly directory: string },
): Promise<void> {
  await placeAt(world, top, directory, base);
  const who = await identity(world, directory);
  const { code, stderr } = await runGit(world, directory, [...who, "merge", "--no-commit", "--no-ff", tip]);
  if (code === 0 || (await commitAt(world, directory, "MERGE_HEAD")) !== null) return;
  throw new SkeinError("refused", `merge: ${stderr.trim().split("\n").at(-1) ?? "git merge failed"}`);
}

/** Files that still have the markers of a conflict. */
export async function unresolved(world: World, directory: string): Promise<readonly string[]> {
  const names = await runGit(world, directory, ["diff", "--name-only", "--diff-filter=U", "-z"]);
  const found: string[] = [];
  for (const name of names.stdout.split("\0").filter((one) => one !== "")) {
    const marks = ["grep", "--no-index", "-q", "-E", "^(<<<<<<<|>>>>>>>)( |$)", "--", `:(literal)${name}`];
    if ((await runGit(world, directory, marks)).code === 0) found.push(name);
  }
  return found;
}

/** Commits what a session left, a merge with both parents. Returns the commit. */
export async function commitLanding(world: World, directory: string, message: string): Promise<string> {
  const what = "committing what the session left";
  await must(world, directory, ["add", "--all"], what);
  const who = await identity(world, directory);
  await must(world, directory, [...who, "commit", "--quiet", "--no-verify", "--message", message], what);
  return (await must(world, directory, ["rev-parse", "--verify", "HEAD"], what)).trim();
}

export const tipOf = (world: World, top: string, place: LandingPlace): Promise<string | null> =>
  commitAt(world, top, tipRef(place));

export async function setTip(world: World, top: string, place: LandingPlace, commit: string): Promise<void> {
  const ref = tipRef(place);
  await must(world, top, ["update-ref", ref, commit], `keeping ${ref}`);
}

/** The ticket has landed: what its landings kept is in the base, or was given up. */
export async function clearTips(world: World, top: string, plan: string, ticket: string): Promise<void> {
  const folder = `refs/skein/merge/${plan}/${ticket}/`;
  const { stdout } = await runGit(world, top, ["for-each-ref", "--format=%(refname)", folder]);
  for (const ref of stdout.split("\n").filter((one) => one !== ""))
    await must(world, top, ["update-ref", "-d", ref], `clearing ${ref}`);
}

const statCharsMax = 4_000;

/** What both sides changed since they parted, for the session that resolves a conflict. */
export async function sidesText(
  world: World,
  top: string,
  { base, tip, files }: { readonly base: string; readonly tip: string; readonly files: readonly string[] },
): Promise<string> {
  const side = async (from: string, to: string): Promise<string> => {
    const paths = files.map((file) => `:(top,literal)${file}`);
    const args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", `${from}...${to}`, "--", ...paths];
    const { stdout } = await runGit(world, top, args);
    return stdout.length <= statCharsMax ? stdout : `${stdout.slice(0, statCharsMax)}\n[… cut …]\n`;
  };
  return `The base changed:\n\n${await side(tip, base)}\nThe ticket changed:\n\n${await side(base, tip)}`;
}
