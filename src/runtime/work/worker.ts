/**
 * A worker: picks sessions that have something to do, runs them side by side, and does what time brings
 * about. It keeps nothing that matters: what is due is in the store, the right to run is a lease, and another
 * worker goes on where this one died. Clocks only decide when something is tried.
 */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { choose, dueOf, type Candidate, type RunLimit } from "../../core/schedule.ts";
import type { DueRow } from "../../store/port.ts";
import { deliverAll } from "../deliver.ts";
import type { Context } from "../engine-context.ts";
import { isFree } from "../lease.ts";
import type { Ran } from "../runner.ts";
import { attend } from "./attend.ts";
import { makeWatches, type Watches } from "./watches.ts";
import type { Source } from "./source.ts";

export interface WorkOptions {
  /** Sessions that are run at once; by default 4. */
  readonly concurrency?: number;
  /** At most so many at once of an agent, a model, or a label. */
  readonly limits?: readonly RunLimit[];
  /** Who this worker is, to others; by default the engine's holder. */
  readonly name?: string;
  readonly leaseMs?: number;
  /** Told of what happens, for a log. */
  readonly tell?: (told: Told) => void;
}

/** What a worker has to tell. */
export type Told =
  | { readonly told: "began"; readonly session: SessionId }
  | { readonly told: "ended"; readonly session: SessionId; readonly ran: Ran }
  | { readonly told: "yielded"; readonly session: SessionId; readonly to: SessionId }
  | { readonly told: "failed"; readonly session: SessionId; readonly error: unknown }
  | { readonly told: "trouble"; readonly session: SessionId | null; readonly text: string };

interface Running {
  readonly candidate: Candidate;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

const concurrencyDefault = 4;
/** However long nothing is due, the store and the clock are looked at as often. */
const lookMs = 1_000;
/** How long a worker is taken to be there after it was last heard of. */
const beatMs = 5_000;
/** Candidates looked at in one go. */
const rowsMax = 200;
/** A session that could not be run is left alone for so long, twice as long each time. */
const failedMs = 1_000;
const failedMsMax = 300_000;
/** How often messages to other stores are tried again. */
const deliverMs = 5_000;

export class Worker implements AsyncDisposable {
  readonly name: string;
  readonly #context: Context;
  readonly #options: WorkOptions;
  readonly #concurrency: number;
  readonly #watches: Watches;
  readonly #running = new Map<SessionId, Running>();
  readonly #failed = new Map<SessionId, { readonly times: number; readonly untilMs: number }>();
  readonly #over = new AbortController();
  readonly #sinceMs: number;
  readonly #unwatch: () => void;
  readonly #loop: Promise<void>;
  #news = new AbortController();
  #nextBeatMs = 0;
  #nextDeliveryMs = 0;

  constructor(context: Context, options: WorkOptions, sources: readonly Source[]) {
    this.#context = context;
    this.#options = options;
    this.name = options.name ?? context.holder;
    this.#concurrency = options.concurrency ?? concurrencyDefault;
    this.#sinceMs = context.world.now();
    const tell = options.tell ?? (() => undefined);
    this.#watches = makeWatches(context, sources, (session, text) =>
      tell({ told: "trouble", session, text }),
    );
    this.#unwatch = context.store.watch(() => this.#news.abort());
    this.#loop = this.#work();
  }

  /** Stops before the next steps, gives every lease back, and resolves when all is given back. */
  async stop(): Promise<void> {
    this.#over.abort();
    this.#news.abort();
    await this.#loop;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #work(): Promise<void> {
    while (!this.#over.signal.aborted) {
      this.#news = new AbortController();
      let waitMs = lookMs;
      try {
        waitMs = await this.#look();
      } catch (error) {
        this.#tell({
          told: "trouble",
          session: null,
          text: error instanceof Error ? error.message : String(error),
        });
      }
      if (!this.#over.signal.aborted) await this.#context.world.sleep(waitMs, this.#news.signal);
    }
    await this.#end();
  }

  /** One look at what is due. Resolves to how long there is nothing to look at, if nothing is appended. */
  async #look(): Promise<number> {
    const { store, world } = this.#context;
    await this.#beat();
    await this.#watches.follow();
    await this.#deliver();
    const nowMs = world.now();
    const rows = await store.due({ nowMs, limit: rowsMax, perAgent: this.#concurrency + rowsMax / 10 });
    const ready: Candidate[] = [];
    let soonestMs = Infinity;
    for (const row of rows) {
      const freeMs = this.#freeFrom(row);
      if (freeMs > nowMs) soonestMs = Math.min(soonestMs, freeMs);
      else if (await this.#isReady(row)) ready.push(row);
    }
    await this.#start(ready);
    const next = await store.nextDue(world.now());
    return Math.max(0, Math.min(lookMs, soonestMs - world.now(), (next ?? Infinity) - world.now()));
  }

  /** From when on the session may be run here. */
  #freeFrom({ session, lease }: DueRow): number {
    if (this.#running.has(session)) return Infinity;
    const failed = this.#failed.get(session)?.untilMs ?? 0;
    const held = lease === null || isFree(this.#context, lease) ? 0 : lease.untilMs;
    return Math.max(failed, held);
  }

  /** Does what time brings about, and says whether there is something to run. */
  async #isReady({ session, due }: DueRow): Promise<boolean> {
    try {
      // What the index says may stem from an earlier layout: the state decides.
      const state = due === 0 ? await this.#context.writer.current(session) : null;
      if (state !== null && dueOf(state) === 0) return true;
      return (await attend(this.#context, session)) === 0;
    } catch (error) {
      this.#fail(session, error);
      return false;
    }
  }

  async #start(ready: readonly Candidate[]): Promise<void> {
    if (ready.length === 0) return;
    const here = [...this.#running.values()].map(({ candidate }) => candidate);
    const others = (await this.#context.store.leased()).filter(
      ({ session, lease }) => !this.#running.has(session) && !isFree(this.#context, lease),
    );
    const limits = this.#options.limits ?? [];
    const most = this.#concurrency - this.#running.size;
    const chosen = choose(ready, [...here, ...others], { limits, most });
    for (const candidate of chosen) this.#run(candidate);
    if (chosen.length === most) this.#yield(ready.filter((one) => !chosen.includes(one)));
  }

  /** The least urgent session stops before its next step if a more urgent one waits. */
  #yield(waiting: readonly Candidate[]): void {
    const [urgent] = waiting.toSorted((a, b) => a.priority - b.priority);
    const least = [...this.#running.values()]
      .filter(({ stop }) => !stop.signal.aborted)
      .toSorted((a, b) => b.candidate.priority - a.candidate.priority)[0];
    if (urgent === undefined || least === undefined || urgent.priority >= least.candidate.priority) return;
    least.stop.abort();
    const [session, to] = [least.candidate.session as SessionId, urgent.session as SessionId];
    this.#tell({ told: "yielded", session, to });
  }

  #run(candidate: Candidate): void {
    const session = candidate.session as SessionId;
    const stop = new AbortController();
    const { leaseMs } = this.#options;
    const signal = AbortSignal.any([stop.signal, this.#over.signal]);
    const options = { holder: this.name, signal, ...(leaseMs === undefined ? {} : { leaseMs }) };
    this.#tell({ told: "began", session });
    const done = this.#context.runs.run(session, options).then(
      (ran) => {
        this.#failed.delete(session);
        this.#tell({ told: "ended", session, ran });
      },
      (error: unknown) => this.#fail(session, error),
    );
    const leave = (): void => {
      this.#running.delete(session);
      this.#news.abort();
    };
    this.#running.set(session, { candidate, stop, done: done.then(leave, leave) });
  }

  #fail(session: SessionId, error: unknown): void {
    const times = (this.#failed.get(session)?.times ?? 0) + 1;
    const pauseMs = Math.min(failedMsMax, failedMs * 2 ** (times - 1));
    this.#failed.set(session, { times, untilMs: this.#context.world.now() + pauseMs });
    // Somebody else was quicker: that is how it should be.
    const taken = error instanceof SkeinError && (error.code === "conflict" || error.code === "fenced");
    if (!taken) this.#tell({ told: "failed", session, error });
  }

  async #beat(untilMs?: number): Promise<void> {
    const { store, world } = this.#context;
    const nowMs = world.now();
    if (untilMs === undefined && nowMs < this.#nextBeatMs) return;
    this.#nextBeatMs = nowMs + beatMs;
    const { name } = this;
    const worker = { name, sinceMs: this.#sinceMs, concurrency: this.#concurrency };
    await store.beat({ ...worker, untilMs: untilMs ?? nowMs + 3 * beatMs });
  }

  async #deliver(): Promise<void> {
    const nowMs = this.#context.world.now();
    if (nowMs < this.#nextDeliveryMs) return;
    this.#nextDeliveryMs = nowMs + deliverMs;
    await deliverAll(this.#context);
  }

  async #end(): Promise<void> {
    this.#unwatch();
    await this.#watches.stop();
    const ended = new AbortController();
    const all = Promise.all([...this.#running.values()].map(({ done }) => done)).then(() => ended.abort());
    await Promise.race([all, this.#context.world.sleep(limit.closeGraceMs, ended.signal)]);
    await this.#beat(0).catch(() => undefined);
  }

  #tell(told: Told): void {
    this.#options.tell?.(told);
  }
}
