/**
 * A world without chance: a clock that stands until it is moved, and randomness that counts. Timers are
 * real.
 */
import { createHash } from "node:crypto";
import type { World } from "../../src/runtime/world.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { digest } from "../core/digest.ts";

/** In milliseconds since 1970. */
export const startOfTime = 1_700_000_000_000;

export interface MadeWorld extends World {
  /** Moves the clock on. */
  pass(ms: number): void;
}

/** Two worlds of one name give the same bytes in the same order. */
export function madeWorld(name = "world"): MadeWorld {
  const { sleep, defer, secret, spawn, spawnPiped } = realWorld();
  let now = startOfTime;
  let count = 0;
  const bytes = (length: number): Buffer => {
    count += 1;
    return createHash("sha512").update(`${name} ${count}`).digest().subarray(0, length);
  };
  return {
    now: () => now,
    pass: (ms) => void (now += ms),
    sleep,
    defer,
    secret,
    spawn,
    spawnPiped,
    digest,
    random: (length) => new Uint8Array(bytes(length)),
    salt: () => bytes(16).toString("hex"),
    hashBytes: (given) => createHash("sha256").update(given).digest("hex"),
  };
}
