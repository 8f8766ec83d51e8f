/**
 * Comparing rule sets: one that is found to be at most as permissive never allows a call that was held back.
 */
import type { Permission } from "../../src/core/tool/commands.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  canonicalJson,
  isAtMostAsPermissive,
  rulesForFork,
  type NamedRule,
} from "../../src/core/tool/permission-order.ts";
import { ruleFor } from "../../src/core/tool/permission.ts";

const deny = (tool: string, more: Partial<Permission> = {}): Permission => ({ tool, rule: "deny", ...more });
const ask = (tool: string, more: Partial<Permission> = {}): Permission => ({ tool, rule: "ask", ...more });
const allow = (tool: string, more: Partial<Permission> = {}): Permission => ({
  tool,
  rule: "allow",
  ...more,
});

describe("at most as permissive", () => {
  const rows: readonly (readonly [string, readonly Permission[], readonly Permission[], boolean])[] = [
    ["nothing and nothing", [], [], true],
    ["a deny more", [deny("shell")], [], true],
    ["an ask more", [ask("shell")], [], true],
    ["an allow less", [], [allow("shell")], true],
    ["an allow more", [allow("shell")], [], false],
    ["a deny less", [], [deny("shell")], false],
    ["an ask less", [], [ask("shell")], false],
    ["the deny of another tool", [deny("zzz")], [deny("shell")], false],
    ["a deny for some calls only", [deny("shell", { pattern: "rm *" })], [deny("shell")], false],
    ["a deny for all calls", [deny("shell")], [deny("shell", { pattern: "rm *" })], true],
    ["a deny of more tools", [deny("*")], [deny("shell")], true],
    ["a deny of more tools, by a longer run", [deny("*")], [deny("s*")], true],
    ["a deny of one more letter", [deny("s?")], [deny("sh")], true],
    ["a deny of fewer tools", [deny("shell")], [deny("s*")], false],
    ["one letter is not any run", [deny("s?")], [deny("s*")], false],
    ["an ask in place of a deny", [ask("shell")], [deny("shell")], false],
    ["a deny in place of an ask", [deny("shell")], [ask("shell")], true],
    [
      "the same pattern with fields in another order",
      [deny("t", { pattern: { a: 1, b: 2 } })],
      [deny("t", { pattern: { b: 2, a: 1 } })],
      true,
    ],
    [
      "an allow with a pattern beside an ask",
      [ask("t"), allow("t"), allow("t", { pattern: "git *" })],
      [ask("t"), allow("t")],
      false,
    ],
    [
      "an ask for all in place of one with a pattern",
      [ask("t"), allow("t", { pattern: "x" })],
      [ask("t", { pattern: "x" }), allow("t", { pattern: "x" })],
      false,
    ],
    ["a default that asks is removed", [], [ask("*", { effect: "unsafe" })], false],
    [
      "a default that asks becomes one that allows",
      [allow("*", { effect: "unsafe" })],
      [ask("*", { effect: "unsafe" })],
      false,
    ],
    ["an ask for every tool in place of the default", [ask("*")], [ask("*", { effect: "unsafe" })], true],
    ["the default in place of an ask for every tool", [ask("*", { effect: "unsafe" })], [ask("*")], false],
  ];
  for (const [what, after, before, expected] of rows)
    test(what, () => assert.equal(isAtMostAsPermissive(after, before), expected));
});

const strictness = { allow: 0, ask: 1, deny: 2 } as const;
const tools = ["shell", "shoot", "read"] as const;
const someRule: fc.Arbitrary<Permission> = fc.record(
  {
    tool: fc.constantFrom("shell", "sh*", "*", "sh?ll", "read"),
    rule: fc.constantFrom("allow", "ask", "deny"),
    pattern: fc.constantFrom(
      "git *",
      { command: "git *" },
      { command: "*" },
      { command: ["a", "git status"] },
    ),
    effect: fc.constant("unsafe" as const),
  },
  { requiredKeys: ["tool", "rule"] },
);
const someRules = fc.array(someRule, { maxLength: 5 });
const someCall = fc.record({
  tool: fc.constantFrom(...tools),
  effect: fc.constantFrom("read", "unsafe"),
  contained: fc.boolean(),
  input: fc.constantFrom({}, { command: "git status" }, { command: "a" }, { command: "rm -r ." }),
});
const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 31);

test("no call is allowed, or allowed unasked, by a rule set that compares as at most as permissive", () => {
  console.log(`# seed ${seed}`);
  let compared = 0;
  fc.assert(
    fc.property(someRules, someRules, someRules, someRules, someCall, (base, more, less, agent, call) => {
      const before = [...base, ...less];
      const after = [...base, ...more];
      if (!isAtMostAsPermissive(after, before)) return;
      compared++;
      const [was, is] = [before, after].map((session) => ruleFor({ ...call, session, agent }).rule);
      assert.ok(
        strictness[is ?? "allow"] >= strictness[was ?? "allow"],
        JSON.stringify({ before, after, agent }),
      );
    }),
    { seed, numRuns: 20_000 },
  );
  assert.ok(compared > 500, `compared ${compared}`);
});

const named = (rules: readonly Permission[]): NamedRule[] => [
  ...new Map(rules.map((one, place) => [`r${place % 4}`, { ...one, name: `r${place % 4}` }])).values(),
];

test("a fork has at most the rights of its parent now, and keeps the denies of the fork point", () => {
  console.log(`# seed ${seed}`);
  fc.assert(
    fc.property(someRules, someRules, someRules, someCall, (was, is, agent, call) => {
      const [point, now] = [named(was), named(is)];
      const all = new Map(point.map((one) => [one.name, one]));
      for (const one of rulesForFork(point, now))
        if (one.rule === "none") all.delete(one.name);
        else all.set(one.name, one);
      const fork = [...all.values()];
      assert.ok(isAtMostAsPermissive(fork, now), JSON.stringify({ point, now, fork }));
      const of = (session: readonly Permission[]) => ruleFor({ ...call, session, agent }).rule;
      assert.ok(strictness[of(fork)] >= strictness[of(now)]);
      if (of(point) === "deny") assert.equal(of(fork), "deny");
    }),
    { seed, numRuns: 5_000 },
  );
});

describe("the rules that a fork gets", () => {
  const called = (name: string, rule: Permission): NamedRule => ({ ...rule, name });

  test("are none while its parent's rules are those of the fork point", () => {
    const point = [
      called("a", allow("shell")),
      called("b", allow("t", { pattern: { x: 1, y: 2 } })),
      called("c", deny("t")),
      called("d", ask("*", { effect: "unsafe" })),
    ];
    const now = point.map((one) => (one.name === "b" ? { ...one, pattern: { y: 2, x: 1 } } : one));
    assert.deepEqual(rulesForFork(point, now), []);
    assert.deepEqual(
      rulesForFork(
        point,
        now.map((one) => ({ ...one, name: `${one.name}-renamed` })),
      ),
      [],
    );
  });

  test("have the parent's name, or a free one where a rule of that name must stay", () => {
    const never = called("x", deny("b"));
    assert.deepEqual(rulesForFork([never], [called("y", deny("c"))]), [called("y", deny("c"))]);
    assert.deepEqual(rulesForFork([called("x", deny("b", { pattern: "p" }))], [never]), [never]);
    assert.deepEqual(rulesForFork([never], [called("x", deny("c")), called("x-2", deny("d"))]), [
      called("x-2", deny("c")),
      called("x-2-2", deny("d")),
    ]);
  });

  test("leave the name of an allow that the parent changed", () => {
    const narrow = called("x-2", allow("a", { pattern: "p" }));
    const point = [called("x-2", allow("a")), called("x", deny("b"))];
    assert.deepEqual(rulesForFork(point, [narrow, called("x", deny("c"))]), [
      narrow,
      called("x-3", deny("c")),
    ]);
    assert.deepEqual(rulesForFork(point, [called("x-2", deny("a"))]), [
      { name: "x-2", tool: "a", rule: "none" },
      called("x-2", deny("a")),
    ]);
  });
});

test("JSON compares equal in any order of fields, and a list differs from an object", () => {
  assert.equal(canonicalJson({ b: [{ d: 1, c: null }], a: "x" }), '{"a":"x","b":[{"c":null,"d":1}]}');
  assert.equal(canonicalJson(null), "null");
  assert.notEqual(canonicalJson(["a"]), canonicalJson({ 0: "a" }));
});
