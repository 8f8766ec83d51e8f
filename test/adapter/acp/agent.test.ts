/** `skein acp` through the official client: what an editor sees of a session, and what the log keeps. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { RequestError } from "@agentclientprotocol/sdk";
import { ModelError } from "../../../src/model/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import * as z from "zod";
import { engineWith, say, scripted, use } from "../../runtime/turn/scripted.ts";
import { editing, type Editor } from "./editor.ts";

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-acp-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const text = (said: string) => [{ type: "text" as const, text: said }];
const open = async (editor: Editor, cwd: string): Promise<string> =>
  (await editor.agent.request("session/new", { cwd, mcpServers: [] })).sessionId;

const deploy = (ran: string[]) =>
  defineTool({
    name: "deploy",
    description: "Deploys.",
    input: z.strictObject({ to: z.string() }),
    run: async ({ to }) => {
      ran.push(to);
      return `deployed to ${to}`;
    },
  });

test("a prompt streams an answer with tool calls, a diff, a plan and usage", async (t) => {
  const cwd = folderOf(t);
  writeFileSync(join(cwd, "rates.txt"), "base 4.1\n");
  const script = scripted([
    [
      say("Looking."),
      use("edit_file", { path: "rates.txt", find: "4.1", replace: "5" }),
      use("record", { kind: "task", key: "check", value: "Check the rate" }),
    ],
    "Done.",
  ]);
  await using engine = engineWith(script);
  await editing(engine, async (editor) => {
    const sessionId = await open(editor, cwd);
    const { stopReason } = await editor.agent.request("session/prompt", {
      sessionId,
      prompt: text("Raise the rate\nplease"),
    });
    assert.equal(stopReason, "end_turn");
    assert.equal(editor.text("agent_message_chunk"), "Looking.Done.");
    assert.equal(editor.of("user_message_chunk").length, 0, "the editor shows its own prompt itself");
    const [edit, record] = editor.of("tool_call");
    assert.deepEqual([edit?.["kind"], edit?.["locations"]], ["edit", [{ path: join(cwd, "rates.txt") }]]);
    assert.equal(record?.["kind"], "other");
    const last = editor.of("tool_call_update").findLast((one) => one["toolCallId"] === edit?.["toolCallId"]);
    assert.equal(last?.["status"], "completed", JSON.stringify(last));
    assert.deepEqual((last?.["content"] as unknown[] | undefined)?.[0], {
      type: "diff",
      path: join(cwd, "rates.txt"),
      oldText: "base 4.1\n",
      newText: "base 5\n",
    });
    assert.deepEqual(editor.of("plan").at(-1)?.["entries"], [
      { content: "Check the rate", priority: "medium", status: "pending" },
    ]);
    const usage = editor.of("usage_update").at(-1);
    assert.equal(usage?.["used"], 110);
    assert.equal(usage?.["size"], 100_000);
    assert.equal((usage?.["cost"] as { amount: number } | undefined)?.amount, 0.0003);
    assert.equal(editor.of("session_info_update")[0]?.["title"], "Raise the rate");
    const { sessions } = await editor.agent.request("session/list", { cwd });
    assert.deepEqual(
      sessions.map((one) => [one.sessionId, one.cwd, one.title]),
      [[sessionId, cwd, "Raise the rate"]],
    );
    assert.equal((await editor.agent.request("session/list", { cwd: "/elsewhere" })).sessions.length, 0);
  });
});

test("another connection loads the conversation in order, and resumes without it", async (t) => {
  const cwd = folderOf(t);
  await using engine = engineWith(scripted(["One.", "Two.", "Three."]));
  const sessionId = await editing(engine, async (editor) => {
    const id = await open(editor, cwd);
    await editor.agent.request("session/prompt", { sessionId: id, prompt: text("first") });
    const before = await (await engine.session(id)).head();
    await editor.agent.request("session/prompt", { sessionId: id, prompt: text("rewound") });
    await (await engine.session(id)).rewind(before.seq);
    return id;
  });
  await editing(engine, async (editor) => {
    const place = { sessionId, cwd, mcpServers: [] };
    await editor.agent.request("session/load", place);
    const said = editor.updates
      .map(({ update }) => update)
      .filter(({ sessionUpdate }) => /message_chunk/.test(sessionUpdate))
      .map((one) => `${one.sessionUpdate} ${(one as unknown as { content: { text: string } }).content.text}`);
    assert.deepEqual(said, ["user_message_chunk first", "agent_message_chunk One."]);
    await editor.agent.request("session/prompt", { sessionId, prompt: text("third") });
    assert.equal(editor.text("agent_message_chunk"), "One.Three.");
  });
  await editing(engine, async (editor) => {
    await editor.agent.request("session/resume", { sessionId, cwd, mcpServers: [] });
    assert.equal(editor.text("user_message_chunk") + editor.text("agent_message_chunk"), "");
  });
});

test("two editors on one session: each sees the other's questions", async (t) => {
  const cwd = folderOf(t);
  await using engine = engineWith(scripted(["Hello."]));
  await editing(engine, async (one) => {
    const sessionId = await open(one, cwd);
    await editing(engine, async (other) => {
      await other.agent.request("session/resume", { sessionId, cwd, mcpServers: [] });
      await one.agent.request("session/prompt", { sessionId, prompt: text("hi") });
      await other.until(({ sessionUpdate }) => sessionUpdate === "usage_update");
      assert.equal(other.text("user_message_chunk"), "hi");
      assert.equal(other.text("agent_message_chunk"), "Hello.");
      assert.equal(one.text("user_message_chunk"), "");
    });
  });
});

test("unsafe tools ask: once, for the session, rejected, rejected for the session", async (t) => {
  const cwd = folderOf(t);
  const ran: string[] = [];
  const call = (to: string) => [use("deploy", { to })];
  const lines = [call("a"), "1", call("b"), "2", call("c"), "3", call("d"), "4", call("e"), "5"];
  await using engine = engineWith(scripted(lines), { tools: [deploy(ran)] });
  const choices = ["reject", "once", "session", "reject-session"];
  const permit = () => choices.shift() ?? "unasked";
  const bind = [{ kind: "tool", name: "deploy" }] as const;
  await editing(
    engine,
    async (editor) => {
      const sessionId = await open(editor, cwd);
      const ask = (said: string) => editor.agent.request("session/prompt", { sessionId, prompt: text(said) });
      for (const said of ["one", "two", "three", "four"])
        assert.equal((await ask(said)).stopReason, "end_turn");
      assert.deepEqual(ran, ["b", "c", "d"], "the fourth is allowed for the session");
      assert.equal(editor.asked.length, 3);
      const options = editor.asked[0]?.options.map(({ optionId }) => optionId);
      assert.deepEqual(options, ["once", "session", "reject", "reject-session"]);
      assert.equal(editor.asked[0]?.toolCall.toolCallId, editor.of("tool_call")[0]?.["toolCallId"]);
      const statuses = editor.of("tool_call_update").map(({ status }) => status);
      assert.ok(statuses.includes("failed") && statuses.includes("completed"));
    },
    { permit, open: { bind } },
  );
});

test("the mode and the model change for the next step, and the editor gets an update", async (t) => {
  const cwd = folderOf(t);
  const ran: string[] = [];
  const edit = [use("write_file", { path: "a.txt", text: "a" })];
  await using engine = engineWith(scripted([[use("deploy", { to: "a" })], "1", edit, "2"]), {
    tools: [deploy(ran)],
  });
  await editing(
    engine,
    async (editor) => {
      const created = await editor.agent.request("session/new", { cwd, mcpServers: [] });
      const { sessionId } = created;
      assert.equal(created.modes?.currentModeId, "ask");
      await editor.agent.request("session/set_mode", { sessionId, modeId: "allow" });
      await editor.agent.request("session/prompt", { sessionId, prompt: text("go") });
      assert.deepEqual([ran, editor.asked.length], [["a"], 0]);
      await editor.agent.request("session/set_mode", { sessionId, modeId: "ask-edits" });
      await editor.agent.request("session/prompt", { sessionId, prompt: text("write") });
      assert.deepEqual([readFileSync(join(cwd, "a.txt"), "utf8"), editor.asked.length], ["a", 1]);
      await editor.until((one) => one["currentModeId"] === "ask-edits");
      const set = { sessionId, configId: "model", value: "test/other" };
      const { configOptions } = await editor.agent.request("session/set_config_option", set);
      assert.equal((configOptions as { currentValue?: unknown }[])[0]?.currentValue, "test/other");
      assert.equal((await (await engine.session(sessionId)).state()).model, "test/other");
    },
    { open: { bind: [{ kind: "tool", name: "deploy" }] } },
  );
});

test("cancel ends the turn in the middle of an answer, with the text so far", async (t) => {
  const cwd = folderOf(t);
  const begun = Promise.withResolvers<void>();
  const script = scripted([
    async ({ signal }) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return new ModelError("interrupted", "interrupted");
    },
    "Again.",
  ]);
  await using engine = engineWith(script);
  await editing(engine, async (editor) => {
    const sessionId = await open(editor, cwd);
    const first = editor.agent.request("session/prompt", { sessionId, prompt: text("one") });
    const second = editor.agent.request("session/prompt", { sessionId, prompt: text("two") });
    await begun.promise;
    await editor.agent.notify("session/cancel", { sessionId });
    assert.equal((await first).stopReason, "cancelled");
    assert.equal((await second).stopReason, "cancelled", "a queued prompt is cancelled with it");
    const third = await editor.agent.request("session/prompt", { sessionId, prompt: text("three") });
    assert.equal(third.stopReason, "end_turn");
  });
});

test("a cancelled question interrupts the turn; one lost with the editor is repeated", async (t) => {
  const cwd = folderOf(t);
  const ran: string[] = [];
  const script = scripted([[use("deploy", { to: "a" })], [use("deploy", { to: "b" })], "Done."]);
  await using engine = engineWith(script, { tools: [deploy(ran)] });
  const options = { open: { bind: [{ kind: "tool", name: "deploy" }] } } as const;
  const asked = Promise.withResolvers<void>();
  const never = async (): Promise<null> => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const sessionId = await editing(
    engine,
    async (editor) => {
      const id = await open(editor, cwd);
      const answer = await editor.agent.request("session/prompt", { sessionId: id, prompt: text("a") });
      assert.equal(answer.stopReason, "cancelled");
      return id;
    },
    { ...options, permit: () => null },
  );
  await editing(
    engine,
    async (editor) => {
      await editor.agent.request("session/resume", { sessionId, cwd, mcpServers: [] });
      const lost = editor.agent.request("session/prompt", { sessionId, prompt: text("b") });
      lost.catch(() => undefined);
      await asked.promise;
    },
    { ...options, permit: never },
  );
  assert.equal((await (await engine.session(sessionId)).state()).status, "suspended");
  await editing(
    engine,
    async (editor) => {
      await editor.agent.request("session/load", { sessionId, cwd, mcpServers: [] });
      await editor.until((one) => (one["content"] as { text?: string } | undefined)?.text === "Done.");
      assert.deepEqual([ran, editor.asked.length], [["b"], 1]);
    },
    options,
  );
});

test("a used-up budget ends the prompt with a reason; a model error is an error", async (t) => {
  const cwd = folderOf(t);
  await using engine = engineWith(scripted(["One.", new ModelError("invalid", "no such thing"), "Two."]));
  await editing(
    engine,
    async (editor) => {
      const sessionId = await open(editor, cwd);
      const ask = () => editor.agent.request("session/prompt", { sessionId, prompt: text("go") });
      await ask();
      assert.equal((await ask()).stopReason, "max_turn_requests");
      assert.match(editor.text("agent_message_chunk"), /the budget is used up/);
      await (await engine.session(sessionId)).budget({ turns: 100 });
      await assert.rejects(ask, /no such thing/);
      assert.equal((await ask()).stopReason, "end_turn", "the next prompt continues");
    },
    { open: { budget: { turns: 1 } } },
  );
});

test("close lets go and keeps the session in the list; delete takes it out", async (t) => {
  const cwd = folderOf(t);
  await using engine = engineWith(scripted(["One."]));
  await editing(engine, async (editor) => {
    const sessionId = await open(editor, cwd);
    const listed = async () => (await editor.agent.request("session/list", {})).sessions.length;
    await editor.agent.request("session/close", { sessionId });
    assert.equal(await listed(), 1);
    await assert.rejects(
      editor.agent.request("session/prompt", { sessionId, prompt: text("go") }),
      (error) => error instanceof RequestError && error.code === -32_002,
    );
    await editor.agent.request("session/delete", { sessionId });
    assert.equal(await listed(), 0);
    assert.equal((await (await engine.session(sessionId)).state()).status, "archived");
  });
});

test("images and embedded texts reach the model; sound and unknown sessions are errors", async (t) => {
  const cwd = folderOf(t);
  const script = scripted(["Seen."]);
  await using engine = engineWith(script);
  await editing(engine, async (editor) => {
    const sessionId = await open(editor, cwd);
    const data = Buffer.from("\x89PNG\r\n\x1a\n").toString("base64");
    await editor.agent.request("session/prompt", {
      sessionId,
      prompt: [
        { type: "text", text: "look" },
        { type: "image", data, mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a.ts", name: "a.ts" },
        { type: "resource", resource: { uri: "file:///b.ts", text: "const b = 1;" } },
      ],
    });
    const sent = JSON.stringify(script.calls[0]?.parts);
    for (const part of ["image/png", "[a.ts](file:///a.ts)", "const b = 1;"])
      assert.ok(sent.includes(part), part);
    const failing = async (method: string, params: object, code: number) =>
      assert.rejects(
        editor.agent.request(method, params),
        (error) => error instanceof RequestError && error.code === code,
        `${method} ${JSON.stringify(params)}`,
      );
    const audio = { type: "audio", data: "", mimeType: "audio/wav" };
    await failing("session/prompt", { sessionId, prompt: [audio] }, -32_602);
    await failing("session/prompt", { sessionId, prompt: [] }, -32_602);
    await failing("session/prompt", { sessionId: "ses_x", prompt: text("a") }, -32_002);
    await failing("session/load", { sessionId: "ses_x", cwd, mcpServers: [] }, -32_002);
    await failing("session/load", { sessionId: sessionId.slice(-8), cwd, mcpServers: [] }, -32_002);
    await failing("session/new", { cwd: "relative", mcpServers: [] }, -32_602);
    await failing("session/new", {}, -32_602);
    await failing("session/set_mode", { sessionId, modeId: "yolo" }, -32_602);
    await failing("session/set_config_option", { sessionId, configId: "temperature", value: "1" }, -32_602);
    await failing("session/dance", {}, -32_601);
  });
});

test("MCP servers become bindings: secrets by name, one header; sse is refused", async (t) => {
  const cwd = folderOf(t);
  const secrets = new Map<string, string>();
  await using engine = engineWith(scripted(["One."]));
  await editing(
    engine,
    async (editor) => {
      const env = [
        { name: "DOCS_TOKEN", value: "s3cr3t-value" },
        { name: "PATH", value: "/usr/bin" },
      ];
      const headers = [{ name: "Authorization", value: "Bearer t0ken-value" }];
      const mcpServers = [
        { name: "docs", command: "/bin/docs", args: ["--fast"], env },
        { type: "http" as const, name: "web", url: "https://127.0.0.1/mcp", headers },
      ];
      const { sessionId } = await editor.agent.request("session/new", { cwd, mcpServers });
      const stored: unknown[] = [];
      for await (const { content, body } of (await engine.session(sessionId)).events({
        types: ["resource.bound"],
      }))
        stored.push({ ...(body as object), ...(content as object) });
      assert.deepEqual(Object.fromEntries(secrets), {
        DOCS_TOKEN: "s3cr3t-value",
        SKEIN_ACP_WEB_AUTHORIZATION: "t0ken-value",
      });
      const log = JSON.stringify(stored);
      assert.ok(!log.includes("s3cr3t-value") && !log.includes("t0ken-value"), log);
      assert.match(log, /"command":\["\/bin\/docs","--fast"\],"secrets":\["DOCS_TOKEN"\]/);
      const sse = { type: "sse" as const, name: "old", url: "https://127.0.0.1/sse", headers: [] };
      await assert.rejects(editor.agent.request("session/new", { cwd, mcpServers: [sse] }), /sse/);
    },
    { setSecret: (name, value) => void secrets.set(name, value) },
  );
});

test("a session of an editor follows it to another folder; others keep their bindings", async (t) => {
  const [before, after] = [folderOf(t), folderOf(t)];
  await using engine = engineWith(scripted(["One."]));
  const own = await engine.open({ objective: "Elsewhere", bind: [{ kind: "directory", path: before }] });
  await editing(engine, async (editor) => {
    const sessionId = await open(editor, before);
    await editor.agent.request("session/load", { sessionId, cwd: after, mcpServers: [] });
    await editor.agent.request("session/load", { sessionId: own.id, cwd: after, mcpServers: [] });
    const { sessions } = await editor.agent.request("session/list", {});
    const folders = Object.fromEntries(sessions.map((one) => [one.sessionId, one.cwd]));
    assert.deepEqual(folders, { [sessionId]: after, [own.id]: before });
  });
});
