/** What is learned of the database's clock, by slow answers too. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeClockOffset } from "../../../src/store/postgres/connection/clock-offset.ts";

/** A clock that is set by hand, and a database that is ahead of it. */
function twoClocks(aheadMs: number) {
  const state = { nowMs: 1_000_000, aheadMs };
  const clocks = makeClockOffset({ now: () => state.nowMs });
  /** An answer that took so long, and for whose clock the way there took a part of that. */
  const answer = (tripMs: number, part = 0.5): void => {
    const askedAt = state.nowMs;
    const readMs = askedAt + tripMs * part + state.aheadMs;
    state.nowMs += tripMs;
    clocks.heard(readMs, askedAt);
  };
  const off = (): number => Math.abs(clocks.offsetMs() - state.aheadMs);
  return { state, clocks, answer, off };
}

test("with every round trip over 250 ms the clock is learned, within half of the trip", () => {
  for (const part of [0, 0.5, 1]) {
    const { clocks, answer, off } = twoClocks(3_600_000);
    assert.deepEqual([clocks.isOld(), clocks.errorMs()], [true, Infinity]);
    answer(800, part);
    assert.equal(clocks.isOld(), false);
    assert.ok(off() <= 401 && clocks.errorMs() <= 401, `${part}: ${off()}`);
  }
});

test("the most precise clock answer is kept, and a less precise one does not replace it", () => {
  const { state, clocks, answer, off } = twoClocks(5_000);
  answer(2_000, 1);
  assert.ok(off() > 900);
  answer(10);
  assert.ok(off() <= 5);
  answer(4_000, 1);
  assert.ok(off() <= 10, "a slow answer says less than what is known");
  // Clocks drift: what was heard long ago is worth less in the end.
  state.nowMs += 3_600_000;
  assert.equal(clocks.isOld(), true);
  answer(400);
  assert.ok(clocks.errorMs() <= 200 && !clocks.isOld());
});

test("a clock that was set is noticed, by a slow answer too", () => {
  const { state, clocks, answer, off } = twoClocks(0);
  answer(10);
  state.aheadMs = 40 * 86_400_000;
  answer(900);
  assert.ok(off() <= 450);
  state.nowMs += 60_000;
  state.aheadMs -= 60_000;
  answer(300);
  assert.ok(off() <= 150, "this process's clock was set");
  const askedAt = state.nowMs;
  state.nowMs -= 5_000;
  const before = clocks.offsetMs();
  clocks.heard(1, askedAt);
  assert.equal(clocks.offsetMs(), before, "it was set back while the answer came");
});
