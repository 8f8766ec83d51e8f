/**
 * A check of a commit: the directory must have it checked out, without changes of tracked files, before and
 * after. What a check changes in tracked files is reported and undone.
 */
import { SkeinError } from "../../core/error.ts";
import { git, type GitAnswer, type GitWorld } from "../../platform/git.ts";
import type { CheckOutcome } from "./run-check.ts";

interface CommitCheckout {
  readonly directory: string;
  readonly commit: string;
}

export async function atCommit(
  world: GitWorld,
  place: CommitCheckout,
  run: () => Promise<CheckOutcome>,
): Promise<CheckOutcome> {
  const { directory, commit } = place;
  if ((await headOf(world, directory)) !== commit)
    return { status: "error", reason: `${directory} is not at the commit ${commit.slice(0, 12)}` };
  const before = await changedIn(world, directory);
  if (before.length > 0) return { status: "error", reason: `not committed: ${shown(before)}` };
  const outcome = await run();
  if ((await headOf(world, directory)) !== commit)
    return { ...outcome, status: "error", reason: "the check moved HEAD to another commit" };
  const changed = await changedIn(world, directory);
  if (changed.length === 0) return outcome;
  await must(git(world, directory, ["restore", "--source=HEAD", "--staged", "--worktree", "--", ":/"]));
  const reason = `the check changed files of the commit, which were restored: ${shown(changed)}`;
  return { ...outcome, status: "failed", reason };
}

/** Whether Git tracks the path; a path relative to the directory. */
export async function isTracked(world: GitWorld, directory: string, path: string): Promise<boolean> {
  const args = ["--literal-pathspecs", "ls-files", "--error-unmatch", "--", path];
  return (await git(world, directory, args)).code === 0;
}

async function headOf(world: GitWorld, directory: string): Promise<string> {
  return (await must(git(world, directory, ["rev-parse", "--verify", "HEAD"]))).trim();
}

async function changedIn(world: GitWorld, directory: string): Promise<readonly string[]> {
  const args = ["status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"];
  const stdout = await must(git(world, directory, args));
  return stdout.split("\0").flatMap((line) => (line === "" ? [] : [line.slice(3)]));
}

async function must(answer: Promise<GitAnswer>): Promise<string> {
  const { code, stdout, stderr } = await answer;
  if (code === 0) return stdout;
  throw new SkeinError("refused", `git: ${stderr.trim().split("\n").at(-1) ?? `ended with ${code}`}`);
}

const shownMax = 5;
const shown = (paths: readonly string[]): string =>
  [...paths.slice(0, shownMax), ...(paths.length > shownMax ? [`${paths.length - shownMax} more`] : [])].join(
    ", ",
  );
