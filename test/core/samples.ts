/**
 * One hand-written sample of every event type, with every optional field that the catalogue names. Folds,
 * golden logs and generated histories are made from them, so that a new event type shows up everywhere at
 * once.
 */
import type { BodyOf, ContentOf, EventType } from "../../src/core/catalog.ts";

type Samples = {
  readonly [T in EventType]: { readonly body: BodyOf<T>; readonly content?: ContentOf<T> };
};

export const otherSession = "ses_01hf7yat00thers0000000000z";
const otherWorkspace = "wsp_01hf7yat00000000000000000w";
const sha = "5e".repeat(32);
const reason = { reason: "as agreed" };
const blocks = {
  blocks: [
    { type: "text" as const, text: "Compute the November run." },
    { type: "image" as const, blob: sha, mediaType: "image/png" },
    { type: "file" as const, blob: sha, mediaType: "text/csv", name: "rates.csv" },
    { type: "reasoning" as const, text: "The base rate matters.", signature: "opaque" },
    { type: "tool-call" as const, call: "call_1", tool: "files.read", input: { path: "rates.json" } },
    { type: "tool-result" as const, call: "call_1", output: { base: 4.1 } },
  ],
};
const usage = { inputTokens: 120, outputTokens: 30, cachedInputTokens: 100, reasoningTokens: 10 };
const amounts = { tokens: 500, nanoUsd: 2_000_000, steps: 4, turns: 2, toolCalls: 3, wallMs: 60_000 };
const message = {
  message: "msg-1",
  number: 1,
  topic: "rates",
  replyTo: "msg-0",
  deadlineMs: 1_800_000_000_000,
};

const session = {
  "session.opened": {
    body: {
      workspace: otherWorkspace,
      agent: "payroll",
      model: "acme/large-2",
      priority: 3,
      labels: { team: "finance", "env/stage": "Test 1" },
      parent: { session: otherSession, seq: 4 },
      from: otherSession,
      expiresAfterIdleMs: 86_400_000,
      has: ["objective", "name"],
    },
    content: {
      objective: "November payroll run",
      name: "payroll",
      instructions: "Be exact.",
      constraints: ["never pay twice"],
    },
  },
  "session.renamed": { body: {}, content: { name: "payroll, second try" } },
  "session.labeled": { body: { set: { owner: "ann" }, remove: ["team"] } },
  "session.prioritized": { body: { priority: 0 } },
  "session.activated": { body: {}, content: reason },
  "session.suspended": { body: { by: "approval", on: [3, 5] }, content: reason },
  "session.slept": { body: { untilMs: 1_800_000_000_000, triggers: ["nightly"] }, content: reason },
  "session.woken": { body: { by: "trigger", trigger: "nightly" }, content: reason },
  "session.interrupted": { body: {}, content: reason },
  "session.closed": { body: { outcome: "completed" }, content: reason },
  "session.reopened": { body: {}, content: reason },
  "session.archived": { body: {}, content: reason },
  "session.forked": {
    body: { parent: otherSession, parentSeq: 1, parentHash: sha, by: "person", has: ["objective", "name"] },
    content: { objective: "What if the rate rises?", name: "what if" },
  },
  "session.rewound": {
    body: { toSeq: 1, inputs: { ranges: [[2, 3]], fromSeq: 2 }, requeued: false },
    content: reason,
  },
  "session.merged": {
    body: {
      from: otherSession,
      fromSeq: 2,
      toSeq: 9,
      toHash: sha,
      base: { session: otherSession, seq: 1 },
      taken: 2,
      resolved: 1,
    },
    content: {
      summary: "The rate is 4.2.",
      resolutions: [{ kind: "fact", key: "base-rate", take: "theirs", because: "it is newer" }],
    },
  },
  "session.migrated": {
    body: { from: "acme/large-2", to: "other/small:1" },
    content: { left: ["reasoning"] },
  },
  "session.moved": { body: { move: "move-1" }, content: { to: "another machine" } },
  "session.arrived": { body: { move: "move-1" }, content: { from: "a machine" } },
  "lease.taken": { body: { holder: "runner-1", leaseMs: 15_000 } },
  "lease.released": { body: { epoch: 2 } },
} satisfies Partial<Samples>;

const bootstrap = {
  "agent.pinned": {
    body: { agent: "payroll", version: 2, digest: sha },
    content: { definition: { instructions: "Be exact.", model: "acme/large-2" } },
  },
  "document.loaded": {
    body: { kind: "agents-md", digest: sha, bytes: 12 },
    content: { path: "AGENTS.md", text: "Use the WAL." },
  },
  "memory.carried": {
    body: { count: 1, tokens: 9 },
    content: {
      items: [
        {
          scope: "agent",
          kind: "fact",
          key: "base-rate",
          value: 4.1,
          why: "asked for",
          origin: { session: otherSession, seq: 7 },
        },
      ],
    },
  },
  "resource.bound": {
    body: { name: "rates", kind: "file", mode: "read" },
    content: {
      path: "rates.json",
      url: "file:///rates.json",
      command: ["cat", "rates.json"],
      secrets: ["RATES_TOKEN"],
      options: { watch: true },
    },
  },
  "resource.unbound": { body: { name: "rates" } },
  "resource.changed": { body: { name: "rates", digest: sha }, content: { detail: { lines: 3 } } },
  "tools.bound": {
    body: { digest: sha, count: 2, tools: ["files.read", "shell"] },
    content: { definitions: [{ name: "files.read" }, { name: "shell" }] },
  },
  "permission.set": {
    body: { name: "shell", tool: "shell", rule: "ask" },
    content: { pattern: { command: "git *" }, reason: "it writes" },
  },
  "contract.declared": { body: { topic: "rates", digest: sha }, content: { schema: { type: "object" } } },
} satisfies Partial<Samples>;

const turn = {
  "turn.started": { body: { inputs: [[2, 1]] } },
  "turn.ended": { body: { outcome: "completed", steps: 1, mindForm: 1, mindHash: sha } },
  "input.received": { body: { input: 1, from: "trigger", mode: "steer" }, content: blocks },
  "model.requested": {
    body: {
      model: "acme/large-2",
      renderer: 1,
      context: sha,
      parts: 4,
      attempt: 1,
      inputs: [[3, 2]],
      reserved: amounts,
      estimatedTokens: 120,
      outputTokensMax: 4_096,
      purpose: "step",
      toSeq: 2,
    },
    content: { settings: { temperature: 0 }, prompt: "Summarize." },
  },
  "model.responded": {
    body: { model: "acme/large-2", finish: "tool-calls", usage, costNanoUsd: 1_500, sent: sha, ms: 800 },
    content: blocks,
  },
  "model.failed": {
    body: { model: "acme/large-2", error: "overloaded", retryable: true, usage, costNanoUsd: 40 },
    content: { message: "Overloaded, try later." },
  },
  "zone.crossed": { body: { zone: "strained", tokens: 60_000, windowTokens: 100_000 } },
  "tool.requested": {
    body: { call: "call_1", tool: "files.read", effect: "read", ask: true, model: "acme/large-2" },
    content: { input: { path: "rates.json" } },
  },
  "tool.approved": { body: { call: "call_1" }, content: reason },
  "tool.denied": { body: { call: "call_1" }, content: reason },
  "tool.started": { body: { call: "call_1", attempt: 1 } },
  "tool.settled": {
    body: { call: "call_1", status: "ok", ms: 12, late: false },
    content: { output: { base: 4.1 } },
  },
} satisfies Partial<Samples>;

const durable = {
  "item.recorded": {
    body: { kind: "task", key: "check-rate", status: "open", origin: { session: otherSession, seq: 3 } },
    content: { value: "look at the rate", because: "it may change" },
  },
  "item.retracted": { body: { kind: "task", key: "check-rate" }, content: { because: "done" } },
  "scratch.set": { body: { key: "step", removed: false }, content: { value: [1, null, "ä😀"] } },
  "transcript.compacted": {
    body: {
      fromSeq: 1,
      toSeq: 1,
      strategy: "summarize",
      model: "acme/small",
      usage,
      costNanoUsd: 20,
      tokensBefore: 900,
      tokensAfter: 90,
      items: [[1, 1]],
    },
    content: { summary: "A run was computed.", pruned: [1] },
  },
  "checkpoint.saved": { body: { name: "before the run", seq: 1 }, content: { note: "all rates known" } },
  "handoff.written": { body: { digest: sha }, content: { text: "# Handoff" } },
  "message.sent": { body: { ...message, to: otherSession }, content: blocks },
  "message.received": { body: { ...message, input: 2, from: otherSession }, content: blocks },
  "message.refused": { body: { message: "msg-1", to: otherSession, error: "no-contract" }, content: reason },
  "trigger.set": {
    body: { name: "nightly", kind: "cron", missed: "once" },
    content: { spec: { cron: "0 9 1 * *" } },
  },
  "trigger.removed": { body: { name: "nightly" } },
  "trigger.fired": { body: { name: "nightly", digest: sha }, content: { detail: { at: "09:00" } } },
} satisfies Partial<Samples>;

const governance = {
  "budget.set": { body: { limits: amounts }, content: reason },
  "budget.allotted": { body: { session: otherSession, direction: "given", amounts } },
  "budget.reached": { body: { resource: "tokens", limit: 500, used: 510 } },
  "content.erased": { body: { ranges: [[1, 1]], records: 1, bytes: 90 }, content: reason },
  "hold.set": { body: { name: "audit" }, content: reason },
  "hold.lifted": { body: { name: "audit" }, content: reason },
  "score.recorded": { body: { name: "helpful", value: 0.75, seq: 1 }, content: { because: "it was right" } },
  "agent.defined": {
    body: { agent: "payroll", version: 2, digest: sha },
    content: { definition: { instructions: "Be exact." } },
  },
  "memory.promoted": {
    body: {
      scope: "agent",
      owner: "payroll",
      kind: "fact",
      key: "base-rate",
      origin: { session: otherSession, seq: 7 },
    },
    content: { value: 4.1, because: "asked for" },
  },
  "memory.forgotten": {
    body: { scope: "agent", owner: "payroll", kind: "fact", key: "base-rate" },
    content: reason,
  },
  "token.issued": {
    body: {
      id: "tok_01hf7yat00000000000000000t",
      hash: sha,
      scopes: ["read", "write"],
      principal: "prn_01hf7yat00000000000000000p",
      expiresAt: 1_700_000_000_000,
    },
    content: { name: "the nightly build" },
  },
  "token.revoked": { body: { id: "tok_01hf7yat00000000000000000t" }, content: reason },
  "hook.set": {
    body: {
      name: "ops",
      events: ["turn.ended", "session.*"],
      from: "12",
      session: otherSession,
      agent: "payroll",
      labels: { team: "web" },
      signedBy: "HOOK_SECRET",
    },
    content: { url: "https://example.com/hook" },
  },
  "hook.removed": { body: { name: "ops" }, content: reason },
  "hook.delivered": { body: { name: "ops", setSeq: 3, to: "40", count: 7 } },
  "hook.abandoned": { body: { name: "ops", setSeq: 3, log: otherSession, seq: 12, attempts: 40 } },
  "approval.saved": {
    body: { name: "approval-1", tool: "shell" },
    content: { command: { text: "npm test", directory: "/work", binding: { kind: "shell", name: "shell" } } },
  },
  "approval.revoked": { body: { name: "approval-1" } },
  "policy.set": { body: { name: "retention" }, content: { policy: { days: 90 } } },
  "heads.listed": {
    body: { count: 1, full: true, merkle: sha, before: sha, root: sha, publicKey: "k", signature: "s" },
    content: { heads: [[otherSession, 12, sha]] },
  },
  "heads.accepted": { body: { count: 1, anchor: { seq: 9, hash: sha } }, content: reason },
  "session.deleted": { body: { session: otherSession, headSeq: 12, headHash: sha }, content: reason },
  "trigger.skipped": { body: { name: "nightly", dueMs: 1_000, count: 2, nextMs: 2_000 } },
  "message.delivered": { body: { message: "msg-1", to: otherSession, number: 1 } },
} satisfies Partial<Samples>;

export const samples: Samples = { ...session, ...bootstrap, ...turn, ...durable, ...governance };
