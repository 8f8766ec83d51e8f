/** What models have cost: from rows to bars and sums. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { moneyText, noSpend } from "../../src/core/budget/money.ts";
import {
  chosenOf,
  dayRows,
  daysUpTo,
  groupingOf,
  labelOf,
  measured,
  seriesOf,
  spans,
  stacked,
  summed,
  ticksFor,
  type DayRow,
} from "../../src/console/view/cost/sums.ts";

const days = ["2026-11-01", "2026-11-02", "2026-11-03"];
const row = (day: string, group: string | null, nanoUsd: number, unpriced = 0): DayRow => ({
  ...noSpend,
  day,
  group,
  calls: 1,
  nanoUsd,
  unpriced,
  inputTokens: 10,
  outputTokens: 1,
});

test("days are those of UTC, up to today", () => {
  assert.deepEqual(daysUpTo(Date.UTC(2026, 10, 3, 23, 59), 3), days);
  assert.equal(daysUpTo(0, 90).length, 90);
});

test("rows of engine.cost keep unconfirmed and unknown amounts; by day they are one group", () => {
  const spend = { ...noSpend, calls: 2, unpriced: 1, unconfirmedNanoUsd: 170 };
  const daily = { ...spend, group: null, day: "2026-11-01" };
  assert.deepEqual(dayRows([daily], "user"), [daily]);
  assert.deepEqual(dayRows([{ ...spend, group: "2026-11-01" }], "day"), [
    { ...spend, day: "2026-11-01", group: "All" },
  ]);
});

test("the address names a grouping or a label, and agents otherwise", () => {
  assert.deepEqual(["day", "label:team", "label:", "x", null].map(groupingOf), [
    "day",
    "label:team",
    "agent",
    "agent",
    "agent",
  ]);
  assert.equal(labelOf("label:a:b"), "a:b");
  assert.equal(labelOf("user"), null);
});

test("the most expensive come first, and the rest is one series", () => {
  const rows = [
    row("2026-11-01", "a", 1),
    row("2026-11-02", "a", 2),
    row("2026-11-01", "b", 9),
    row("2026-11-03", "c", 1, 1),
    row("2026-11-03", null, 2),
    row("2026-10-01", "long ago", 99),
  ];
  const series = seriesOf(rows, days, { measure: "cost", most: 3 });
  assert.deepEqual(
    series.map(({ group, others, sum, days: each }) => [
      group,
      others,
      sum.nanoUsd,
      each.map((day) => day.nanoUsd),
    ]),
    [
      ["b", 0, 9, [9, 0, 0]],
      ["a", 0, 3, [1, 2, 0]],
      [null, 2, 3, [0, 0, 3]],
    ],
  );
  assert.equal(series[2]?.sum.unpriced, 1);
  assert.deepEqual(seriesOf([], days, { measure: "cost", most: 3 }), []);
});

const someRows = fc.array(
  fc.record({
    day: fc.constantFrom(...days),
    group: fc.constantFrom("a", "b", "c", "d", "e", null),
    calls: fc.nat(5),
    nanoUsd: fc.nat(1e9),
    unpriced: fc.nat(5),
    estimated: fc.nat(5),
    inputTokens: fc.nat(1e6),
    outputTokens: fc.nat(1e6),
    unconfirmedTokens: fc.nat(1e6),
    unconfirmedNanoUsd: fc.nat(1e9),
  }),
);

test("bars stand on one another without gaps, and their tops are the sums of the days", () => {
  fc.assert(
    fc.property(someRows, fc.constantFrom("cost" as const, "tokens" as const), (rows, measure) => {
      const series = seriesOf(rows, days, { measure, most: 3 });
      assert.ok(series.length <= 3);
      const bars = stacked(series, measure);
      for (const [place, day] of days.entries()) {
        let top = 0;
        for (const bar of bars) {
          assert.equal(bar[place]?.from, top);
          top = bar[place]?.to ?? -1;
        }
        assert.equal(top, measured(summed(rows.filter((one) => one.day === day)), measure));
      }
    }),
  );
});

test("ticks are round, begin at nothing, reach over the largest, and are few", () => {
  assert.deepEqual(ticksFor(0), [0, 1]);
  assert.deepEqual(ticksFor(100), [0, 50, 100]);
  assert.deepEqual(ticksFor(1_300), [0, 500, 1_000, 1_500]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e15 }), (largest) => {
      const ticks = ticksFor(largest);
      assert.equal(ticks[0], 0);
      assert.ok((ticks.at(-1) ?? 0) >= largest * (1 - 1e-9));
      // Nothing lies between 0 and 1.
      assert.ok(
        ticks.length >= (largest === 1 ? 2 : 3) && ticks.length <= 6,
        `${ticks.length} for ${largest}`,
      );
    }),
  );
});

test("invalid parameters of the URL are ignored", () => {
  assert.deepEqual(
    [chosenOf(spans, "90", 30), chosenOf(spans, "31", 30), chosenOf(spans, null, 30)],
    [90, 30, 30],
  );
});

test("no two ticks of the axis read the same, however small the amounts", () => {
  for (const largest of [1, 2, 9, 12_000, 15_000_000, 16_500_000, 21_000_000, 170_000_000, 1.2e9, 4.4e11]) {
    const shown = ticksFor(largest).map((tick) => moneyText(tick));
    assert.deepEqual([...new Set(shown)], shown, `${largest}`);
  }
});
