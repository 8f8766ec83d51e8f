/**
 * Leases: the right to run a session. Taking one is an append, so an earlier holder's next append conflicts
 * whatever the clocks say; time only decides when another process may try.
 */
import type { AppendRecord } from "../../core/turn/commands.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { type Moment, momentOf, isFree } from "../read/lease-status.ts";
import type { AppendResult } from "../log/append-result.ts";
import type { FollowUp, NextFollowUp } from "../log/follow-up.ts";

/**
 * A lease outlives its holder by at most this. A shorter one saves recovery time, but a long pause of the
 * process would then look like its death.
 */
const leaseMsDefault = 15_000;

/** The exclusive right to run a session, until it expires or is released. */
export class SessionLease implements AsyncDisposable {
  readonly session: SessionId;
  readonly holder: string;
  /** The position of the record that took it; every write under the lease carries it. */
  readonly epoch: number;
  /** @internal Carried by every write under the lease: it belongs to this history of the log alone. */
  readonly history: number;
  readonly leaseMs: number;
  /** @internal The moment before the request: the lease surely lasts `leaseMs` from here. */
  readonly asked: Moment;
  /** @internal From here on, by the steady clock, an earlier holder knows that it has lost the lease. */
  readonly aloneFromMs: number;
  readonly #deps: Deps;
  #released = false;

  constructor(
    deps: Deps,
    taken: {
      readonly session: SessionId;
      readonly holder: string;
      readonly epoch: number;
      readonly history: number;
      readonly leaseMs: number;
      readonly asked: Moment;
      readonly aloneFromMs: number;
    },
  ) {
    this.#deps = deps;
    this.session = taken.session;
    this.holder = taken.holder;
    this.epoch = taken.epoch;
    this.history = taken.history;
    this.leaseMs = taken.leaseMs;
    this.asked = taken.asked;
    this.aloneFromMs = taken.aloneFromMs;
  }

  /** Keeps it for another `leaseMs`. Rejects with `fenced` once another process has taken it. */
  async renew(): Promise<void> {
    const renewed = await this.#deps.store.renew(this.session, this.epoch, this.leaseMs);
    if (!renewed) throw lostLease(this.session, this.epoch);
  }

  /** Like the session's `append`, but only while this lease is in force. */
  async append(
    records: readonly AppendRecord[],
    options: { readonly key?: string } = {},
  ): Promise<AppendResult> {
    const { writer, actor } = this.#deps;
    const change = await writer.change(
      this.session,
      { do: "append", records },
      { actor, epoch: this.epoch, history: this.history, key: options.key },
    );
    return { seq: change.firstSeq, headSeq: change.headSeq, duplicate: change.duplicate };
  }

  /** True when this holder has released it. */
  get isReleased(): boolean {
    return this.#released;
  }

  /** @internal Releases it in the append of the change that this follows. */
  releasing(): FollowUp {
    return { command: { do: "release", epoch: this.epoch }, actor: this.#deps.actor };
  }

  /** Called with each state after a write under the lease. */
  noteState({ standing: { lease } }: State): void {
    if (!lease.held) this.#released = true;
  }

  /** Releases it. May be called twice; an already lost lease is not an error here. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    const { writer, actor } = this.#deps;
    const { epoch, history } = this;
    // A lease in its place, if any, is not this one.
    if (writer.history(this.session) !== history) return;
    try {
      await writer.change(
        this.session,
        { do: "release", epoch },
        { actor, epoch, history, lease: "release" },
      );
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "fenced") throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

export interface LeaseRequest {
  readonly holder: string;
  readonly leaseMs?: number | undefined;
  readonly expectSeq?: number | undefined;
  /** Commands in the append that takes the lease. */
  readonly followUp?: NextFollowUp | undefined;
}

export const takeLease = async (
  deps: Deps,
  session: SessionId,
  request: LeaseRequest,
): Promise<SessionLease> => (await takeLeaseAt(deps, session, request)).lease;

/** Takes the lease. Returns it and the state after the append. */
export async function takeLeaseAt(
  deps: Deps,
  session: SessionId,
  request: LeaseRequest,
): Promise<{ readonly lease: SessionLease; readonly state: State }> {
  const { holder, leaseMs = leaseMsDefault, expectSeq, followUp } = request;
  const { store, world, writer, actor } = deps;
  let asked = momentOf(world);
  let rivalMs = 0;
  const history = writer.history(session);
  const build = async ({ standing }: State) => {
    asked = momentOf(world);
    const held = (await store.head(session))?.lease ?? null;
    const before = held !== null && world.isGone?.(held.holder) !== true ? standing.lease : null;
    rivalMs = before?.held === true ? before.leaseMs : 0;
    return { do: "take", holder, leaseMs, ranOut: isFree(deps, held) } as const;
  };
  const { firstSeq: epoch, state } = await writer.change(session, build, {
    actor,
    history,
    expectSeq,
    followUp,
    lease: { holder, leaseMs },
  });
  const aloneFromMs = momentOf(world).steadyMs + rivalMs;
  const lease = new SessionLease(deps, { session, holder, leaseMs, asked, aloneFromMs, epoch, history });
  return { lease, state };
}

const lostLease = (session: SessionId, epoch: number): SkeinError =>
  new SkeinError("fenced", `the lease of epoch ${epoch} on ${session} is no longer held`, {
    hint: "another worker runs the session now",
  });
