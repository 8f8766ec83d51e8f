/** Another agent for a session: whatever its rules and those before, no call is ruled more loosely. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { narrowedAgent, narrowingRules } from "../../src/core/tool/agent-change.ts";
import type { Permission } from "../../src/core/tool/commands.ts";
import { ruleFor } from "../../src/core/tool/permission.ts";
import { mayOffer, type AgentDefinition } from "../../src/core/workspace/agent.ts";

const tool = fc.constantFrom("shell", "write_file", "read_file", "*", "*_file", "re*");
const pattern = fc.option(fc.constantFrom({ path: "a/*" }, { path: "*" }, { line: "git *" }), {
  nil: undefined,
});
const rule = fc
  .record({ tool, rule: fc.constantFrom("allow", "ask", "deny" as const), pattern })
  .map(({ pattern: given, ...one }): Permission => (given === undefined ? one : { ...one, pattern: given }));
const rules = fc.array(rule, { maxLength: 4 });
const agent = fc
  .record({ permissions: rules, tools: fc.option(fc.array(tool, { maxLength: 3 }), { nil: undefined }) })
  .map(({ permissions, tools }): AgentDefinition => ({
    name: "a",
    instructions: "i",
    permissions: permissions as NonNullable<AgentDefinition["permissions"]>,
    ...(tools === undefined ? {} : { tools }),
  }));
const ofSession = fc
  .record({ some: rules, asks: fc.boolean() })
  .map(({ some, asks }) => [
    ...some.map((one, place) => ({ ...one, name: `s${place}` })),
    ...(asks ? [{ name: "unsafe", tool: "*", effect: "unsafe" as const, rule: "ask" as const }] : []),
  ]);
const call = fc.record({
  tool: fc.constantFrom("shell", "write_file", "read_file", "remember"),
  effect: fc.constantFrom("read" as const, "unsafe" as const),
  input: fc.constantFrom({}, { path: "a/b" }, { path: "c" }, { line: "git log" }, { line: "rm" }),
});
const rank = { allow: 2, ask: 1, deny: 0 } as const;

test("no call is ruled more loosely after one change of agents, or two", () => {
  let stricter = 0;
  fc.assert(
    fc.property(agent, agent, agent, ofSession, call, (before, after, last, session, one) => {
      const first = ruleFor({ ...one, agent: before.permissions ?? [], session });
      const then = [...session, ...narrowingRules(before, after, session)];
      const kept = narrowedAgent(before, after);
      const second = ruleFor({ ...one, agent: kept.permissions ?? [], session: then });
      assert.ok(rank[second.rule] <= rank[first.rule], `${first.rule}, then ${second.rule}`);
      const more = [...then, ...narrowingRules(kept, last, then)];
      const third = ruleFor({ ...one, agent: last.permissions ?? [], session: more });
      assert.ok(rank[third.rule] <= rank[second.rule], `${second.rule}, then ${third.rule}`);
      assert.equal(new Set(more.map(({ name }) => name)).size, more.length, "each rule has its own name");
      if (mayOffer(kept, one.tool)) assert.ok(mayOffer(before, one.tool) && mayOffer(after, one.tool));
      if (rank[second.rule] < rank[first.rule]) stricter++;
    }),
    { numRuns: 3_000 },
  );
  assert.ok(stricter > 100, `${stricter} calls were ruled more strictly`);
});

test("the first agent of a session brings its own rules, and asks where the session asks by default", () => {
  const after: AgentDefinition = {
    name: "a",
    instructions: "i",
    tools: ["shell"],
    permissions: [{ tool: "shell", rule: "allow" }],
    memory: { sessions: "agent", promote: [{ scope: "workspace", outside: "promote" }] },
    onUnknown: "tell",
  };
  assert.deepEqual(narrowingRules(null, after, []), []);
  const asks = { name: "unsafe", tool: "*", effect: "unsafe", rule: "ask" } as const;
  assert.deepEqual(narrowingRules(null, after, [asks]), [
    { tool: "shell", rule: "ask", reason: "the agent before asked", name: "before-1" },
  ]);
  assert.deepEqual(narrowedAgent(null, after), {
    ...after,
    onUnknown: "ask",
    memory: { sessions: "none", promote: [{ scope: "workspace" }] },
  });
});
