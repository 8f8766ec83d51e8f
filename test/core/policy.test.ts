/** Policies: what they may say, what is said about mistakes, and what is due for a session. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SkeinError } from "../../src/core/error.ts";
import { SortedMap } from "../../src/core/sorted-map.ts";
import { statuses, type SessionStatus } from "../../src/core/session/lifecycle.ts";
import {
  actions,
  checkPolicy,
  checkPolicyName,
  compactedTo,
  defaultPolicy,
  dueFor,
  isForEverything,
  obstacle,
  packersFor,
  spanMs,
  spanText,
  storedPolicy,
  type PolicySubject,
  type NamedPolicy,
  type Policy,
} from "../../src/core/govern/policy.ts";
import { emptyStanding, emptyState } from "../../src/core/state.ts";

const day = 86_400_000;
const now = 1_700_000_000_000;

const complaintOf = (given: unknown): [string, string, string | undefined] => {
  try {
    checkPolicy(given);
  } catch (error) {
    if (error instanceof SkeinError) return [error.code, error.message, error.hint];
    throw error;
  }
  return ["fine", "", undefined];
};

test("a policy passes through as it is, the smallest and the largest", () => {
  const whole: Policy = {
    do: "delete",
    after: "1.5h",
    match: { agent: "payroll", labels: { env: "test" }, status: ["closed", "moved"] },
  };
  const two = { do: "limit", running: 2, match: { agent: "a", model: "m/x", labels: { env: "test" } } };
  for (const policy of [{ do: "pack" }, { do: "expire", after: "0d" }, two, whole] as const)
    assert.deepEqual(checkPolicy(policy), policy);
  assert.deepEqual(checkPolicy({ do: "pack", after: undefined }), { do: "pack" });
});

const span = "the policy: after: expected a number and a unit, such as 12h, 90d or 4w";
const known = "one of open, running, suspended, sleeping, closed, archived, moved";

test("a mistake is reported with its field and the right spelling", () => {
  const hint = "the idle time before delete, such as 90d; 0d applies at once";
  const cases: readonly [unknown, string, string | undefined][] = [
    [{ do: "pack", aftr: "9d" }, 'the policy: unknown field "aftr"', 'did you mean "after"?'],
    [
      { do: "pack", match: { agents: "a" } },
      'the policy: unknown field "match.agents"',
      'did you mean "agent"?',
    ],
    [
      { do: "remove" },
      'the policy: do: expected one of pack, expire, archive, delete, limit, got "remove"',
      "one of pack, expire, archive, delete, limit",
    ],
    [
      { do: "archve", after: "1d" },
      'the policy: do: expected one of pack, expire, archive, delete, limit, got "archve"',
      'did you mean "archive"?',
    ],
    [{}, "the policy: do: missing", "one of pack, expire, archive, delete, limit"],
    [{ do: "delete" }, "the policy: after: missing", hint],
    [
      { do: "limit", match: { agent: "a" } },
      "the policy: running: missing",
      "the number of sessions that may run at once, such as 2",
    ],
    [
      { do: "limit", running: 2 },
      "the policy: specify at least one of agent, model or labels",
      "to limit a worker as a whole, use its concurrency option",
    ],
    [
      { do: "limit", running: 2, after: "1d", match: { agent: "a" } },
      "the policy: after: not allowed with do: limit",
      "a limit applies at once and to running sessions; remove the field",
    ],
    [
      { do: "pack", running: 2 },
      "the policy: running: not allowed with do: pack",
      "running and match.model belong to a policy with do: limit",
    ],
    [{ do: "delete", after: "-3d" }, span, undefined],
    [{ do: "delete", after: "soon" }, span, undefined],
    [{ do: "delete", after: 90 }, "the policy: after: expected a text, got 90", undefined],
    [
      { do: "delete", after: "1d", match: { status: ["done"] } },
      `the policy: match.status[0]: expected ${known}, got "done"`,
      known,
    ],
    [
      { do: "delete", after: "1d", match: { status: ["running"] } },
      'the policy: match.status: "running" is not allowed with do: delete',
      "policies never apply to a running session",
    ],
    [
      { do: "expire", after: "1d", match: { status: ["closed"] } },
      'the policy: match.status: "closed" is not allowed with do: expire',
      "one of open, suspended, sleeping",
    ],
    [
      { do: "expire", after: "1d", match: { status: [] } },
      "the policy: match.status: expected at least one status; omit the field to match all",
      undefined,
    ],
    ["pack", "the policy: expected a policy object, got a text", "fields: do, after, running, match"],
    [null, "the policy: expected a policy object, got null", "fields: do, after, running, match"],
  ];
  for (const [given, message, right] of cases)
    assert.deepEqual(complaintOf(given), ["invalid", message, right], JSON.stringify(given));
});

test("no value makes checking fail in another way", () => {
  fc.assert(fc.property(fc.anything(), (given) => void complaintOf(given)));
  fc.assert(
    fc.property(fc.anything(), (given) => {
      try {
        checkPolicyName(given);
      } catch (error) {
        assert.ok(error instanceof SkeinError);
      }
    }),
  );
});

test("durations are read as people write them, and shown rounded", () => {
  const read = ["250ms", "90s", "30m", "12h", "90d", "4w", "1.5d"].map(spanMs);
  assert.deepEqual(read, [250, 90_000, 1_800_000, 43_200_000, 90 * day, 28 * day, 1.5 * day]);
  const told = [0, 1_500, 90_000, 3_600_000, 36 * 3_600_000, 92 * day].map(spanText);
  assert.deepEqual(told, ["0s", "1s", "90s", "60m", "36h", "92d"]);
});

test("a policy of a newer program is not followed at all", () => {
  assert.equal(storedPolicy({ do: "delete", after: "1d", match: { onTuesdays: true } }), null);
  assert.equal(storedPolicy({ do: "shred", after: "1d" }), null);
  assert.equal(storedPolicy(undefined), null);
  assert.deepEqual(storedPolicy({ do: "pack" }), { do: "pack" });
});

test("policies for all sessions differ from policies for some", () => {
  const wide: readonly Policy[] = [
    { do: "expire", after: "90d" },
    { do: "delete", after: "90d", match: {} },
    { do: "delete", after: "90d", match: { labels: {} } },
    { do: "archive", after: "90d", match: { status: ["closed"] } },
    { do: "delete", after: "90d", match: { status: ["closed", "archived", "moved"] } },
  ];
  const narrow: readonly Policy[] = [
    { do: "pack" },
    defaultPolicy.policy,
    { do: "expire", after: "90d", match: { agent: "a" } },
    { do: "delete", after: "90d", match: { labels: { a: "b" } } },
    { do: "delete", after: "90d", match: { status: ["moved"] } },
  ];
  assert.deepEqual(wide.map(isForEverything), [true, true, true, true, true]);
  assert.deepEqual(narrow.map(isForEverything), [false, false, false, false, false]);
});

const candidate: PolicySubject = {
  status: "closed",
  agent: "payroll",
  labels: {},
  activeAt: now - 100 * day,
};

test("the strongest due policy wins, and the report names the others", () => {
  const policies: readonly NamedPolicy[] = [
    { name: "c", policy: { do: "archive", after: "30d" } },
    { name: "b", policy: { do: "delete", after: "90d" } },
    { name: "a", policy: { do: "delete", after: "95d" } },
    { name: "d", policy: { do: "delete", after: "101d" } },
    defaultPolicy,
  ];
  assert.deepEqual(dueFor(policies, candidate, now), {
    do: "delete",
    policy: "a",
    because: "idle for 100d, and 95d are enough",
    besides: ["b", "c"],
  });
  assert.equal(dueFor(policies, { ...candidate, activeAt: now - 29 * day }, now), null);
});

test("a session that was opened to expire does, without any policy", () => {
  const idle: PolicySubject = { ...candidate, status: "open", activeAt: now - 7_200_000 };
  const own = { ...idle, expiresAfterIdleMs: 1_800_000 };
  assert.deepEqual(dueFor([defaultPolicy], own, now), {
    do: "expire",
    policy: null,
    because: "idle for 2h, and it was opened to expire after 30m",
    besides: [],
  });
  assert.equal(dueFor([defaultPolicy], { ...own, activeAt: now - 1_799_999 }, now), null);
  assert.equal(dueFor([defaultPolicy], { ...own, status: "sleeping" }, now), null);
  assert.equal(dueFor([defaultPolicy], idle, now), null);
});

test("due sessions agree with a plain model, by agent, label, status and age", () => {
  const agent = fc.constantFrom("a", "b");
  const label = fc.dictionary(fc.constantFrom("k", "l"), fc.constantFrom("x", "y"), { maxKeys: 2 });
  const policy = fc
    .record(
      {
        do: fc.constantFrom(...actions),
        after: fc.integer({ min: 0, max: 5 }).map((days) => `${days}d`),
        match: fc.record(
          { agent, labels: label, status: fc.uniqueArray(fc.constantFrom(...statuses), { minLength: 1 }) },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: ["do", "after"] },
    )
    .filter((made) => complaintOf(made)[0] === "fine") as fc.Arbitrary<Policy>;
  const named = fc
    .array(policy, { maxLength: 5 })
    .map((list) => list.map((one, place) => ({ name: `p${place}`, policy: one })));
  const session = fc.record(
    {
      status: fc.constantFrom(...statuses),
      agent: fc.option(agent),
      labels: label,
      activeAt: fc.integer({ min: 0, max: 6 * 24 }).map((hours) => now - hours * 3_600_000),
      copy: fc.constant(true as const),
    },
    { requiredKeys: ["status", "agent", "labels", "activeAt"] },
  );
  const usual: Readonly<Record<string, readonly SessionStatus[]>> = {
    expire: ["open", "suspended"],
    archive: ["closed"],
    delete: ["closed", "archived"],
    pack: statuses,
  };
  const isDue = ({ do: what, after = "0d", match = {} }: Policy, one: PolicySubject): boolean => {
    const days = Number(after.slice(0, -1));
    if (what !== "pack" && now - one.activeAt < days * day) return false;
    if (one.copy === true && (what === "expire" || what === "archive")) return false;
    if (match.agent !== undefined && match.agent !== one.agent) return false;
    for (const key in match.labels) if (one.labels[key] !== match.labels[key]) return false;
    return (match.status ?? usual[what] ?? []).includes(one.status);
  };
  fc.assert(
    fc.property(named, session, (policies, one) => {
      const due = dueFor(policies, one, now);
      const all = policies.filter((each) => isDue(each.policy, one));
      const names = (what: string) => all.filter((each) => each.policy.do === what).map(({ name }) => name);
      const ranked = [...names("delete"), ...names("archive"), ...names("expire")];
      assert.deepEqual(due === null ? [] : [due.policy, ...due.besides], ranked);
      if (due !== null) assert.equal(due.do, all.find(({ name }) => name === ranked[0])?.policy.do);
      const packers = packersFor(policies, one).map(({ name }) => name);
      assert.deepEqual(packers.toSorted(), names("pack").toSorted());
    }),
    { numRuns: 2_000 },
  );
});

test("a hold, a run and unfinished work protect a session from policies", () => {
  const held = { ...emptyStanding, holds: SortedMap.from([["audit", 3]]) };
  const sent = { ...emptyStanding, outbox: SortedMap.from([["m", { to: "s", number: 1, seq: 2 }]]) };
  const open = { to: "s", seq: 2, deadlineMs: now + 1 };
  const waits = { ...emptyStanding, requests: SortedMap.from([["m", open]]) };
  const asked = {
    ...emptyStanding,
    asked: SortedMap.from([["m", { from: "s", seq: 2, deadlineMs: now + 1 }]]),
  };
  const late = { ...emptyStanding, requests: SortedMap.from([["m", { ...open, deadlineMs: now }]]) };
  const newer = { ...emptyStanding, newer: { type: "session.beamed", v: 1, seq: 3 } };
  const seen = [held, { ...emptyStanding, status: "running" as const }, newer, sent, waits, asked, late].map(
    (one) => (["expire", "archive", "delete"] as const).map((what) => obstacle(what, one, now)),
  );
  const [letters, reply, owed] = [
    "1 of its messages are not delivered yet",
    "it waits for the reply to a request",
    "another session waits for its reply",
  ];
  assert.deepEqual(seen, [
    Array.from({ length: 3 }, () => 'it is under legal hold "audit"'),
    Array.from({ length: 3 }, () => "it is running"),
    Array.from({ length: 3 }, () => "a newer version of Skein wrote it"),
    [null, letters, letters],
    [null, reply, reply],
    [null, owed, owed],
    [null, null, null],
  ]);
});

test("a context that was only pruned was not compacted", () => {
  const overlay = { seq: 9, hash: null, fromSeq: 1, items: SortedMap.empty<never>() };
  const overlays = [
    { ...overlay, strategy: "summarize" as const, toSeq: 4 },
    { ...overlay, strategy: "extract" as const, toSeq: 7 },
    { ...overlay, strategy: "prune" as const, toSeq: 8 },
  ];
  assert.equal(compactedTo({ ...emptyState.mind, overlays }), 7);
  assert.equal(compactedTo(emptyState.mind), 0);
});
