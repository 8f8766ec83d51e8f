/** One run of one test file in a tree, killed from outside when it takes too long. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { killTree } from "../runner/process-tree.ts";

export interface TestRun {
  readonly ok: boolean;
  readonly timedOut: boolean;
  readonly ms: number;
}

export interface RunOptions {
  readonly timeoutMs: number;
  /** A folder for everything that the test leaves behind. */
  readonly scratch: string;
  /** Where V8 writes its coverage. */
  readonly coverage?: string;
}

const running = new Set<number>();

/** Kills every test that is running. */
export function killRuns(): void {
  for (const pid of running) killTree(pid);
}

export async function runOnce(tree: string, test: string, options: RunOptions): Promise<TestRun> {
  const { timeoutMs, scratch, coverage } = options;
  const started = performance.now();
  const temporary = join(scratch, "tmp");
  mkdirSync(temporary, { recursive: true });
  const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: temporary };
  // Most of a short test is compiling the sources. Coverage is exact only without a cache.
  if (coverage === undefined) env["NODE_COMPILE_CACHE"] = join(scratch, "compiled");
  else env["NODE_V8_COVERAGE"] = coverage;
  const flags = ["--conditions=skein-source", "--test-force-exit", `--test-timeout=${timeoutMs}`];
  const child = spawn(process.execPath, [...flags, test], {
    cwd: tree,
    env,
    detached: true,
    stdio: "ignore",
  });
  const { pid = 0 } = child;
  running.add(pid);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killTree(pid);
  }, timeoutMs);
  const [code] = (await once(child, "exit")) as [number | null];
  running.delete(pid);
  clearTimeout(timer);
  return { ok: code === 0, timedOut, ms: performance.now() - started };
}
