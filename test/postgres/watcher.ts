/**
 * Clears a server of the tests away when the process that started it ends, however that ends. The watcher is
 * a process of its own that holds the far end of a pipe: the system closes the pipe with the last breath of
 * its owner, also under SIGKILL.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { processesOf, signal } from "./process.ts";

const politeMs = 3000;
const pauseMs = 20;

export interface Watcher {
  /** Clears away now. */
  end(): Promise<void>;
}

/** Must come before anything is put into the directory, so that there is no moment without a watcher. */
export function startWatcher(directory: string): Watcher {
  // In a group of its own, so that neither an interrupt at the terminal nor the end of a job reaches it.
  const child = spawn(process.execPath, [import.meta.filename, directory], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: {},
    cwd: "/",
  });
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return {
    async end() {
      child.ref();
      const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
      child.stdin.end();
      await exited;
      await clearAway(directory); // Does nothing unless somebody has killed the watcher.
    },
  };
}

/** Ends the server and whatever else works in the directory, and removes it. */
async function clearAway(directory: string): Promise<void> {
  const words = `-D ${join(directory, "data")}`;
  for (let waitedMs = 0; existsSync(directory) || processesOf(words).length > 0; waitedMs += pauseMs) {
    const [server, ...others] = processesOf(words);
    if (server === undefined) remove(directory);
    // A server that is told to quit takes its shared memory with it; one that is killed cannot.
    else if (waitedMs < politeMs) signal(server, "SIGQUIT");
    else for (const pid of [server, ...others]) signal(pid, "SIGKILL");
    await sleep(pauseMs);
  }
}

/** What still writes there makes this fail; the next round tries again. */
function remove(directory: string): void {
  try {
    forgetMemory(join(directory, "data", "postmaster.pid"));
    rmSync(directory, { recursive: true, force: true });
  } catch {}
}

/** A killed server leaves its file behind, and in the seventh line the key and id of its shared memory. */
function forgetMemory(file: string): void {
  if (!existsSync(file)) return;
  const id = readFileSync(file, "utf8").split("\n")[6]?.trim().split(/\s+/)[1];
  rmSync(file, { force: true });
  if (id !== undefined) execFileSync("ipcrm", ["-m", id], { stdio: "ignore" });
}

if (import.meta.main) {
  const [directory] = process.argv.slice(2);
  if (directory === undefined) throw new Error("which directory?");
  for await (const _ of process.stdin);
  await clearAway(directory);
}
