/**
 * The lifecycle table, walked both ways: what it allows leads where it says, all else is refused with a way
 * out.
 */
import type { Command } from "../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../../src/core/decide.ts";
import {
  lifecycle,
  mayIn,
  statuses,
  wayOut,
  type LifecycleCommand,
  type SessionStatus,
} from "../../src/core/session/lifecycle.ts";
import { digest } from "./digest.ts";
import { given, type Given } from "./given.ts";

/** A session in each status, reached by events. */
const inStatus: Readonly<Record<SessionStatus, () => Given>> = {
  open: () => opened(),
  running: () => opened().and("turn.started", { inputs: [] }),
  suspended: () => opened().and("session.suspended", { by: "person" }),
  sleeping: () => opened().and("session.slept", {}),
  closed: () => opened().and("session.closed", { outcome: "completed" }),
  archived: () => inStatus.closed().and("session.archived", {}),
  moved: () => opened().and("session.moved", { move: "m" }),
};

/** What the commands below need to find in the session. */
const opened = (): Given =>
  given()
    .and("item.recorded", { kind: "fact", key: "k" }, { value: 1 })
    .and("resource.bound", { name: "b", kind: "file", mode: "read" }, {})
    .and("checks.set", { checks: [{ name: "c", kind: "file", digest: "c".repeat(64) }] }, { checks: [] })
    .and("check.ran", { check: "c", digest: "c".repeat(64), status: "passed", try: 1, ms: 1 });

/** Every command that the table rules on. */
const commands: Readonly<Record<LifecycleCommand, readonly Command[]>> = {
  activate: [{ do: "activate" }],
  suspend: [{ do: "suspend" }],
  sleep: [{ do: "sleep" }],
  wake: [{ do: "wake", by: "time" }],
  interrupt: [{ do: "interrupt" }],
  close: [{ do: "close" }],
  // From a running session under its lease alone; see succession.test.ts.
  continue: [
    {
      do: "continue",
      to: "ses_00000000010000000000000009",
      whole: false,
      epoch: 1,
      handedOver: { triggers: [] },
    },
  ],
  cancel: [{ do: "cancel" }],
  check: [{ do: "check", check: "c", digest: "c".repeat(64), status: "passed", ms: 1 }],
  reopen: [{ do: "reopen" }],
  archive: [{ do: "archive" }],
  rewind: [{ do: "rewind", earlier: given().state }],
  write: [
    { do: "record", kind: "fact", key: "k", value: 1 },
    { do: "retract", kind: "fact", key: "k" },
    { do: "pin", kind: "fact", key: "k" },
    { do: "scratch", key: "s", value: 1 },
    { do: "bind", kind: "file", path: "p" },
    { do: "unbind", name: "b" },
    { do: "grant", tool: "shell", rule: "ask" },
    { do: "budget", limits: {} },
    { do: "append", records: [{ type: "input.received", text: "hi" }] },
    { do: "append", records: [{ type: "x.note" }] },
    { do: "amend", objective: "o" },
    { do: "reload", documents: [], fresh: [] },
    { do: "contract", topic: "t", schema: {}, digest: "0".repeat(64) },
  ],
  describe: [
    { do: "rename", name: "n" },
    { do: "label", set: { a: "b" } },
    { do: "prioritize", priority: 1 },
    { do: "save", name: "here" },
    { do: "handoff", text: "# Handoff", digest: "0".repeat(64), toSeq: 1, tokens: 3 },
  ],
  govern: [
    { do: "hold", name: "audit" },
    { do: "erase", ranges: [[1, 1]], records: 1, bytes: 9 },
  ],
  take: [{ do: "take", holder: "h", leaseMs: 15_000, ranOut: false }],
  begin: [{ do: "begin", inputs: [] }],
  go: [
    {
      do: "request",
      model: "offline/offline",
      renderer: 1,
      context: "0".repeat(64),
      parts: 1,
      inputs: [],
      reserved: {},
      outputTokensMax: 10,
      settings: {},
      nowMs: 0,
    },
  ],
  // What settles something needs it to be under way; test/core/decide/turn.test.ts does that.
  settle: [],
  move: [{ do: "move", move: "m", held: false }],
  arrive: [{ do: "arrive", moved: { move: "m" }, workspace: "wsp_00000000010000000000000000" }],
  migrate: [
    { do: "migrate", model: "offline/other", left: [] },
    { do: "amend", model: "offline/other" },
  ],
  compact: [],
};

const facts = { actor: "system", digest, program: "9.9.9" };

/** The table once more, as people are told of it. A change of the one must be a change of the other. */
const told: Readonly<Record<LifecycleCommand, string>> = {
  activate: "suspended sleeping → open",
  suspend: "open running sleeping → suspended",
  sleep: "open running → sleeping",
  wake: "sleeping → open",
  interrupt: "running suspended",
  close: "open suspended sleeping → closed",
  continue: "open running suspended sleeping → closed",
  cancel: "open running suspended sleeping → closed",
  check: "open suspended sleeping",
  reopen: "closed archived → open",
  archive: "closed → archived",
  rewind: "open suspended sleeping → open",
  write: "open running suspended sleeping",
  describe: "open running suspended sleeping closed",
  govern: "open running suspended sleeping closed archived",
  take: "open running suspended sleeping",
  begin: "open → running",
  go: "running",
  settle: "running suspended",
  move: "open suspended sleeping closed archived → moved",
  arrive: "moved → open",
  migrate: "open suspended sleeping",
  compact: "open running suspended sleeping",
};

test("the table matches the documented one", () => {
  const spelled = Object.entries(lifecycle).map(([name, { from, to }]) => [
    name,
    to === null ? from.join(" ") : `${from.join(" ")} → ${to}`,
  ]);
  assert.deepEqual(Object.fromEntries(spelled), told);
});

test("every status is reached by its events", () => {
  for (const status of statuses) assert.equal(inStatus[status]().state.standing.status, status);
});

for (const [name, rule] of Object.entries(lifecycle) as [
  LifecycleCommand,
  (typeof lifecycle)[LifecycleCommand],
][]) {
  for (const status of statuses) {
    const allowed = (rule.from as readonly SessionStatus[]).includes(status);
    test(`${name} is ${allowed ? "allowed" : "refused"} in a session that is ${status}`, () => {
      assert.equal(mayIn(status, name), allowed);
      for (const command of commands[name]) {
        const before = inStatus[status]();
        const decision = decide(before.state, command, facts);
        // Nobody can interrupt a turn that is not there, whatever the status.
        if (!allowed || (name === "interrupt" && before.state.standing.turn === null)) {
          assert.ok(!decision.ok, `${command.do} was accepted`);
          assert.equal(decision.refusal.code, "refused");
          assert.ok((decision.refusal.hint ?? "").length > 0, "a refusal says what to do");
          const closeFirst =
            name === "archive" && decision.refusal.hint === 'close it first: "skein close ID"';
          if (name !== "interrupt" && !closeFirst) assert.equal(decision.refusal.hint, wayOut[status]);
        } else {
          assert.ok(decision.ok, decision.ok ? "" : decision.refusal.message);
          const after = before.when(command).state.standing.status;
          const wakes = status === "sleeping" && isInput(command);
          assert.equal(after, wakes ? "open" : leadsTo(name, rule.to, status), command.do);
        }
      }
    });
  }
}

/** What a person says wakes a session that sleeps. */
const isInput = (command: Command): boolean =>
  command.do === "append" && command.records[0]?.type === "input.received";

/** Where the table says it leads; a running session falls asleep only when its turn ends. */
const leadsTo = (name: LifecycleCommand, to: SessionStatus | null, from: SessionStatus): SessionStatus =>
  name === "sleep" && from === "running" ? "running" : (to ?? from);

test("a session that is put to sleep in a turn sleeps when the turn ends", () => {
  const asleep = inStatus.running().when({ do: "sleep", untilMs: 9 });
  assert.equal(asleep.state.standing.status, "running");
  const ended = asleep.and("turn.ended", {
    outcome: "completed",
    steps: 0,
    mindForm: 1,
    mindHash: "0".repeat(64),
  });
  assert.deepEqual(
    [ended.state.standing.status, ended.state.standing.sleep],
    ["sleeping", { untilMs: 9, triggers: [] }],
  );
});

test("a sleeping session says why; one that is put to sleep in a turn has no reason yet", () => {
  assert.deepEqual(inStatus.sleeping().state.standing.why, { by: "sleep", seq: 6 });
  assert.equal(inStatus.running().when({ do: "sleep" }).state.standing.why, null);
});

test("an interrupt without a turn changes nothing", () => {
  const { state } = inStatus.open().and("session.interrupted", {});
  assert.equal(state.standing.turn, null);
});

test("a session that is activated in the middle of a turn is running again", () => {
  const again = inStatus.running().when({ do: "suspend" }).when({ do: "activate" });
  assert.equal(again.state.standing.status, "running");
  assert.equal(again.state.standing.turn?.number, 1);
});

test("a turn can be interrupted while the session is suspended", () => {
  const interrupted = inStatus.running().when({ do: "suspend" }).when({ do: "interrupt" });
  const { status, turn } = interrupted.state.standing;
  assert.deepEqual([status, turn?.interrupted], ["suspended", true]);
});

test("a turn that ends while the session is suspended or over leaves it so", () => {
  const body = { outcome: "cancelled" as const, steps: 0, mindForm: 1, mindHash: "0".repeat(64) };
  for (const { state } of [
    inStatus.running().when({ do: "suspend" }).and("turn.ended", body),
    inStatus.running().and("session.moved", { move: "m" }).and("turn.ended", body),
  ]) {
    assert.equal(state.standing.turn, null);
    assert.ok(["suspended", "moved"].includes(state.standing.status), state.standing.status);
  }
});

test("a moved session resumes with the status it had", () => {
  for (const status of ["open", "suspended", "sleeping"] as const) {
    const moved = inStatus[status]().and("session.moved", { move: "m" });
    assert.equal(moved.state.standing.status, "moved");
    assert.equal(moved.and("session.arrived", { move: "m" }).state.standing.status, status);
  }
});
