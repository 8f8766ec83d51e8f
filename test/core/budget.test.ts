/** Budgets: what is left, what goes back to the payer, what a successor gets, and which limit is short. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  budgetLeft,
  budgetReason,
  budgetShort,
  handOverBudget,
  leftToReturn,
  workMs,
} from "../../src/core/budget/budget.ts";
import { emptyState, type Amounts, type State } from "../../src/core/state.ts";

interface Life {
  readonly limits?: Amounts;
  readonly used?: Amounts;
  readonly allotted?: Amounts;
  readonly reserved?: Amounts;
  /** What another session has given. */
  readonly paid?: Amounts;
  readonly workedTo?: number;
}

function stateOf({ limits = {}, used, allotted, reserved, paid, workedTo }: Life): State {
  const { standing } = emptyState;
  return {
    ...emptyState,
    standing: {
      ...standing,
      limits,
      used: { ...standing.used, ...used },
      allotted: { ...standing.allotted, ...allotted },
      reserved: reserved === undefined ? null : { seq: 1, amounts: reserved },
      payer: paid === undefined ? null : { session: "ses_payer", amounts: paid },
      workedTo: workedTo ?? null,
    },
  } as State;
}

describe("what is left", () => {
  test("is the limit without what was used, given to children and reserved, and never below zero", () => {
    const life = { limits: { tokens: 100, steps: 3 }, used: { tokens: 40 }, allotted: { tokens: 25 } };
    assert.deepEqual(budgetLeft(stateOf(life)), { tokens: 35, steps: 3 });
    assert.deepEqual(budgetLeft(stateOf({ ...life, reserved: { tokens: 30 } })), { tokens: 5, steps: 3 });
    assert.deepEqual(budgetLeft(stateOf({ ...life, used: { tokens: 90 } })), { tokens: 0, steps: 3 });
    assert.deepEqual(budgetLeft(stateOf({ used: { tokens: 90 } })), {});
  });

  test("time at work that is not counted yet is the time since, and never negative", () => {
    assert.equal(workMs(stateOf({}), 5_000), 0);
    assert.equal(workMs(stateOf({ workedTo: 4_000 }), 5_000), 1_000);
    assert.equal(workMs(stateOf({ workedTo: 6_000 }), 5_000), 0);
  });
});

describe("what goes back to the payer", () => {
  const back = (life: Life, nowMs = 0): Amounts | null => leftToReturn(stateOf(life), nowMs)?.amounts ?? null;

  test("the refund is the unused part of the given amounts", () => {
    const life = { limits: { tokens: 100, steps: 5 }, paid: { tokens: 100 }, used: { tokens: 30, steps: 1 } };
    assert.deepEqual(leftToReturn(stateOf(life), 0), { to: "ses_payer", amounts: { tokens: 70 } });
    assert.deepEqual(back({ ...life, allotted: { tokens: 20 }, reserved: { tokens: 9 } }), { tokens: 41 });
  });

  test("is nothing without a payer, or when all of it is used", () => {
    assert.equal(back({ limits: { tokens: 100 } }), null);
    assert.equal(back({ limits: { tokens: 100 }, paid: { tokens: 100 }, used: { tokens: 100 } }), null);
    assert.equal(back({ limits: { tokens: 100 }, paid: { tokens: 100 }, used: { tokens: 120 } }), null);
    assert.deepEqual(back({ limits: { tokens: 9 }, paid: { tokens: 9 }, used: { tokens: 8 } }), {
      tokens: 1,
    });
  });

  test("is at most what the limit now is, and at most what was given", () => {
    assert.deepEqual(back({ limits: { tokens: 60 }, paid: { tokens: 100 }, used: { tokens: 10 } }), {
      tokens: 50,
    });
    assert.deepEqual(back({ limits: { tokens: 500 }, paid: { tokens: 100 }, used: { tokens: 10 } }), {
      tokens: 90,
    });
    assert.deepEqual(back({ paid: { tokens: 100 }, used: { tokens: 10 } }), { tokens: 90 });
  });

  test("counts the time of the turn that is under way, for time alone", () => {
    const amounts = { wallMs: 10_000, tokens: 10_000 };
    assert.deepEqual(back({ limits: amounts, paid: amounts, workedTo: 1_000 }, 4_000), {
      wallMs: 7_000,
      tokens: 10_000,
    });
  });
});

describe("a budget that goes over to a successor", () => {
  test("is nothing without a limit", () => {
    assert.equal(handOverBudget(stateOf({ used: { tokens: 3 } }), 0), null);
  });

  test("is the rest; the predecessor keeps what it used", () => {
    const life = { limits: { tokens: 100 }, used: { tokens: 30 }, allotted: { tokens: 10 } };
    assert.deepEqual(handOverBudget(stateOf(life), 0), {
      limits: { tokens: 60 },
      got: {},
      kept: { tokens: 40 },
    });
    assert.deepEqual(handOverBudget(stateOf({ ...life, used: { tokens: 200 } }), 0), {
      limits: { tokens: 0 },
      got: {},
      kept: { tokens: 100 },
    });
  });

  test("money of another session is used up first", () => {
    const life = { limits: { tokens: 100 }, used: { tokens: 30 } };
    // All of it was given.
    assert.deepEqual(handOverBudget(stateOf({ ...life, paid: { tokens: 100 } }), 0), {
      limits: {},
      got: { tokens: 70 },
      kept: { tokens: 30 },
    });
    // 50 were given, of which 30 are used.
    assert.deepEqual(handOverBudget(stateOf({ ...life, paid: { tokens: 50 } }), 0), {
      limits: { tokens: 50 },
      got: { tokens: 20 },
      kept: { tokens: 30 },
    });
    // What was given is used up.
    assert.deepEqual(handOverBudget(stateOf({ ...life, paid: { tokens: 20 } }), 0), {
      limits: { tokens: 70 },
      got: { tokens: 0 },
      kept: { tokens: 30 },
    });
  });

  test("counts the time of the turn that is under way, for time alone", () => {
    const life = { limits: { wallMs: 10_000, steps: 5 }, used: { wallMs: 2_000 }, workedTo: 1_000 };
    assert.deepEqual(handOverBudget(stateOf(life), 4_000), {
      limits: { wallMs: 5_000, steps: 5 },
      got: {},
      kept: { wallMs: 5_000, steps: 0 },
    });
  });
});

describe("the limit that is short", () => {
  const life = { limits: { tokens: 100, steps: 3, wallMs: 1_000 }, used: { tokens: 90, wallMs: 400 } };
  const short = (wanted: Amounts, more: Life = {}) => budgetShort(stateOf({ ...life, ...more }), wanted);

  test("is none as long as the amounts fit, to the last one", () => {
    assert.equal(short({ tokens: 10, steps: 3, turns: 1_000 }), null);
    assert.equal(short({}), null);
    assert.equal(short({ steps: 1 }, { used: { tokens: 100 } }), null);
    assert.equal(short({ tokens: 0 }, { used: { tokens: 100 } }), null);
  });

  test("the reached limit is the first that is exceeded, with its use", () => {
    assert.deepEqual(short({ tokens: 11, steps: 4 }), { resource: "tokens", limit: 100, used: 90 });
    assert.deepEqual(short({ tokens: 10, steps: 4 }), { resource: "steps", limit: 3, used: 0 });
    assert.deepEqual(short({ tokens: 1 }, { reserved: { tokens: 10 } }), {
      resource: "tokens",
      limit: 100,
      used: 100,
    });
  });

  test("requested time counts as passed", () => {
    assert.deepEqual(short({ wallMs: 601 }), { resource: "wallMs", limit: 1_000, used: 1_001 });
  });

  test("is shown with its unit", () => {
    const told = (resource: Parameters<typeof budgetReason>[0], limit: number, used: number): string =>
      budgetReason(resource, limit, used);
    assert.equal(told("tokens", 100, 90), "token budget exhausted: 90 of 100");
    assert.equal(told("nanoUsd", 300_000_000, 9_999_999), "cost budget exhausted: $0.01 of $0.30");
    assert.equal(told("nanoUsd", 10_000_000, 1_500), "cost budget exhausted: $0.0000015 of $0.01");
    assert.equal(told("wallMs", 60_000, 61_900), "time budget exhausted: 61 s of 60 s");
    assert.equal(told("toolCalls", 3, 3), "tool call budget exhausted: 3 of 3");
  });
});
