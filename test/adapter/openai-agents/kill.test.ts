/** Processes that are killed between two calls of a session, and in the middle of one. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { AgentInputItem } from "@openai/agents";
import { SkeinSession } from "../../../src/adapter/openai-agents/openai-agents.ts";
import { openEngine } from "../../../src/index.ts";

const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
const long = user("2\0".repeat(300_000));

/** The items after each call of session-runner.ts. */
const states = [
  [user("1"), long, user("3")],
  [user("1"), long],
  [user("1"), long, user("4")],
  [user("5"), user("6")],
  [],
  [user("7")],
];

function makePath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-openai-kill-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "skein.db");
}

async function killed(...args: readonly (string | number)[]): Promise<void> {
  const runner = join(import.meta.dirname, "session-runner.ts");
  const given = [...process.execArgv, runner, ...args.map(String)];
  const child = spawn(process.execPath, given, { stdio: ["ignore", "inherit", "inherit"] });
  const signal = await new Promise((resolve) => child.on("close", (_, by) => resolve(by)));
  assert.equal(signal, "SIGKILL");
}

async function itemsIn(path: string): Promise<readonly AgentInputItem[]> {
  await using engine = await openEngine({ store: path });
  assert.equal((await engine.verify()).ok, true);
  return await new SkeinSession(engine, { sessionId: "killed" }).getItems();
}

test("a process that is killed after a call has lost nothing", async (t) => {
  const path = makePath(t);
  for (const [at, state] of states.entries()) {
    await killed(path, at, at);
    assert.deepEqual(await itemsIn(path), state, `after call ${at}`);
  }
});

test("a call that is killed took effect whole or not at all", async (t) => {
  for (const [at, waitMs] of [
    [0, 2],
    [0, 9],
    [3, 1],
    [4, 4],
  ] as const) {
    const path = makePath(t);
    await killed(path, 0, at, waitMs);
    const items = JSON.stringify(await itemsIn(path));
    const either = [states[at - 1] ?? [], states[at]].map((state) => JSON.stringify(state));
    assert.ok(either.includes(items), `call ${at} after ${waitMs} ms: ${items.slice(0, 200)}`);
  }
});
