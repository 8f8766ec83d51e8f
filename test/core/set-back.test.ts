/** A session whose log was set back: it stands still, whatever it did, and only a person lets it go on. */
import type { Command } from "../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../../src/core/decide.ts";
import { dueOf, waitsFor } from "../../src/core/trigger/schedule.ts";
import { facts, given, type Given } from "./given.ts";

const tail = { fromSeq: 6, toSeq: 9 };
const suspend: Command = { do: "suspend", by: "error", reason: "lost", tail };

const typesOf = (before: Given, command: Command): readonly string[] | string => {
  const decision = decide(before.state, command, facts);
  return decision.ok ? decision.drafts.map(({ type }) => type) : decision.refusal.code;
};

test("it is suspended out of every status in which it lives, also for another reason than before", () => {
  const statuses: Readonly<Record<string, Given>> = {
    open: given(),
    running: given().and("turn.started", { inputs: [] }),
    sleeping: given().and("session.slept", { untilMs: 5 }),
    suspended: given().and("session.suspended", { by: "budget" }),
  };
  for (const [status, before] of Object.entries(statuses)) {
    assert.deepEqual(typesOf(before, suspend), ["session.suspended"], status);
    const { standing } = before.and("session.suspended", { by: "error", tail }).state;
    assert.deepEqual([standing.status, standing.why?.by], ["suspended", "set-back"], status);
  }
  assert.equal(typesOf(given().and("session.closed", { outcome: "completed" }), suspend), "refused");
});

test("nothing is due for it; only activating it resumes it, not an interrupt or a budget", () => {
  const before = given().and("turn.started", { inputs: [] }).and("session.suspended", { by: "error", tail });
  assert.deepEqual([dueOf(before.state), waitsFor(before.state)], [null, "rollback"]);
  for (const command of [
    { do: "interrupt", idle: true },
    { do: "budget", limits: { steps: 5 } },
  ] as const) {
    const types = typesOf(before, command);
    assert.ok(Array.isArray(types) && !types.includes("session.activated"), command.do);
  }
  assert.equal(typesOf(before, { do: "answer", allow: true }), "refused");
  assert.deepEqual(typesOf(before, { do: "activate" }), ["session.activated"]);
});
