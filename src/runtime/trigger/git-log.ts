/** Reads the commits between two from Git, so that a repository's own settings start no program. */
import type { World } from "../world.ts";

const timeoutMs = 20_000;
const outputBytesMax = 65_536;

/** Options that restrict Git to reading: no pager, no monitor, no fetching, no filters, no signatures. */
const quiet = ["--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"] as const;

interface Answer {
  readonly code: number | null;
  readonly lines: readonly string[];
}

/** A program that was ended for taking too long has no code. Rejects when Git is missing. */
async function git(world: World, top: string, args: readonly string[]): Promise<Answer> {
  const env = {
    PATH: world.secret("PATH") ?? "/usr/local/bin:/usr/bin:/bin",
    HOME: world.secret("HOME") ?? "/",
    LC_ALL: "C.UTF-8",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
  };
  const child = await world.spawn(["git", ...quiet, ...args], { cwd: top, env });
  const done = new AbortController();
  const late = endLate(world, child, done.signal);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const wasted = drain(child.stderr);
  for await (const chunk of child.stdout) {
    bytes += chunk.length;
    if (bytes <= outputBytesMax) chunks.push(chunk);
  }
  const { code } = await child.exited;
  done.abort();
  await Promise.all([late, wasted]);
  const text = Buffer.concat(chunks).toString("utf8");
  return { code, lines: text.split("\n").filter((line) => line !== "") };
}

async function endLate(world: World, child: { kill(): void }, done: AbortSignal): Promise<void> {
  await world.sleep(timeoutMs, done);
  if (!done.aborted) child.kill();
}

async function drain(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of stream);
}

/** The commits between two. */
export interface CommitRange {
  /** The new one does not descend from the old one: a force push, or the old one was removed. */
  readonly isForced: boolean;
  /** True when something matches; always without paths. */
  readonly touches: boolean;
  readonly commits: number;
  /** The last ones first: the short id and the subject. */
  readonly subjects: readonly string[];
}

const subjectsMax = 20;
const subjectCharsMax = 200;

export async function movedBetween(
  world: World,
  top: string,
  { from, to, paths }: { readonly from: string; readonly to: string; readonly paths: readonly string[] },
): Promise<CommitRange> {
  const only = paths.length === 0 ? [] : ["--", ...paths.map((path) => `:(top)${path}`)];
  const follows = await git(world, top, ["merge-base", "--is-ancestor", from, to]);
  const isForced = follows.code !== 0;
  const log = [
    "log",
    "--no-show-signature",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--format=%h %s",
  ];
  const between = await git(world, top, [...log, "-n", "10000", `${from}..${to}`, ...only]);
  const isTold = between.code === 0;
  const diff = ["diff-tree", "-r", "--name-only", "--no-ext-diff", "--no-textconv", from, to];
  const trees = isForced && only.length > 0 ? await git(world, top, [...diff, ...only]) : null;
  // Unknown changes, because the old commit was removed, count as a match.
  const touches =
    only.length === 0 ||
    (trees === null ? !isTold || between.lines.length > 0 : trees.code !== 0 || trees.lines.length > 0);
  const shown = isTold ? between.lines.slice(0, subjectsMax) : [];
  return {
    isForced,
    touches,
    commits: isTold ? between.lines.length : 0,
    subjects: shown.map((line) => line.slice(0, subjectCharsMax)),
  };
}
