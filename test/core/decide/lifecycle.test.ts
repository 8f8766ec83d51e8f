/**
 * Deciding a session's life: opening, describing, ending turns, leases. Given events, when a command, then
 * events.
 */
import type { Command } from "../../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { mindHash } from "../../../src/core/state.ts";
import { digest } from "../digest.ts";
import { empty, facts, given, sessionId, workspaceId, type Given } from "../given.ts";
import { decide } from "../../../src/core/decide.ts";
import { otherSession } from "../samples.ts";

const open = (more: Partial<Extract<Command, { do: "open" }>> = {}): Command => ({
  do: "open",
  workspace: workspaceId,
  objective: "Fix login",
  ...more,
});

const numbered = <T>(count: number, make: (place: number) => T): T[] =>
  Array.from({ length: count }, (_, place) => make(place));

test("a session opens with its objective and the defaults", () => {
  assert.deepEqual(empty(sessionId).brings(open()), [
    {
      type: "session.opened",
      body: { workspace: workspaceId, priority: 5, has: ["objective"] },
      content: { objective: "Fix login" },
    },
  ]);
});

test("a session opens with all its options; bindings, rules and budget are separate events", () => {
  const drafts = empty(sessionId).brings(
    open({
      name: "login",
      agent: "fixer",
      model: "acme/large",
      instructions: "Be brief.",
      constraints: ["no force push"],
      labels: { team: "web" },
      priority: 1,
      expiresAfterIdleMs: 5,
      bind: [
        { kind: "file", path: "a.txt" },
        { kind: "mcp", name: "git", mode: "write", url: "http://x" },
      ],
      grant: [
        { tool: "shell", rule: "ask" },
        { tool: "shell", name: "git", rule: "allow", pattern: "git *" },
      ],
      budget: { usd: 0.3, steps: 4 },
      from: otherSession,
    }),
  );
  assert.deepEqual(drafts, [
    {
      type: "session.opened",
      body: {
        workspace: workspaceId,
        agent: "fixer",
        model: "acme/large",
        priority: 1,
        labels: { team: "web" },
        from: otherSession,
        expiresAfterIdleMs: 5,
        has: ["objective", "name"],
      },
      content: {
        objective: "Fix login",
        name: "login",
        instructions: "Be brief.",
        constraints: ["no force push"],
      },
    },
    {
      type: "resource.bound",
      body: { name: "a.txt", kind: "file", mode: "read" },
      content: { path: "a.txt" },
    },
    {
      type: "resource.bound",
      body: { name: "git", kind: "mcp", mode: "write" },
      content: { url: "http://x" },
    },
    { type: "permission.set", body: { name: "shell", tool: "shell", rule: "ask" } },
    {
      type: "permission.set",
      body: { name: "git", tool: "shell", rule: "allow" },
      content: { pattern: "git *" },
    },
    { type: "budget.set", body: { limits: { steps: 4, nanoUsd: 300_000_000 } } },
  ]);
});

test("a session is opened once", () => {
  assert.deepEqual(given().refusal(open()), {
    code: "conflict",
    message: "open: the session exists already",
  });
});

test("labels, bindings and permissions of a new session have limits", () => {
  const labels = (count: number) => Object.fromEntries(numbered(count, (place) => [`l${place}`, "v"]));
  const bind = (count: number) => numbered(count, (place) => ({ kind: "file" as const, path: `p${place}` }));
  const grant = (count: number) => numbered(count, (place) => ({ tool: `t${place}`, rule: "ask" as const }));
  const before = empty(sessionId);
  before.brings(open({ labels: labels(limit.labelsMax) }));
  before.brings(open({ bind: bind(limit.bindingsMax) }));
  before.brings(open({ grant: grant(limit.permissionsMax) }));
  for (const more of [
    { labels: labels(limit.labelsMax + 1) },
    { bind: bind(limit.bindingsMax + 1) },
    { grant: grant(limit.permissionsMax + 1) },
  ]) {
    assert.equal(before.refusal(open(more)).code, "invalid");
  }
});

test("money is a whole number of nano-dollars", () => {
  for (const [usd, nanoUsd] of [
    [0.1 + 0.2, 300_000_000],
    [1e-9, 1],
    [4e-10, 0],
    [2, 2e9],
  ] as const) {
    assert.deepEqual(given().brings({ do: "budget", limits: { usd } })[0]?.body, { limits: { nanoUsd } });
  }
  assert.deepEqual(given().brings({ do: "budget", limits: {}, reason: "free" }), [
    { type: "budget.set", body: { limits: {} }, content: { reason: "free" } },
  ]);
});

test("rename and prioritize record the new value", () => {
  assert.deepEqual(given().brings({ do: "rename", name: "n" }), [
    { type: "session.renamed", body: {}, content: { name: "n" } },
  ]);
  assert.deepEqual(given().brings({ do: "prioritize", priority: 0 }), [
    { type: "session.prioritized", body: { priority: 0 } },
  ]);
});

test("labels are set and removed in one event, up to their limit", () => {
  const full = given().when({
    do: "label",
    set: Object.fromEntries(numbered(limit.labelsMax, (n) => [`l${n}`, "v"])),
  });
  assert.equal(full.state.standing.labels.size, limit.labelsMax);
  assert.deepEqual(full.refusal({ do: "label", set: { more: "v" } }), {
    code: "refused",
    message: "labels: expected at most 20 per session",
  });
  assert.deepEqual(full.brings({ do: "label", set: { more: "v" }, remove: ["l0"] }), [
    { type: "session.labeled", body: { set: { more: "v" }, remove: ["l0"] } },
  ]);
  const replaced = full.when({ do: "label", set: { l0: "w" } });
  assert.equal(replaced.state.standing.labels.get("l0"), "w");
  const missing = given().refusal({ do: "label", remove: ["nope"] });
  assert.deepEqual(missing, {
    code: "not-found",
    message: 'there is no label "nope"',
    hint: '"skein state ID" lists the labels',
  });
});

test("a reason is stored as content, and without a reason the record has none", () => {
  const sleeping = given().when({ do: "sleep" });
  const suspended = given().when({ do: "suspend" });
  const closed = given().when({ do: "close" });
  const running = given().and("turn.started", { inputs: [] });
  const cases: readonly (readonly [Given, Command & { reason?: string }, string, object])[] = [
    [suspended, { do: "activate" }, "session.activated", {}],
    [given(), { do: "suspend" }, "session.suspended", { by: "person" }],
    [given(), { do: "suspend", by: "budget" }, "session.suspended", { by: "budget" }],
    [given(), { do: "sleep" }, "session.slept", {}],
    [given(), { do: "sleep", untilMs: 7, triggers: ["t"] }, "session.slept", { untilMs: 7, triggers: ["t"] }],
    [running, { do: "interrupt" }, "session.interrupted", {}],
    [given(), { do: "close" }, "session.closed", { outcome: "completed" }],
    [sleeping, { do: "close", outcome: "expired" }, "session.closed", { outcome: "expired" }],
    [given(), { do: "cancel" }, "session.closed", { outcome: "cancelled" }],
    [closed, { do: "reopen" }, "session.reopened", {}],
    [closed, { do: "archive" }, "session.archived", {}],
  ];
  for (const [before, command, type, body] of cases) {
    assert.deepEqual(before.brings(command), [{ type, body }]);
    const reasoned = { ...command, reason: "because" } as Command;
    assert.deepEqual(before.brings(reasoned), [{ type, body, content: { reason: "because" } }]);
  }
});

test("the cause of a wake-up is in the event", () => {
  const sleeping = given().when({ do: "sleep" });
  assert.deepEqual(sleeping.brings({ do: "wake", by: "time" }), [
    { type: "session.woken", body: { by: "time" } },
  ]);
  assert.deepEqual(sleeping.brings({ do: "wake", by: "trigger", trigger: "t" }), [
    { type: "session.woken", body: { by: "trigger", trigger: "t" } },
  ]);
});

/** A turn with one call that runs, one that waits, and one that was answered. */
const inTurn = (): Given =>
  given()
    .and("turn.started", { inputs: [] })
    .and("tool.requested", { call: "a", tool: "t", effect: "unsafe" }, { input: 1 })
    .and("tool.requested", { call: "b", tool: "t", effect: "read" }, { input: 1 })
    .and("tool.requested", { call: "c", tool: "t", effect: "read" }, { input: 1 })
    .and("tool.started", { call: "a", attempt: 1 })
    .and("tool.settled", { call: "c", status: "ok" });

test("cancelling ends the turn: running calls are unknown, waiting ones skipped, the hash is right", () => {
  const drafts = inTurn().brings({ do: "cancel" });
  const hash = (drafts[2]?.body as { mindHash?: string } | undefined)?.mindHash;
  assert.deepEqual(drafts, [
    { type: "tool.settled", body: { call: "a", status: "unknown" }, turn: 1, cause: 3 },
    { type: "tool.settled", body: { call: "b", status: "skipped" }, turn: 1, cause: 4 },
    { type: "turn.ended", body: { outcome: "cancelled", steps: 0, mindForm: 1, mindHash: hash }, turn: 1 },
    { type: "session.closed", body: { outcome: "cancelled" } },
  ]);
  const after = inTurn().write(...drafts);
  assert.equal(hash, mindHash(digest, after.states[after.states.length - 2]!.mind));
  const { status, turn } = after.state.standing;
  assert.deepEqual([status, turn, after.state.mind.calls.size], ["closed", null, 0]);
});

test("the hash of the mind is true also when no call was open", () => {
  const idle = given().and("turn.started", { inputs: [] }).and("scratch.set", { key: "k" }, { value: 1 });
  const after = idle.when({ do: "suspend" }).when({ do: "close" });
  const ended = after.records.findIndex(({ type }) => type === "turn.ended");
  const { mindHash: claimed } = JSON.parse(after.records[ended]!.body) as { mindHash: string };
  assert.equal(claimed, mindHash(digest, after.states[ended + 1]!.mind));
});

test("a lease lasts from one second to an hour", () => {
  const take = (leaseMs: number): Command => ({ do: "take", holder: "h", leaseMs, ranOut: false });
  for (const leaseMs of [limit.leaseMsMin, limit.leaseMsMax]) {
    assert.deepEqual(given().brings(take(leaseMs)), [
      { type: "lease.taken", body: { holder: "h", leaseMs } },
    ]);
  }
  for (const leaseMs of [limit.leaseMsMin - 1, limit.leaseMsMax + 1]) {
    assert.equal(given().refusal(take(leaseMs)).code, "invalid");
  }
});

test("a lease is refused to others until it expires, and released by its own epoch only", () => {
  const held = given().when({ do: "take", holder: "one", leaseMs: 5_000, ranOut: false });
  assert.deepEqual(held.refusal({ do: "take", holder: "two", leaseMs: 5_000, ranOut: false }), {
    code: "conflict",
    message: "the session is running on one",
    hint: "wait until the lease is released or expires",
  });
  const takenOver = held.when({ do: "take", holder: "two", leaseMs: 5_000, ranOut: true });
  assert.deepEqual(takenOver.state.standing.lease, { held: true, holder: "two", epoch: 3, leaseMs: 5_000 });
  assert.equal(takenOver.refusal({ do: "release", epoch: 2 }).code, "fenced");
  assert.deepEqual(takenOver.brings({ do: "release", epoch: 3 }), [
    { type: "lease.released", body: { epoch: 3 } },
  ]);
  const released = takenOver.when({ do: "release", epoch: 3 });
  assert.equal(released.refusal({ do: "release", epoch: 3 }).code, "fenced");
});

test("a session with a record of a newer program takes no command, not even fork", () => {
  const newer = given().write({ type: "turn.mused", body: {} });
  const refusal = newer.refusal({ do: "rename", name: "n" });
  assert.deepEqual(refusal, {
    code: "refused",
    message: "the session is read-only: a newer Skein wrote record 2 (turn.mused version 1)",
    hint: "open it with Skein 9.9.9 or later",
  });
  const fork = { do: "fork", parentHash: "0".repeat(64), by: "person" } as const;
  assert.equal(newer.refusal(fork).code, "refused");
  assert.ok(decide(given().state, fork, facts).ok, "before that record it can be forked");
});
