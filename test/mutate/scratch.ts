/** The temporary folder of a run: removed when the run ends, also by a signal, or else by the next run. */
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function makeScratch(onEnd: () => void, folder = tmpdir()): string {
  for (const left of globSync(`${folder}/skein-mutate-*`)) {
    const pid = Number(/skein-mutate-(\d+)-/.exec(left)?.[1] ?? 0);
    if (pid > 0 && !isRunning(pid)) rmSync(left, { recursive: true, force: true });
  }
  const scratch = mkdtempSync(join(folder, `skein-mutate-${process.pid}-`));
  process.once("exit", () => {
    onEnd();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(130));
  return scratch;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
