/**
 * Another agent uses Skein over MCP: this program is its client, `skein mcp` the server. Clients such as
 * Claude Code start the same command by themselves (docs/mcp.md).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const folder = mkdtempSync(join(tmpdir(), "skein-example-"));
const client = new Client({ name: "example", version: "1.0.0" });
try {
  const args = [join(import.meta.dirname, "../src/cli/main.ts"), "mcp", "--store", join(folder, "skein.db")];
  // In your program: command "skein", args ["mcp", "--store", …].
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));

  const call = async (name: string, given: object): Promise<Record<string, unknown>> => {
    const { structuredContent } = await client.callTool({ name, arguments: { ...given } });
    return structuredContent as Record<string, unknown>;
  };
  await call("remember", { kind: "decision", name: "units", value: "metric", because: "the data is" });
  const objective = "Find the base rate";
  // The key makes a retry of this call harmless.
  const { session } = await call("session_open", { objective, model: "offline/offline", key: "example-1" });
  const { answer } = await call("session_ask", { session, text: "remember the fact base-rate is 4.1" });
  console.log(answer);
  await call("session_record", { session, kind: "fact", name: "base-rate", value: 4.1 });
  const { text } = await call("session_handoff", { session });
  console.log(
    String(text)
      .split("\n")
      .filter((line) => line.includes("base-rate"))
      .join("\n"),
  );
} finally {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
}
