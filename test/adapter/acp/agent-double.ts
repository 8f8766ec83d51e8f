/**
 * An ACP agent for the tests, without a model: it does what the last line of its prompt says, `do: a; b`.
 * Its sessions are lines of a file, so that it can resume them. Started as a process.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [, , sessionsFile = "", how = "resume"] = process.argv;
const pending = new Map<unknown, (result: unknown) => void>();
let lastId = 0;
let sessionId = "";
let cancelled = Promise.withResolvers<void>();
let isCancelled = false;

const write = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (fields: object): void =>
  write({ method: "session/update", params: { sessionId, update: fields } });
const ask = (method: string, params: object): Promise<unknown> =>
  new Promise((resolve) => {
    pending.set(++lastId, resolve);
    write({ id: lastId, method, params });
  });
const known = (id: unknown): boolean =>
  existsSync(sessionsFile) && readFileSync(sessionsFile, "utf8").split("\n").includes(String(id));

async function step(words: string, cwd: string): Promise<void> {
  const [verb = "", ...others] = words.split(" ");
  const rest = others.join(" ");
  const [id = "", path = "", text = ""] = rest.split(" ");
  const call = {
    toolCallId: id,
    title: `Write ${path}`,
    name: "write",
    kind: "edit",
    rawInput: { path, text },
  };
  const done = { sessionUpdate: "tool_call_update", toolCallId: id, status: "completed" };
  switch (verb) {
    case "say":
      return update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: rest } });
    case "think":
      return update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: rest } });
    case "begin":
      return update({ sessionUpdate: "tool_call", ...call, status: "in_progress" });
    case "finish":
      if (path !== "") writeFileSync(join(cwd, path), text);
      return update({
        ...done,
        content: [{ type: "content", content: { type: "text", text: `wrote ${path}` } }],
      });
    case "ask": {
      update({ sessionUpdate: "tool_call", ...call, status: "pending" });
      const options = ["allow_once", "allow_always", "reject_once"].map((kind) => ({
        optionId: kind,
        name: kind,
        kind,
      }));
      const answer = await ask("session/request_permission", { sessionId, toolCall: call, options });
      const { optionId } = (answer as { outcome: { optionId?: string } }).outcome;
      if (optionId === "allow_once") writeFileSync(join(cwd, path), text);
      return update({
        ...done,
        status: optionId === "allow_once" ? "completed" : "failed",
        rawOutput: { optionId },
      });
    }
    case "plan":
      return update({
        sessionUpdate: "plan",
        entries: rest.split(",").map((one) => ({
          content: one.replace("+", ""),
          priority: "high",
          status: one.startsWith("+") ? "completed" : "pending",
        })),
      });
    case "cost":
      return update({
        sessionUpdate: "usage_update",
        used: 10,
        size: 100,
        cost: { amount: Number(rest), currency: "USD" },
      });
    case "bad":
      return void process.stdout.write("{ not json\n");
    case "once":
      // A crash, the first time only.
      if (existsSync(`${sessionsFile}.${rest}`)) return;
      writeFileSync(`${sessionsFile}.${rest}`, "");
      return process.exit(9);
    case "locked":
      throw new Error("Authentication required");
    case "wait":
      return cancelled.promise;
    case "hang":
      return new Promise(() => setInterval(() => undefined, 60_000));
  }
}

async function perform(method: string, params: Record<string, unknown>): Promise<unknown> {
  const cwd = process.cwd();
  switch (method) {
    case "initialize":
      return {
        protocolVersion: how === "v2" ? 2 : 1,
        agentCapabilities: {
          loadSession: how === "load",
          sessionCapabilities: how === "resume" ? { resume: {} } : {},
        },
      };
    case "session/new":
      if (how === "locked") throw new Error("Authentication required");
      sessionId = `double-${process.pid}-${++lastId}`;
      appendFileSync(sessionsFile, `${sessionId}\n`);
      return { sessionId };
    case "session/load":
    case "session/resume":
      if (!known(params["sessionId"])) throw new Error("no such session");
      sessionId = String(params["sessionId"]);
      if (method === "session/load")
        update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "REPLAY" } });
      return {};
    case "session/prompt": {
      const [{ text = "" } = {}] = params["prompt"] as { text?: string }[];
      appendFileSync(`${sessionsFile}.prompts`, `${JSON.stringify(text)}\n`);
      const script = text.split("\n").findLast((line) => line.startsWith("do: ")) ?? "do: say ?";
      for (const one of script.slice(4).split("; ")) if (!isCancelled) await step(one, cwd);
      const stopReason = isCancelled ? "cancelled" : "end_turn";
      isCancelled = false;
      return { stopReason };
    }
  }
  throw new Error(`method not found: ${method}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {}, result } = JSON.parse(line) as Record<string, never>;
  if (method === "session/cancel") {
    isCancelled = true;
    cancelled.resolve();
    cancelled = Promise.withResolvers();
  } else if (method === undefined) pending.get(id)?.(result);
  else if (id !== undefined)
    perform(method, params).then(
      (answer) => write({ id, result: answer }),
      (error: Error) => write({ id, error: { code: -32_000, message: error.message } }),
    );
}
process.exit(0);
