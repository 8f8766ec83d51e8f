/**
 * Level-triggered watching: the current state counts, not the notification. Notifications and polls only say
 * when to read; after a pause without any the thing is read, and each trigger that last saw another state
 * fires. All triggers that watch the same thing share one level.
 */
import { errorText } from "../../core/first-error.ts";
import type { Deps } from "../deps.ts";
import type { World } from "../world.ts";
import type { Cause, Source, TriggerWatch } from "./source.ts";

/** Identifies a subscriber. Kept small: there may be thousands. */
export type WatchId = Pick<TriggerWatch, "session" | "name">;

/** The state of a thing. */
export interface WatchedState {
  readonly digest: string;
  /** A problem to report although the thing is watched. */
  readonly trouble?: string;
  /** Describes the difference to the earlier state; null when no relevant difference exists. */
  tell(watch: WatchId, was: string | null): Promise<Pick<Cause, "text" | "detail"> | null>;
}

/** A watched thing. */
export interface Subject {
  /** Rejects with the reason when its current state is unknown. */
  look(): Promise<WatchedState>;
  /** Searches for unannounced changes; true when there may be some, or when that is unknown. */
  poll(): Promise<boolean>;
  /** True when every change is announced. Otherwise two reads must agree. */
  isAnnounced(): boolean;
  end(): void;
}

type WatchOptions = Parameters<Source["watch"]>[2];

interface Watcher {
  readonly watched: WatchId;
  readonly how: WatchOptions;
  last: string | null;
  /** This state brought no news, compared with `last`. */
  passed: string | null;
  busy: Promise<void> | null;
  isGone: boolean;
}

/** How often to poll for unannounced changes, and how often after a failure. */
const pollMs = 10_000;
const retryMs = 1_000;
/** Polling pauses this many times as long as it took: longer when changes are announced anyway. */
const restAnnounced = 300;
const restUnannounced = 20;
/** Changes without any pause fire all the same, after so long or so many pauses. */
const latestMs = 10_000;
const latestPauses = 100;

class Level {
  nextPollMs: number;
  readonly #world: World;
  readonly #subject: Subject;
  readonly #debounceMs: number;
  readonly #watchers = new Set<Watcher>();
  readonly #over = new AbortController();
  #sight: WatchedState | null = null;
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

  /** True when polling it is only a precaution. */
  get isCalm(): boolean {
    return !this.#failed && this.#subject.isAnnounced();
  }

  add({ session, name, lastCause: last }: TriggerWatch, how: WatchOptions): Watcher {
    const watched = { session, name };
    const watcher = { watched, how, last, passed: null, busy: null, isGone: false };
    this.#watchers.add(watcher);
    if (this.#trouble !== null) how.trouble(this.#trouble);
    if (this.#sight !== null && this.#sight.digest !== watcher.last) this.#notice();
    return watcher;
  }

  /** Resolves when nothing is in flight for it. */
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

  /** Keeps the first state, so that later changes can be named. */
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

  /** Pending notifications are read first. The second round certainly comes after them. */
  async #hear(): Promise<void> {
    for (let round = 0; round < 2; round++) await new Promise<void>((resolve) => this.#world.defer(resolve));
  }

  async #look(): Promise<WatchedState | null> {
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

  #take(sight: WatchedState): void {
    this.#sight = sight;
    for (const watcher of this.#watchers)
      if (watcher.last !== sight.digest && watcher.passed !== sight.digest)
        watcher.busy ??= this.#fire(watcher);
  }

  /** Fires until the trigger matches the last seen state. */
  async #fire(watcher: Watcher): Promise<void> {
    try {
      await this.#fireAll(watcher);
    } finally {
      // In the same tick as its last check for work: nothing is missed in between.
      watcher.busy = null;
    }
  }

  async #fireAll(watcher: Watcher): Promise<void> {
    const { watched, how } = watcher;
    for (let sight = this.#sight; sight !== null && !watcher.isGone; sight = this.#sight) {
      const { last, passed } = watcher;
      if (last === sight.digest || passed === sight.digest) return;
      try {
        const news = await sight.tell(watched, last);
        if (watcher.isGone) return;
        if (news === null) {
          watcher.passed = sight.digest;
          continue;
        }
        const stands = await how.fire({ digest: sight.digest, was: last, ...news });
        watcher.passed = null;
        if (stands === undefined) return void this.#watchers.delete(watcher);
        watcher.last = stands;
        // Another worker saw another state: one of the two is out of date.
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
  watch(key: string, level: Level, watch: TriggerWatch, how: WatchOptions): Promise<void> {
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

  /** The longest overdue first; failed ones always. */
  async #pollDue(nowMs: number): Promise<void> {
    const due = [...this.#levels.values()]
      .filter(({ nextPollMs, size }) => nextPollMs <= nowMs && size > 0)
      .toSorted((a, b) => a.nextPollMs - b.nextPollMs);
    for (const level of due) if (!level.isCalm || this.#world.now() - nowMs < roundMs) await level.poll();
  }
}

/** The time spent in each round on things that announce their changes. */
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
  watch: TriggerWatch,
  how: WatchOptions,
): Promise<void> {
  if (how.signal.aborted) return Promise.resolve();
  const levels = (shared.levels ??= new Levels(world));
  const name = `${debounceMs} ${key}`;
  return levels.watch(name, levels.get(name) ?? new Level(world, debounceMs, make), watch, how);
}
