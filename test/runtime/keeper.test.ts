/** What a runner hears of its session while it works: interrupts of its turn, and nothing that is older. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyState, type State } from "../../src/core/state.ts";
import type { Drive } from "../../src/runtime/turn/drive.ts";
import type { Deps } from "../../src/runtime/deps.ts";
import { keepLease } from "../../src/runtime/turn/lease-keeper.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { momentOf } from "../../src/runtime/read/lease-status.ts";

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
function kept() {
  const reads: ((state: State) => void)[] = [];
  let changed = (): void => undefined;
  const store = {
    watch(listener: () => void) {
      changed = listener;
      return () => undefined;
    },
  };
  const writer = {
    current: () => new Promise<State>((resolve) => void reads.push(resolve)),
    assertHistory: () => undefined,
  };
  const lease = { leaseMs: 60_000, asked: momentOf(world), epoch, history: 0, renew: async () => undefined };
  const context = { store, world, writer } as unknown as Deps;
  const keeper = keepLease(context, { session: "ses_x", lease } as unknown as Drive);
  return { keeper, reads, written: () => changed() };
}

test("what was read before the turn began, and comes in later, does not interrupt it", async () => {
  const { keeper, reads, written } = kept();
  await using _ = keeper;
  written();
  keeper.rearm(stateAt(7, { startedSeq: 6, interrupted: false }));
  reads.shift()?.(stateAt(5, null));
  await turn();
  assert.equal(keeper.signal.aborted, false);
});

test("an interrupt of the turn is heard, and so is its end", async () => {
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
});
