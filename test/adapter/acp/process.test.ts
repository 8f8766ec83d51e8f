/** `skein acp` as a process: killed and loaded again, bad lines, nothing but the protocol on its output. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { endOf, makeFolder, parseLines, skeinIn } from "../../cli/skein.ts";
import { withEditor, type Editor } from "./editor.ts";

const text = (said: string) => [{ type: "text" as const, text: said }];

function makePlace() {
  const place = makeFolder();
  const cwd = join(place, "work");
  mkdirSync(cwd);
  const skein = skeinIn(place);
  const start = (env: Record<string, string> = {}) => skein.start(["acp", "--shell", "none"], { env });
  return { cwd, skein, start };
}

async function connected<T>(
  { start }: Pick<ReturnType<typeof makePlace>, "start">,
  work: (editor: Editor, child: ReturnType<ReturnType<typeof skeinIn>["start"]>) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  const child = start(env);
  child.stderr.resume();
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    return await withEditor(
      { input: child.stdin, output: child.stdout },
      () => "once",
      (editor) => work(editor, child),
    );
  } finally {
    child.stdin.end();
    const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(late);
  }
}

suite("skein acp", { concurrency: 2 }, () => {
  test("killed in mid-answer, another process loads the session and finishes the turn", async () => {
    const place = makePlace();
    const { cwd, skein } = place;
    let sessionId = "";
    const killed = connected(
      place,
      async (editor, child) => {
        ({ sessionId } = await editor.agent.request("session/new", { cwd, mcpServers: [] }));
        const prompt = text("remember base-rate is 4.1");
        const asked = editor.agent.request("session/prompt", { sessionId, prompt });
        asked.catch(() => undefined);
        await editor.until(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
        child.kill("SIGKILL");
        await asked;
      },
      { SKEIN_OFFLINE_PACE_MS: "50" },
    );
    await assert.rejects(killed, /closed/);
    await connected(place, async (editor) => {
      await editor.agent.request("session/load", { sessionId, cwd, mcpServers: [] });
      assert.equal(editor.text("user_message_chunk"), "remember base-rate is 4.1");
      assert.equal(editor.of("tool_call").length, 1);
      await editor.until(({ sessionUpdate }) => sessionUpdate === "usage_update");
      while (!editor.text("agent_message_chunk").includes("base-rate: 4.1"))
        await new Promise((resolve) => setTimeout(resolve, 20));
    });
    const [row] = await skein.look("ps");
    assert.deepEqual([row?.["id"], row?.["status"]], [sessionId, "open"]);
    assert.equal((await skein.look("verify", sessionId))[0]?.["ok"], true);
  });

  test("bad lines get the protocol's own errors, and the connection continues", async () => {
    const child = makePlace().start();
    const ended = endOf(child);
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 99 } };
    const lines = [
      "{ not json",
      "[1, 2]",
      '{"jsonrpc":"1.0","id":7,"method":"initialize"}',
      '{"jsonrpc":"2.0","id":{},"method":"initialize"}',
      '{"jsonrpc":"2.0","id":8,"method":"session/list"}',
      '{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"one"}}',
      '{"jsonrpc":"2.0","method":"nobody/knows"}',
      '{"jsonrpc":"2.0","id":99,"result":{}}',
      "",
      `{"jsonrpc":"2.0","id":10,"method":"${"x".repeat(70_000_000)}"}`,
      JSON.stringify(initialize),
      '{"jsonrpc":"2.0","id":11,"method":"toString"}',
      '{"jsonrpc":"2.0","id":12,"method":"session/list","params":{"cursor":"nonsense"}}',
    ];
    child.stdin.on("error", () => undefined).end(`${lines.join("\n")}\n`);
    const { code, stdout, stderr } = await ended;
    assert.equal(code, 0, stderr);
    const answers = parseLines(stdout).map(({ id, error, result }) => [
      id,
      (error as { code?: number } | undefined)?.code ??
        (result as { protocolVersion?: number }).protocolVersion,
    ]);
    const byId = Object.fromEntries(answers.map(([id, what]) => [String(id), what]));
    const nulls = answers.filter(([id]) => id === null).map(([, what]) => what);
    assert.deepEqual(nulls, [-32_700, -32_600, -32_600, -32_600]);
    const { 12: last, ...others } = byId;
    assert.equal(typeof last, "number");
    assert.deepEqual({ ...others }, { null: -32_600, 1: 1, 7: -32_600, 8: -32_600, 9: -32_602, 11: -32_601 });
  });
});

/** A folder whose configuration has an executor, the double. */
function executorPlace() {
  const place = makeFolder();
  const work = join(place, "work");
  mkdirSync(work);
  const config = join(place, "config.json");
  const double = join(import.meta.dirname, "agent-double.ts");
  const command = [process.execPath, double, join(place, "sessions"), "resume"];
  writeFileSync(config, JSON.stringify({ executors: { double: { command } } }));
  const skein = skeinIn(place);
  const env = { SKEIN_CONFIG: config };
  const open = ["open", "Work", "--executor", "acp:double", "--bind", `directory:${work}:write`, "--yes"];
  return { work, skein, env, open };
}

test("Skein is killed while its executor runs a call: another process settles it and continues", async () => {
  const { work, skein, env, open } = executorPlace();
  const opened = await skein.run(open, { env });
  assert.equal(opened.code, 0, opened.stderr);
  const id = opened.stdout.trim();
  const child = skein.start(["ask", id, "--json", "do: say A; begin c1 a.txt; wait; say B"], { env });
  const ended = endOf(child);
  child.stdout.on("data", (text: string) => void (text.includes("tool.started") && child.kill("SIGKILL")));
  assert.equal((await ended).signal, "SIGKILL");
  const stopped = await skein.run(["run", id], { env });
  assert.equal(stopped.code, 7, stopped.stderr);
  const types = async () =>
    (await skein.look("log", id)).map(({ type, body }) => `${String(type)} ${JSON.stringify(body)}`);
  assert.ok((await types()).some((line) => /^tool.settled .*"unknown"/.test(line)));
  await skein.run(["answer", id, "--text", "do: finish c2 b.txt two; say went on"], { env });
  const finished = await skein.run(["run", id], { env });
  assert.equal(finished.code, 0, finished.stderr);
  assert.match(finished.stdout, /went on/);
  assert.equal(readFileSync(join(work, "b.txt"), "utf8"), "two");
  assert.equal((await skein.look("verify", id))[0]?.["ok"], true);
});

test("an executor is named by configuration alone, and asks at start", async () => {
  const { work, skein, env } = executorPlace();
  const bad = await skein.run(["open", "Work", "--executor", "acp:node evil.mjs"], { env });
  assert.equal(bad.code, 2);
  assert.match(bad.stderr, /configuration, which alone holds commands/);
  const opened = await skein.run(
    ["open", "Work", "--executor", "acp:double", "--bind", `directory:${work}:write`],
    { env },
  );
  const asked = await skein.run(["ask", opened.stdout.trim(), "do: say A"], { env });
  assert.equal(asked.code, 7);
  assert.match(asked.stderr, /outside of Skein's sandbox/);
});
