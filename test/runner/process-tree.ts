/** Ends a process with everything that it started. */
import { execFileSync } from "node:child_process";

/**
 * Kills the process group of `leader` and all descendants, also those that lead a group of their own.
 * Descendants are stopped from the top down, so that none starts another one meanwhile.
 */
export function killTree(leader: number): void {
  const pids = [leader, ...descendantsOf(leader)];
  for (const pid of [-leader, ...pids]) signal(pid, "SIGSTOP");
  for (const pid of [-leader, ...new Set([...pids, ...descendantsOf(leader)])]) signal(pid, "SIGKILL");
}

/** Kills what is left of a process group whose leader has ended. */
export function killGroup(leader: number): void {
  signal(-leader, "SIGKILL");
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

function descendantsOf(root: number): number[] {
  const children = Map.groupBy(processes(), ({ parent }) => parent);
  const found: number[] = [];
  for (let level = [root]; level.length > 0;) {
    level = level.flatMap((pid) => (children.get(pid) ?? []).map((child) => child.pid));
    found.push(...level);
  }
  return found;
}

function processes(): { readonly pid: number; readonly parent: number }[] {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  return rows.map((row) => {
    const [pid = 0, parent = 0] = row.trim().split(/\s+/).map(Number);
    return { pid, parent };
  });
}
