/**
 * Git for tickets: a worktree and a branch for each. Every step can be repeated after a crash. None of the
 * repository's hooks and settings starts a program here.
 */
import { mkdir, readdir, realpath, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { SkeinError } from "../core/error.ts";
import { quote } from "../core/ids.ts";
import { git as gitOnce, type GitAnswer } from "../platform/git.ts";
import { locked } from "./plan-lock.ts";
import type { World } from "../runtime/world.ts";

export interface PlanRepository {
  /** The top of its working tree, with links resolved. */
  readonly top: string;
  /** The commit at which tickets without predecessors begin. */
  readonly base: string;
}

export interface Worktree {
  readonly directory: string;
  readonly branch: string;
}

/** Another Git may hold a lock for a moment. */
const lockTries = 20;
const lockWaitMs = 250;

export async function runGit(world: World, cwd: string, args: readonly string[]): Promise<GitAnswer> {
  for (let tried = 1; ; tried++) {
    const answer = await gitOnce(world, cwd, args);
    const isLocked = answer.code !== 0 && /\.lock'?: File exists|could not lock/i.test(answer.stderr);
    if (!isLocked || tried >= lockTries) return answer;
    await world.sleep(lockWaitMs);
  }
}

export async function must(
  world: World,
  cwd: string,
  args: readonly string[],
  what: string,
): Promise<string> {
  const { code, stdout, stderr } = await runGit(world, cwd, args);
  if (code === 0) return stdout;
  const said = stderr.trim().split("\n").slice(-3).join(" ");
  throw new SkeinError("refused", `${what}: ${said === "" ? `git ended with ${code}` : said}`, {
    hint: `git ${args.join(" ")}, in ${cwd}`,
  });
}

/** A directory without its `.git` is none: Git would use the enclosing one. */
const isTree = (directory: string): Promise<boolean> =>
  stat(join(directory, ".git")).then(
    () => true,
    () => false,
  );

/** A directory that exists, with links resolved. */
export async function folderAt(path: string): Promise<string> {
  const whole = resolve(path);
  const found = await stat(whole).catch(() => null);
  if (found?.isDirectory() === true) return realpath(whole);
  throw new SkeinError("not-found", `tickets: directory: ${quote(whole)} does not exist`, {
    hint: "create it, or use another directory",
  });
}

/** The repository of a directory. Throws if there is none, or it has no commit. */
export async function repositoryOf(
  world: World,
  directory: string,
  ref: string | undefined,
): Promise<PlanRepository> {
  const found = await runGit(world, directory, ["rev-parse", "--show-toplevel"]);
  if (found.code !== 0) {
    const isForeign = /dubious ownership|safe\.directory/.test(found.stderr);
    if (isForeign) throw foreignRepository(directory, found.stderr);
    throw new SkeinError("invalid", `${quote(directory)} is not in a Git repository`, {
      hint: 'create one with "git init" and a first commit, or omit worktrees',
    });
  }
  const top = await realpath(found.stdout.replace(/\n$/, ""));
  const wanted = ref ?? "HEAD";
  const base = await runGit(world, top, [
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${wanted}^{commit}`,
  ]);
  if (base.code === 0) return { top, base: base.stdout.trim() };
  if (ref !== undefined)
    throw new SkeinError("not-found", `${top} has no commit ${quote(ref)}`, {
      hint: "use a branch, a tag or a commit id",
    });
  throw new SkeinError("invalid", `${top} has no commit yet; a worktree requires one`, {
    hint: "git commit --allow-empty -m first",
  });
}

/** Git refuses a repository of another user, and says what to do about it. */
function foreignRepository(directory: string, stderr: string): SkeinError {
  const said = /^fatal: (.*)$/m.exec(stderr)?.[1] ?? "another user owns the repository";
  const line = stderr
    .split("\n")
    .find((one) => one.includes("git config ") && one.includes("safe.directory"));
  const way = line?.slice(line.indexOf("git config ")).trim();
  return new SkeinError("refused", `git fails in ${quote(directory)}: ${said}`, {
    hint: way ?? "see safe.directory in git help config",
  });
}

const branchOf = (plan: string, ticket: string): string => `skein/${plan}/${ticket}`;
export const worktreeDirectory = (top: string, plan: string, ticket: string): string =>
  join(top, ".skein", "worktrees", plan, ticket);

/** The mark of a branch made here: set before the branch, so that a crash leaves no doubt. */
const markOf = (branch: string): string => `branch.${branch}.skein`;

const has = async (world: World, top: string, branch: string): Promise<boolean> =>
  (await runGit(world, top, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`])).code === 0;

interface WorktreeRequest {
  readonly plan: string;
  readonly id: string;
  readonly after: readonly string[];
  readonly isBegun: boolean;
}

/** One process at a time makes worktrees in a repository. */
export async function inTurn<Result>(
  world: World,
  { top }: PlanRepository,
  work: () => Promise<Result>,
): Promise<Result> {
  await ignoreFolder(top);
  return locked(world, join(top, ".skein", "worktrees.lock"), work);
}

/**
 * The worktree of a ticket, created if missing. It begins at the base, or at the merged results of its
 * predecessors. Throws `refused`, with the files, on a merge conflict. Call it in turn, and only while no
 * session of the ticket is in progress.
 */
export async function makeWorktree(
  world: World,
  { top, base }: PlanRepository,
  { plan, id, after, isBegun }: WorktreeRequest,
): Promise<Worktree> {
  const branch = branchOf(plan, id);
  const directory = worktreeDirectory(top, plan, id);
  const before: string[] = [];
  // A branch that was merged elsewhere and deleted is in the base by now.
  for (const other of after) if (await has(world, top, other)) before.push(other);
  const exists = await has(world, top, branch);
  const mark = await runGit(world, top, ["config", "--local", "--get", markOf(branch)]);
  if (exists && mark.code !== 0) {
    throw new SkeinError("refused", `branch ${branch} already exists, and belongs to no ticket`, {
      hint: `rename or delete it (git branch -m ${branch} NEW), or rename the plan`,
    });
  }
  if (!exists) await must(world, top, ["config", "--local", markOf(branch), "ticket"], `marking ${branch}`);
  if (!(await isThere(world, top, { directory, branch }))) {
    await clearHalf(world, top, directory);
    const start = exists ? [directory, branch] : ["-b", branch, directory, before[0] ?? base];
    await addWorktree(world, top, { directory, branch }, start);
  }
  // Later content is the session's work, and stays untouched.
  if (!isBegun) for (const other of before) await bring(world, directory, { id, branch, other });
  return { directory, branch };
}

/**
 * The worktree of a ticket in progress, recreated from its branch if missing. Removes nothing. Call it in
 * turn.
 */
export async function restoreWorktree(
  world: World,
  { top }: PlanRepository,
  { plan, id, branch }: { readonly plan: string; readonly id: string; readonly branch: string },
): Promise<void> {
  const directory = worktreeDirectory(top, plan, id);
  const found = await listed(world, top, directory);
  if (found?.isHalf === true)
    throw new SkeinError("refused", `the worktree ${directory} is incomplete`, {
      hint: `git worktree remove --force --force ${directory}, then run the plan again`,
    });
  if (found !== null && (await isTree(directory))) return;
  if (!(await has(world, top, branch)))
    throw new SkeinError("refused", `its worktree and its branch ${branch} are missing`, {
      hint: `git branch ${branch} COMMIT, then run the plan again`,
    });
  await addWorktree(world, top, { directory, branch }, [directory, branch]);
}

async function addWorktree(
  world: World,
  top: string,
  { directory, branch }: Worktree,
  start: readonly string[],
): Promise<void> {
  await makeRoom(world, top, directory);
  await mkdir(dirname(directory), { recursive: true });
  try {
    await must(world, top, ["worktree", "add", ...start], `making the worktree ${directory}`);
  } catch (error) {
    // A Git that outlived its parent process may have been faster.
    if (!(await isThere(world, top, { directory, branch }))) throw error;
  }
}

/** Hides its content from Git, without a change to any file of the project. */
async function ignoreFolder(top: string): Promise<void> {
  await mkdir(join(top, ".skein"), { recursive: true });
  await writeFile(join(top, ".skein", ".gitignore"), "*\n");
}

interface ListedWorktree {
  readonly branch: string | null;
  readonly isHalf: boolean;
}

/** What Git knows of a worktree at this path; an interrupted creation is half. */
async function listed(world: World, top: string, directory: string): Promise<ListedWorktree | null> {
  const all = await must(world, top, ["worktree", "list", "--porcelain", "-z"], "listing the worktrees");
  const entry = all.split("\0\0").find((one) => one.split("\0")[0] === `worktree ${directory}`);
  if (entry === undefined) return null;
  const lines = entry.split("\0");
  const branch = lines.find((line) => line.startsWith("branch "))?.slice("branch refs/heads/".length) ?? null;
  return { branch, isHalf: lines.includes("locked initializing") };
}

async function isThere(world: World, top: string, { directory, branch }: Worktree): Promise<boolean> {
  const found = await listed(world, top, directory);
  if (found === null || found.isHalf || !(await isTree(directory))) return false;
  if (found.branch === branch) return true;
  // During a rebase, or on another branch of the session, it is still the same worktree.
  if (found.branch === null) return true;
  throw new SkeinError("refused", `the worktree ${directory} is on ${found.branch}, not on ${branch}`, {
    hint: `git -C ${directory} switch ${branch}`,
  });
}

/** Removes an interrupted creation. */
async function clearHalf(world: World, top: string, directory: string): Promise<void> {
  if ((await listed(world, top, directory))?.isHalf !== true) return;
  await must(world, top, ["worktree", "remove", "--force", "--force", directory], `clearing ${directory}`);
}

/** Lets Git forget a missing worktree; existing files stay. */
async function makeRoom(world: World, top: string, directory: string): Promise<void> {
  if ((await listed(world, top, directory)) !== null)
    await must(world, top, ["worktree", "prune"], `clearing ${directory}`);
  const left = await readdir(directory).catch(() => []);
  if (left.length > 0)
    throw new SkeinError("refused", `${directory} exists and is not a worktree`, {
      hint: "move it away, or delete it",
    });
}

/** Merges the result of another ticket, unless it is already merged. */
async function bring(
  world: World,
  directory: string,
  { id, branch, other }: { readonly id: string; readonly branch: string; readonly other: string },
): Promise<void> {
  if ((await runGit(world, directory, ["merge-base", "--is-ancestor", other, "HEAD"])).code === 0) return;
  // An interrupted merge starts again; no session has worked here yet.
  await runGit(world, directory, ["merge", "--abort"]);
  const message = `ticket ${id}: merge ${other}`;
  const who = await identity(world, directory);
  const merged = await runGit(world, directory, [...who, "merge", "--no-edit", "-m", message, other]);
  if (merged.code === 0) return;
  const files = await runGit(world, directory, ["diff", "--name-only", "--diff-filter=U", "-z"]);
  await runGit(world, directory, ["merge", "--abort"]);
  const names = files.stdout.split("\0").filter((name) => name !== "");
  const where =
    names.length === 0 ? `: ${merged.stderr.trim() || merged.stdout.trim()}` : ` in ${shown(names)}`;
  throw new SkeinError("refused", `merge conflict with ${other}${where}`, {
    hint: `merge it by hand into ${branch}, in ${directory}, then run the plan again`,
  });
}

const shownMax = 5;
const shown = (names: readonly string[]): string =>
  [...names.slice(0, shownMax), ...(names.length > shownMax ? [`${names.length - shownMax} more`] : [])].join(
    ", ",
  );

/** The configured Git user; otherwise a name that says what wrote it. */
export async function identity(world: World, directory: string): Promise<readonly string[]> {
  const name = await runGit(world, directory, ["config", "--get", "user.name"]);
  const email = await runGit(world, directory, ["config", "--get", "user.email"]);
  if (name.code === 0 && email.code === 0) return [];
  return ["-c", "user.name=Skein", "-c", "user.email=skein@localhost"];
}

/** Commits all uncommitted changes; false if there are none. Repeated after a crash, it completes. */
export async function commitAll(world: World, directory: string, message: string): Promise<boolean> {
  const what = "committing what the ticket left";
  const status = await must(world, directory, ["status", "--porcelain", "-z"], what);
  if (status === "") return false;
  await must(world, directory, ["add", "--all"], what);
  if ((await runGit(world, directory, ["diff", "--cached", "--quiet"])).code === 0) return false;
  const who = await identity(world, directory);
  await must(world, directory, [...who, "commit", "--quiet", "--message", message], what);
  return true;
}

/** What a ticket has committed. */
export interface BranchWork {
  readonly branch: string;
  /** Abbreviated ids and subjects, the newest first. */
  readonly commits: readonly string[];
  /** Files with their changed lines, and the sum. */
  readonly diffstat: readonly string[];
}

const commitsMax = 20;
const filesMax = 30;

/** The commits and the changed files of a branch since the plan's base; null without a commit. */
export async function branchWork(
  world: World,
  directory: string,
  { base, branch }: { readonly base: string; readonly branch: string },
): Promise<BranchWork | null> {
  const what = "reading the commits of the ticket";
  const since = (await must(world, directory, ["merge-base", base, "HEAD"], what)).trim();
  const linesOf = async (args: readonly string[]): Promise<string[]> =>
    (await must(world, directory, args, what)).split("\n").filter((line) => line.trim() !== "");
  const max = `--max-count=${commitsMax}`;
  const commits = await linesOf(["log", "--no-show-signature", max, "--format=%h %s", `${since}..HEAD`]);
  if (commits.length === 0) return null;
  const stat = ["diff", "--no-ext-diff", "--no-color", `--stat=100,70,${filesMax}`, since, "HEAD"];
  return { branch, commits, diffstat: (await linesOf(stat)).map((line) => line.trim()) };
}

/** The commit that is checked out. */
export async function headCommit(world: World, directory: string): Promise<string> {
  return (await must(world, directory, ["rev-parse", "--verify", "HEAD"], "reading the commit")).trim();
}
