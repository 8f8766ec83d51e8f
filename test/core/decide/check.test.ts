/** Accept checks: who sets them, whose results count, and that nothing else completes a session. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { namedChecks, type AcceptCheck } from "../../../src/core/check/check.ts";
import { checkText, parseCheck, parseChecks } from "../../../src/core/check/text.ts";
import type { DigestedCheck } from "../../../src/core/check/commands.ts";
import type { Command } from "../../../src/core/command.ts";
import { decide } from "../../../src/core/decide.ts";
import { limit } from "../../../src/core/limit.ts";
import { digest } from "../digest.ts";
import { facts, given, type Given } from "../given.ts";

const digested = (...texts: readonly string[]): DigestedCheck[] =>
  parseChecks(texts).map((check) => ({ ...check, digest: digest("", JSON.stringify(check)) }));
const set = (...texts: readonly string[]): Command => ({ do: "set-checks", checks: digested(...texts) });
const tests = "command (tests): npm test";
const asks = "person (looks): Does it look right?";

const ran = (at: Given, check: string, status: "passed" | "failed" | "error", verdict?: true): Command => ({
  do: "check",
  check,
  digest: at.state.standing.checks.get(check)?.digest ?? "",
  status,
  ms: 1,
  ...(verdict === undefined ? {} : { verdict }),
});

test("a session with checks is completed only when each has passed since its last turn", () => {
  const set2 = given().when(set(tests, "file: a.txt"));
  const refused = set2.refusal({ do: "close" });
  assert.equal(refused.code, "refused");
  assert.equal(refused.message, "close: these checks have not passed since the last turn: file, tests");
  const one = set2.when(ran(set2, "tests", "passed"));
  assert.match(one.refusal({ do: "close" }).message, /this check has not passed since the last turn: file$/);
  const both = one.when(ran(one, "file", "passed"));
  assert.equal(both.when({ do: "close" }).state.standing.status, "closed");
  const later = both.when({ do: "begin", inputs: [] }).when({ do: "end", outcome: "completed" });
  assert.match(later.refusal({ do: "close" }).message, /file, tests/);
  assert.equal(later.state.standing.checks.get("tests")?.tries, 1, "the tries are counted on");
});

test("every other end is free", () => {
  const open = given().when(set(tests));
  assert.ok(open.decide({ do: "close", outcome: "failed" }).ok);
  assert.ok(open.decide({ do: "close", outcome: "expired" }).ok);
  assert.ok(open.decide({ do: "cancel" }).ok);
});

test("a session that closes when it is done waits for its checks", () => {
  const child = (checks: readonly DigestedCheck[]): Given =>
    given()
      .write()
      .when(checks.length === 0 ? { do: "label", set: { a: "b" } } : { do: "set-checks", checks });
  for (const checks of [[], digested(tests)]) {
    const { state, ...rest } = child(checks);
    const own = { ...state, standing: { ...state.standing, closesWhenDone: true } };
    const begun = {
      ...own,
      standing: { ...rest.and("turn.started", { inputs: [] }).state.standing, closesWhenDone: true },
    };
    const decision = decide(begun, { do: "end", outcome: "completed" }, facts);
    assert.ok(decision.ok);
    const types = decision.drafts.map(({ type }) => type);
    assert.equal(types.includes("session.closed"), checks.length === 0);
  }
});

test("no agent, tool or session sets checks or decides for a person", () => {
  const open = given().when(set(asks));
  for (const actor of ["agent:coder@1", "tool:shell", "session:ses_00000000000000000000000000"]) {
    for (const command of [
      set(tests),
      { do: "set-checks", checks: [] } as const,
      ran(open, "looks", "passed", true),
    ]) {
      const decision = decide(open.state, command, { ...facts, actor });
      assert.ok(!decision.ok, `${actor} did ${command.do}`);
      assert.equal(decision.refusal.code, "refused");
    }
  }
});

test("a verdict is for a person's check alone, and a run for the others", () => {
  const open = given().when(set(tests, asks));
  assert.match(open.refusal(ran(open, "looks", "passed")).message, /decided by a person/);
  assert.match(open.refusal(ran(open, "tests", "passed", true)).message, /not decided by a person/);
  assert.equal(open.refusal(ran(open, "other", "passed")).code, "not-found");
  const changed = open.when(set("command (tests): true", asks));
  assert.equal(changed.refusal(ran(open, "tests", "passed")).code, "conflict");
  const busy = open.when({ do: "begin", inputs: [] });
  assert.match(busy.refusal(ran(open, "tests", "passed")).message, /running/);
});

test("a check that stays the same keeps its result, a changed one does not", () => {
  const open = given().when(set(tests, "file: a.txt"));
  const passed = open.when(ran(open, "tests", "passed")).when(ran(open, "file", "passed"));
  const { checks } = passed.when(set(tests, "file: b.txt")).state.standing;
  assert.equal(checks.get("tests")?.result?.status, "passed");
  assert.equal(checks.get("file")?.result, null);
  assert.equal(checks.get("file")?.tries, 0);
});

test("a fork has no checks of its parent", () => {
  const { state } = given()
    .when(set(tests))
    .and("session.forked", {
      parent: given().session,
      parentSeq: 2,
      parentHash: "0".repeat(64),
      by: "person",
      has: [],
    });
  assert.equal(state.standing.checks.size, 0);
});

/** What may happen to a session, and what a simple model says of its checks. */
const steps = fc.array(
  fc.oneof(
    fc.constantFrom("turn", "rewind", "label", "close").map((kind) => ({ kind })),
    fc
      .record({
        name: fc.constantFrom("a", "b", "looks"),
        status: fc.constantFrom("passed", "failed", "error"),
      })
      .map((ran) => ({ kind: "ran" as const, ...ran })),
    fc
      .subarray(["file (a): a", "file (b): b", "file (a): changed", asks])
      .map((texts) => ({ kind: "set" as const, texts })),
  ),
  { maxLength: 25 },
);

test("whatever happens, a session is completed exactly when all of its checks passed since", () => {
  fc.assert(
    fc.property(steps, (list) => {
      let at = given().when(set("file (a): a", asks));
      const known = new Map<string, { text: string; passed: boolean }>([
        ["a", { text: "file (a): a", passed: false }],
        ["looks", { text: asks, passed: false }],
      ]);
      const stale = (): void => known.forEach((one) => (one.passed = false));
      for (const step of list) {
        if (step.kind === "turn") {
          at = at.when({ do: "begin", inputs: [] }).when({ do: "end", outcome: "completed" });
          stale();
        } else if (step.kind === "rewind") {
          at = at.when({ do: "rewind", earlier: at.states.at(-2)! });
          stale();
        } else if (step.kind === "label") at = at.when({ do: "label", set: { x: "y" } });
        else if (step.kind === "ran" && "name" in step) {
          const command = ran(at, step.name, step.status, step.name === "looks" ? true : undefined);
          const one = known.get(step.name);
          if (one === undefined) assert.equal(at.refusal(command).code, "not-found");
          else {
            at = at.when(command);
            one.passed = step.status === "passed";
          }
        } else if (step.kind === "set" && "texts" in step) {
          const texts = step.texts.filter((text, place) => {
            const name = /\((\w+)\)/.exec(text)?.[1];
            return !step.texts.slice(0, place).some((other) => other.includes(`(${name})`));
          });
          at = at.when(set(...texts));
          const before = new Map(known);
          known.clear();
          for (const text of texts) {
            const name = /\((\w+)\)/.exec(text)?.[1] ?? "";
            const same = before.get(name);
            known.set(name, { text, passed: same?.text === text && same.passed });
          }
        }
        const missing = [...known.values()].some(({ passed }) => !passed);
        assert.equal(at.decide({ do: "close" }).ok, !missing);
      }
    }),
    { numRuns: 200 },
  );
});

test("texts of checks, and what they mean", () => {
  const parsed: readonly (readonly [string, AcceptCheck])[] = [
    ["command: npm test", { kind: "command", command: "npm test" }],
    [
      "Command (tests, within 5m, in code): a: b (c)",
      { kind: "command", name: "tests", timeoutMs: 300_000, in: "code", command: "a: b (c)" },
    ],
    ["file: `dist/a b.js`", { kind: "file", path: "dist/a b.js" }],
    ["file: CHANGELOG.md contains 0.5.0", { kind: "file", path: "CHANGELOG.md", contains: "0.5.0" }],
    [
      "review (at least 0.9, by critic): Is it clear?",
      { kind: "review", least: 0.9, agent: "critic", rubric: "Is it clear?" },
    ],
    ["person: Does it look right?", { kind: "person", question: "Does it look right?" }],
  ];
  for (const [text, check] of parsed) {
    assert.deepEqual(parseCheck(text), check, text);
    assert.deepEqual(parseCheck(check), check, text);
    assert.ok(checkText(check).length > 10);
  }
  const names = namedChecks(parsed.map(([, check]) => check)).map(({ name }) => name);
  assert.deepEqual(names, ["command", "tests", "file", "file-2", "review", "person"]);
});

test("an invalid check is refused with an example", () => {
  const wrong = [
    "npm test",
    "command:",
    "command (a, b): x",
    "command (within 0s): x",
    "command (within 99h): x",
    "review (at least 2): x",
    "command (at least 0.5): x",
    `command: ${"x".repeat(limit.acceptCharsMax + 1)}`,
    `${" ".repeat(100_000)}command: x`,
    `command (${"a,".repeat(50_000)}): x`,
    7,
    null,
    { kind: "query", sql: "select 1" },
    { kind: "command", command: "x", score: 1 },
  ];
  for (const one of wrong)
    assert.throws(
      () => parseCheck(one),
      { name: "SkeinError", code: "invalid" },
      JSON.stringify(one)?.slice(0, 60),
    );
  assert.throws(() => parseChecks([tests, "file (tests): a"]), /two checks are named "tests"/);
  assert.throws(
    () => parseChecks(Array.from({ length: limit.acceptsMax + 1 }, () => "file: a")),
    /at most 20/,
  );
  assert.equal(
    parseChecks(Array.from({ length: limit.acceptsMax }, () => "file: a")).length,
    limit.acceptsMax,
  );
});
