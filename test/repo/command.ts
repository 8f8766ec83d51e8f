/** Runs a program to its end and gives back all it said. */
import { execFile } from "node:child_process";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Never rejects. A program that was killed, took too long or could not be started has code 1 and says so. */
export function runCommand(
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly timeoutMs?: number },
): Promise<Ended> {
  const { cwd, timeoutMs: timeout = 60_000 } = options;
  return new Promise((resolve) => {
    execFile(file, args, { cwd, timeout, env: outsideEnv() }, (error, stdout, stderr) => {
      const ended = error === null || typeof error.code === "number";
      resolve(ended ? { code: Number(error?.code ?? 0), stdout, stderr } : unended(error, stdout + stderr));
    });
  });
}

function unended(error: Error, said: string): Ended {
  return { code: 1, stdout: "", stderr: `${error.message}\n${said}` };
}

/** The environment without what npm and the test runner tell their children. */
function outsideEnv(): NodeJS.ProcessEnv {
  const inner = /^(npm_|NODE_TEST|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !inner.test(name)));
}
