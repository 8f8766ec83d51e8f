/** What of a log is shown, and where somebody goes who types a position or a time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chosenOf,
  filterOf,
  holds,
  isAll,
  othersOf,
  placeOf,
  seqOf,
  typeOf,
  withFamily,
  withType,
} from "../../src/console/view/log/filter.ts";

const params = (query: string): URLSearchParams => new URLSearchParams(query);

test("the URL names the shown types and the text filter", () => {
  const filter = filterOf(params("types=turn.started,tool.settled,turn.started,<b>&q=rate"));
  assert.deepEqual(filter, { types: ["turn.started", "tool.settled"], text: "rate" });
  assert.ok(isAll(filterOf(params(""))));
  assert.equal(filterOf(params(`q=${"a".repeat(900)}`)).text.length, 200);
});

test("an address without a sound position has none", () => {
  assert.deepEqual(
    ["seq=7", "seq=0", "seq=-1", "seq=x", ""].map((query) => seqOf(params(query))),
    [7, null, null, null, null],
  );
});

test("a position, a time of today, a moment, and how long ago are places", () => {
  const now = new Date(2026, 10, 15, 21, 0, 0).getTime();
  assert.deepEqual(placeOf("57", now), { seq: 57 });
  assert.deepEqual(placeOf("100,000", now), { seq: 100_000 });
  assert.deepEqual(placeOf("14:02", now), { time: new Date(2026, 10, 15, 14, 2).getTime() });
  assert.deepEqual(placeOf("2026-11-03T14:02:00Z", now), { time: Date.UTC(2026, 10, 3, 14, 2) });
  assert.deepEqual(placeOf("3 h", now), { time: now - 3 * 3_600_000 });
  // As the rows of the log have it.
  assert.deepEqual(placeOf("Nov 3, 14:02:07", now), { time: new Date(2026, 10, 3, 14, 2, 7).getTime() });
  for (const none of ["nowhere", "", "0", "-4", "12.5", "1e9", "99:99", "now", "2026-13-45"])
    assert.equal(placeOf(none, now), null, none);
});

test("a text is found in the summary and in the content of an event", () => {
  const event = {
    type: "item.recorded",
    actor: "agent:payroll@1",
    body: { kind: "fact", key: "rate" },
    content: { value: { deep: "Inside" } },
    erased: false,
  };
  assert.deepEqual(
    ["RECORDED fact", "payroll", "inside", "nothing of it", ""].map((text) => holds(event, text)),
    [true, true, true, false, true],
  );
});

test("families are chosen as a whole, and taken away as a whole", () => {
  const chosen = withFamily(["turn.started"], "budget");
  assert.deepEqual(chosen, [
    "turn.started",
    "budget.set",
    "budget.allotted",
    "budget.drawn",
    "budget.reached",
  ]);
  assert.deepEqual(
    [chosenOf("budget", chosen), chosenOf("turn", chosen), chosenOf("tool", chosen)],
    ["all", "some", "none"],
  );
  assert.deepEqual(withFamily(chosen, "budget"), ["turn.started"]);
  assert.deepEqual(withType(withType([], "x.ci"), "x.ci"), []);
  assert.deepEqual(othersOf([...chosen, "x.ci"]), ["x.ci"]);
  assert.deepEqual([typeOf(" x.ci "), typeOf("<b>"), typeOf("")], ["x.ci", null, null]);
});
