/** Recorded sessions of other tools: both readers count the same, and every call is paired. */
import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { readAll } from "./count.ts";
import { countClaudeCode, countCodex } from "./second-reader.ts";

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
