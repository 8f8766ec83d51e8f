/**
 * A worker: picks sessions that have something to do, runs them in parallel, and does what is due by time. It
 * keeps nothing that matters: what is due is in the store, the right to run is a lease, and another worker
 * continues after its death. Clocks only decide when something is tried. One subject: the loop of a worker.
 */
import { spendOf, type Spend } from "../../core/budget/money.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import {
  choose,
  dueOf,
  givesWay,
  heldBy,
  usedUp,
  workerMs,
  type RunLimit,
} from "../../core/trigger/schedule.ts";
import type { State } from "../../core/state.ts";
import { errorText } from "../../core/first-error.ts";
import type { DueRow } from "../../store/port.ts";
import { deliverAll } from "../message/deliver.ts";
import { cutError, makeHeadLister, type HeadLister } from "../govern/anchor.ts";
import type { Deps } from "../deps.ts";
import { consolidateIfDue } from "../workspace/memory-consolidate.ts";
import type { RunResult } from "../turn/runner.ts";
import { handleDue, isOverdue } from "./due-work.ts";
import { makeLimits } from "./limits.ts";
import { outcomeOf, reasonOf } from "./run-summary.ts";
import { makeRunBackoff, type RunBackoff } from "./backoff.ts";
import { makeWatches, type Watches } from "../trigger/watches.ts";
import type { Source } from "../trigger/source.ts";
import { isFree } from "../read/lease-status.ts";

/** Options of `engine.work`. */
export interface WorkOptions {
  /** Sessions that run at once; 4 by default. */
  readonly concurrency?: number;
  /** The maximum number at once of an agent, a model, or a label; counted over all workers. */
  readonly limits?: readonly RunLimit[];
  /** The worker's name for others; defaults to the engine's holder. */
  readonly name?: string;
  readonly leaseMs?: number;
  /** Runs only these sessions, and does nothing else in the store; called again at every poll. */
  readonly only?: () => readonly SessionId[];
  /** Receives events, for a log. */
  readonly onEvent?: (event: WorkerEvent) => void;
}

/** An event of a worker. */
export type WorkerEvent =
  | { readonly type: "began"; readonly session: SessionId; readonly by: string | null }
  | {
      readonly type: "ended";
      readonly session: SessionId;
      readonly ran: RunResult;
      /** How its last turn ended; null when none did in this run. */
      readonly outcome: string | null;
      /** The cost of this run; its upper bound on top; and calls of an unknown price. */
      readonly nanoUsd: number;
      readonly unconfirmedNanoUsd: number;
      readonly unpriced: number;
    }
  /** It stops before its next step, and resumes when the more urgent one has left a slot. */
  | { readonly type: "yielded"; readonly session: SessionId; readonly to: SessionId }
  /** It could not run; null: it was suspended for that, else it is retried in so many milliseconds. */
  | {
      readonly type: "failed";
      readonly session: SessionId;
      readonly error: unknown;
      readonly againMs: number | null;
    }
  | { readonly type: "trouble"; readonly session: SessionId | null; readonly text: string };

interface RunningSession {
  readonly row: DueRow;
  /** The turn that it was started for: a later turn means it has had its share. */
  readonly turn: number;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** The result of a poll. */
interface SeenSession {
  readonly limits: readonly RunLimit[];
  /** Run by others. */
  readonly others: readonly DueRow[];
  /** Runnable sessions that may be taken, in order. */
  readonly ready: readonly DueRow[];
  /** True when there may be more of them. */
  readonly cut: boolean;
}

const concurrencyDefault = 4;
/** The maximum time between two polls of the store and the clock. */
const lookMs = 1_000;
/** The interval of heartbeats. */
const beatMs = workerMs / 3;
/** Candidates read at once, besides some for each slot. */
const rowsMin = 32;
/** How often messages to other stores are retried. */
const deliverMs = 5_000;
/** How often a worker checks whether a list of heads is due; also the delay of the first check. */
const listMs = 60_000;
/**
 * After a poll that took longer than this it pauses for as long, within bounds: many wait, or the store is
 * busy, perhaps with the polls of many workers.
 */
const briefMs = 20;
const restMsMax = 100;

/**
 * A worker: runs sessions that are due until it is stopped. `engine.work` starts it.
 *
 * @example
 *   await using worker = await engine.work({ concurrency: 4 });
 */
export class SessionWorker implements AsyncDisposable {
  readonly name: string;
  readonly #deps: Deps;
  readonly #options: WorkOptions;
  readonly #concurrency: number;
  readonly #watches: Watches;
  readonly #limits: () => Promise<readonly RunLimit[]>;
  readonly #running = new Map<SessionId, RunningSession>();
  /** The sessions that stop before their next step, and for which other. */
  readonly #yielding = new Map<SessionId, SessionId>();
  readonly #backoff: RunBackoff;
  readonly #over = new AbortController();
  readonly #sinceMs: number;
  readonly #unwatch: () => void;
  readonly #loop: Promise<void>;
  #news = new AbortController();
  #nextBeatMs = 0;
  #lastHeartbeat = "";
  #nextDeliveryMs = 0;
  readonly #heads: HeadLister;
  #nextListMs: number | null = null;
  #nextConsolidationMs: number | null = null;

  constructor(deps: Deps, options: WorkOptions, sources: readonly Source[]) {
    this.#deps = deps;
    this.#options = options;
    this.name = options.name ?? deps.holder;
    this.#concurrency = options.concurrency ?? concurrencyDefault;
    this.#sinceMs = deps.store.now();
    this.#limits = makeLimits(deps, options.limits ?? []);
    this.#backoff = makeRunBackoff(deps, this.name, (event) => this.#emit(event));
    this.#heads = makeHeadLister(deps);
    this.#watches = makeWatches(deps, sources, (session, text) =>
      this.#emit({ type: "trouble", session, text }),
    );
    // With a reason, because without one each abort would create an error with its stack.
    this.#unwatch = deps.store.watch(() => this.#news.abort("appended"));
    this.#loop = this.#work();
  }

  /** A chosen name does not identify the process, and so not its death. */
  #holder(): string {
    const { self } = this.#deps.world;
    return self === undefined || this.name.startsWith(self) ? this.name : `${this.name}@${self}`;
  }

  /** Stops before the next steps, and resolves when every lease is released. */
  async stop(): Promise<void> {
    this.#over.abort();
    this.#news.abort();
    await this.#loop;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #work(): Promise<void> {
    const { world } = this.#deps;
    while (!this.#over.signal.aborted) {
      this.#news = new AbortController();
      const beganMs = world.now();
      let waitMs = lookMs;
      try {
        waitMs = await this.#look();
      } catch (error) {
        this.#trouble(error);
      }
      const tookMs = world.now() - beganMs;
      if (tookMs > briefMs) await world.sleep(Math.min(tookMs, restMsMax), this.#over.signal);
      if (!this.#over.signal.aborted) await world.sleep(waitMs, this.#news.signal);
    }
    await this.#end();
  }

  /** One poll for due work. Resolves to how long nothing is due, if nothing is appended. */
  async #look(): Promise<number> {
    const { store } = this.#deps;
    const limits = await this.#limits();
    await this.#beat(limits);
    const beside =
      this.#options.only === undefined
        ? [
            () => this.#watches.follow(),
            () => this.#deliver(),
            () => this.#listHeads(),
            () => this.#consolidate(),
          ]
        : [];
    for (const part of beside) await part().catch((error: unknown) => this.#trouble(error));
    const nowMs = store.now();
    // Suspends sessions past their deadline, which then stop before their next step.
    for (const { row } of this.#running.values())
      if ((row.deadlineMs ?? Infinity) <= nowMs) await this.#handleOne(row.session);
    const leased = await store.leased();
    const rows = await this.#due(nowMs);
    const { ready, handled } = await this.#handleDueRows([...this.#left(leased), ...rows], nowMs);
    const others = leased.filter(({ session, lease }) => !this.#running.has(session) && !this.#isFree(lease));
    const cut = this.#options.only === undefined && rows.length >= this.#page(nowMs).limit;
    const seen = { limits, others, ready, cut };
    const begun = await this.#start(seen);
    const left = { ...seen, ready: ready.filter(({ session }) => !this.#running.has(session)) };
    this.#makeWay(left);
    await this.#takeTurns(left);
    if (handled || !begun) return 0;
    const times = [
      (await store.nextDue(nowMs)) ?? Infinity,
      this.#backoff.nextMs(),
      ...[...this.#running.values()].flatMap(({ row }) =>
        (row.deadlineMs ?? 0) > nowMs ? [row.deadlineMs ?? 0] : [],
      ),
      this.#watches.nextMs(),
    ];
    const waits = times.map((atMs) => atMs - store.now());
    for (const { due, lease } of others)
      if (due === 0 && lease !== null) waits.push(lease.untilMs - store.now());
    return Math.max(0, Math.min(lookMs, ...waits));
  }

  async #due(nowMs: number): Promise<readonly DueRow[]> {
    const { store } = this.#deps;
    const { only } = this.#options;
    if (only === undefined) return store.due(this.#page(nowMs));
    const rows = await store.scheduled(only());
    const isOver = (lease: DueRow["lease"]): boolean => lease === null || lease.untilMs <= store.now();
    return rows.filter(({ due, lease }) => due !== null && due <= nowMs && isOver(lease));
  }

  #isMine(session: SessionId): boolean {
    const { only } = this.#options;
    return only === undefined || only().includes(session);
  }

  /** Sessions that cannot run now stand before the others, since they have waited the longest. */
  #page(nowMs: number): { readonly nowMs: number; readonly limit: number; readonly perAgent: number } {
    const spare = this.#backoff.size + this.#running.size;
    const limit = rowsMin + 4 * this.#concurrency + spare;
    return { nowMs, limit, perAgent: limit };
  }

  /** Sessions that dead processes of this machine left: their leases need not expire. */
  #left(leased: readonly DueRow[]): DueRow[] {
    const nowMs = this.#deps.store.now();
    return leased.filter(
      ({ session, due, lease }) =>
        due === 0 && lease !== null && lease.untilMs > nowMs && this.#isFree(lease) && this.#isMine(session),
    );
  }

  #isFree(lease: DueRow["lease"]): boolean {
    return isFree(this.#deps, lease);
  }

  /** Does what is due by time, and returns sessions that have something to run. */
  async #handleDueRows(
    rows: readonly DueRow[],
    nowMs: number,
  ): Promise<{ readonly ready: readonly DueRow[]; readonly handled: boolean }> {
    const ready: DueRow[] = [];
    let handled = false;
    for (const row of rows) {
      const { session, due } = row;
      if (this.#running.has(session) || this.#backoff.untilMs(session) > nowMs) continue;
      if (due === 0) ready.push(row);
      else {
        handled = true;
        await this.#handleOne(session);
      }
    }
    return { ready, handled };
  }

  /** Pauses a session that is still due by the clock afterwards. */
  async #handleOne(session: SessionId): Promise<void> {
    try {
      const dueMs = await handleDue(this.#deps, session);
      if (dueMs !== null && dueMs !== 0 && dueMs <= this.#deps.store.now()) this.#backoff.pause(session);
    } catch (error) {
      await this.#backoff.failed(session, error);
    }
  }

  /** Starts what may run. False when a session turned out to have nothing to do. */
  async #start({ limits, others, ready, cut }: SeenSession): Promise<boolean> {
    const { store } = this.#deps;
    const going = (): DueRow[] => [...others, ...[...this.#running.values()].map(({ row }) => row)];
    const free = (): number => this.#concurrency - this.#running.size;
    let sure = await this.#begin(choose(ready, going(), { limits, most: free() }) as readonly DueRow[]);
    const full = usedUp(going(), limits);
    if (free() === 0 || !cut || full.length === 0) return sure;
    // Sessions that wait for a limit must not hide others that do not.
    const rows = await store.due({ ...this.#page(store.now()), except: full });
    const { ready: more } = await this.#handleDueRows(rows, store.now());
    const chosen = choose(more, going(), { limits, most: free() }) as readonly DueRow[];
    sure = (await this.#begin(chosen)) && sure;
    return sure;
  }

  /** The index may come from an earlier layout: the state decides. */
  async #begin(chosen: readonly DueRow[]): Promise<boolean> {
    let sure = true;
    for (const row of chosen) {
      if (this.#over.signal.aborted) return true;
      const { session } = row;
      try {
        const state = await this.#deps.writer.current(session);
        if (dueOf(state) === 0 && !isOverdue(state, this.#deps.store.now())) this.#run(row, state);
        else {
          sure = false;
          await this.#handleOne(session);
        }
      } catch (error) {
        await this.#backoff.failed(session, error);
      }
    }
    return sure;
  }

  /** Preempts the least urgent sessions, before their next step, when more urgent ones wait. */
  #makeWay({ limits, others, ready }: SeenSession): void {
    const spoken = new Set(this.#yielding.values());
    const waiting = ready.toSorted((a, b) => a.priority - b.priority).slice(0, this.#concurrency);
    for (const urgent of waiting) {
      if (spoken.has(urgent.session)) continue;
      const mine = [...this.#running.values()]
        .filter(({ stop }) => !stop.signal.aborted)
        .map(({ row }) => row);
      const isFull = this.#running.size >= this.#concurrency;
      const least = givesWay(urgent, mine, others, { limits, isFull });
      if (least === null) continue;
      this.#giveWay(least.session, urgent.session);
    }
  }

  /**
   * A session that always has more to do does not keep its slot for ever while others of its priority wait.
   */
  async #takeTurns({ limits, others, ready }: SeenSession): Promise<void> {
    if (ready.length === 0) return;
    for (const [session, { row, turn, stop }] of this.#running) {
      if (stop.signal.aborted) continue;
      const { standing } = await this.#deps.writer.current(session);
      if (standing.lastTurn <= turn) continue;
      const rows = [...this.#running.values()].map((one) => one.row);
      const without = [...rows.filter((one) => one !== row), ...others];
      const isFull = this.#running.size >= this.#concurrency;
      const spoken = new Set(this.#yielding.values());
      const next = ready.find(
        (one) =>
          one.priority === row.priority &&
          !spoken.has(one.session) &&
          heldBy(one, without, limits) === null &&
          (isFull || heldBy(one, [...without, row], limits) !== null),
      );
      if (next !== undefined) this.#giveWay(session, next.session);
    }
  }

  #giveWay(session: SessionId, to: SessionId): void {
    this.#yielding.set(session, to);
    this.#running.get(session)?.stop.abort();
    this.#emit({ type: "yielded", session, to });
  }

  #run(row: DueRow, before: State): void {
    const { session } = row;
    const { standing } = before;
    const spent = spendOf(before);
    const turn = standing.turn === null ? standing.lastTurn + 1 : standing.lastTurn;
    const stop = new AbortController();
    const { leaseMs } = this.#options;
    const signal = AbortSignal.any([stop.signal, this.#over.signal]);
    // Without it, another part of this process began the run.
    let began = false;
    const admit = async (): Promise<boolean> => {
      // Another process may have done it all since the poll.
      const isDue = dueOf(await this.#deps.writer.current(session)) === 0;
      began = isDue && (await this.#hasRoom(row));
      if (began) await this.#tellBegan(session);
      return began;
    };
    const holder = this.#holder();
    const options = { holder, signal, admit, ...(leaseMs === undefined ? {} : { leaseMs }) };
    const run = async (): Promise<void> => {
      try {
        await this.#backoff.check(session);
        const ran = await this.#deps.runs.run(session, options);
        if (!began) return;
        this.#backoff.passed(session);
        await this.#tellEnded(session, ran, spent);
      } catch (error) {
        await this.#backoff.failed(session, error);
      }
    };
    const leave = (): void => {
      this.#running.delete(session);
      this.#yielding.delete(session);
      this.#news.abort();
    };
    this.#running.set(session, { row, turn, stop, done: run().then(leave, leave) });
  }

  /** Two workers may have seen the same free slot: the one with the later lease releases it. */
  async #hasRoom(row: DueRow): Promise<boolean> {
    const limits = await this.#limits();
    if (limits.length === 0) return true;
    const leased = (await this.#deps.store.leased()).filter(({ lease }) => !this.#isFree(lease));
    const mine = leased.find(({ session }) => session === row.session);
    const before = leased.filter(({ lease }) => (lease?.order ?? 0) < (mine?.lease?.order ?? Infinity));
    const earlier = before.filter(({ session }) => session !== row.session);
    return heldBy(mine ?? row, earlier, limits) === null;
  }

  async #beat(limits: readonly RunLimit[], untilMs?: number): Promise<void> {
    const { store, world } = this.#deps;
    const nowMs = world.now();
    const said = JSON.stringify(limits);
    // A clock that was set back must not stop the heartbeats.
    const isEarly = nowMs < this.#nextBeatMs && nowMs > this.#nextBeatMs - 2 * beatMs;
    if (untilMs === undefined && isEarly && said === this.#lastHeartbeat) return;
    this.#nextBeatMs = nowMs + beatMs;
    this.#lastHeartbeat = said;
    const worker = { name: this.name, sinceMs: this.#sinceMs, concurrency: this.#concurrency, limits };
    await store.beat({ ...worker, untilMs: untilMs ?? store.now() + workerMs });
  }

  async #deliver(): Promise<void> {
    const nowMs = this.#deps.world.now();
    if (nowMs < this.#nextDeliveryMs && nowMs > this.#nextDeliveryMs - 2 * deliverMs) return;
    this.#nextDeliveryMs = nowMs + deliverMs;
    await deliverAll(this.#deps);
  }

  /** The newest list says when the next is due, whichever process made it: no leader is needed. */
  async #listHeads(): Promise<void> {
    const nowMs = this.#deps.world.now();
    const dueMs = (this.#nextListMs ??= nowMs + listMs);
    if (nowMs < dueMs && nowMs > dueMs - 2 * listMs) return;
    this.#nextListMs = nowMs + listMs;
    const { cut } = await this.#heads.listIfDue(limit.headsEveryMs);
    if (cut.length > 0) throw cutError(cut);
  }

  /** Memory, where a person let workers do it: due by the log, so that of several one does it. */
  async #consolidate(): Promise<void> {
    const nowMs = this.#deps.world.now();
    const dueMs = (this.#nextConsolidationMs ??= nowMs);
    if (nowMs < dueMs && nowMs > dueMs - 2 * listMs) return;
    this.#nextConsolidationMs = nowMs + listMs;
    await consolidateIfDue(this.#deps);
  }

  async #end(): Promise<void> {
    this.#unwatch();
    await this.#watches.stop();
    const ended = new AbortController();
    const all = Promise.all([...this.#running.values()].map(({ done }) => done)).then(() => ended.abort());
    await Promise.race([all, this.#deps.world.sleep(limit.closeGraceMs, ended.signal)]);
    await this.#beat([], 0).catch(() => undefined);
  }

  async #tellBegan(session: SessionId): Promise<void> {
    if (this.#options.onEvent === undefined) return;
    const by = await reasonOf(this.#deps.store, session).catch(() => null);
    this.#emit({ type: "began", session, by });
  }

  async #tellEnded(session: SessionId, ran: RunResult, spent: Spend): Promise<void> {
    if (this.#options.onEvent === undefined) return;
    const { writer, store } = this.#deps;
    const outcome = await outcomeOf(store, session).catch(() => null);
    const now = spendOf(await writer.current(session));
    const cost = {
      nanoUsd: now.nanoUsd - spent.nanoUsd,
      unconfirmedNanoUsd: now.unconfirmedNanoUsd - spent.unconfirmedNanoUsd,
      unpriced: now.unpriced - spent.unpriced,
    };
    this.#emit({ type: "ended", session, ran, outcome, ...cost });
  }

  #trouble(error: unknown): void {
    this.#emit({ type: "trouble", session: null, text: errorText(error) });
  }

  #emit(event: WorkerEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // A failing listener does not concern the work.
    }
  }
}
