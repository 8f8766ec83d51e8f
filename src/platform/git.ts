/** Runs Git without any program that a repository or its settings name, and without a question. */
import { SkeinError } from "../core/error.ts";

interface GitChild {
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  readonly exited: Promise<{ readonly code: number | null }>;
  kill(): void;
}

/** The part of the world that Git needs. */
export interface GitWorld {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  secret(name: string): string | undefined;
  spawn(
    command: readonly [string, ...string[]],
    options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> },
  ): Promise<GitChild>;
}

export interface GitAnswer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const timeoutMs = 120_000;
const outputBytesMax = 16_777_216;
const settings = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "commit.gpgSign=false"];
const quiet = ["--no-pager", ...settings.flatMap((one) => ["-c", one])];
const passedOn = ["PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"] as const;

export async function git(world: GitWorld, cwd: string, args: readonly string[]): Promise<GitAnswer> {
  const known = passedOn.flatMap((name) => {
    const value = world.secret(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const env = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...Object.fromEntries(known),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "true",
  };
  const child = await world.spawn(["git", ...quiet, ...args], { cwd, env }).catch((cause: unknown) => {
    throw new SkeinError("unavailable", "git: cannot start", {
      hint: "install Git, or omit worktrees",
      cause,
    });
  });
  const done = new AbortController();
  const late = world
    .sleep(timeoutMs, done.signal)
    .then(() => (done.signal.aborted ? undefined : child.kill()));
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  const { code } = await child.exited;
  done.abort();
  await late;
  return { code, stdout, stderr };
}

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size <= outputBytesMax) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
