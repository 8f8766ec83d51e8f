/**
 * The world: clock, timers, randomness, hashing, processes and secrets, everything that makes a run differ
 * from the next. All other code takes them from here, so that it also runs in a simulator.
 */
import { fork, spawn } from "node:child_process";
import { hash, randomBytes, randomFillSync } from "node:crypto";
import { once } from "node:events";
import { setImmediate, setTimeout } from "node:timers";
import type { Redactor } from "../core/secret/redactor.ts";
import type { StoreWorld } from "../store/port.ts";
import type { Child, ToolWorld } from "../tool/port.ts";
import { withoutInherited } from "../platform/inherited-files.ts";
import { makeProcessIdentity, thisMachine } from "../platform/process-identity.ts";

export interface World extends StoreWorld, Pick<ToolWorld, "secret" | "spawn"> {
  /** As `spawn`, with a standard input to write to. */
  spawnPiped(...given: Parameters<ToolWorld["spawn"]>): Promise<PipedChild>;
  random(count: number): Uint8Array;
  /** 16 random bytes, hexadecimal. */
  salt(): string;
  /** SHA-256, hexadecimal. */
  hashBytes(bytes: Uint8Array): string;
  /** Milliseconds since some moment, by a monotonic clock. A world may lack it. */
  steady?(): number;
  /** This process, as a holder of leases. */
  readonly self?: string;
  /** Removes secrets from everything that is stored. An engine adds one to a world without it. */
  readonly redactor?: Redactor;
  /** True when a holder was a process of this machine that has certainly ended. A world may not know. */
  isGone?(holder: string): boolean;
}

export interface PipedChild extends Child {
  /** Resolves when more may be written. Rejects when the reader has closed. */
  write(text: string): Promise<void>;
  end(): void;
}

const saltBytes = 16;
/**
 * How long a killed process's output is still read; a process that left the group may hold it open for ever.
 */
const drainMs = 500;

const identity = makeProcessIdentity(thisMachine(randomBytes(8).toString("hex")));

export function realWorld(): World {
  let scratch = Buffer.allocUnsafe(16_384);
  const pool = Buffer.allocUnsafe(saltBytes * 256);
  let left = 0;
  return {
    now: () => Date.now(),
    steady: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener("abort", done, { once: true });
      }),
    defer: (work) => void setImmediate(work),
    apart: (file, message, signal) =>
      new Promise((resolve, reject) => {
        const child = fork(file, {
          execArgv: [],
          stdio: withoutInherited(["ignore", "ignore", "ignore", "ipc"]),
          serialization: "advanced",
          killSignal: "SIGKILL",
          signal,
        });
        child.once("message", resolve);
        child.once("error", reject);
        child.once("exit", (code, killedBy) => {
          const how = code ?? killedBy;
          reject(new Error(`${file.pathname} ended with ${how} and no result`, { cause: killedBy }));
        });
        child.send(message);
      }),
    digest(prefixHex, text) {
      if (prefixHex === "") return hash("sha256", text, "hex");
      const bytesMax = prefixHex.length / 2 + text.length * 3;
      if (scratch.length < bytesMax) scratch = Buffer.allocUnsafe(bytesMax);
      const prefix = scratch.write(prefixHex, 0, "hex");
      const length = prefix + scratch.write(text, prefix, "utf8");
      return hash("sha256", scratch.subarray(0, length), "hex");
    },
    self: identity.self,
    isGone: identity.isGone,
    random: (count) => randomFillSync(new Uint8Array(count)),
    salt() {
      if (left === 0) {
        randomFillSync(pool);
        left = pool.length;
      }
      left -= saltBytes;
      return pool.toString("hex", left, left + saltBytes);
    },
    hashBytes: (bytes) => hash("sha256", bytes, "hex"),
    secret: (name) => process.env[name],
    spawn: (command, options) => startGroup(command, { ...options, stdin: "ignore" }),
    spawnPiped: (command, options) => startGroup(command, { ...options, stdin: "pipe" }),
  };
}

/** A process that leads its own group. Without an environment it gets none, so that nothing leaks. */
async function startGroup(
  [file, ...args]: readonly [string, ...string[]],
  options: Parameters<ToolWorld["spawn"]>[1] & { readonly stdin: "ignore" | "pipe" },
): Promise<PipedChild> {
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: { ...options.env },
    stdio: withoutInherited([options.stdin, "pipe", "pipe"]),
    detached: true,
  });
  const exited = once(child, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  exited.catch(() => undefined);
  await once(child, "spawn");
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new Error(`${file} did not start`);
  // The write itself reports it.
  stdin?.on("error", () => undefined);
  return {
    pid,
    stdout,
    stderr,
    exited,
    kill() {
      try {
        process.kill(-pid, "SIGKILL");
      } catch (error) {
        // The group has already ended.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
      for (const stream of [stdout, stderr]) setTimeout(() => stream.destroy(), drainMs).unref();
    },
    write: (text) =>
      new Promise((resolve, reject) => {
        stdin?.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    end: () => void stdin?.end(),
  };
}
