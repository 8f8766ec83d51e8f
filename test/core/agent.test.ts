/** Definitions of agents: what they may say, and what is said about mistakes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  agentDefaults,
  agentDigest,
  agentRules,
  checkAgent,
  isStoredAgent,
  mayOffer,
  type AgentDefinition,
} from "../../src/core/workspace/agent.ts";
import { SkeinError } from "../../src/core/error.ts";
import { limit } from "../../src/core/limit.ts";
import { digest } from "./digest.ts";

const small: AgentDefinition = { name: "reviewer", instructions: "Review." };
const whole: AgentDefinition = {
  name: "reviewer",
  description: "Reviews changes.",
  instructions: "You review changes.",
  model: "anthropic/claude-sonnet-4-5",
  tools: ["read_*", "record_fact"],
  permissions: [
    { tool: "write_file", rule: "ask", pattern: { path: "src/*" }, reason: "source", name: "src" },
    { tool: "shell", rule: "deny" },
  ],
  bind: [
    { kind: "directory", path: ".", mode: "write", name: "here" },
    { kind: "mcp", command: ["node", "server.js"], secrets: ["TOKEN"], options: { a: 1 } },
  ],
  budget: { usd: 1.5, tokens: 100, steps: 3, turns: 2, toolCalls: 9, wallMs: 1_000 },
  temperature: 0.2,
  reasoning: "low",
  outputTokensMax: 4_000,
  stepsMax: 10,
  zones: { strained: { share: 0.5, turns: null }, full: { tokens: 100_000 } },
  compaction: { strategy: "extract", atShare: 0.7, model: "offline/offline", auto: false },
  onUnknown: "tell",
};

const complaintOf = (given: unknown): [string, string, string | undefined] => {
  try {
    checkAgent(given, { where: "a.md" });
  } catch (error) {
    if (error instanceof SkeinError) return [error.code, error.message, error.hint];
    throw error;
  }
  return ["fine", "", undefined];
};

test("a definition passes through as it is, the smallest and the largest", () => {
  assert.deepEqual(checkAgent(small), small);
  assert.deepEqual(checkAgent(whole), whole);
  assert.deepEqual(checkAgent({ ...small, model: undefined, budget: { usd: undefined } }), {
    ...small,
    budget: {},
  });
});

const mistakes: [unknown, string, string | undefined][] = [
  [{ ...small, modell: "a/b" }, 'unknown field "modell"', 'did you mean "model"?'],
  [
    {
      ...small,
      permissions: [
        { tool: "x", rule: "allow" },
        { tool: "x", rule: "dney" },
      ],
    },
    'permissions[1].rule: expected one of allow, ask, deny, got "dney"',
    'did you mean "deny"?',
  ],
  [
    { ...small, permissions: [{ tool: "x", rule: "allow", patern: {} }] },
    'unknown field "permissions[0].patern"',
    'did you mean "pattern"?',
  ],
  [
    { ...small, zones: { strained: { shares: 1 } } },
    'unknown field "zones.strained.shares"',
    'did you mean "share"?',
  ],
  [
    { ...small, bind: [{ path: "." }] },
    "bind[0].kind: missing",
    "one of file, directory, database, mcp, shell, tool",
  ],
  [
    { ...small, budget: { dollars: 3 } },
    'unknown field "budget.dollars"',
    "one of usd, tokens, steps, turns, toolCalls, wallMs",
  ],
  [
    {
      ...small,
      bind: [
        { kind: "directory", path: "notes" },
        { kind: "shell", path: "notes" },
      ],
    },
    'bind[1]: the one before has the name "notes" too; give each a different name',
    undefined,
  ],
  [{ name: "reviewer" }, "instructions: missing", undefined],
  [{ ...small, instructions: " \n" }, "instructions: instructions cannot be empty", undefined],
  [{ ...small, tools: "read_file" }, "tools: expected a list, got a text", undefined],
  [{ ...small, tools: null }, "tools: expected a list, got null", undefined],
  [{ ...small, stepsMax: "3" }, "stepsMax: expected a number, got a text", undefined],
  [{ ...small, stepsMax: 1.5 }, "stepsMax: expected a whole number, got 1.5", undefined],
  [
    { ...small, model: "claude" },
    'model: expected "provider/model", such as anthropic/claude-sonnet-5',
    undefined,
  ],
  [
    { ...small, name: "The Reviewer" },
    `name: an agent's name has up to 64 lower-case letters, digits and . _ -`,
    undefined,
  ],
  [
    { ...small, zones: { full: { share: 85 } } },
    "zones.full.share: a share is from 0 to 1, got 85",
    undefined,
  ],
];

test("a mistake is reported with its field and the right spelling", () => {
  for (const [given, message, hint] of mistakes) {
    assert.deepEqual(complaintOf(given), ["invalid", `a.md: ${message}`, hint]);
  }
});

test("values that are not objects, or cannot be stored, are rejected", () => {
  assert.equal(complaintOf(null)[1], "a.md: expected a definition object, got null");
  assert.equal(complaintOf([])[1], "a.md: expected a definition object, got a list");
  assert.equal(complaintOf("text")[1], "a.md: expected a definition object, got a text");
  assert.equal(complaintOf({ ...small, bind: [{ kind: "tool", options: new Date(0) }] })[0], "invalid");
  const round: Record<string, unknown> = { ...small };
  round["bind"] = [{ kind: "tool", options: round }];
  assert.equal(complaintOf(round)[0], "invalid");
});

test("instructions may be exactly as long as the limit", () => {
  const most = "x".repeat(limit.instructionsCharsMax);
  assert.equal(complaintOf({ ...small, instructions: most })[0], "fine");
  assert.equal(complaintOf({ ...small, instructions: `${most}x` })[0], "invalid");
});

test("whatever is given, the answer is a definition or a clear refusal", () => {
  const field = fc.constantFrom(...Object.keys(whole));
  fc.assert(
    fc.property(fc.dictionary(field, fc.jsonValue()), fc.boolean(), (given, based) => {
      const definition = based ? { ...whole, ...given } : given;
      const [code, message] = complaintOf(definition);
      if (code === "fine") assert.deepEqual(checkAgent(definition), definition);
      else assert.ok(code === "invalid" && message.startsWith("a.md: ") && !message.includes("undefined"));
    }),
  );
});

test("the digest does not depend on the order of fields, and on everything else", () => {
  const reordered = Object.fromEntries(Object.entries(whole).toReversed()) as AgentDefinition;
  assert.equal(agentDigest(digest, reordered), agentDigest(digest, whole));
  assert.notEqual(agentDigest(digest, { ...whole, stepsMax: 11 }), agentDigest(digest, whole));
  assert.notEqual(
    agentDigest(digest, { ...whole, tools: ["record_fact", "read_*"] }),
    agentDigest(digest, whole),
  );
});

test("fields missing from an agent get the defaults", () => {
  assert.deepEqual(agentRules(null), agentDefaults);
  assert.deepEqual(agentRules(small), agentDefaults);
  assert.deepEqual(agentRules(whole), {
    onUnknown: "tell",
    stepsMax: 10,
    outputTokensMax: 4_000,
    zones: {
      strained: { ...agentDefaults.zones.strained, share: 0.5, turns: null },
      full: { ...agentDefaults.zones.full, tokens: 100_000 },
    },
    shares: {},
    compaction: { strategy: "extract", atShare: 0.7, model: "offline/offline", auto: false },
  });
});

test("tools are offered by name or pattern, and all of them when none is named", () => {
  const offered = (tools: readonly string[], name: string) => mayOffer({ ...small, tools }, name);
  assert.equal(mayOffer(null, "shell"), true);
  assert.equal(mayOffer(small, "shell"), true);
  assert.equal(offered([], "shell"), false);
  assert.equal(offered(["read_*"], "read_file"), true);
  assert.equal(offered(["read_*"], "thread_file"), false);
  assert.equal(offered(["*_file"], "read_file"), true);
  assert.equal(offered(["a*b*c"], "a.b.b.c"), true);
  assert.equal(offered(["a*a"], "a"), false);
  assert.equal(offered(["read.file"], "read_file"), false);
  assert.equal(offered(["*"], "anything"), true);
  assert.equal(offered([`${"*a".repeat(60)}*b`], "a".repeat(128)), false);
});

test("a stored definition with fields of a newer program is still one", () => {
  assert.equal(isStoredAgent({ ...whole, mood: "calm" }), true);
  assert.equal(isStoredAgent({ ...whole, stepsMax: "many" }), false);
  assert.equal(isStoredAgent(null), false);
});
