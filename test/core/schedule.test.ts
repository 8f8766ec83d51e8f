/** Scheduling: when a session is due, what it waits for, who goes first, and that nobody waits for ever. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkDeadline, deadlineOf, momentOf } from "../../src/core/trigger/deadline.ts";
import { SkeinError } from "../../src/core/error.ts";
import {
  checkLimit,
  choose,
  dueOf,
  expiryOf,
  givesWay,
  heldBy,
  heldText,
  triggersText,
  usedUp,
  waitsFor,
  type ScheduleCandidate,
  type RunLimit,
} from "../../src/core/trigger/schedule.ts";
import { empty, given, sessionId, workspaceId } from "./given.ts";

const one = (session: string, more: Partial<ScheduleCandidate> = {}): ScheduleCandidate => ({
  session,
  agent: null,
  model: null,
  labels: {},
  priority: 5,
  ...more,
});
const names = (list: readonly ScheduleCandidate[]): string[] => list.map(({ session }) => session);

test("a session is due at once when it has input, and by the clock when it sleeps", () => {
  const idle = given();
  assert.deepEqual([dueOf(idle.state), waitsFor(idle.state)], [null, "input"]);
  const asked = idle.when({ do: "append", records: [{ type: "input.received", text: "Do it." }] });
  assert.deepEqual([dueOf(asked.state), waitsFor(asked.state)], [0, null]);
  const slept = idle.when({ do: "sleep", untilMs: 1_900_000_000_000 });
  assert.deepEqual([dueOf(slept.state), waitsFor(slept.state)], [1_900_000_000_000, "time"]);
  const still = asked.when({ do: "suspend", by: "person" });
  assert.deepEqual([dueOf(still.state), waitsFor(still.state)], [null, "person"]);
  const over = idle.when({ do: "close", outcome: "completed" });
  assert.deepEqual([dueOf(over.state), waitsFor(over.state), triggersText(over.state)], [null, null, null]);
});

test("a session that was opened to expire is due when it does, and a hold keeps it", () => {
  const opened = empty(sessionId).when({
    do: "open",
    workspace: workspaceId,
    objective: "Soon over",
    expiresAfterIdleMs: 5_000,
  });
  const { at } = opened.state;
  assert.deepEqual([expiryOf(opened.state), dueOf(opened.state)], [at + 5_000, at + 5_000]);
  const asleep = opened.when({ do: "sleep" });
  assert.deepEqual([expiryOf(asleep.state), dueOf(asleep.state)], [null, null]);
  const held = opened.when({ do: "hold", name: "audit" });
  assert.deepEqual([expiryOf(held.state), dueOf(held.state)], [null, null]);
});

test("a deadline is a label with a time, and of equals the nearest comes first", () => {
  for (const [text, iso] of [
    ["2026-11-20", "2026-11-20T00:00:00.000Z"],
    ["2024-02-29T17:00", "2024-02-29T17:00:00.000Z"],
    ["2026-11-20T17:00:05.250+01:00", "2026-11-20T16:00:05.250Z"],
    ["2000-03-01T00:30-05:30", "2000-03-01T06:00:00.000Z"],
  ] as const)
    assert.equal(momentOf(text), Date.parse(iso), text);
  for (const wrong of [
    "",
    "soon",
    "2026-02-29",
    "2026-13-01",
    "2026-11-20T25:00",
    "2026-11-20 17:00",
    "1969-12-31",
  ])
    assert.equal(momentOf(wrong), null, wrong);
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date("2200-01-01"), noInvalidDate: true }), (date) => {
      assert.equal(momentOf(date.toISOString()), date.getTime());
    }),
  );
  assert.throws(() => checkDeadline({ deadline: "soon" }), { code: "invalid" });
  checkDeadline({ deadline: "2026-11-20", team: "soon" });
  const at = Date.parse("2100-01-01");
  const labeled = given().when({ do: "label", set: { deadline: "2100-01-01" } });
  assert.deepEqual([dueOf(labeled.state), deadlineOf(labeled.state)], [at, at]);
  const over = labeled
    .when({ do: "suspend", by: "error" })
    .when({ do: "label", set: { overdue: "2100-01-01" } });
  assert.deepEqual(
    [dueOf(over.state), deadlineOf(over.state), waitsFor(over.state)],
    [null, null, "deadline passed"],
  );
  const waiting = [
    one("none"),
    one("late", { deadlineMs: 9 }),
    one("soon", { deadlineMs: 5 }),
    one("u", { priority: 1 }),
  ];
  assert.deepEqual(names(choose(waiting, [], { limits: [], most: 9 })), ["u", "soon", "late", "none"]);
});

test("the urgent go first, then agents take turns, then the longest wait", () => {
  const waiting = [
    one("a1", { agent: "a" }),
    one("a2", { agent: "a" }),
    one("b1", { agent: "b" }),
    one("u", { agent: "a", priority: 1 }),
    one("none"),
  ];
  const options = { limits: [], most: 10 };
  assert.deepEqual(names(choose(waiting, [], options)), ["u", "b1", "none", "a1", "a2"]);
  assert.deepEqual(names(choose(waiting, [], { ...options, most: 2 })), ["u", "b1"]);
  const running = [one("b0", { agent: "b" }), one("n0"), one("n1")];
  assert.deepEqual(names(choose(waiting, running, options)), ["u", "a1", "b1", "a2", "none"]);
});

test("limits hold over all running sessions, by agent, model and label, and are named", () => {
  const limits: RunLimit[] = [
    { agent: "a", running: 2 },
    { model: "m/x", running: 1 },
    { labels: { team: "web" }, running: 0 },
  ];
  const running = [one("a0", { agent: "a" }), one("x0", { model: "m/x" })];
  const waiting = [
    one("a1", { agent: "a" }),
    one("a2", { agent: "a" }),
    one("x1", { model: "m/x" }),
    one("w", { labels: { team: "web", env: "test" } }),
    one("free"),
  ];
  assert.deepEqual(names(choose(waiting, running, { limits, most: 9 })), ["a1", "free"]);
  const held = heldBy(one("a2", { agent: "a" }), [...running, one("a1", { agent: "a" })], limits);
  assert.equal(held && heldText(held), "agent limit (2 of 2)");
  const texts = [one("", { model: "m/x" }), one("", { labels: { team: "web" } })].map((candidate) => {
    const found = heldBy(candidate, running, limits);
    return found && heldText(found);
  });
  assert.deepEqual(texts, ["model limit (1 of 1)", "label limit (0 of 0)"]);
  assert.deepEqual(usedUp(running, limits), limits.slice(1));
});

test("the least urgent makes way, if that lets the urgent one run", () => {
  const [low, mid, urgent] = [
    one("low", { priority: 9, agent: "a" }),
    one("mid", { priority: 6 }),
    one("u", { priority: 1, agent: "a" }),
  ];
  const way = (isFull: boolean, limits: readonly RunLimit[], others: readonly ScheduleCandidate[] = []) =>
    givesWay(urgent, [mid, low], others, { isFull, limits })?.session ?? null;
  assert.equal(way(true, []), "low");
  assert.equal(way(false, []), null);
  assert.equal(way(false, [{ agent: "a", running: 1 }]), "low");
  // Whoever else runs holds the limit: nothing is gained by stopping ours.
  assert.equal(way(true, [{ agent: "a", running: 1 }], [one("other", { agent: "a" })]), null);
  assert.equal(givesWay(one("same", { priority: 6 }), [mid], [], { isFull: true, limits: [] }), null);
});

test("an impossible limit is refused with the expected value", () => {
  for (const wrong of [
    { running: 2 },
    { agent: "a", running: -1 },
    { agent: "a", running: 1.5 },
    { labels: {}, running: 1 },
  ])
    assert.throws(() => checkLimit(wrong), SkeinError, JSON.stringify(wrong));
  assert.deepEqual(checkLimit({ agent: "a", running: 0 }), { agent: "a", running: 0 });
});

/** A store, as far as order goes: since when each has had something to do. */
interface Job extends ScheduleCandidate {
  sinceMs: number;
  left: number;
}

test("no runnable session waits for ever, whatever arrives, and limits are never passed", () => {
  const agents = [null, "a", "b", "c"];
  const arrival = fc.record({
    agent: fc.constantFrom(...agents),
    priority: fc.constantFrom(3, 5),
    steps: fc.integer({ min: 1, max: 4 }),
    turns: fc.integer({ min: 1, max: 5 }),
    at: fc.integer({ min: 0, max: 30 }),
  });
  const limit = fc.constantFrom<RunLimit[]>([], [{ agent: "a", running: 1 }], [{ agent: "b", running: 2 }]);
  fc.assert(
    fc.property(
      fc.array(arrival, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 4 }),
      limit,
      (arrivals, most, limits) => {
        const jobs: (Job & { turns: number; at: number; steps: number })[] = arrivals.map((given, place) => ({
          ...one(`s${place}`),
          ...given,
          sinceMs: given.at,
          left: given.steps,
        }));
        const running = new Set<(typeof jobs)[number]>();
        const work = arrivals.reduce((sum, { steps, turns }) => sum + steps * turns, 0);
        for (let now = 0; now <= work + 31 && jobs.some(({ turns }) => turns > 0); now++) {
          const due = jobs
            .filter((job) => job.turns > 0 && job.at <= now && !running.has(job))
            .toSorted((x, y) => x.sinceMs - y.sinceMs);
          const chosen = choose(due, [...running], { limits, most: most - running.size });
          for (const job of chosen) running.add(job as (typeof jobs)[number]);
          // Of those of one agent and priority nobody is passed over for a younger one.
          for (const job of chosen as readonly Job[]) {
            const older = due.find(
              (other) =>
                !running.has(other) &&
                other.agent === job.agent &&
                other.priority === job.priority &&
                other.sinceMs < job.sinceMs,
            );
            assert.equal(older, undefined);
          }
          // No place is left free while somebody could have it.
          if (running.size < most)
            for (const job of due)
              assert.ok(
                running.has(job) || heldBy(job, [...running], limits) !== null,
                `${job.session} waits`,
              );
          for (const { agent, running: atMost } of limits)
            assert.ok([...running].filter((job) => job.agent === agent).length <= atMost);
          for (const job of running) {
            job.left -= 1;
            if (job.left > 0) continue;
            running.delete(job);
            [job.turns, job.left, job.sinceMs] = [job.turns - 1, job.steps, now];
          }
        }
        assert.deepEqual(
          jobs.filter(({ turns }) => turns > 0),
          [],
        );
      },
    ),
    { numRuns: 200 },
  );
});

test("a trigger that can fire no more is not waited for", () => {
  const at = {
    do: "trigger",
    name: "once",
    kind: "at",
    spec: { kind: "at", at: 5_000 },
    nextMs: 5_000,
  } as const;
  const set = given().when(at);
  assert.equal(waitsFor(set.state), "trigger");
  const passed = set.when({ do: "skip", name: "once", setSeq: 2, dueMs: 5_000, count: 1 });
  assert.deepEqual(
    [waitsFor(passed.state), waitsFor(passed.when({ do: "sleep" }).state)],
    ["input", "input"],
  );
  assert.equal(waitsFor(passed.when({ ...at, name: "next" }).state), "trigger");
});
