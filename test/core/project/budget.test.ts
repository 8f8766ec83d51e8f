/** The budget of a project: whatever its sessions draw, use and give back, together they never use more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  allottedOf,
  drawFor,
  drawMore,
  isOverDrawn,
  nothing,
  plusSpendable,
  projectLeft,
  reachOf,
  releaseDraw,
  shortOf,
  toRegain,
  type Holder,
  type ProjectBudget,
} from "../../../src/core/project/budget.ts";
import type { Spendable } from "../../../src/core/state.ts";

const unused = { tokens: 0, nanoUsd: 0, steps: 0, turns: 0, toolCalls: 0, wallMs: 0 };
const fresh: Holder = { used: unused, reserved: null, drawn: null };

const budgetOf = (limits: ProjectBudget["limits"], given: ProjectBudget["given"] = new Map()) => ({
  limits,
  spent: nothing,
  given,
});

test("a draw is for some calls ahead, at most an eighth of what is left, and at least what is needed", () => {
  const wanted = { tokens: 10, nanoUsd: 100 };
  assert.deepEqual(drawFor({ nanoUsd: 100_000 }, fresh, wanted), { tokens: 40, nanoUsd: 400 });
  assert.deepEqual(drawFor({ nanoUsd: 1_000 }, fresh, wanted), { tokens: 40, nanoUsd: 125 });
  assert.deepEqual(drawFor({ nanoUsd: 100 }, fresh, wanted), { tokens: 40, nanoUsd: 100 });
  const drawn = { ...fresh, drawn: drawMore(fresh, { tokens: 40, nanoUsd: 400 }) };
  assert.equal(drawFor({ nanoUsd: 100_000 }, drawn, wanted), null, "enough is drawn");
});

test("what is short is said with both figures; a model without a price is refused under a limit", () => {
  const budget = budgetOf(
    { nanoUsd: 2_000_000_000 },
    new Map([["a", { tokens: 0, nanoUsd: 1_999_999_000 }]]),
  );
  const reach = reachOf(projectLeft(budget), fresh);
  assert.deepEqual(reach, { nanoUsd: 1_000 });
  assert.match(
    shortOf(budget, reach, { nanoUsd: 1_001 }) ?? "",
    /cost budget of the project .*\$2\.00 of \$2\.00/,
  );
  assert.equal(shortOf(budget, reach, { nanoUsd: 1_000 }), null);
  assert.match(shortOf(budget, reach, { tokens: 5 }) ?? "", /price of the model is unknown/);
  assert.equal(shortOf(budgetOf({ tokens: 5 }), { tokens: 5 }, { tokens: 5 }), null);
});

/** A project and its sessions, each as its own log makes it. */
class Model {
  budget: ProjectBudget;
  readonly sessions = new Map<string, Holder>();

  constructor(nanoUsd: number) {
    this.budget = budgetOf({ nanoUsd });
  }

  #give(session: string, amounts: Spendable, sign: 1 | -1): void {
    const given = new Map(this.budget.given);
    given.set(session, plusSpendable(given.get(session) ?? nothing, amounts, sign));
    this.budget = { ...this.budget, given };
  }

  /** A call of a session; false if the project has not enough. */
  request(session: string, nanoUsd: number): boolean {
    const holder = this.sessions.get(session) ?? fresh;
    if (holder.reserved !== null) return true;
    for (const [other, amounts] of this.budget.given) {
      const back = toRegain(amounts, this.sessions.get(other) ?? fresh);
      if (back !== null) this.#give(other, back, -1);
    }
    const left = projectLeft(this.budget);
    const wanted = { tokens: 1, nanoUsd };
    if (shortOf(this.budget, reachOf(left, holder), wanted) !== null) return false;
    const draw = drawFor(left, holder, wanted);
    const drawn = draw === null ? holder.drawn : drawMore(holder, draw);
    if (draw !== null) this.#give(session, draw, 1);
    assert.equal(isOverDrawn({ ...holder, drawn }, wanted), false, "what was drawn covers the call");
    this.sessions.set(session, {
      ...holder,
      drawn,
      reserved: { seq: 1, model: "m", amounts: wanted },
    });
    return true;
  }

  settle(session: string, part: number): void {
    const holder = this.sessions.get(session);
    if (holder?.reserved === undefined || holder.reserved === null) return;
    const nanoUsd = Math.floor((holder.reserved.amounts.nanoUsd ?? 0) * part);
    const used = { ...holder.used, tokens: holder.used.tokens + 1, nanoUsd: holder.used.nanoUsd + nanoUsd };
    this.sessions.set(session, { ...holder, used, reserved: null });
  }

  end(session: string): void {
    const holder = this.sessions.get(session);
    if (holder !== undefined) this.sessions.set(session, releaseDraw(holder));
  }

  get used(): number {
    return [...this.sessions.values()].reduce((sum, { used }) => sum + used.nanoUsd, 0);
  }
}

test("no order of calls, ends and turns of several sessions uses more than the budget", () => {
  const step = fc.tuple(
    fc.constantFrom("request", "settle", "end"),
    fc.constantFrom("a", "b", "c"),
    fc.nat(400),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 0, max: 2_000 }), (steps, most) => {
      const model = new Model(most);
      let isRefused = false;
      for (const [what, session, amount] of steps) {
        if (what === "request") isRefused = !model.request(session, amount + 1) || isRefused;
        else if (what === "settle") model.settle(session, (amount % 101) / 100);
        else model.end(session);
        const open = [...model.sessions.values()].reduce(
          (sum, one) => sum + (one.reserved?.amounts.nanoUsd ?? 0),
          0,
        );
        assert.ok(model.used + open <= most, `${model.used} used and ${open} open of ${most}`);
        assert.ok(allottedOf(model.budget).nanoUsd <= most);
        assert.ok(model.used + open <= allottedOf(model.budget).nanoUsd, "all that is used was given");
      }
      for (const session of model.sessions.keys()) {
        model.settle(session, 1);
        model.end(session);
      }
      // Nothing is lost: what was not used may be used by anybody.
      const rest = most - model.used;
      if (rest > 0) assert.ok(model.request("last", rest));
      if (!isRefused) assert.ok(model.used <= most);
    }),
  );
});
