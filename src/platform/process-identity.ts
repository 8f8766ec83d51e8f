/**
 * Names this process as a lease holder, and detects whether another holder was a process of this machine that
 * has ended: `host:pid/namespace/boot`.
 *
 * All three parts are needed. Host names repeat among machines. The first pid namespace has the same number
 * on every Linux, and containers of different hosts may share one. Containers of one host share the boot id,
 * and a virtual machine's clone may keep name and machine id, but boots again. A holder that lacks a part, or
 * was stored by an earlier version (`host:pid/namespace`), is never judged: its lease has to expire.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

export interface ProcessIdentity {
  readonly self: string;
  /** True only for a process of this machine and pid namespace that has certainly ended. */
  isGone(holder: string): boolean;
}

/** The system's facts about this process; undefined if unreadable. */
export interface Machine {
  readonly host: string;
  readonly pid: number;
  readonly pidNamespace: string | undefined;
  readonly bootId: string | undefined;
  /** Random, for a unique name. */
  readonly nonce: string;
  isAlive(pid: number): boolean;
}

const bootChars = 16;

export function makeProcessIdentity(machine: Machine): ProcessIdentity {
  const { host, pid, pidNamespace, bootId, nonce, isAlive } = machine;
  const boot = /^[0-9a-f]{32}$/.exec((bootId ?? "").trim().replaceAll("-", ""))?.[0].slice(0, bootChars);
  if (host === "" || pidNamespace === undefined || boot === undefined) {
    // A process elsewhere may have the same host name and number.
    return { self: `${host}:${pid}/~${nonce}`, isGone: () => false };
  }
  const [before, after] = [`${host}:`, `/${pidNamespace}/${boot}`];
  return {
    self: `${before}${pid}${after}`,
    isGone(given) {
      // A process may have several workers, each with a number or a name.
      const holder = given.replace(/\+\d{1,9}$/, "").replace(/^.*@/, "");
      const isHere = holder.startsWith(before) && holder.endsWith(after);
      const number = isHere ? holder.slice(before.length, holder.length - after.length) : "";
      return /^[1-9]\d{0,9}$/.test(number) && !isAlive(Number(number));
    },
  };
}

export const thisMachine = (nonce: string): Machine => ({
  host: hostname(),
  pid: process.pid,
  pidNamespace: ownPidNamespace(),
  bootId: readText("/proc/sys/kernel/random/boot_id"),
  nonce,
  isAlive,
});

/** Undefined if /proc shows another namespace than this process's. */
function ownPidNamespace(): string | undefined {
  try {
    if (readlinkSync("/proc/self") !== String(process.pid)) return undefined;
    return /^pid:\[(\d+)\]$/.exec(readlinkSync("/proc/self/ns/pid"))?.[1];
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isUnreaped(pid);
  } catch (error) {
    // A process of another user is alive too.
    return (error as { code?: string }).code !== "ESRCH";
  }
}

/** An ended process stays in the table until its parent reads the exit code. */
const isUnreaped = (pid: number): boolean => /\) [ZX] /.test(readText(`/proc/${pid}/stat`) ?? "");
