/** A real graph with an interrupt, killed with SIGKILL at a call of its saver, and continued. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { slicedEvery } from "../../slice.ts";

interface Finished {
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

function runGraph(...args: readonly string[]): Promise<Finished> {
  const runner = join(import.meta.dirname, "graph-runner.ts");
  const child = spawn(process.execPath, [...process.execArgv, runner, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve) => child.on("close", (_, signal) => resolve({ signal, output })));
}

/** The calls of a run without a kill; the test below fails when there are fewer. */
const calls = 17;
const points = Array.from({ length: calls }, (_, place) => place + 1).flatMap((call) => [
  [call, "before"] as const,
  [call, "after"] as const,
]);
const seed = Number(process.env["SKEIN_TEST_SEED"] ?? 0);

test("a graph is continued from every call of its saver, and the interrupt is answered once", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-langgraph-kill-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const whole = JSON.parse((await runGraph(join(folder, "whole.db"))).output) as {
    readonly log: readonly string[];
    readonly steps: readonly number[];
    readonly calls: number;
  };
  assert.deepEqual(whole.log, ["started", "planned", "answered yes", "left", "right"]);
  assert.equal(whole.calls, calls);
  for (const [call, when] of slicedEvery(points, 17, seed)) {
    const path = join(folder, `${call}-${when}.db`);
    const killed = await runGraph(path, String(call), when);
    assert.equal(killed.signal, "SIGKILL", `${when} call ${call}`);
    const resumed = JSON.parse((await runGraph(path)).output) as typeof whole;
    assert.deepEqual(resumed.log.toSorted(), whole.log.toSorted(), `${when} call ${call}`);
    await using engine = await openEngine({ store: path });
    assert.equal((await engine.verify()).ok, true, `${when} call ${call}`);
  }
});
