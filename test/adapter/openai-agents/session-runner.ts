/** Runs calls of a `SkeinSession`, and is killed between two of them, or in the middle of one. */
import type { AgentInputItem } from "@openai/agents";
import { SkeinSession } from "../../../src/adapter/openai-agents/openai-agents.ts";
import { openEngine } from "../../../src/index.ts";

const [path, from = "0", killAt = "0", waitMs = ""] = process.argv.slice(2);
if (path === undefined) throw new Error("session-runner: expected the path of a store");

const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });

/** The calls, in order. The test makes the same on a memory session. */
const calls: readonly ((session: SkeinSession) => Promise<unknown>)[] = [
  (session) => session.addItems([user("1"), user("2\0".repeat(300_000)), user("3")]),
  (session) => session.popItem(),
  (session) => session.addItems([user("4")]),
  (session) => session.replaceHistoryWithCompaction([user("5"), user("6")]),
  (session) => session.clearSession(),
  (session) => session.addItems([user("7")]),
];

await using engine = await openEngine({ store: path });
const session = new SkeinSession(engine, { sessionId: "killed" });
for (let at = Number(from); at < Number(killAt); at++) await calls[at]?.(session);
const last = calls[Number(killAt)]?.(session);
if (waitMs !== "") setTimeout(() => process.kill(process.pid, "SIGKILL"), Number(waitMs));
await last;
process.kill(process.pid, "SIGKILL");
