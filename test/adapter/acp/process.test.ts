/** `skein acp` as a process: killed and loaded again, bad lines, nothing but the protocol on its output. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
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
