/**
 * The turn loop: runs a session until there is nothing left to do. It holds the lease, asks the state what
 * comes next, does it, and asks again. It keeps nothing that matters in memory: a runner that dies is
 * followed by another that finds the same state and goes on from there.
 */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import { nextOf, type Next } from "../../core/turn/next.ts";
import type { ModelError } from "../../model/port.ts";
import { compactNow, mustCompact } from "./compact.ts";
import { gatherCrew, type Crew } from "./run-context.ts";
import { giveUp } from "../message/deliver.ts";
import { takeDrive, type Drive } from "./drive.ts";
import { noteLeft } from "./file-changes.ts";
import { readWaiting } from "../read/inbox.ts";
import { keepLease } from "./lease-keeper.ts";
import type { Deps } from "../deps.ts";
import { measure, takeStep, type StepWorld } from "./step.ts";
import { settleCalls } from "./tool-ledger.ts";
import { agentOf } from "../workspace/session-agent.ts";

export interface RunOptions {
  readonly holder?: string;
  readonly leaseMs?: number;
  /** Aborted: the runner stops before the next thing it would do, and gives the lease back. */
  readonly signal?: AbortSignal;
  /** Asked once the lease is held, before anything is done. False: it is given back at once. */
  readonly admit?: () => Promise<boolean>;
  /** The lease is taken only if this is the head. */
  readonly expectSeq?: number;
}

/** Why a run ended. */
export interface RunResult {
  readonly status: State["standing"]["status"];
  /** What brought about the status, where it does not speak for itself. */
  readonly by: string | null;
  readonly seq: number;
}

/** Runs the session until it is idle, or stands still. Rejects with `conflict` when somebody else runs it. */
export async function runSession(
  deps: Deps,
  session: SessionId,
  options: RunOptions = {},
): Promise<RunResult> {
  const { signal, admit, ...lease } = options;
  const { actor } = await agentOf(deps, session, await deps.writer.current(session));
  await using drive = await takeDrive(deps, session, { ...lease, actor });
  if (admit !== undefined && !(await admit())) return ranOf(await drive.state());
  await using keeper = keepLease(deps, drive);
  await wakeIfDue(deps, drive);
  await giveUp(deps, session);
  const state = await drive.state();
  if (isAtRest(state)) return ranOf(state);
  await using crew = await gatherCrew(deps, session, state, { signal: keeper.signal });
  await noteLeft(deps, drive, crew.files);
  return await new Runner(deps, drive, crew, keeper).run(signal);
}

/** A session that slept until a time goes on once it has come, and is told so. */
async function wakeIfDue({ store }: Deps, drive: Drive): Promise<void> {
  const { status, sleep } = (await drive.state()).standing;
  const untilMs = sleep?.untilMs ?? null;
  if (status !== "sleeping" || untilMs === null || untilMs > store.now()) return;
  const text = `The time you slept until has come: ${new Date(untilMs).toISOString()}.`;
  await drive.change({ do: "wake", by: "time", text });
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
  readonly #crew: Crew;
  readonly #keeper: ReturnType<typeof keepLease>;
  readonly #step: StepWorld;

  constructor(deps: Deps, drive: Drive, crew: Crew, keeper: ReturnType<typeof keepLease>) {
    this.#deps = deps;
    this.#drive = drive;
    this.#crew = crew;
    this.#keeper = keeper;
    this.#step = { deps, drive, crew, signal: keeper.signal, lesson: null };
  }

  async run(signal: AbortSignal | undefined): Promise<RunResult> {
    for (;;) {
      const state = await this.#drive.state();
      const next = await this.#next(state);
      if (next.next === "rest" || signal?.aborted === true) return ranOf(state);
      this.#keeper.assertHeld();
      // An interrupt is for the turn it was meant for, not for what comes after it.
      this.#keeper.rearm(state);
      this.#step.signal = this.#keeper.signal;
      await this.#do(next, state).catch((error: unknown) => this.#unlessOvertaken(error, state));
    }
  }

  async #next(state: State): Promise<Next> {
    const { turn, inbox } = state.standing;
    const mayBeSteered = turn !== null && inbox.waiting.length > 0;
    const waiting = mayBeSteered ? await readWaiting(this.#deps.store, this.#drive.session, state) : [];
    const steered = waiting.some(({ steers }) => steers);
    return nextOf(state, { steered, stepsMax: this.#crew.rules.stepsMax });
  }

  async #do(next: Exclude<Next, { next: "rest" }>, state: State): Promise<void> {
    const drive = this.#drive;
    switch (next.next) {
      case "begin":
        return this.#begin();
      case "write-off": {
        const message = "the runner that asked the model is gone";
        const model = state.standing.reserved?.model ?? this.#crew.model.name;
        const fail = { do: "fail", model, error: "crashed", retryable: true, costNanoUsd: null } as const;
        await drive.change({ ...fail, message });
        return;
      }
      case "calls": {
        const { deps, crew, signal } = this.#step;
        const isHeld = (): Promise<boolean> => this.#keeper.isHeld();
        return settleCalls({ deps, drive, crew, signal, isHeld }, state);
      }
      case "request":
        return this.#request(state);
      case "end":
        await drive.change({ do: "end", outcome: next.outcome });
    }
  }

  /** A session that names no model is given one with its first turn, so that it does not change by itself. */
  async #begin(): Promise<void> {
    const { store } = this.#deps;
    await this.#crew.refresh(this.#step.signal);
    const { offer, model } = this.#crew;
    await this.#drive.change(async (state) => {
      const waiting = await readWaiting(store, this.#drive.session, state);
      const offered = state.standing.tools.at(-1)?.digest === offer.digest ? {} : { tools: offer };
      const named = state.standing.model === null ? { model: model.name } : {};
      return {
        do: "begin",
        inputs: waiting.map(({ seq, input }) => [seq, input] as const),
        ...offered,
        ...named,
      };
    });
  }

  async #request(state: State): Promise<void> {
    await this.#crew.refresh(this.#step.signal);
    const { offer } = this.#crew;
    const last = state.standing.tools.at(-1);
    if (last !== undefined && last.digest !== offer.digest) {
      await this.#drive.change({ do: "offer", tools: offer });
      return;
    }
    const { attempts } = state.standing.turn ?? { attempts: 0 };
    if (attempts >= limit.attemptsMax) return this.#suspend(`the model was asked ${attempts} times in vain`);
    const measured = await measure(this.#step, state);
    if (mustCompact(this.#step, measured)) {
      const done = await compactNow(this.#step, { reason: "threshold" });
      if (done) return;
    }
    const asked = await takeStep(this.#step, measured);
    if (asked.kind === "failed") await this.#afterFailure(asked.error, attempts + 1);
  }

  async #afterFailure(error: ModelError, attempts: number): Promise<void> {
    if (error.kind === "interrupted") return;
    if (error.kind === "overflow") {
      if (await compactNow(this.#step, { reason: "overflow" })) return;
      return this.#suspend(
        `the context does not fit the window of ${this.#crew.model.name}: ${error.message}`,
      );
    }
    const wait = error.retryAfterMs ?? this.#backoff(attempts);
    if (!error.retryable || attempts >= limit.attemptsMax || wait > limit.retryAfterMsMax)
      return this.#suspend(`${this.#crew.model.name}: ${error.message}`);
    await this.#deps.world.sleep(wait, this.#step.signal);
  }

  /** Twice as long each time, and never the same, so that those who were refused together come apart. */
  #backoff(attempts: number): number {
    const [chance = 0] = this.#deps.world.random(1);
    return Math.min(60_000, 500 * 2 ** (attempts - 1)) * (0.75 + chance / 512);
  }

  async #suspend(reason: string): Promise<void> {
    await this.#drive.change({ do: "suspend", by: "error", reason: reason.slice(0, limit.reasonCharsMax) });
  }

  /** Somebody else may have changed the session so that what was about to be done is refused now. */
  async #unlessOvertaken(error: unknown, before: State): Promise<void> {
    const refused = error instanceof SkeinError && (error.code === "refused" || error.code === "conflict");
    if (!refused) throw error;
    const now = await this.#drive.state();
    if (now.seq === before.seq) throw error;
  }
}
