/**
 * The turn loop: runs a session until nothing is left to do. It holds the lease, derives the next action from
 * the state, executes it, and repeats. It keeps nothing that matters in memory: after a crash the next runner
 * finds the same state and continues from there.
 */
import { present } from "../../core/present.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { dueZoneAction } from "../../core/context/zone-policy.ts";
import type { State } from "../../core/state.ts";
import { nextOf, type Next } from "../../core/turn/next.ts";
import type { ModelError } from "../../model/port.ts";
import { compactNow, mustCompact } from "./compact.ts";
import { gatherCrew, type RunContext } from "./run-context.ts";
import { giveUp } from "../message/deliver.ts";
import { takeDrive, type Drive } from "./drive.ts";
import type { ExecutorRun } from "./executor-run.ts";
import { noteLeft } from "./file-changes.ts";
import { bringIn } from "../context/bring-in.ts";
import { nextTaken, readWaiting, takenOf } from "../read/inbox.ts";
import { keepLease } from "./lease-keeper.ts";
import type { Deps } from "../deps.ts";
import { measure, takeStep, planningOf, type StepWorld } from "./step.ts";
import { pinsReason } from "../context/plan-reader.ts";
import { actOnZone, dueNow } from "./zone-act.ts";
import { settleCalls, settleOverdue } from "./tool-ledger.ts";
import { wakeCommand } from "../read/wake-due.ts";
import type { Command } from "../../core/command.ts";
import type { TurnExecutor } from "../../core/turn/executor.ts";
import type { FollowUp, NextFollowUp } from "../log/follow-up.ts";
import { hasSameAgent, prepareRun, type PreparedRun } from "./prepare-run.ts";

/** Options of `session.run` and `session.watch`. */
export interface RunOptions {
  readonly holder?: string;
  readonly leaseMs?: number;
  /** Aborted: the runner stops before its next action, and releases the lease. */
  readonly signal?: AbortSignal;
}

/** A run as the engine itself requests it. */
export interface RunRequest extends RunOptions {
  /** What the caller has already read. */
  readonly prepared?: PreparedRun | undefined;
  /** Called once the lease is held, before anything is done. False: it is released at once. */
  readonly admit?: () => Promise<boolean>;
  /** The lease is taken only if this is the head. */
  readonly expectSeq?: number;
}

/** Why a run ended. */
export interface RunResult {
  readonly status: State["standing"]["status"];
  /** The cause of the status, where it needs one. */
  readonly by: string | null;
  readonly seq: number;
  /** The session that ended, when the one that was run went on as that one. */
  readonly session?: SessionId;
}

/** Runs the session until it is idle or suspended. Rejects with `conflict` when another process runs it. */
export async function runSession(
  deps: Deps,
  session: SessionId,
  request: RunRequest = {},
): Promise<RunResult> {
  const { signal, admit, prepared = await prepareRun(deps, session), ...lease } = request;
  const { actor } = prepared.agent;
  await using early = admit === undefined ? await gatherEarly(deps, session, prepared) : null;
  if (early !== null) await warmUp(deps, session, early, prepared.state);
  const followUp = early === null ? undefined : beginEarly(deps, session, prepared, early);
  await using drive = await takeDrive(deps, session, { ...lease, actor, followUp });
  if (admit !== undefined && !(await admit())) return ranOf(drive.latest);
  await using keeper = keepLease(deps, drive);
  if (early !== null && drive.latest.standing.turn !== null)
    return await runTurns(new Runner(deps, drive, early, keeper), signal);
  const wake = wakeCommand(drive.latest, deps.store.now());
  if (wake !== null) await drive.change(wake);
  const late = await settleOverdue(deps, session, drive.latest);
  const state = late + (await giveUp(deps, session, drive.latest)) > 0 ? await drive.state() : drive.latest;
  if (isAtRest(state)) return ranOf(state);
  await using runContext = await gatherCrew(deps, session, state, { signal: keeper.signal, prepared });
  await noteLeft(deps, drive, runContext.files);
  return await runTurns(new Runner(deps, drive, runContext, keeper), signal);
}

async function runTurns(runner: Runner, signal: AbortSignal | undefined): Promise<RunResult> {
  await using turns = runner;
  return await turns.run(signal);
}

/** True when the next action is a turn that needs nothing opened from outside. */
const canBeginEarly = ({ store }: Deps, state: State): boolean =>
  state.standing.bindings.size === 0 &&
  nextOf(state, { steered: false, stepsMax: Infinity }).next === "begin" &&
  [...state.standing.requests.values()].every(({ deadlineMs }) => deadlineMs >= store.now());

/**
 * Gathers the agent, model and tools of a session without bindings before the lease is held, so that one
 * append takes the lease and begins the turn. Null where that is impossible: then tools are opened under the
 * lease, and their errors appear there.
 */
async function gatherEarly(
  deps: Deps,
  session: SessionId,
  prepared: PreparedRun,
): Promise<RunContext | null> {
  const { state } = prepared;
  if (!canBeginEarly(deps, state)) return null;
  const { signal } = new AbortController();
  return gatherCrew(deps, session, state, { signal, prepared }).catch(() => null);
}

/** Begins the turn with the lease, unless the session has changed since it was prepared. */
const beginEarly =
  (deps: Deps, session: SessionId, { state: before }: PreparedRun, runContext: RunContext): NextFollowUp =>
  async (state) => {
    const isSame = hasSameAgent(before, state) && before.standing.model === state.standing.model;
    if (!isSame || !canBeginEarly(deps, state)) return null;
    // The input belongs to the next session then.
    if (dueZoneAction(state.standing, runContext.rules.zones) === "rollover") return null;
    return { command: await beginCommand(deps, session, runContext, state), actor: runContext.actor };
  };

/**
 * Asks the embedding model, if there is one, before the session is locked for the append that needs the
 * answer: by then the vectors are cached.
 */
async function warmUp(deps: Deps, session: SessionId, runContext: RunContext, state: State): Promise<void> {
  const { model, settings } = runContext;
  if (model.executor !== undefined || (await deps.models?.())?.embedder === undefined) return;
  const inputs = takenOf(await readWaiting(deps.store, session, state));
  const planning = planningOf(runContext);
  await bringIn(deps, session, state, { inputs, settings, planning, isRehearsal: true });
}

/** A session without a model is assigned one with its first turn, so that it does not change later. */
async function beginCommand(
  deps: Deps,
  session: SessionId,
  runContext: RunContext,
  state: State,
): Promise<Command> {
  const { offer, model, settings } = runContext;
  const inputs = takenOf(await readWaiting(deps.store, session, state));
  // Another agent keeps its own context.
  const brings = model.executor === undefined;
  const planning = planningOf(runContext);
  const brought = brings ? await bringIn(deps, session, state, { inputs, settings, planning }) : {};
  return {
    do: "begin",
    inputs,
    ...brought,
    ...(state.standing.tools.at(-1)?.digest === offer.digest ? {} : { tools: offer }),
    ...(state.standing.model === null ? { model: model.name } : {}),
  };
}

/** Nothing to do, and so no need for models and tools. */
const isAtRest = (state: State): boolean =>
  nextOf(state, { steered: false, stepsMax: Infinity }).next === "rest";

export const ranOf = ({ standing, seq }: State): RunResult => ({
  status: standing.status,
  by: standing.why?.by ?? null,
  seq,
});

class Runner {
  readonly #deps: Deps;
  readonly #drive: Drive;
  readonly #runContext: RunContext;
  readonly #keeper: ReturnType<typeof keepLease>;
  readonly #step: StepWorld;
  /** The last steering input that was looked at: once for each, also when a request is made again. */
  #retrievedTo = 0;
  /** Set when another agent runs the turns. */
  #executor: ExecutorRun | null = null;

  constructor(deps: Deps, drive: Drive, runContext: RunContext, keeper: ReturnType<typeof keepLease>) {
    this.#deps = deps;
    this.#drive = drive;
    this.#runContext = runContext;
    this.#keeper = keeper;
    const followUp = (state: State): FollowUp | null => this.#finish(state);
    this.#step = { deps, drive, runContext, signal: keeper.signal, lesson: null, followUp };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#executor?.release();
  }

  async run(signal: AbortSignal | undefined): Promise<RunResult> {
    const drive = this.#drive;
    for (let state = drive.latest; ; state = drive.latest) {
      if (drive.lease.isReleased) return ranOf(state);
      const next = await this.#next(state);
      if (signal?.aborted === true) return ranOf(state);
      const action = dueNow(this.#step, state, next);
      if (next.next === "rest" && action === null) {
        // The cached state may be old, and an input may have arrived: checks before it rests.
        if ((await drive.state()).seq === state.seq) return ranOf(state);
        continue;
      }
      this.#keeper.assertHeld();
      // An interrupt applies to its turn, not to the next one.
      this.#keeper.rearm(state);
      this.#step.signal = this.#keeper.signal;
      const done = action === null ? this.#do(next, state) : actOnZone(this.#step, state, action);
      await done.catch((error: unknown) => this.#unlessOvertaken(error, state));
      // Calls also write past the driver: they open children and send messages.
      if (next.next === "calls") await drive.state();
    }
  }

  /**
   * The follow-up in the append of an answer, or of the end of a turn: the end of the turn, and once nothing
   * is left to do, the release of the lease. With queued input the loop decides: it may steer the turn, or
   * begin another. Tools that hold something open are closed before the lease is released.
   */
  #finish(state: State): FollowUp | null {
    const { standing } = state;
    if (standing.inbox.waiting.length > 0 || !standing.lease.held) return null;
    const next = nextOf(state, { steered: false, stepsMax: this.#runContext.rules.stepsMax });
    if (dueNow(this.#step, state, next) !== null) return null;
    if (next.next === "end") return { command: { do: "end", outcome: next.outcome } };
    return next.next === "rest" && standing.bindings.size === 0 ? this.#drive.lease.releasing() : null;
  }

  async #next(state: State): Promise<Next> {
    const { turn, inbox } = state.standing;
    const mayBeSteered = turn !== null && inbox.waiting.length > 0;
    const waiting = mayBeSteered ? await readWaiting(this.#deps.store, this.#drive.session, state) : [];
    const steered = waiting.some(({ steers }) => steers);
    return nextOf(state, { steered, stepsMax: this.#runContext.rules.stepsMax });
  }

  async #do(next: Next, state: State): Promise<void> {
    const drive = this.#drive;
    const { executor } = this.#runContext.model;
    if (executor !== undefined) {
      this.#executor ??= await this.#makeExecutor(executor);
      return next.next === "rest" ? undefined : this.#executor.perform(next, state);
    }
    switch (next.next) {
      case "rest":
        return;
      case "begin":
        return this.#begin();
      case "write-off": {
        const message = "the process that called the model has ended";
        const model = state.standing.reserved?.model ?? this.#runContext.model.name;
        const fail = { do: "fail", model, error: "crashed", retryable: true, costNanoUsd: null } as const;
        await drive.change({ ...fail, message });
        return;
      }
      case "calls": {
        const { deps, runContext, signal } = this.#step;
        const isHeld = (): Promise<boolean> => this.#keeper.isHeld();
        let asked: { readonly instructions: string | undefined } | null = null;
        const compress = (instructions: string | undefined): void => void (asked = { instructions });
        await settleCalls({ deps, drive, runContext, signal, isHeld, compress }, state);
        if (asked !== null) await this.#compress(asked);
        return;
      }
      case "request":
        return this.#request(state);
      case "end":
        await drive.change({ do: "end", outcome: next.outcome }, { followUp: this.#step.followUp });
    }
  }

  /** As the model asked, once nothing is open. */
  async #compress({ instructions }: { readonly instructions: string | undefined }): Promise<void> {
    const { mind, standing } = await this.#drive.state();
    if (mind.calls.size > 0 || standing.turn === null || standing.status !== "running") return;
    await compactNow(this.#step, { reason: "policy", ...present({ instructions }) });
  }

  async #makeExecutor(executor: TurnExecutor): Promise<ExecutorRun> {
    const { ExecutorRun } = await import("./executor-run.ts");
    const [deps, drive, runContext, keeper] = [this.#deps, this.#drive, this.#runContext, this.#keeper];
    const begin = (state: State): Promise<Command> => beginCommand(deps, drive.session, runContext, state);
    return new ExecutorRun({ deps, drive, runContext, keeper, executor, begin });
  }

  async #begin(): Promise<void> {
    await this.#runContext.refresh(this.#step.signal);
    const { session } = this.#drive;
    await warmUp(this.#deps, session, this.#runContext, this.#drive.latest);
    await this.#drive.change((state) => beginCommand(this.#deps, session, this.#runContext, state));
  }

  async #request(state: State): Promise<void> {
    await this.#runContext.refresh(this.#step.signal);
    const { offer } = this.#runContext;
    const last = state.standing.tools.at(-1);
    if (last !== undefined && last.digest !== offer.digest) {
      await this.#drive.change({ do: "offer", tools: offer });
      return;
    }
    const { attempts } = state.standing.turn ?? { attempts: 0 };
    if (attempts >= limit.attemptsMax) return this.#suspend(`model call failed after ${attempts} attempts`);
    if (await this.#retrieveSteering(state)) return;
    const measured = await measure(this.#step, state);
    const tooMuch = pinsReason(measured.context);
    if (tooMuch !== null) return this.#suspend(tooMuch);
    if (mustCompact(this.#step, measured)) {
      const done = await compactNow(this.#step, { reason: "threshold" });
      if (done) return;
    }
    const asked = await takeStep(this.#step, measured);
    if (asked.kind === "failed") await this.#afterFailure(asked.error, attempts + 1);
  }

  /** For inputs that steer the turn; true if something was brought in, so that the state is another one. */
  async #retrieveSteering(state: State): Promise<boolean> {
    const { session } = this.#drive;
    const inputs = await nextTaken(this.#deps.store, session, state);
    const fresh = inputs.filter(([seq]) => seq > this.#retrievedTo);
    if (fresh.length === 0) return false;
    this.#retrievedTo = fresh.at(-1)?.[0] ?? 0;
    const { settings } = this.#runContext;
    const asked = { inputs: fresh, settings, planning: planningOf(this.#runContext), isSteering: true };
    const { carried, retrieved } = await bringIn(this.#deps, session, state, asked);
    if (retrieved === undefined) return false;
    await this.#drive.change({ do: "retrieve", carried, retrieved });
    return true;
  }

  async #afterFailure(error: ModelError, attempts: number): Promise<void> {
    if (error.kind === "interrupted") return;
    if (error.kind === "overflow") {
      if (await compactNow(this.#step, { reason: "overflow" })) return;
      return this.#suspend(
        `the context does not fit the window of ${this.#runContext.model.name}: ${error.message}`,
      );
    }
    const wait = error.retryAfterMs ?? this.#backoff(attempts);
    if (!error.retryable || attempts >= limit.attemptsMax || wait > limit.retryAfterMsMax)
      return this.#suspend(`${this.#runContext.model.name}: ${error.message}`);
    await this.#deps.world.sleep(wait, this.#step.signal);
  }

  /** Exponential with jitter, so that callers rejected together spread out. */
  #backoff(attempts: number): number {
    const [chance = 0] = this.#deps.world.random(1);
    return Math.min(60_000, 500 * 2 ** (attempts - 1)) * (0.75 + chance / 512);
  }

  async #suspend(reason: string): Promise<void> {
    await this.#drive.change({ do: "suspend", by: "error", reason: reason.slice(0, limit.reasonCharsMax) });
  }

  /** Another process may have changed the session so that the action is refused now. */
  async #unlessOvertaken(error: unknown, before: State): Promise<void> {
    const refused = error instanceof SkeinError && (error.code === "refused" || error.code === "conflict");
    if (!refused) throw error;
    const now = await this.#drive.state();
    if (now.seq === before.seq) throw error;
  }
}
