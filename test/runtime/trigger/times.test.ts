/** Times: cron lines in their zones, over the days on which clocks are put forward and back; missed ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { limit } from "../../../src/core/limit.ts";
import { timesToFire } from "../../../src/runtime/trigger/fire.ts";
import {
  checkTime,
  momentIn,
  nextTime,
  timesBetween,
  type TimeSpec,
} from "../../../src/runtime/trigger/times.ts";

const ms = (text: string): number => Date.parse(text);
const cron = (line: string, zone?: string): TimeSpec => {
  return { kind: "cron", cron: line, ...(zone === undefined ? {} : { zone }) };
};

function times(spec: TimeSpec, after: string, count: number): string[] {
  const found: string[] = [];
  for (let at = nextTime(spec, ms(after)); at !== null && found.length < count; at = nextTime(spec, at))
    found.push(new Date(at).toISOString().replace(":00.000Z", "Z"));
  return found;
}

test("nine o'clock in Berlin is nine o'clock there, in summer and in winter", () => {
  assert.deepEqual(times(cron("0 9 1 * *", "Europe/Berlin"), "2026-02-15T00:00Z", 3), [
    "2026-03-01T08:00Z",
    "2026-04-01T07:00Z",
    "2026-05-01T07:00Z",
  ]);
  assert.deepEqual(times(cron("0 9 1 * *"), "2026-02-15T00:00Z", 1), ["2026-03-01T09:00Z"]);
});

test("a time that the spring leaves out comes once, as soon as there is a time again", () => {
  assert.deepEqual(times(cron("30 2 * * *", "Europe/Berlin"), "2026-03-27T12:00Z", 3), [
    "2026-03-28T01:30Z",
    "2026-03-29T01:00Z",
    "2026-03-30T00:30Z",
  ]);
  assert.deepEqual(times(cron("30 2 * * *", "America/New_York"), "2026-03-07T12:00Z", 2), [
    "2026-03-08T07:00Z",
    "2026-03-09T06:30Z",
  ]);
});

test("a time that the autumn has twice comes once, the first time", () => {
  assert.deepEqual(times(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00Z", 2), [
    "2026-10-25T00:30Z",
    "2026-10-26T01:30Z",
  ]);
  assert.deepEqual(times(cron("30 1 * * *", "America/New_York"), "2026-10-31T12:00Z", 2), [
    "2026-11-01T05:30Z",
    "2026-11-02T06:30Z",
  ]);
});

test("hourly expressions fire in every hour that exists", () => {
  const spring = times(cron("0 * * * *", "Europe/Berlin"), "2026-03-28T23:30Z", 4);
  assert.deepEqual(spring, [
    "2026-03-29T00:00Z",
    "2026-03-29T01:00Z",
    "2026-03-29T02:00Z",
    "2026-03-29T03:00Z",
  ]);
  const autumn = times(cron("*/30 * * * *", "Europe/Berlin"), "2026-10-24T23:45Z", 5);
  assert.deepEqual(autumn, [
    "2026-10-25T00:00Z",
    "2026-10-25T00:30Z",
    "2026-10-25T01:00Z",
    "2026-10-25T01:30Z",
    "2026-10-25T02:00Z",
  ]);
});

test("an impossible time is refused at once, with its position", () => {
  const now = ms("2026-11-15T00:00Z");
  const told = (spec: TimeSpec): unknown => {
    try {
      checkTime(spec, now, { where: 'trigger "t"', field: "spec" });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(
    told(cron("0 25 * * *")),
    'trigger "t": cron: invalid expression "0 25 * * *" (hour: 25 is out of range)',
  );
  const wrong = 'trigger "t": cron: invalid expression';
  assert.equal(told(cron("every day")), `${wrong} "every day" (it has 2 parts, not 5 or 6)`);
  assert.equal(told(cron("0 0 0 1 1 * 9")), `${wrong} "0 0 0 1 1 * 9" (it has 7 parts, not 5 or 6)`);
  assert.equal(told(cron("a b c d e")), `${wrong} "a b c d e"`);
  assert.equal(told(cron("0 0 31 2 *")), 'trigger "t": cron: "0 0 31 2 *" matches no future time');
  assert.equal(told(cron("0 9 * * *", "Europe/Bonn")), 'trigger "t": unknown time zone "Europe/Bonn"');
  assert.equal(
    told({ kind: "at", at: now }),
    'trigger "t": at: expected a future time, got 2026-11-15T00:00:00.000Z',
  );
  assert.equal(told({ kind: "at", at: 9e15 }), 'trigger "t": at: 9000000000000000 is out of range');
  assert.equal(told(cron("0 9 29 2 *", "Asia/Kolkata")), null);
});

test("the session gets the time in the requested zone", () => {
  assert.equal(
    momentIn(cron("0 9 1 * *", "Europe/Berlin"), ms("2026-12-01T08:00Z")),
    "2026-12-01T08:00:00.000Z (Tuesday, 1 December 2026 at 09:00 in Europe/Berlin)",
  );
  assert.equal(momentIn({ kind: "at", at: 0 }, 0), "1970-01-01T00:00:00.000Z");
});

test("years of seconds are not counted one by one", () => {
  const { count, last } = timesBetween(
    cron("* * * * * *"),
    ms("2020-01-01T00:00Z"),
    ms("2026-01-01T00:00:00.500Z"),
  );
  assert.deepEqual([count, last], [limit.missedMax * 10, ms("2026-01-01T00:00Z")]);
  const every = timesBetween({ kind: "every", everyMs: 1_000 }, 1_000, 100_000_000_500);
  assert.deepEqual(every, {
    count: 100_000_000,
    first: { at: (100_000_001 - limit.missedMax) * 1_000, count: 100_000_001 - limit.missedMax },
    last: 100_000_000_000,
  });
});

type Fired = { readonly at: number; readonly count: number } | { readonly passed: number };

/** What a worker does that looks at these moments, each time until nothing is due. */
function worked(
  spec: TimeSpec,
  missed: "once" | "all" | "skip",
  startMs: number,
  looks: readonly number[],
): Fired[] {
  const fired: Fired[] = [];
  let next = nextTime(spec, startMs);
  for (const now of looks) {
    while (next !== null && next <= now) {
      const { skip, at, count, nextMs } = timesToFire(spec, missed, next, now);
      fired.push(skip ? { passed: count } : { at, count });
      next = nextMs;
    }
  }
  return fired;
}

/** The same, from all times written out. */
function expected(
  spec: TimeSpec,
  missed: "once" | "all" | "skip",
  startMs: number,
  looks: readonly number[],
): Fired[] {
  const fired: Fired[] = [];
  const all: number[] = [];
  const end = looks.at(-1) ?? startMs;
  for (let at = nextTime(spec, startMs); at !== null && at <= end; at = nextTime(spec, at)) all.push(at);
  let before = startMs;
  for (const now of looks) {
    const due = all.filter((at) => at > before && at <= now);
    before = Math.max(before, now);
    const last = due.at(-1);
    if (last === undefined) continue;
    if (missed === "once") fired.push({ at: last, count: due.length });
    else if (missed === "all") {
      const kept = due.slice(-limit.missedMax);
      for (const [place, at] of kept.entries())
        fired.push({ at, count: place === 0 ? 1 + due.length - kept.length : 1 });
    } else if (now - last > 60_000) fired.push({ passed: due.length });
    else {
      if (due.length > 1) fired.push({ passed: due.length - 1 });
      fired.push({ at: last, count: 1 });
    }
  }
  return fired;
}

test("over any gaps each time is fired for, counted or passed over, as a plain model says", () => {
  const spec = fc.oneof(
    fc.record({ kind: fc.constant("every" as const), everyMs: fc.integer({ min: 1_000, max: 7_200_000 }) }),
    fc
      .tuple(
        fc.constantFrom(
          "*/7 * * * *",
          "0 * * * *",
          "30 2 * * *",
          "15 9 * * 1-5",
          "0 0 1 * *",
          "*/20 * * * * *",
        ),
        fc.constantFrom(undefined, "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"),
      )
      .map(([line, zone]) => cron(line, zone)),
    fc
      .integer({ min: 1, max: 90_000_000 })
      .map((after): TimeSpec => ({ kind: "at", at: ms("2026-03-27T00:00Z") + after })),
  );
  const gaps = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 120_000 }), fc.integer({ min: 0, max: 40_000_000 })),
    {
      minLength: 1,
      maxLength: 8,
    },
  );
  fc.assert(
    fc.property(spec, fc.constantFrom("once", "all", "skip"), gaps, (one, missed, passing) => {
      const startMs = ms("2026-03-27T00:00Z");
      let now = startMs;
      const looks = passing.map((gap) => (now += gap));
      assert.deepEqual(worked(one, missed, startMs, looks), expected(one, missed, startMs, looks));
    }),
    { numRuns: 60 },
  );
});

test("a clock that is set back right before a time is fired for brings no earlier time again", () => {
  const spec = { kind: "every", everyMs: 1_000 } as const;
  for (const missed of ["once", "all", "skip"] as const) {
    const decided = timesToFire(spec, missed, 90_000, 20_000);
    assert.deepEqual(decided, { skip: false, at: 90_000, count: 1, nextMs: 91_000 }, missed);
  }
});
