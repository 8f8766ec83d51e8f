/** A server whose tools change while a session runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { engineWith, scripted, use } from "./scripted.ts";

const server = new URL("../../tool/mcp-server.ts", import.meta.url).pathname;

test("tools that an MCP server changes in a turn are offered at the next step", async () => {
  const bind = [{ kind: "mcp", name: "srv", command: [process.execPath, server, "learns"] }] as const;
  const named = (parts: readonly unknown[]): readonly string[] =>
    parts.flatMap((part) => {
      const { tools = [] } = part as { tools?: readonly { name: string }[] };
      return tools.map(({ name }) => name);
    });
  // The one whose name had to be made unique.
  const learning = ({ parts }: { parts: readonly unknown[] }) => {
    const name = named(parts).find((one) => /^srv_every_thing_[0-9a-f]{6}$/.test(one));
    return [use(name ?? "none", {}, "a")];
  };
  const script = scripted([
    learning,
    [use("srv_learned", {}, "b"), use("srv_echo", { text: "x" }, "c")],
    "Done.",
  ]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Learn", bind });
  for await (const _ of session.ask("Go"));
  const types: string[] = [];
  const results: unknown[] = [];
  for await (const { type, content } of session.events()) {
    types.push(type);
    if (type === "tool.settled") results.push((content as { output: unknown }).output);
  }
  const second = types.indexOf("tools.bound", types.indexOf("tools.bound") + 1);
  assert.ok(second > types.indexOf("tool.settled") && second < types.lastIndexOf("turn.ended"));
  assert.equal(types[second + 1], "model.requested");
  assert.ok(named(script.calls[1]?.parts ?? []).includes("srv_learned"));
  assert.ok(results.includes("something new"));
  assert.ok(results.some((one) => String(one).startsWith("there is no tool srv_echo")));
  assert.equal((await session.verify()).ok, true);
  const requests = [];
  for await (const { type, seq } of session.events()) if (type === "model.requested") requests.push(seq);
  for (const atSeq of requests) assert.equal((await session.context({ atSeq })).matches, true);
});
