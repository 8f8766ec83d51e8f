/** What is due when the zone of a context changes, over generated readings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  crossingAfter,
  dueZoneAction,
  isCrossing,
  zoneActions,
  type ZoneAction,
  type ZonePolicy,
} from "../../src/core/context/zone-policy.ts";
import type { Zone } from "../../src/core/context/zone.ts";

interface Standing {
  readonly zone: Zone;
  readonly zoneCauses: readonly string[];
  readonly zoneCrossing: ReturnType<typeof crossingAfter>;
}
const fresh: Standing = { zone: "smart", zoneCauses: [], zoneCrossing: null };
const policy: ZonePolicy = {
  strained: { actions: ["tell-model", "compress", "tell-person"] },
  full: { actions: ["suspend"] },
};

function cross(standing: Standing, zone: Zone, causes: readonly string[], seq: number): Standing {
  if (!isCrossing(standing, { zone, causes })) return standing;
  return { zone, zoneCauses: causes, zoneCrossing: crossingAfter(standing, { zone, causes }, seq) };
}

function actAll(standing: Standing, by: ZonePolicy = policy): [Standing, ZoneAction[]] {
  const done: ZoneAction[] = [];
  for (let now = standing; ;) {
    const action = dueZoneAction(now, by);
    if (action === null || now.zoneCrossing === null) return [now, done];
    done.push(action);
    now = { ...now, zoneCrossing: { ...now.zoneCrossing, done: [...now.zoneCrossing.done, action] } };
  }
}

test("a new cause in the same zone is a crossing and notifies again; nothing else happens again", () => {
  const [first, done] = actAll(cross(fresh, "strained", ["tokens"], 5));
  assert.deepEqual(done, ["tell-model", "compress", "tell-person"]);
  const more = cross(first, "strained", ["tokens", "repeated-failure"], 9);
  assert.deepEqual([more.zoneCauses, more.zoneCrossing?.seq], [["tokens", "repeated-failure"], 9]);
  const [told, again] = actAll(more);
  assert.deepEqual(again, ["tell-model", "tell-person"]);
  const less = cross(told, "strained", ["tokens"], 12);
  assert.deepEqual([less.zoneCauses, actAll(less)[1]], [["tokens"], []]);
  const [full, worse] = actAll(cross(less, "full", ["share", "tokens"], 15));
  assert.deepEqual(worse, ["suspend"]);
  assert.deepEqual(actAll(cross(full, "strained", ["tokens"], 20))[1], []);
  assert.equal(cross(full, "smart", [], 20).zoneCrossing, null);
});

test("the same causes in another order are not a crossing", () => {
  const standing = cross(fresh, "strained", ["tokens", "turns"], 5);
  assert.equal(isCrossing(standing, { zone: "strained", causes: ["turns", "tokens"] }), false);
});

test("in any run each action is done at most once per worse zone, tells once more per added cause", () => {
  const zone = fc.constantFrom<Zone>("smart", "strained", "full");
  const causes = fc.uniqueArray(fc.constantFrom("tokens", "turns", "drift", "reread"), { minLength: 1 });
  const then = fc.uniqueArray(fc.constantFrom(...zoneActions));
  const readings = fc.array(fc.tuple(zone, causes), { maxLength: 30 });
  fc.assert(
    fc.property(readings, then, then, (given, strained, full) => {
      const by: ZonePolicy = { strained: { actions: strained }, full: { actions: full } };
      const ranks = { smart: 0, strained: 1, full: 2 };
      let now = fresh;
      for (const [place, [next, found]] of given.entries()) {
        const before = now;
        const why = next === "smart" ? [] : found;
        const [after, done] = actAll(cross(now, next, why, place + 1), by);
        const worse = ranks[next] > ranks[before.zone];
        const hasMore = next === before.zone && why.some((one) => !before.zoneCauses.includes(one));
        const wanted = next === "smart" ? [] : by[next].actions;
        const expected = worse
          ? wanted
          : hasMore
            ? wanted.filter((action) => action === "tell-person" || action === "tell-model")
            : [];
        assert.deepEqual(done, expected);
        assert.equal(dueZoneAction(after, by), null);
        now = after;
      }
    }),
  );
});
