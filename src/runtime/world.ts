/**
 * The world: clock, timers, randomness and hashing, all that makes a run differ from the next. Everything
 * else in Skein takes them from here, so that the same code runs in a simulator.
 */
import { fork } from "node:child_process";
import { hash, randomFillSync } from "node:crypto";
import { setImmediate, setTimeout } from "node:timers";
import type { StoreWorld } from "../store/port.ts";

export interface World extends StoreWorld {
  random(count: number): Uint8Array;
  /** 16 random bytes, hexadecimal. */
  salt(): string;
  /** SHA-256, hexadecimal. */
  hashBytes(bytes: Uint8Array): string;
}

const saltBytes = 16;

export function realWorld(): World {
  let scratch = Buffer.allocUnsafe(16_384);
  const pool = Buffer.allocUnsafe(saltBytes * 256);
  let left = 0;
  return {
    now: () => Date.now(),
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
          stdio: ["ignore", "ignore", "ignore", "ipc"],
          serialization: "advanced",
          killSignal: "SIGKILL",
          signal,
        });
        child.once("message", resolve);
        child.once("error", reject);
        child.once("exit", (code) => reject(new Error(`${file.pathname} ended with ${code} and no answer`)));
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
  };
}
