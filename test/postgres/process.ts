/** The processes of this machine, as far as ending a PostgreSQL needs them. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** The processes whose command line has these words, and all that they have started. */
export function processesOf(words: string): number[] {
  const running = listProcesses();
  const found = running.filter(({ command }) => command.includes(words)).map(({ pid }) => pid);
  for (const pid of found) {
    found.push(
      ...running.filter((one) => one.parent === pid && !found.includes(one.pid)).map((one) => one.pid),
    );
  }
  return found;
}

/** Sends a signal; a process that is gone already needs none. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
  }
}

/** The dead that nobody has asked about yet are left out: in many a container nobody ever asks. */
function listProcesses(): Running[] {
  if (!existsSync("/proc/self/stat")) return listByPs();
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // The second field is a name in brackets, which may hold spaces and brackets itself.
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        return state === "Z" ? [] : [{ pid: Number(name), parent: Number(parent), command }];
      } catch {
        return []; // It ended between the two looks.
      }
    });
}

function listByPs(): Running[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,state=,command="], { encoding: "utf8" });
  return lines.split("\n").flatMap((line) => {
    const [, pid, parent, state = "", command = ""] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || state.startsWith("Z")
      ? []
      : [{ pid: Number(pid), parent: Number(parent), command }];
  });
}
