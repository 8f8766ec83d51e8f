/** A repository to run plans in, and what became of it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Repository extends Disposable {
  readonly top: string;
  git(...words: readonly string[]): string;
  /** What is committed on a branch: the subjects since the first commit, the last first. */
  subjects(branch: string): string[];
  /** The worktree of a ticket. */
  worktree(plan: string, ticket: string): string;
}

/** Nobody's configuration counts. */
const gitEnv = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" } as const;

export function newRepository(): Repository {
  Object.assign(process.env, gitEnv);
  const top = realpathSync(mkdtempSync(join(tmpdir(), "skein-tickets-")));
  const git = (...words: readonly string[]): string =>
    execFileSync("git", words, { cwd: top, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trimEnd();
  git("init", "-q", "-b", "main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  writeFileSync(join(top, "readme.txt"), "first\n");
  git("add", ".");
  git("commit", "-qm", "first");
  return {
    top,
    git,
    subjects: (branch) =>
      git("log", "--format=%s", `main..${branch}`)
        .split("\n")
        .filter((line) => line !== ""),
    worktree: (plan, ticket) => join(top, ".skein", "worktrees", plan, ticket),
    [Symbol.dispose]: () => rmSync(top, { recursive: true, force: true }),
  };
}
