/** Zones by share, tokens, turns and age, at the edge of each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  zoneDefaults,
  zoneHint,
  readZone,
  zoneReasons,
  zoneTokens,
  type ZoneMeasure,
} from "../../src/core/context/zone.ts";

const zoneOf = (...given: Parameters<typeof readZone>) => readZone(...given).zone;
const fresh: ZoneMeasure = { tokens: 0, windowTokens: 100_000, turns: 0, ageMs: 0 };
const rank = { smart: 0, strained: 1, full: 2 } as const;

test("the zone follows the share of the window, and each begins exactly at its threshold", () => {
  const at = (tokens: number) => zoneOf({ ...fresh, tokens });
  assert.deepEqual([0, 59_999, 60_000, 84_999, 85_000, 200_000].map(at), [
    "smart",
    "smart",
    "strained",
    "strained",
    "full",
    "full",
  ]);
});

test("tokens, turns and age strain a context by themselves, and never fill it", () => {
  const { tokens, turns, ageMs } = zoneDefaults.strained;
  const wide = { ...fresh, windowTokens: 10_000_000 };
  assert.deepEqual(
    [
      zoneOf({ ...wide, tokens }),
      zoneOf({ ...wide, tokens: tokens - 1 }),
      zoneOf({ ...wide, turns }),
      zoneOf({ ...wide, turns: turns - 1 }),
      zoneOf({ ...wide, ageMs }),
      zoneOf({ ...wide, ageMs: ageMs - 1 }),
      zoneOf({ ...wide, turns: turns * 100, ageMs: ageMs * 100 }),
    ],
    ["strained", "smart", "strained", "smart", "strained", "smart", "strained"],
  );
});

test("an agent's own thresholds hold in place of the defaults, and null takes one away", () => {
  const thresholds = { strained: { share: null, turns: 3 }, full: { tokens: 50 } };
  assert.equal(zoneOf({ ...fresh, tokens: 49, turns: 2 }, thresholds), "smart");
  assert.equal(zoneOf({ ...fresh, tokens: 49, turns: 3 }, thresholds), "strained");
  assert.equal(zoneOf({ ...fresh, tokens: 50, turns: 0 }, thresholds), "full");
});

test("a window of nothing is full", () => {
  assert.equal(zoneOf({ ...fresh, windowTokens: 0 }), "full");
});

test("the hint names the cause and a command", () => {
  const measure = { tokens: 250_000, windowTokens: 400_000, turns: 1_200, ageMs: 15 * 86_400_000 };
  const why = zoneReasons({ ...readZone(measure) });
  assert.equal(
    zoneHint("strained", why),
    "The context is strained (63% of the window is used, it has 250,000 tokens, it is 1,200 turns long, " +
      "it is 15 days old): answers may get worse. Compress it, hand off to a new session, fork from an " +
      "earlier point, or clear.",
  );
  // Turns alone: the share of the window is not the reason, and is not named.
  const long = readZone({ ...fresh, tokens: 10, turns: 200 });
  assert.deepEqual([long.zone, long.by], ["strained", ["turns"]]);
  assert.deepEqual(zoneReasons({ ...long }), ["it is 200 turns long"]);
  // A record of 0.4 names no cause, and one of a later version may name another.
  assert.deepEqual(zoneReasons({ zone: "full", tokens: 90, windowTokens: 100 }), []);
  assert.deepEqual(zoneReasons({ ...long, by: ["moon", "turns"] }), ["it is 200 turns long"]);
  assert.match(zoneHint("full", []), /^The context is full: .*Compress it now, hand off .* fork .* clear\.$/);
  assert.equal(zoneHint("smart", why), "");
  assert.match(
    zoneHint("full", [], "skein open --from 4x8kz1"),
    /new session \(skein open --from 4x8kz1\), fork/,
  );
});

test("more of anything never gives an emptier zone", () => {
  const measure = fc.record({
    tokens: fc.nat(1_000_000),
    windowTokens: fc.integer({ min: 1, max: 1_000_000 }),
    turns: fc.nat(500),
    ageMs: fc.nat(30 * 86_400_000),
  });
  fc.assert(
    fc.property(measure, fc.nat(100_000), (given, more) => {
      const zone = rank[zoneOf(given)];
      for (const field of ["tokens", "turns", "ageMs"] as const) {
        assert.ok(rank[zoneOf({ ...given, [field]: given[field] + more })] >= zone);
      }
    }),
  );
});

test("where zones begin in tokens is where they begin", () => {
  assert.deepEqual(zoneTokens(100_000, zoneDefaults), { strainedTokens: 60_000, fullTokens: 85_000 });
  assert.deepEqual(zoneTokens(1_000_000, zoneDefaults), { strainedTokens: 100_000, fullTokens: 850_000 });
  assert.deepEqual(zoneTokens(null, zoneDefaults), { strainedTokens: 100_000, fullTokens: null });
  const never = { strained: { share: null, tokens: null, turns: 3 }, full: {} };
  assert.deepEqual(zoneTokens(100_000, never), { strainedTokens: null, fullTokens: null });
  const share = fc.option(fc.double({ min: 0.01, max: 1, noNaN: true }));
  const threshold = fc.record({ share, tokens: fc.option(fc.integer({ min: 1, max: 2_000_000 })) });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000_000 }),
      fc.record({ strained: threshold, full: threshold }),
      (windowTokens, thresholds) => {
        const at = (tokens: number) => zoneOf({ ...fresh, windowTokens, tokens }, thresholds);
        const { strainedTokens, fullTokens } = zoneTokens(windowTokens, thresholds);
        if (fullTokens !== null)
          assert.deepEqual([at(fullTokens), at(fullTokens - 1) === "full"], ["full", false]);
        if (strainedTokens !== null) assert.notEqual(at(strainedTokens), "smart");
        if (strainedTokens !== null) assert.notEqual(at(strainedTokens - 1), "strained");
      },
    ),
  );
});
