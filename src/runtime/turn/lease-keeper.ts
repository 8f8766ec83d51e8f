/**
 * Keeps the lease and watches the log: renews the lease during a run, and reacts to what others write (an
 * interrupt, a cancellation, a new holder) at once, also in the middle of a stream or a tool.
 */
import { SkeinError } from "../../core/error.ts";
import type { State } from "../../core/state.ts";
import type { Drive } from "./drive.ts";
import type { Deps } from "../deps.ts";
import { isWithin, momentOf, type Moment } from "../read/lease-status.ts";

export interface LeaseKeeper extends AsyncDisposable {
  /** Aborted by an interrupt, by the end of the turn from outside, and by the loss of the lease. */
  readonly signal: AbortSignal;
  /**
   * True when the lease has certainly not expired, by this process's own clocks. One that may have expired is
   * renewed first: after an unnoticed pause the session may still be ours.
   */
  isHeld(): Promise<boolean>;
  /** Throws `fenced` once the lease is lost. */
  assertHeld(): void;
  /** A new signal, if the last one was aborted by an interrupt of a turn that is over. */
  rearm(state: State): void;
}

export function keepLease(deps: Deps, drive: Drive): LeaseKeeper {
  const { store, world, writer } = deps;
  const { leaseMs } = drive.lease;
  const over = new AbortController();
  /** The lease was in force then; null once the run is over. */
  let heldAt: Moment | null = drive.lease.asked;
  let lost: SkeinError | null = null;
  let control = new AbortController();
  /** The turn that the signal is for; null before the first. */
  let turnSeq: number | null = null;

  async function renewing(): Promise<void> {
    while (!over.signal.aborted) {
      await world.sleep(leaseMs / 3, over.signal);
      if (over.signal.aborted) return;
      await renew();
      if (lost !== null) return;
    }
  }

  async function renew(): Promise<void> {
    const asked = momentOf(world);
    try {
      await drive.lease.renew();
      if (!over.signal.aborted) heldAt = asked;
    } catch (error) {
      // A store that does not answer now may answer in time.
      if (!(error instanceof SkeinError) || error.code !== "fenced") return;
      lost = error;
      control.abort(error);
    }
  }

  let looking = false;
  let again = false;
  async function look(): Promise<void> {
    again = true;
    if (looking) return;
    looking = true;
    while (again && !over.signal.aborted) {
      again = false;
      const state = await writer.current(drive.session).catch(() => null);
      stopIfSetBack();
      if (state !== null) heed(state);
    }
    looking = false;
  }

  /** Another part of this process detected a rollback: nothing of this run belongs to the current log. */
  function stopIfSetBack(): void {
    try {
      writer.assertHistory(drive.session, drive.lease.history);
    } catch (error) {
      lost ??= error as SkeinError;
      control.abort(lost);
    }
  }

  function heed({ seq, standing }: State): void {
    // A read from before the turn began may arrive later, and knows nothing of it.
    if (turnSeq === null || seq < turnSeq) return;
    const { turn, lease } = standing;
    if (lease.held && lease.epoch !== drive.lease.epoch) {
      lost ??= new SkeinError("fenced", `${drive.session} is now running on ${lease.holder}`, {
        hint: "another worker took the lease after it expired",
      });
    }
    const goesOn = turn !== null && turn.startedSeq === turnSeq && !turn.interrupted;
    if (lost !== null || !goesOn) control.abort(lost ?? new Error("the turn was interrupted"));
  }

  const unwatch = store.watch(() => void look());
  const renewal = renewing();
  return {
    get signal() {
      return control.signal;
    },
    async isHeld() {
      const isSure = (): boolean => heldAt !== null && isWithin(world, heldAt, leaseMs);
      if (lost === null && !isSure() && !over.signal.aborted) await renew();
      return lost === null && isSure();
    },
    assertHeld() {
      if (lost !== null) throw lost;
    },
    rearm(state) {
      turnSeq = state.standing.turn?.startedSeq ?? null;
      if (control.signal.aborted && lost === null) control = new AbortController();
      heed(state);
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      // Leftover work of a failed run stops too, and starts nothing more.
      heldAt = null;
      control.abort(new Error("the run has ended"));
      unwatch();
      await renewal;
    },
  };
}
