/** The checks that need no test: types, lint, format, unused code. Each prints one line, or what is wrong. */
import { execFile } from "node:child_process";
import { join } from "node:path";

const cache = "node_modules/.cache/skein";
const checks: readonly (readonly [tool: string, ...args: string[]])[] = [
  // With several threads each checks much of the same again: 17 s of processor time in place of 10. A second
  // check of a tree starts from the first: 2 s of processor time in place of 14.
  ["tsc", "--singleThreaded", "--incremental", "--tsBuildInfoFile", `${cache}/tsc.tsbuildinfo`],
  ["tsc", "-p", "src/console", "--singleThreaded"],
  ["oxlint"],
  ["oxfmt", "--check"],
  ["knip", "--no-progress"],
];

/** Runs all checks side by side and returns the names of those that failed. */
export async function runChecks(): Promise<readonly string[]> {
  const results = await Promise.all(
    checks.map(async ([name, ...args]) => ((await runTool(name, args)) ? [] : [[name, ...args].join(" ")])),
  );
  return results.flat();
}

function runTool(name: string, args: readonly string[]): Promise<boolean> {
  const root = join(import.meta.dirname, "..");
  const command = [join(root, "node_modules", ".bin", name), ...args];
  const started = performance.now();
  return new Promise((resolve) => {
    // The part of oxlint that reads types is written in Go, and its threads cost as those of tsc do.
    const env = { ...process.env, GOMAXPROCS: "1" };
    execFile(process.execPath, command, { cwd: root, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`${error ? "✖" : "✔"} ${name} (${seconds}s)`);
      if (error) console.log(`${stdout}${stderr}`.trimEnd());
      resolve(!error);
    });
  });
}

if (import.meta.main && (await runChecks()).length > 0) process.exitCode = 1;
