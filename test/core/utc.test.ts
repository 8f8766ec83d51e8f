/** Moments as text: the same as `Date` gives, without naming it in core. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { roughly, utcText } from "../../src/core/text/utc.ts";

/** 0001-01-01 and 9999-12-31: within them a year has four digits. */
const first = -62_135_596_800_000;
const last = 253_402_300_799_999;

test("a moment is the text that toISOString gives", () => {
  fc.assert(
    fc.property(fc.integer({ min: first, max: last }), (ms) => {
      assert.equal(utcText(ms), new Date(ms).toISOString());
    }),
  );
  for (const iso of ["1970-01-01", "2000-02-29", "1900-02-28", "1900-03-01", "2024-12-31", "1969-12-31"])
    assert.equal(utcText(Date.parse(iso)), new Date(iso).toISOString());
  assert.deepEqual(
    [utcText(first), utcText(last)].map((text) => text.length),
    [24, 24],
  );
});

test("a number that is not a valid time stays a number", () => {
  assert.deepEqual([first - 1, last + 1, 0.5, NaN].map(utcText), [
    String(first - 1),
    String(last + 1),
    "0.5",
    "NaN",
  ]);
});

test("a span is its largest unit, and two days begin to be days", () => {
  const spans = [0, 59_999, 60_000, 3_599_999, 3_600_000, 172_799_999, 172_800_000];
  assert.deepEqual(spans.map(roughly), ["0 s", "59 s", "1 m", "59 m", "1 h", "47 h", "2 d"]);
});
