/** What a runner hears of its session while it works: interrupts of its turn, and nothing that is older. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { emptyState, type State } from "../../../src/core/state.ts";
import type { Drive } from "../../../src/runtime/turn/drive.ts";
import type { Deps } from "../../../src/runtime/deps.ts";
import { keepLease } from "../../../src/runtime/turn/lease-keeper.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { momentOf } from "../../../src/runtime/read/lease-status.ts";

const world = realWorld();
const epoch = 4;
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A state as a runner reads it; of the turn only what it is heeded for. */
function stateAt(
  seq: number,
  running: { readonly startedSeq: number; readonly interrupted: boolean } | null,
) {
  const { standing } = emptyState;
  const lease = { ...standing.lease, held: seq >= epoch, epoch };
  return { ...emptyState, seq, standing: { ...standing, lease, turn: running } } as unknown as State;
}

/** A keeper whose log is read when it is told to. */
function kept(unwatched: () => void = () => undefined) {
  const reads: ((state: State) => void)[] = [];
  let changed = (): void => undefined;
  let setBack: Error | null = null;
  const store = {
    watch(listener: () => void) {
      changed = listener;
      return unwatched;
    },
  };
  const writer = {
    current: () => new Promise<State>((resolve) => void reads.push(resolve)),
    assertHistory: () => {
      if (setBack !== null) throw setBack;
    },
  };
  const lease = { leaseMs: 60_000, asked: momentOf(world), epoch, history: 0, renew: async () => undefined };
  const context = { store, world, writer } as unknown as Deps;
  const keeper = keepLease(context, { session: "ses_x", lease } as unknown as Drive);
  return {
    keeper,
    reads,
    written: () => changed(),
    setBackBy: (error: Error) => (setBack = error),
  };
}

const running = { startedSeq: 6, interrupted: false };

test("events from before the turn that arrive late do not interrupt it", async () => {
  const { keeper, reads, written } = kept();
  await using _ = keeper;
  written();
  keeper.rearm(stateAt(7, { startedSeq: 6, interrupted: false }));
  reads.shift()?.(stateAt(5, null));
  await turn();
  assert.equal(keeper.signal.aborted, false);
});

test("an interrupt of the turn is noticed, and so is its end", async () => {
  const heard = [{ startedSeq: 6, interrupted: true }, { startedSeq: 9, interrupted: false }, null];
  for (const running of heard) {
    const { keeper, reads, written } = kept();
    await using _ = keeper;
    keeper.rearm(stateAt(7, { startedSeq: 6, interrupted: false }));
    assert.equal(keeper.signal.aborted, false);
    written();
    reads.shift()?.(stateAt(10, running));
    await turn();
    assert.equal(keeper.signal.aborted, true);
  }
});

test("after a renewal that is answered late the lease counts from the question", async () => {
  let now = 0;
  let answers = true;
  const still = {
    now: () => now,
    steady: () => now,
    sleep: (_: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve())),
  };
  const renew = async (): Promise<void> => {
    if (!answers) throw new Error("the store does not answer");
    now += 10_000;
  };
  const lease = { leaseMs: 15_000, asked: momentOf(still), epoch, history: 0, renew };
  const writer = { current: () => new Promise(() => undefined), assertHistory: () => undefined };
  const context = { store: { watch: () => () => undefined }, world: still, writer } as unknown as Deps;
  await using keeper = keepLease(context, { session: "ses_x", lease } as unknown as Drive);
  now = 16_000;
  assert.equal(await keeper.isHeld(), true, "asked at 16 s, answered at 26 s, valid until 31 s");
  answers = false;
  now = 30_999;
  assert.equal(await keeper.isHeld(), true);
  now = 31_000;
  assert.equal(await keeper.isHeld(), false);
  // Nobody took it meanwhile: once the store answers, it is held again.
  answers = true;
  assert.equal(await keeper.isHeld(), true);
  keeper.assertHeld();
});

test("each write is noticed, also one during a read, and none is read twice", async () => {
  const { keeper, reads, written } = kept();
  await using _ = keeper;
  keeper.rearm(stateAt(7, running));
  written();
  written();
  assert.equal(reads.length, 1);
  reads.shift()?.(stateAt(8, running));
  await turn();
  assert.equal(reads.length, 1);
  reads.shift()?.(stateAt(9, running));
  await turn();
  assert.equal(reads.length, 0);
  assert.equal(keeper.signal.aborted, false);
  written();
  reads.shift()?.(stateAt(10, { ...running, interrupted: true }));
  await turn();
  assert.equal(keeper.signal.aborted, true);
});

test("after an interrupt the next turn gets a new signal; after the lease is lost none", async () => {
  const { keeper, reads, written } = kept();
  await using _ = keeper;
  keeper.rearm(stateAt(7, running));
  const { signal } = keeper;
  written();
  reads.shift()?.(stateAt(8, { ...running, interrupted: true }));
  await turn();
  keeper.rearm(stateAt(10, { startedSeq: 10, interrupted: false }));
  assert.deepEqual([signal.aborted, keeper.signal.aborted], [true, false]);
  keeper.assertHeld();
  written();
  const taken = stateAt(11, { startedSeq: 10, interrupted: false });
  const lease = { ...taken.standing.lease, epoch: 11, holder: "two" };
  reads.shift()?.({ ...taken, standing: { ...taken.standing, lease } });
  await turn();
  assert.throws(() => keeper.assertHeld(), { code: "fenced", message: /is now running on two/ });
  assert.equal(await keeper.isHeld(), false);
  for (const next of [{ startedSeq: 12, interrupted: false }, null]) {
    keeper.rearm(stateAt(12, next));
    assert.equal(keeper.signal.aborted, true);
  }
});

test("the signal of a continuing turn stays, and a finished run stops watching", async () => {
  const { keeper, reads, written } = kept();
  keeper.rearm(stateAt(7, running));
  const { signal } = keeper;
  keeper.rearm(stateAt(8, running));
  assert.equal(keeper.signal, signal);
  written();
  assert.equal(reads.length, 1);
  await keeper[Symbol.asyncDispose]();
  assert.equal(signal.aborted, true);
  reads.shift()?.(stateAt(9, running));
  await turn();
  let told = 0;
  const other = kept(() => told++);
  await other.keeper[Symbol.asyncDispose]();
  assert.equal(told, 1);
});

test("a log that was set back ends the run", async () => {
  const { keeper, reads, written, setBackBy } = kept();
  await using _ = keeper;
  keeper.rearm(stateAt(7, running));
  const error = new SkeinError("fenced", "set back");
  setBackBy(error);
  written();
  reads.shift()?.(stateAt(7, running));
  await turn();
  assert.equal(keeper.signal.reason, error);
  assert.throws(() => keeper.assertHeld(), error);
});

/** A keeper whose pauses end, and whose renewals are answered, when they are told to. */
function renewed() {
  const [sleeps, renewals]: [[number, () => void][], PromiseWithResolvers<void>[]] = [[], []];
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      sleeps.push([ms, resolve]);
      signal?.addEventListener("abort", () => resolve());
    });
  const renew = (): Promise<void> => {
    const renewal = Promise.withResolvers<void>();
    renewals.push(renewal);
    return renewal.promise;
  };
  const still = { now: () => 0, steady: () => 0, sleep };
  const lease = { leaseMs: 15_000, asked: momentOf(still), epoch, history: 0, renew };
  const context = { store: { watch: () => () => undefined }, world: still, writer: {} } as unknown as Deps;
  const keeper = keepLease(context, { session: "ses_x", lease } as unknown as Drive);
  return { keeper, sleeps, renewals };
}

test("the lease is renewed three times in its span, until it is lost", async () => {
  const { keeper, sleeps, renewals } = renewed();
  await using _ = keeper;
  for (const count of [1, 2]) {
    assert.deepEqual([sleeps.length, sleeps.at(-1)?.[0], renewals.length], [count, 5_000, count - 1]);
    sleeps.at(-1)?.[1]();
    await turn();
    assert.equal(renewals.length, count);
    if (count === 1) renewals.at(-1)?.resolve();
    else renewals.at(-1)?.reject(new SkeinError("fenced", "lost"));
    await turn();
  }
  assert.deepEqual([sleeps.length, keeper.signal.aborted, await keeper.isHeld()], [2, true, false]);
  assert.throws(() => keeper.assertHeld(), { code: "fenced" });
});

test("a run that is over holds nothing, also when a renewal is answered after its end", async () => {
  const { keeper, sleeps, renewals } = renewed();
  sleeps[0]?.[1]();
  await turn();
  const ended = keeper[Symbol.asyncDispose]();
  assert.equal(keeper.signal.aborted, true);
  renewals[0]?.resolve();
  await ended;
  assert.equal(await keeper.isHeld(), false);
  assert.deepEqual([sleeps.length, renewals.length], [1, 1]);
});
