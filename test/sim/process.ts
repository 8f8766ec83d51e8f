/**
 * A simulated process: it ends, or stands still and goes on later, at any time. Whatever reaches it (answers,
 * timers, news) goes through `enter`, and whatever it does through `leave`; one that has ended neither hears
 * nor does anything again, one that stands still later.
 */
import { hash } from "node:crypto";
import { realWorld, type World } from "../../src/runtime/world.ts";
import type { Random } from "../crash/random.ts";
import type { Timeline } from "./timeline.ts";

export type Standing = "up" | "paused" | "ended";

export interface SimProcess {
  readonly name: string;
  readonly world: World;
  standing(): Standing;
  /** What it hears: now, or when it goes on, after all that it had to hear before; or never. */
  enter(work: () => void): void;
  /** What it does: now, or when it goes on, or never. */
  leave(work: () => void): void;
  end(): void;
  pause(): void;
  resume(): void;
  /** What is to be done when it ends. */
  atEnd(work: () => void): void;
  /** Its clock is this wrong from now on. */
  setClock(skewMs: number): void;
}

const { digest, hashBytes } = realWorld();

export function makeProcess(
  name: string,
  options: {
    readonly timeline: Timeline;
    readonly random: Random;
    readonly skewMs: number;
    /** Whether a process of this name has ended, where that can be known. */
    readonly isGone?: (name: string) => boolean;
  },
): SimProcess {
  const { timeline, random, isGone = () => false } = options;
  let { skewMs } = options;
  let standing: Standing = "up";
  let backlog: (() => void)[] = [];
  const endings: (() => void)[] = [];
  /** One thing after the other: what comes of the first is done before the second is heard. */
  function catchUp(): void {
    const [first] = backlog;
    if (standing !== "up" || first === undefined) return;
    first();
    // It stays in the backlog until what comes of it is done, so that nothing passes it.
    timeline.after(0, () => {
      if (backlog[0] === first) backlog.shift();
      catchUp();
    });
  }

  const made = {
    name,
    standing: () => standing,
    enter(work: () => void): void {
      if (standing === "ended") return;
      if (standing === "up" && backlog.length === 0) work();
      else backlog.push(work);
    },
    leave(work: () => void): void {
      if (standing === "up") work();
      else if (standing === "paused") backlog.push(work);
    },
    end(): void {
      standing = "ended";
      backlog = [];
      for (const work of endings.splice(0)) work();
    },
    pause(): void {
      if (standing === "up") standing = "paused";
    },
    resume(): void {
      if (standing !== "paused") return;
      standing = "up";
      catchUp();
    },
    atEnd: (work: () => void) => void endings.push(work),
    setClock(wrongMs: number): void {
      skewMs = wrongMs;
    },
  };
  const world = makeWorld(timeline, made.enter, {
    name,
    seed: random.below(2 ** 32),
    skew: () => skewMs,
  });
  return { ...made, world: { ...world, isGone } };
}

/** The world of one process: the one clock, set wrong; randomness that the seed repeats. */
function makeWorld(
  timeline: Timeline,
  enter: (work: () => void) => void,
  { name, seed, skew }: { readonly name: string; readonly seed: number; readonly skew: () => number },
): World {
  let drawn = 0;
  const bytes = (count: number): Buffer => {
    drawn += 1;
    return hash("sha512", `${seed} ${name} ${drawn}`, "buffer").subarray(0, count);
  };
  const none = (): never => {
    throw new Error("there are no processes and no secrets in here");
  };
  return {
    now: () => timeline.now() + skew(),
    steady: () => timeline.now(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = (): void => {
          cancel();
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const cancel = timeline.after(ms, () => enter(done));
        signal?.addEventListener("abort", done, { once: true });
      }),
    defer: (work) => void timeline.after(0, () => enter(work)),
    digest,
    hashBytes,
    random: (count) => new Uint8Array(bytes(count)),
    salt: () => bytes(16).toString("hex"),
    secret: none,
    spawn: none,
    spawnPiped: none,
  };
}
