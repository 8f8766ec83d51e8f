/** Recorded sessions of other tools: both readers count the same, and every call is paired. */
import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { readAll } from "./count.ts";
import { countClaudeCode, countCodex, countPi } from "./second-reader.ts";

const samples = join(import.meta.dirname, "../../../shared/samples");
const skip = [samples, "/work/shared/samples"].some((path) => existsSync(path))
  ? false
  : "../shared/samples is not there";
const root = existsSync(samples) ? samples : "/work/shared/samples";

const recorded = (pattern: string): string[] => globSync(join(root, pattern)).toSorted();

test("Claude Code: counts, pairs and tokens equal those of the second reader", { skip }, async (t) => {
  for (const path of recorded("claude-code/{short,tool_heavy,subagent,ae4a77f8-*}.jsonl")) {
    const { counted, plan } = await readAll("claude-code", path);
    assert.deepEqual(counted, countClaudeCode(path), basename(path));
    assert.equal(plan.report.damagedCount, 0);
    assert.equal(plan.report.unpairedCalls, 0);
    t.diagnostic(`${basename(path)}: ${JSON.stringify(counted)}`);
  }
});

test("Codex: counts, pairs and tokens equal those of the second reader", { skip }, async (t) => {
  for (const path of recorded("codex/rollout-*.jsonl")) {
    const { counted, plan } = await readAll("codex", path);
    const { answers, ...rest } = counted;
    assert.deepEqual(rest, countCodex(path), basename(path));
    assert.ok(answers > 0);
    assert.equal(plan.report.unpairedCalls, rest.calls - rest.paired);
    t.diagnostic(`${basename(path)}: ${JSON.stringify(counted)}`);
  }
});

test("pi: counts, pairs and tokens equal those of the second reader", { skip }, async (t) => {
  for (const path of recorded("pi/*.jsonl")) {
    const { counted, plan } = await readAll("pi", path);
    assert.deepEqual(counted, countPi(path), basename(path));
    assert.equal(plan.report.unpairedCalls, counted.calls - counted.paired);
    t.diagnostic(`${basename(path)}: ${JSON.stringify(counted)}`);
  }
});

test("shapes of many versions: every record is counted, nothing is damaged", { skip }, async () => {
  const shapes = [
    ["claude-code", "claude-code/s{hapes,chema}*.jsonl"],
    ["codex", "codex/s{hapes,chema}*.jsonl"],
    ["gemini", "gemini/*"],
  ] as const;
  for (const [format, pattern] of shapes)
    for (const path of recorded(pattern)) {
      const { plan } = await readAll(format, path);
      assert.equal(plan.report.damagedCount, 0, basename(path));
      assert.ok(Object.keys(plan.report.records).length > 0);
    }
});
