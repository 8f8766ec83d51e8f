/** Durable runs: what was answered is not asked again, whatever killed the process, and wherever. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { generateText, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { durableRun } from "../../../src/adapter/ai-sdk/ai-sdk.ts";
import { slicedEvery } from "../../slice.ts";
import { engineWith, scripted } from "../../runtime/turn/scripted.ts";

interface Result {
  readonly text: string;
  readonly said: string;
  readonly outputs: readonly string[];
  readonly usage: Record<string, number>;
  readonly points: number;
}

const runner = join(import.meta.dirname, "durable-runner.ts");

/** Null: it was killed. */
function runOnce(folder: string, kill: number): Result | null {
  const args = [runner, join(folder, "skein.db"), join(folder, "witness"), String(kill)];
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
  if (signal === "SIGKILL" && kill > 0) return null;
  assert.notEqual(stdout, "", stderr);
  return JSON.parse(stdout) as Result;
}

const seed = Number(process.env["SKEIN_TEST_SEED"] ?? 1);
const points = Array.from({ length: 9 }, (_, n) => n + 1);

test("a run killed at any point continues: each completed call is made once and counted once", () => {
  for (const kill of slicedEvery(points, 4, seed)) {
    using folder = mkdtempDisposableSync(join(tmpdir(), "skein-durable-"));
    assert.equal(runOnce(folder.path, kill), null, `nothing at point ${kill}`);
    const result = runOnce(folder.path, 0);
    assert.ok(result !== null);
    const witness = readFileSync(join(folder.path, "witness"), "utf8").trim().split("\n");
    const many = (line: string): number => witness.filter((one) => one === line).length;
    const cut = { 2: "generate 0", 3: "look", 4: "generate 1", 5: "pay", 6: "generate 2", 8: "stream true" }[
      kill
    ];
    const wasPayCut = cut === "pay";
    for (const line of ["generate 0", "look", "generate 1", "pay", "generate 2", "stream true"])
      assert.equal(many(line), line === cut && !wasPayCut ? 2 : 1, `killed at ${kill}: ${line}`);
    assert.deepEqual([result.text, result.said], ["paid", "It is done."]);
    assert.deepEqual(result.outputs, ["tool-result", wasPayCut ? "tool-error" : "tool-result"]);
    const unconfirmedCalls = cut !== undefined && /generate|stream/.test(cut) ? 1 : 0;
    assert.deepEqual(result.usage, { calls: 4, inputTokens: 80, outputTokens: 20, unconfirmedCalls });
    const again = runOnce(folder.path, 0);
    assert.deepEqual({ ...again, points: 0 }, { ...result, points: 0 });
    assert.equal(
      readFileSync(join(folder.path, "witness"), "utf8").trim().split("\n").length,
      witness.length,
    );
  }
});

test("the points are all points of the program", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "skein-durable-"));
  assert.equal(runOnce(folder.path, 0)?.points, points.length);
  assert.ok(existsSync(join(folder.path, "witness")));
});

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const finishReason = { unified: "stop", raw: undefined } as const;

test("equal calls are distinguished, a failed one is retried, hostile texts come back equal", async () => {
  await using engine = engineWith(scripted([]));
  const hostile = `\0 \uD800 sk-${"a".repeat(48)} {"__proto__":1} ${"x".repeat(300_000)}`;
  let made = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      made += 1;
      if (made === 1) throw new Error("down");
      const response = { id: "r", timestamp: new Date(5), modelId: "m" };
      return {
        content: [{ type: "text", text: `${made}${hostile}` }],
        finishReason,
        usage,
        warnings: [],
        response,
      };
    },
  });
  async function twice(): Promise<string[]> {
    await using run = await durableRun(engine, { run: "r" });
    const wrapped = wrapLanguageModel({ model, middleware: run.middleware });
    const ask = () => generateText({ model: wrapped, prompt: "Roll a die.", maxRetries: 0 });
    await ask().catch((error: unknown) => error);
    const [one, two] = [await ask(), await ask()];
    assert.deepEqual(run.usage, {
      calls: made === 3 ? 2 : 3,
      inputTokens: made === 3 ? 6 : 9,
      outputTokens: made === 3 ? 4 : 6,
      unconfirmedCalls: 0,
    });
    assert.equal(one.finalStep.response.timestamp.getTime(), 5);
    return [one.text, two.text];
  }
  const first = await twice();
  assert.deepEqual(first, [`2${hostile}`, `3${hostile}`]);
  assert.equal(made, 3);
  // The first call of the second time is the first answered one; the third is new.
  const again = await twice();
  assert.deepEqual([again[0], made], [`3${hostile}`, 4]);
});

test("one process runs a run at a time", async () => {
  await using engine = engineWith(scripted([]));
  await using run = await durableRun(engine, { run: "one" });
  await assert.rejects(durableRun(engine, { run: "one" }), { code: "conflict" });
  assert.equal((await run.session.state()).labels["ai-sdk.run"]?.length, 64);
});

test("an abandoned stream is not an answer: the next run calls the model again", async () => {
  await using engine = engineWith(scripted([]));
  let made = 0;
  const model = new MockLanguageModelV4({
    doStream: async () => {
      made += 1;
      return {
        stream: ReadableStream.from([
          { type: "text-start", id: "t" } as const,
          { type: "text-delta", id: "t", delta: "Hel" } as const,
          { type: "text-delta", id: "t", delta: "lo" } as const,
          { type: "text-end", id: "t" } as const,
          { type: "finish", finishReason, usage } as const,
        ]),
      };
    },
  });
  async function read(whole: boolean): Promise<string> {
    await using run = await durableRun(engine, { run: "s" });
    const wrapped = wrapLanguageModel({ model, middleware: run.middleware });
    const { stream } = await wrapped.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
    });
    if (!whole) {
      const reader = stream.getReader();
      await reader.read();
      await reader.cancel();
      return "";
    }
    let text = "";
    for await (const part of stream) if (part.type === "text-delta") text += part.delta;
    return text;
  }
  await read(false);
  assert.equal(await read(true), "Hello");
  assert.equal(await read(true), "Hello");
  assert.equal(made, 2);
  await using run = await durableRun(engine, { run: "s" });
  const wrapped = wrapLanguageModel({ model, middleware: run.middleware });
  assert.ok((await streamText({ model: wrapped, prompt: "Other" }).text).startsWith("Hello"));
  assert.equal(run.usage.calls, 2);
});
