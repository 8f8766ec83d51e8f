/** Runs a program to its end and gives back all it said. */
import { execFile } from "node:child_process";
import { delimiter } from "node:path";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Never rejects. A program that was killed, took too long or could not be started has code 1 and says so. */
export function runCommand(
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly timeoutMs?: number; readonly outside?: boolean },
): Promise<Ended> {
  const { cwd, timeoutMs: timeout = 60_000, outside = false } = options;
  return new Promise((resolve) => {
    execFile(file, args, { cwd, timeout, env: outsideEnv(outside) }, (error, stdout, stderr) => {
      const ended = error === null || typeof error.code === "number";
      resolve(ended ? { code: Number(error?.code ?? 0), stdout, stderr } : unended(error, stdout + stderr));
    });
  });
}

function unended(error: Error, said: string): Ended {
  return { code: 1, stdout: "", stderr: `${error.message}\n${said}` };
}

/**
 * The environment without what npm and the test runner tell their children; and, `outside`, without the
 * programs of any node_modules, so that npm runs on the machine's own Node, as it does for a user.
 */
function outsideEnv(outside: boolean): NodeJS.ProcessEnv {
  const inner = /^(npm_|NODE_TEST|NODE_OPTIONS$)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !inner.test(name)));
  if (!outside) return env;
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...env, PATH: folders.join(delimiter) };
}
