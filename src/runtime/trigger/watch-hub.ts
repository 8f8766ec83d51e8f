/**
 * Watching by level: what counts is how a thing is, not that somebody said it changed. Notices and polls only
 * say when to look; after a pause without any it is looked at, and each trigger that last saw it otherwise
 * fires. All triggers that watch the same thing share one level, whatever their number.
 */
import { errorText } from "../../core/first-error.ts";
import type { Deps } from "../deps.ts";
import type { World } from "../world.ts";
import type { Cause, Source, Watch } from "./source.ts";

/** Whom something is told. There may be many: no more is kept of each. */
export type Watched = Pick<Watch, "session" | "name">;

/** How a thing is. */
export interface Sight {
  readonly digest: string;
  /** Something that whoever set the trigger should know, although it is watched. */
  readonly trouble?: string;
  /** What to say of how it differs from how it was; null when it differs in nothing that counts. */
  tell(watch: Watched, was: string | null): Promise<Pick<Cause, "text" | "detail"> | null>;
}

/** A thing that is watched. */
export interface Subject {
  /** Rejects when it cannot be told how it is now, with the reason. */
  look(): Promise<Sight>;
  /** Looks for what was not announced; true when there may be something, or when nothing can be told. */
  poll(): Promise<boolean>;
  /** Whether every change is announced. Otherwise two looks must agree. */
  isAnnounced(): boolean;
  end(): void;
}

type How = Parameters<Source["watch"]>[2];

interface Watcher {
  readonly watched: Watched;
  readonly how: How;
  last: string | null;
  /** Told of nothing in this sight, against `last`. */
  passed: string | null;
  busy: Promise<void> | null;
  isGone: boolean;
}

/** How often is looked for what was not announced, and how often after a failure. */
const pollMs = 10_000;
const retryMs = 1_000;
/** Polling rests so many times as long as it took: the larger part when changes are announced anyway. */
const restAnnounced = 300;
const restUnannounced = 20;
/** Changes without any pause are told all the same, after so long or so many pauses. */
const latestMs = 10_000;
const latestPauses = 100;

class Level {
  nextPollMs: number;
  readonly #world: World;
  readonly #subject: Subject;
  readonly #debounceMs: number;
  readonly #watchers = new Set<Watcher>();
  readonly #over = new AbortController();
  #sight: Sight | null = null;
  #trouble: string | null = null;
  #failed = false;
  #notices = 0;
  #noticedMs = 0;
  #settling: Promise<void> | null = null;

  constructor(world: World, debounceMs: number, make: (notice: () => void) => Subject) {
    this.#world = world;
    this.#debounceMs = debounceMs;
    this.nextPollMs = world.now() + pollMs;
    this.#subject = make(() => this.#notice());
    this.#settling = this.#begin();
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** Whether polling it is only a precaution. */
  get isCalm(): boolean {
    return !this.#failed && this.#subject.isAnnounced();
  }

  add({ session, name, lastCause: last }: Watch, how: How): Watcher {
    const watched = { session, name };
    const watcher = { watched, how, last, passed: null, busy: null, isGone: false };
    this.#watchers.add(watcher);
    if (this.#trouble !== null) how.trouble(this.#trouble);
    if (this.#sight !== null && this.#sight.digest !== watcher.last) this.#notice();
    return watcher;
  }

  /** Resolves when nothing is on the way for it. */
  async remove(watcher: Watcher): Promise<void> {
    watcher.isGone = true;
    this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) {
      this.#over.abort();
      this.#subject.end();
    }
    await watcher.busy;
  }

  async poll(): Promise<void> {
    const beganMs = this.#world.now();
    if (this.#settling === null && (this.#failed || (await this.#subject.poll().catch(() => true))))
      this.#notice();
    const spentMs = this.#world.now() - beganMs;
    const rest = this.#subject.isAnnounced() ? restAnnounced : restUnannounced;
    this.nextPollMs = this.#world.now() + Math.max(this.#failed ? retryMs : pollMs, spentMs * rest);
  }

  #notice(): void {
    this.#notices++;
    this.#noticedMs = this.#world.now();
    this.#settling ??= this.#settle();
  }

  /** What it was at first is kept in mind, so that what changes then can be named. */
  async #begin(): Promise<void> {
    const sight = await this.#look();
    const isNews = sight !== null && [...this.#watchers].some(({ last }) => last !== sight.digest);
    if (isNews) this.#notices++;
    this.#noticedMs = this.#world.now();
    if (this.#notices > 0) await this.#settle();
    else this.#settling = null;
  }

  async #settle(): Promise<void> {
    let beganMs = this.#world.now();
    const mostMs = Math.max(latestMs, this.#debounceMs * latestPauses);
    let before: string | null = null;
    while (!this.#over.signal.aborted) {
      const restMs = Math.min(this.#noticedMs + this.#debounceMs, beganMs + mostMs) - this.#world.now();
      if (restMs > 0) {
        await this.#world.sleep(restMs, this.#over.signal);
        continue;
      }
      const notices = this.#notices;
      const sight = await this.#look();
      if (sight === null) break;
      await this.#hear();
      const isStill =
        notices === this.#notices &&
        (this.#subject.isAnnounced() || before === sight.digest || this.#debounceMs === 0);
      before = sight.digest;
      const isLate = this.#world.now() - beganMs >= mostMs;
      if (isStill || isLate) this.#take(sight);
      if (isStill) break;
      if (isLate) beganMs = this.#world.now();
      if (notices === this.#notices) this.#noticedMs = this.#world.now();
    }
    this.#settling = null;
  }

  /** Notices that are there already are read first. The second round is sure to come after they were. */
  async #hear(): Promise<void> {
    for (let round = 0; round < 2; round++) await new Promise<void>((resolve) => this.#world.defer(resolve));
  }

  async #look(): Promise<Sight | null> {
    try {
      const sight = await this.#subject.look();
      this.#failed = false;
      this.#tell(sight.trouble ?? null);
      this.#sight ??= sight;
      return sight;
    } catch (error) {
      this.#failed = true;
      this.nextPollMs = this.#world.now() + retryMs;
      this.#tell(errorText(error));
      return null;
    }
  }

  #tell(trouble: string | null): void {
    if (trouble !== null && trouble !== this.#trouble)
      for (const { how } of this.#watchers) how.trouble(trouble);
    this.#trouble = trouble;
  }

  #take(sight: Sight): void {
    this.#sight = sight;
    for (const watcher of this.#watchers)
      if (watcher.last !== sight.digest && watcher.passed !== sight.digest)
        watcher.busy ??= this.#fire(watcher);
  }

  /** Fires until the trigger stands as the thing was last seen. */
  async #fire(watcher: Watcher): Promise<void> {
    try {
      await this.#fireAll(watcher);
    } finally {
      // In the same moment as its last look at what is to be done: nothing falls between.
      watcher.busy = null;
    }
  }

  async #fireAll(watcher: Watcher): Promise<void> {
    const { watched, how } = watcher;
    for (let sight = this.#sight; sight !== null && !watcher.isGone; sight = this.#sight) {
      const { last, passed } = watcher;
      if (last === sight.digest || passed === sight.digest) return;
      try {
        const told = await sight.tell(watched, last);
        if (watcher.isGone) return;
        if (told === null) {
          watcher.passed = sight.digest;
          continue;
        }
        const stands = await how.fire({ digest: sight.digest, was: last, ...told });
        watcher.passed = null;
        if (stands === undefined) return void this.#watchers.delete(watcher);
        watcher.last = stands;
        // Somebody else saw it otherwise: one of the two is out of date.
        if (stands !== sight.digest && sight === this.#sight) return this.#notice();
      } catch (error) {
        how.trouble(errorText(error));
        await this.#world.sleep(retryMs, AbortSignal.any([how.signal, this.#over.signal]));
      }
    }
  }
}

/** The levels of a process, and the one loop that polls them all. */
export class Levels {
  readonly #world: World;
  readonly #levels = new Map<string, Level>();
  #stop = new AbortController();
  #isPolling = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Until the signal is aborted. */
  watch(key: string, level: Level, watch: Watch, how: How): Promise<void> {
    this.#levels.set(key, level);
    const watcher = level.add(watch, how);
    if (!this.#isPolling) void this.#poll();
    return new Promise((resolve) => {
      const leave = (): void => resolve(this.#leave(key, level, watcher));
      how.signal.addEventListener("abort", leave, { once: true });
    });
  }

  get(key: string): Level | undefined {
    return this.#levels.get(key);
  }

  #leave(key: string, level: Level, watcher: Watcher): Promise<void> {
    const removed = level.remove(watcher);
    if (level.size === 0 && this.#levels.get(key) === level) this.#levels.delete(key);
    if (this.#levels.size === 0) this.#stop.abort();
    return removed;
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#levels.size > 0) {
      this.#stop = new AbortController();
      await this.#world.sleep(retryMs, this.#stop.signal);
      await this.#pollDue(this.#world.now());
    }
    this.#isPolling = false;
  }

  /** The longest overdue first; those that failed always. */
  async #pollDue(nowMs: number): Promise<void> {
    const due = [...this.#levels.values()]
      .filter(({ nextPollMs, size }) => nextPollMs <= nowMs && size > 0)
      .toSorted((a, b) => a.nextPollMs - b.nextPollMs);
    for (const level of due) if (!level.isCalm || this.#world.now() - nowMs < roundMs) await level.poll();
  }
}

/** In each round so much time is spent on what announces its changes. */
const roundMs = 5;

/** Watches by a level that all triggers with the same key share. */
export function watchLevel(
  { world, shared }: Deps,
  {
    key,
    debounceMs,
    make,
  }: {
    readonly key: string;
    readonly debounceMs: number;
    readonly make: (notice: () => void) => Subject;
  },
  watch: Watch,
  how: How,
): Promise<void> {
  if (how.signal.aborted) return Promise.resolve();
  const levels = (shared.levels ??= new Levels(world));
  const name = `${debounceMs} ${key}`;
  return levels.watch(name, levels.get(name) ?? new Level(world, debounceMs, make), watch, how);
}
