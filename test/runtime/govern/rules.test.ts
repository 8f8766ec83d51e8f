/** A session's rules: how they are set, who may loosen them, and what they say of a call and of a path. */
import type { Permission } from "../../../src/core/tool/commands.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AgentDefinition } from "../../../src/core/workspace/agent.ts";
import { makeSessionId } from "../../../src/core/ids.ts";
import type { State } from "../../../src/core/state.ts";
import type { Store } from "../../../src/store/port.ts";
import {
  askInstead,
  guardedGrant,
  guardRules,
  judgeCall,
  pathRules,
  readRules,
  strictRules,
  withRules,
} from "../../../src/runtime/govern/rules.ts";

const sessionId = makeSessionId({ nowMs: 1_700_000_000_000, random: new Uint8Array(10) });
const deny = (tool: string, more: Partial<Permission> = {}): Permission => ({ tool, rule: "deny", ...more });
const ask = (tool: string, more: Partial<Permission> = {}): Permission => ({ tool, rule: "ask", ...more });
const allow = (tool: string, more: Partial<Permission> = {}): Permission => ({
  tool,
  rule: "allow",
  ...more,
});
const agentOf = (...permissions: readonly Permission[]): AgentDefinition =>
  ({ permissions }) as unknown as AgentDefinition;
const named = <T extends Permission>(name: string, rule: T): T & { name: string } => ({ ...rule, name });

test("a rule replaces the one of its name, which is the tool's unless given; none removes it", () => {
  const rules = [named("shell", deny("shell")), named("a", ask("t"))];
  assert.deepEqual(withRules(rules, [allow("shell"), deny("u", { name: "a" }), ask("v")]), [
    named("shell", allow("shell")),
    named("a", deny("u")),
    named("v", ask("v")),
  ]);
  assert.deepEqual(withRules(rules, [{ tool: "x", rule: "none", name: "a" }]), [rules[0]]);
  assert.deepEqual(withRules(rules, [{ tool: "shell", rule: "none" }]), [rules[1]]);
});

test("loosening the rules needs the scope operate, narrowing them nothing", () => {
  const needed: string[] = [];
  const need = (scope: string): void => void needed.push(scope);
  guardRules(need, { before: [], after: [deny("shell")] });
  assert.deepEqual(needed, []);
  guardRules(need, { before: [deny("shell")], after: [] });
  assert.deepEqual(needed, ["operate"]);
  guardRules(undefined, { before: [deny("shell")], after: [] });
});

test("denies and asks of an agent are carried over, under names that are free", () => {
  const agent = agentOf(deny("a"), allow("b"), ask("c", { name: "own" }), { tool: "d", rule: "none" });
  assert.deepEqual(strictRules(agent, [], "p"), [named("p-1", deny("a")), named("p-2", ask("c"))]);
  assert.deepEqual(strictRules(agent, [deny("x", { name: "p-1" })], "p"), [named("p-2", ask("c"))]);
  assert.deepEqual(strictRules(agent, [deny("p-2")], "p"), [named("p-1", deny("a"))]);
  assert.deepEqual(strictRules(null, [], "p"), []);
  assert.deepEqual(strictRules(agentOf(), [], "p"), []);
});

describe("where a default asks", () => {
  const asks = [ask("*", { effect: "unsafe" })];

  test("calls that only the other agent allows need approval", () => {
    const other = agentOf(allow("shell"), allow("read"), deny("x"));
    const own = agentOf(allow("read"), ask("shell"));
    assert.deepEqual(askInstead(other, own, asks), [named("parent-ask-1", ask("shell"))]);
    assert.deepEqual(askInstead(other, null, asks), [
      named("parent-ask-1", ask("shell")),
      named("parent-ask-2", ask("read")),
    ]);
    assert.deepEqual(askInstead(null, own, asks), []);
  });

  test("and only there", () => {
    const other = agentOf(allow("shell"));
    for (const taken of [[], [ask("shell")], [deny("*", { effect: "unsafe" })]])
      assert.deepEqual(askInstead(other, null, taken), []);
    assert.equal(askInstead(other, null, [ask("t"), ...asks]).length, 1);
  });
});

test("with an unreadable agent every call needs approval, and a deny stays a deny", () => {
  const call = { tool: "t", input: {} };
  const rules = { session: [], agent: [], agentUnknown: false };
  assert.equal(judgeCall(rules, call).rule, "allow");
  assert.deepEqual(judgeCall({ ...rules, agentUnknown: true }, call), {
    rule: "ask",
    by: "agent",
    reason: "the rules of its agent were erased",
  });
  assert.equal(judgeCall({ ...rules, agentUnknown: true, session: [deny("t")] }, call).rule, "deny");
  assert.equal(judgeCall({ ...rules, agent: [deny("t")] }, call).rule, "deny");
  assert.equal(judgeCall({ ...rules, session: [ask("t")] }, call).rule, "ask");
});

describe("paths that a search finds", () => {
  const call = { tool: "grep_files", input: { pattern: "x" } };
  const secrets = { pattern: { path: "secret/*" } };
  const hides = (session: readonly Permission[], path: string, agent: readonly Permission[] = []) =>
    pathRules({ session, agent, agentUnknown: false }, call)?.(path);

  test("are withheld by a deny or ask rule with a pattern, of the search or of reading", () => {
    for (const rule of [deny("grep_files", secrets), ask("read_file", secrets), deny("*", secrets)]) {
      for (const [session, agent] of [
        [[rule], []],
        [[], [rule]],
      ] as const) {
        assert.equal(hides(session, "secret/a", agent), true);
        assert.equal(hides(session, "open/a", agent), false);
      }
    }
    assert.equal(hides([deny("write_file", secrets)], "secret/a"), false);
  });

  test("are free where no rule is about paths", () => {
    assert.equal(hides([], "secret/a"), undefined);
    assert.equal(hides([deny("grep_files"), allow("read_file", secrets)], "secret/a"), undefined);
    assert.equal(hides([{ tool: "*", rule: "none", ...secrets }], "secret/a"), undefined);
  });

  test("are allowed by an exception of an ask", () => {
    const rules = [ask("read_file", { pattern: { path: "*" } })];
    assert.equal(hides(rules, "open/a"), true);
    assert.equal(hides([deny("read_file", secrets), allow("read_file")], "open/a"), false);
  });

  test("are withheld if any of their spellings is, whatever the call's arguments are", () => {
    const rules = { session: [deny("read_file", secrets)], agent: [], agentUnknown: false };
    for (const input of [call.input, null, "text", undefined]) {
      const isHidden = pathRules(rules, { tool: "grep_files", input });
      assert.equal(isHidden?.("link/a", "secret/a"), true);
      assert.equal(isHidden?.("link/a", "open/a"), false);
    }
    const anyText = { session: [deny("*", { pattern: "t" })], agent: [], agentUnknown: false };
    assert.equal(pathRules(anyText, { tool: "grep_files", input: "text" })?.("open/a"), false);
    const withField = deny("grep_files", { pattern: { pattern: "x", path: "secret/*" } });
    assert.equal(hides([withField], "secret/a"), true);
  });
});

describe("rules as they are stored", () => {
  /** A store with these contents by position; null for one that was erased. */
  const storeOf = (contents: Readonly<Record<number, object | null>>): Store =>
    ({
      read: (_: string, { fromSeq }: { fromSeq: number }) => {
        const content = contents[fromSeq];
        assert.notEqual(content, undefined, `position ${fromSeq} has no content`);
        return Promise.resolve([{ content: content === null ? null : JSON.stringify(content) }]);
      },
    }) as unknown as Store;
  const stateOf = (...rules: readonly (Permission & { name: string; seq: number; hash: string | null })[]) =>
    ({
      standing: { permissions: new Map(rules.map(({ name, ...one }) => [name, one])) },
    }) as unknown as State;

  test("have their pattern and reason from their content", async () => {
    const state = stateOf(
      { ...named("a", deny("t")), seq: 3, hash: "h" },
      { ...named("b", ask("*", { effect: "unsafe" })), seq: 4, hash: null },
      { ...named("c", allow("t")), seq: 5, hash: "h" },
    );
    const store = storeOf({ 3: { pattern: "rm *", reason: "no" }, 5: { pattern: "ls" } });
    assert.deepEqual(await readRules(store, sessionId, state), [
      { name: "a", tool: "t", rule: "deny", pattern: "rm *", reason: "no" },
      { name: "b", tool: "*", rule: "ask", effect: "unsafe" },
      { name: "c", tool: "t", rule: "allow", pattern: "ls" },
    ]);
  });

  test("hold for every call once their content is erased, an allow for none", async () => {
    const rules = [deny("t"), ask("t"), allow("t")];
    const state = stateOf(...rules.map((one, at) => ({ ...named(`r${at}`, one), seq: at, hash: "h" })));
    assert.deepEqual(await readRules(storeOf({ 0: null, 1: null, 2: null }), sessionId, state), [
      named("r0", deny("t")),
      named("r1", ask("t")),
    ]);
    const bare = stateOf({ ...named("r", allow("t")), seq: 1, hash: null });
    assert.deepEqual(await readRules(storeOf({}), sessionId, bare), [named("r", allow("t"))]);
  });

  test("are looked at when a rule is set by a caller without every right", async () => {
    const state = stateOf({ ...named("t", deny("t")), seq: 3, hash: "h" });
    const store = storeOf({ 3: {} });
    const needed: string[] = [];
    const need = (scope: string): void => void needed.push(scope);
    const built = (options: Parameters<typeof guardedGrant>[0], rule: Permission) => {
      const build = guardedGrant(options, sessionId, rule);
      return typeof build === "function" ? build(state) : build;
    };
    await built({ store, need }, deny("u"));
    assert.deepEqual(needed, []);
    assert.deepEqual(await built({ store, need }, allow("t")), {
      do: "grant",
      ...allow("t"),
    });
    assert.deepEqual(needed, ["operate"]);
    await built({ store: storeOf({}) }, allow("t"));
  });
});
