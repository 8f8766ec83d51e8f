/** Permissions: which rule decides, and which arguments a pattern is for. */
import type { Permission } from "../../src/core/tool/commands.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { limit } from "../../src/core/limit.ts";
import { ruleFor, type Rule, type RuledCall } from "../../src/core/tool/permission.ts";

const on = (rule: Rule | "none", more: Partial<Permission> = {}): Permission => ({
  tool: "t",
  rule,
  ...more,
});
const ruling = (
  rules: { readonly agent?: readonly Permission[]; readonly session?: readonly Permission[] },
  input: unknown = {},
  tool = "t",
) => ruleFor({ tool, input, agent: [], session: [], ...rules });
const ruled = (rules: Parameters<typeof ruling>[0], input?: unknown, tool?: string): Rule =>
  ruling(rules, input, tool).rule;

/** Whether a rule with this pattern is for these arguments. */
const isFor = (rule: "allow" | "deny", pattern: unknown, input: unknown): boolean =>
  rule === "deny"
    ? ruled({ agent: [on("deny", { pattern })] }, input) === "deny"
    : ruled({ agent: [on("ask")], session: [on("allow", { pattern })] }, input) === "allow";

describe("which rule decides", () => {
  test("without a rule a call is allowed", () => {
    assert.deepEqual(ruling({}), { rule: "allow", by: null, reason: null });
    assert.deepEqual(ruling({ agent: [on("none")], session: [on("deny", { tool: "other" })] }), {
      rule: "allow",
      by: null,
      reason: null,
    });
  });

  test("a deny wins wherever it is set, and is named with its reason", () => {
    const deny = on("deny", { name: "never", reason: "not here" });
    const expected = { rule: "deny", by: "never", reason: "not here" };
    assert.deepEqual(ruling({ agent: [on("allow"), deny], session: [on("allow")] }), expected);
    assert.deepEqual(ruling({ agent: [on("allow")], session: [on("allow"), on("ask"), deny] }), expected);
    assert.deepEqual(ruling({ session: [on("deny")] }), { rule: "deny", by: "t", reason: null });
  });

  test("the session's rules come before the agent's, the strictest first", () => {
    for (const [session, agent, expected] of [
      [["allow"], ["ask"], "allow"],
      [["ask"], ["allow"], "ask"],
      [["allow", "ask"], [], "ask"],
      [["ask", "allow"], [], "ask"],
      [[], ["allow", "ask"], "ask"],
      [["none"], ["ask"], "ask"],
      [["allow"], ["ask", "deny"], "deny"],
    ] as const) {
      const rules = { session: session.map((rule) => on(rule)), agent: agent.map((rule) => on(rule)) };
      assert.equal(ruled(rules), expected, JSON.stringify({ session, agent }));
    }
  });

  test("tools are named with stars", () => {
    for (const [tool, name, expected] of [
      ["*", "shell", "deny"],
      ["db_*", "db_query", "deny"],
      ["*_file", "write_file", "deny"],
      ["*_*", "read_file", "deny"],
      ["*_file", "_file", "deny"],
      ["r*d", "rd", "deny"],
      ["re*re", "re", "allow"],
      ["re*re", "rere", "deny"],
      ["db_*", "db", "allow"],
      ["file", "read_file", "allow"],
      ["Shell", "shell", "allow"],
    ] as const)
      assert.equal(ruled({ agent: [on("deny", { tool })] }, {}, name), expected, `${tool} ${name}`);
  });
});

test("a rule for an effect is a default: for tools of that effect, where no other rule applies", () => {
  const asks = on("ask", { tool: "*", effect: "unsafe" });
  const of = (call: Partial<RuledCall>): Rule =>
    ruleFor({ tool: "t", input: {}, agent: [], session: [asks], ...call }).rule;
  for (const effect of ["read", "idempotent", "session"] as const) assert.equal(of({ effect }), "allow");
  assert.deepEqual([of({ effect: "unsafe" }), of({})], ["ask", "ask"]);
  assert.equal(of({ contained: true }), "allow");
  assert.equal(of({ agent: [on("allow")] }), "allow");
  assert.equal(of({ agent: [on("allow", { effect: "unsafe" })] }), "ask");
  const never = on("deny", { tool: "*", effect: "unsafe" });
  assert.deepEqual(
    [of({ session: [never], contained: true }), of({ session: [never], effect: "read" })],
    ["deny", "allow"],
  );
});

describe("which arguments a pattern is for", () => {
  test("an object's fields are globs, exact JSON, or objects again", () => {
    const cases: readonly [unknown, unknown, boolean][] = [
      [{}, { any: 1 }, true],
      [{ command: "git *" }, { command: "git log" }, true],
      [{ command: "git *" }, { command: "git" }, false],
      [{ command: "git *" }, { other: "git log" }, false],
      [{ command: "git *" }, {}, false],
      [{ command: "a?c" }, { command: "a😀c" }, true],
      [{ command: "a?c" }, { command: "ac" }, false],
      [{ command: "a.c" }, { command: "abc" }, false],
      [{ command: "" }, { command: "" }, true],
      [{ command: "*" }, { command: "two\nlines" }, true],
      [{ count: 3 }, { count: 3, more: 1 }, true],
      [{ count: 3 }, { count: "3" }, false],
      [{ count: "3" }, { count: 3 }, false],
      [{ force: true }, { force: true }, true],
      [{ force: true }, { force: 1 }, false],
      [{ at: null }, { at: null }, true],
      [{ at: null }, {}, false],
      [{ a: { b: { c: "x*" } } }, { a: { b: { c: "xy", d: 1 } } }, true],
      [{ a: { b: {} } }, { a: { b: 1 } }, false],
      [{ a: 1 }, { a: { b: 2 } }, false],
      [{ toString: "*" }, {}, false],
      [{ path: ["a*", "b*"] }, { path: "bee" }, true],
      [{ path: ["a*", "b*"] }, { path: "cee" }, false],
      [{ path: [] }, { path: "a" }, false],
    ];
    for (const [pattern, input, expected] of cases) {
      for (const rule of ["allow", "deny"] as const)
        assert.equal(isFor(rule, pattern, input), expected, JSON.stringify([rule, pattern, input]));
    }
  });

  test("of a list, one entry is enough to be denied, and all of it must be allowed", () => {
    const cases: readonly [unknown, unknown, { deny: boolean; allow: boolean }][] = [
      [{ paths: "/etc/*" }, { paths: ["/tmp/a", "/etc/b"] }, { deny: true, allow: false }],
      [{ paths: "/tmp/*" }, { paths: ["/tmp/a", "/tmp/b"] }, { deny: true, allow: true }],
      [{ paths: "/tmp/*" }, { paths: [] }, { deny: false, allow: false }],
      [{ paths: ["/tmp/*", "/var/*"] }, { paths: ["/tmp/a", "/var/b"] }, { deny: true, allow: true }],
      [{ paths: ["/tmp/*", "/var/*"] }, { paths: ["/tmp/a", "/etc/b"] }, { deny: true, allow: false }],
      [{ rows: { id: 3 } }, { rows: [{ id: 3 }, { id: 4 }] }, { deny: true, allow: false }],
      [{ path: "/etc/*" }, { path: { from: "/etc/a", to: "/tmp/b" } }, { deny: true, allow: false }],
      ["*secret*", { path: "a", text: "my secret" }, { deny: true, allow: false }],
      ["*secret*", {}, { deny: false, allow: false }],
    ];
    for (const [pattern, input, expected] of cases) {
      const actual = { deny: isFor("deny", pattern, input), allow: isFor("allow", pattern, input) };
      assert.deepEqual(actual, expected, JSON.stringify([pattern, input]));
    }
  });

  test("paths are seen through, for the stricter side", () => {
    const into = [
      "/etc/passwd",
      "/etc/../etc/passwd",
      "/tmp/../etc/passwd",
      "//etc//passwd",
      "/./etc/x",
      "/../etc/x",
    ];
    for (const path of into) {
      assert.equal(isFor("deny", { path: "/etc/*" }, { path }), true, path);
      assert.equal(isFor("allow", { path: "/tmp/*" }, { path }), false, path);
    }
    assert.equal(isFor("allow", { path: "/etc/*" }, { path: "/etc/./passwd" }), true);
    assert.equal(isFor("allow", { path: "/etc/*" }, { path: "/etc/../passwd" }), false);
    // A deny by the letters stays, even if the path then leads elsewhere.
    assert.equal(isFor("deny", { path: "/etc/*" }, { path: "/etc/../tmp/x" }), true);
    for (const path of ["secrets/a", "./secrets/a", "x/../secrets/a", "secrets//a", ".//./secrets/a"]) {
      assert.equal(isFor("deny", { path: "secrets/*" }, { path }), true, path);
      assert.equal(isFor("deny", { path: "./secrets/*" }, { path }), true, path);
    }
    assert.equal(isFor("deny", { path: "../*" }, { path: "a/../../b" }), true);
    assert.equal(isFor("allow", { path: "src/*" }, { path: "src/../../b" }), false);
    assert.equal(isFor("deny", { path: "." }, { path: "a/.." }), true);
  });

  test("a deny on a relative path holds at any depth, a deny on a name only for that text", () => {
    for (const [pattern, path, expected] of [
      ["archive/*", "notes/archive/old", true],
      ["archive/*", "a/b/c/archive/old", true],
      ["./passwd", "etc/passwd", true],
      ["archive/*", "notes/archives/old", false],
      ["passwd", "etc/passwd", false],
      ["/etc/*", "tmp/etc/passwd", false],
    ] as const)
      assert.equal(isFor("deny", { path: pattern }, { path }), expected, `${pattern} ${path}`);
    assert.equal(isFor("allow", { path: "archive/*" }, { path: "notes/archive/old" }), false);
    const deep = `${"a/".repeat(63)}archive/old`;
    assert.equal(isFor("deny", { path: "archive/*" }, { path: deep }), true);
  });

  test("arguments as the tool understands them count too, for the stricter side", () => {
    const input = { path: "link/a" };
    const checked = { path: "secrets/a" };
    const deny = on("deny", { pattern: { path: "secrets/*" } });
    const allow = on("allow", { pattern: { path: "link/*" } });
    assert.equal(ruleFor({ tool: "t", input, checked, agent: [deny], session: [] }).rule, "deny");
    assert.equal(ruleFor({ tool: "t", input, checked, agent: [on("ask")], session: [allow] }).rule, "ask");
    assert.equal(ruleFor({ tool: "t", input, agent: [on("ask")], session: [allow] }).rule, "allow");
  });

  test("endless nesting is denied and never allowed, and no pattern takes long", () => {
    const nest = (depth: number): unknown => (depth === 0 ? "x" : { a: nest(depth - 1) });
    assert.equal(isFor("deny", nest(100), nest(100)), true);
    assert.equal(isFor("allow", nest(100), nest(100)), false);
    const most = limit.jsonDepthMax;
    assert.equal(isFor("allow", nest(most), nest(most)), true);
    assert.equal(isFor("allow", nest(most + 1), nest(most + 1)), false);
    const begun = performance.now();
    assert.equal(isFor("deny", { c: `${"*a".repeat(500)}b` }, { c: "a".repeat(10_000) }), false);
    assert.ok(performance.now() - begun < 2_000);
  });

  test("whatever the arguments: a deny without a pattern denies, and no rule ever fails", () => {
    const rule = fc.record({
      tool: fc.constantFrom("t", "*", "u"),
      rule: fc.constantFrom("allow", "ask", "deny"),
      pattern: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.array(rule), fc.array(rule), fc.jsonValue(), (agent, session, input) => {
        const before = ruling({ agent, session }, input);
        assert.ok(["allow", "ask", "deny"].includes(before.rule));
        const denied = { agent: [...agent, on("deny")], session };
        assert.equal(ruled(denied, input), "deny");
      }),
    );
  });

  test("a path spelled another way is never treated more kindly", () => {
    const step = fc.constantFrom("etc", "tmp", "a", "..", ".", "");
    const path = fc.array(step, { maxLength: 6 }).map((steps) => `/${steps.join("/")}`);
    fc.assert(
      fc.property(path, fc.constantFrom("/etc/*", "/tmp/*", "/*"), (given, pattern) => {
        const plain = new URL(`file://${given.replaceAll(/\/+/g, "/")}`).pathname.replace(/(.)\/$/, "$1");
        if (isFor("deny", { path: pattern }, { path: plain }))
          assert.ok(isFor("deny", { path: pattern }, { path: given }), `${given} is ${plain}`);
        if (isFor("allow", { path: pattern }, { path: given }))
          assert.ok(isFor("allow", { path: pattern }, { path: plain }), `${given} is ${plain}`);
      }),
    );
  });
});

test("a rule for some calls counts before one for all, on its own level; a deny counts before both", () => {
  const ask = { tool: "shell", rule: "ask" } as const;
  const some = { tool: "shell", rule: "allow", name: "git", pattern: { command: "git *" } } as const;
  const never = { tool: "shell", rule: "deny", name: "push", pattern: { command: "*push*" } } as const;
  const of = (command: string, session: readonly Permission[], agent: readonly Permission[] = []): string =>
    ruleFor({ tool: "shell", input: { command }, session, agent }).rule;
  assert.deepEqual(
    [of("git log", [ask, some]), of("ls", [ask, some]), of("git push", [ask, some, never])],
    ["allow", "ask", "deny"],
  );
  assert.deepEqual([of("git log", [ask], [some]), of("ls", [], [some, ask])], ["ask", "ask"]);
});
