/** Money and tokens of model calls: what each record adds, and how a call that broke off is settled. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { budgetLeft } from "../../src/core/budget/budget.ts";
import {
  moneyText,
  openSpend,
  settleBroken,
  settledSpend,
  spendOf,
  spendText,
} from "../../src/core/budget/money.ts";
import { limit } from "../../src/core/limit.ts";
import { given, type Given } from "./given.ts";
import { samples } from "./samples.ts";

/** Sonnet: $2 and $10 for a million tokens. */
const price = { input: 2_000, output: 10_000, cachedInput: 200 };
const reserved = { tokens: 100 + 16_384, nanoUsd: 100 * 2_000 + 16_384 * 10_000 };
const budgeted = (): Given =>
  given()
    .when({ do: "budget", limits: { usd: 0.3 } })
    .and("turn.started", { inputs: [] });
const asked = (before: Given): Given =>
  before.and("model.requested", { ...samples["model.requested"].body, inputs: [], reserved });
const model = samples["model.requested"].body.model;

const broken = {
  price,
  reserved,
  inputTokens: 100,
  reported: null,
  streamedTokens: 0,
  hidden: false,
  silentMs: 0,
} as const;

describe("a call that is interrupted", () => {
  test("costs what the provider reported or streamed, not the reservation", () => {
    const reported = { inputTokens: 100, outputTokens: 1 };
    const call = { ...broken, reported, streamedTokens: 41 };
    const settled = settleBroken(call);
    // Besides: one second of output that was not streamed, and half of the 40 tokens that Skein counted.
    assert.deepEqual(settled, {
      usage: { inputTokens: 100, outputTokens: 41, estimated: true },
      costNanoUsd: 100 * 2_000 + 41 * 10_000,
      unconfirmed: { tokens: 1_020, nanoUsd: 10_200_000 },
    });
    const fail = { do: "fail", model, error: "interrupted", retryable: false, ...settled } as const;
    const twice = asked(asked(budgeted()).when(fail)).when(fail);
    assert.equal(budgetLeft(twice.state).nanoUsd, 300_000_000 - 2 * (610_000 + 10_200_000));
    assert.equal(spendText(spendOf(twice.state)), "$0.00122 + up to $0.0204 unconfirmed");
    assert.equal(spendOf(twice.state).estimated, 2);
  });

  test("without a report costs its input as counted, and says that it is an estimate", () => {
    const call = { ...broken, inputTokens: 120 };
    assert.deepEqual(settleBroken(call).usage, { inputTokens: 120, outputTokens: 0, estimated: true });
  });

  test("is bounded by the output possible since the last delta, and by its reservation", () => {
    const bound = (silentMs: number): number => settleBroken({ ...broken, silentMs }).unconfirmed.tokens;
    assert.deepEqual([bound(0), bound(2_500), bound(600_000)], [1_000, 3_500, 16_384]);
    // A provider that counts more input than Skein did leaves as much room for output as before.
    const reported = { inputTokens: 5_000, outputTokens: 1 };
    const { unconfirmed } = settleBroken({ ...broken, reported, silentMs: 600_000 });
    assert.equal(unconfirmed.tokens, 16_383);
  });

  test("keeps hidden reasoning as an upper bound, which the budget counts", () => {
    const reported = { inputTokens: 100, outputTokens: 1 };
    const call = { ...broken, reported, streamedTokens: 40, hidden: true };
    const settled = settleBroken(call);
    assert.deepEqual(settled.unconfirmed, { tokens: 16_344, nanoUsd: 163_440_000 });
    const fail = { do: "fail", model, error: "interrupted", retryable: false, ...settled } as const;
    const { state } = asked(budgeted()).when(fail);
    assert.equal(budgetLeft(state).nanoUsd, 300_000_000 - 600_000 - 163_440_000);
    assert.equal(spendText(spendOf(state)), "$0.0006 + up to $0.163 unconfirmed");
  });

  test("of an unknown price is unknown, and has no bound in money", () => {
    const reported = { inputTokens: 100, outputTokens: 1 };
    const call = { ...broken, price: null, reserved: { tokens: 900 }, reported, streamedTokens: 4 };
    const settled = settleBroken(call);
    assert.deepEqual([settled.costNanoUsd, settled.unconfirmed], [null, { tokens: 796 }]);
    const fail = { do: "fail", model, error: "dropped", retryable: true, ...settled } as const;
    const body = { ...samples["model.requested"].body, inputs: [], reserved: { tokens: 900 } };
    const { state } = given().and("turn.started", { inputs: [] }).and("model.requested", body).when(fail);
    assert.deepEqual([state.standing.used.tokens, state.standing.used.nanoUsd], [900, 0]);
    assert.equal(spendText(spendOf(state)), "unknown");
  });
});

describe("a reservation", () => {
  test("is an upper bound while the call is open, and after a crash", () => {
    const open = asked(budgeted());
    assert.equal(spendText(spendOf(open.state)), "$0.00 + up to $0.164 unconfirmed");
    const lost = open.when({ do: "fail", model, error: "crashed", retryable: true, costNanoUsd: null });
    assert.deepEqual(spendOf(lost.state), spendOf(open.state));
    assert.equal(lost.state.standing.used.nanoUsd, reserved.nanoUsd);
  });

  test("is returned when the runner of an abandoned call reports the cost", () => {
    const open = asked(budgeted());
    const requestSeq = open.state.seq;
    const over = open.when({ do: "cancel" });
    assert.equal(spendOf(over.state).unconfirmedNanoUsd, reserved.nanoUsd);
    const usage = { inputTokens: 100, outputTokens: 40 };
    const late = { do: "fail", model, error: "interrupted", retryable: false, requestSeq } as const;
    const settled = over.when({ ...late, usage, costNanoUsd: 600_000 });
    const { calls, nanoUsd, unconfirmedNanoUsd, inputTokens } = spendOf(settled.state);
    assert.deepEqual([calls, nanoUsd, unconfirmedNanoUsd, inputTokens], [1, 600_000, 0, 100]);
    assert.equal(settled.state.standing.used.nanoUsd, 600_000);
    assert.match(settled.refusal({ ...late, usage, costNanoUsd: 1 }).message, /no model call is in flight/);
  });

  test("of a 0.4 record counts as before, and is marked unconfirmed", () => {
    const body = { model, error: "interrupted", retryable: false, costNanoUsd: null };
    const { state } = asked(budgeted()).and("model.failed", body);
    assert.deepEqual(
      [state.standing.used.nanoUsd, state.standing.used.tokens],
      [reserved.nanoUsd, reserved.tokens],
    );
    assert.equal(spendOf(state).unconfirmedNanoUsd, reserved.nanoUsd);
  });
});

test("money keeps the digits it needs, and an unknown price is never zero", () => {
  assert.deepEqual([0, 15_000_000, 170_000_000, 1_234_000_000, 1].map(moneyText), [
    "$0.00",
    "$0.015",
    "$0.17",
    "$1.23",
    "$0.000000001",
  ]);
  const some = { nanoUsd: 15_000_000, unpriced: 0, unconfirmedNanoUsd: 170_000_000 };
  assert.equal(spendText(some), "$0.015 + up to $0.17 unconfirmed");
  assert.equal(spendText({ ...some, unconfirmedNanoUsd: 0, unpriced: 2 }), "$0.015 and 2 calls unknown");
  assert.equal(spendText({ nanoUsd: 0, unpriced: 1, unconfirmedNanoUsd: 0 }), "unknown");
});

describe("what a record adds", () => {
  const usage = { inputTokens: 7, outputTokens: 3 };
  const nothing = {
    calls: 0,
    inputTokens: 0,
    outputTokens: 0,
    nanoUsd: 0,
    unpriced: 0,
    estimated: 0,
    unconfirmedTokens: 0,
    unconfirmedNanoUsd: 0,
  };
  const called = { ...nothing, calls: 1, ...usage };

  test("an answer, a compaction or a handoff adds its usage, and nothing without a model", () => {
    for (const type of ["model.responded", "transcript.compacted", "handoff.written"] as const) {
      const priced = settledSpend(type, { usage, costNanoUsd: 50 }, { tokens: 900, nanoUsd: 900 });
      assert.deepEqual(priced, { ...called, nanoUsd: 50 });
      assert.deepEqual(settledSpend(type, { usage, costNanoUsd: null }, null), { ...called, unpriced: 1 });
      assert.deepEqual(settledSpend(type, { usage }, null), { ...called, unpriced: 1 });
      assert.equal(settledSpend(type, {}, { tokens: 900, nanoUsd: 900 }), null);
    }
  });

  test("an open call adds its reservation; without one for money its price is unknown", () => {
    assert.deepEqual(openSpend({ tokens: 5, nanoUsd: 9 }), {
      ...nothing,
      calls: 1,
      unconfirmedTokens: 5,
      unconfirmedNanoUsd: 9,
    });
    assert.deepEqual(openSpend({ tokens: 5 }), { ...nothing, calls: 1, unpriced: 1, unconfirmedTokens: 5 });
    assert.deepEqual(openSpend({}), { ...nothing, calls: 1, unpriced: 1 });
  });

  test("a failure adds the known cost and its upper bound", () => {
    const failed = (body: Parameters<typeof settledSpend>[1], held: { tokens: number } | null = null) =>
      settledSpend("model.failed", body, held);
    assert.deepEqual(failed({ usage, costNanoUsd: 50 }), { ...called, nanoUsd: 50 });
    assert.deepEqual(failed({}, { tokens: 5 }), openSpend({ tokens: 5 }));
    assert.deepEqual(failed({}), openSpend({}));
    assert.deepEqual(failed({ usage, unconfirmed: { tokens: 4 } }), {
      ...called,
      unpriced: 1,
      unconfirmedTokens: 4,
    });
    assert.deepEqual(failed({ usage, unconfirmed: { tokens: 4, nanoUsd: 6 } }), {
      ...called,
      unconfirmedTokens: 4,
      unconfirmedNanoUsd: 6,
    });
  });

  test("a correction takes the reservation back, and counts no call again", () => {
    const released = { tokens: 5, nanoUsd: 7 };
    const corrected = settledSpend("model.failed", { usage, released, unconfirmed: { tokens: 2 } }, null);
    assert.deepEqual(corrected, {
      ...called,
      calls: 0,
      unconfirmedTokens: -3,
      unconfirmedNanoUsd: -7,
    });
  });
});

describe("hidden output of a call that broke off", () => {
  const reported = { inputTokens: 100, outputTokens: 1 };
  const call = { price, reserved, inputTokens: 100, reported, streamedTokens: 40, hidden: true, silentMs: 0 };

  test("is bounded by the reservation, and never below zero", () => {
    for (const held of [{}, { tokens: 100 }, { tokens: 140 }])
      assert.deepEqual(settleBroken({ ...call, reserved: held }).unconfirmed, { tokens: 0, nanoUsd: 0 });
    assert.equal(settleBroken({ ...call, reserved: { tokens: 141 } }).unconfirmed.tokens, 1);
  });

  test("of an unknown price has a bound for tokens alone", () => {
    assert.deepEqual(settleBroken({ ...call, price: null, reserved: { tokens: 150 } }).unconfirmed, {
      tokens: 10,
    });
  });

  test("is nothing without a reservation, however little was used", () => {
    const little = { ...call, reserved: {}, inputTokens: 0, reported: null, streamedTokens: 0 };
    assert.equal(settleBroken(little).unconfirmed.tokens, 0);
  });

  test("is in sight but for a moment, and for what the tokenizer counts wrong, to the token", () => {
    const seen = { ...call, hidden: false, reported: null, reserved: { tokens: 10_000_000 } };
    const momentTokens = (limit.interruptNoticedMs * limit.outputTokensPerSecondMax) / 1_000;
    for (const streamedTokens of [10_000, 10_001, 10_009])
      assert.equal(
        settleBroken({ ...seen, streamedTokens }).unconfirmed.tokens,
        Math.ceil(momentTokens + (streamedTokens * limit.countErrorPercentMax) / 100),
      );
  });
});
