/** Where a session's tools come from: bindings of every kind together, all or nothing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { z } from "zod";
import { realWorld } from "../../src/runtime/world.ts";
import { defineTool } from "../../src/tool/define.ts";
import type { StoredBinding, OuterTool } from "../../src/tool/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { failure, openFolder } from "./calling.ts";

const world = realWorld();
const options = { signal: new AbortController().signal };
const named = (name: string): OuterTool =>
  defineTool({ name, description: "Does it.", input: z.object({}), run: () => "done" });
const bind = (kind: StoredBinding["kind"], more: Partial<StoredBinding> = {}): StoredBinding => ({
  kind,
  name: kind,
  mode: "read",
  ...more,
});
/** The run leaves out `plan` where a session belongs to no project. */
const session = "record retract remember scratch recall lookup send fork open plan sleep".split(" ");
const server = [process.execPath, new URL("./mcp-server.ts", import.meta.url).pathname];

test("a session without bindings has its own tools and no others", async () => {
  await using box = await makeToolSource({ world, tools: [named("pay")] }).open([], options);
  assert.deepEqual(
    box.tools.map(({ name }) => name),
    session,
  );
});

test("each binding brings its tools, in an order that does not change", async () => {
  await using folder = await openFolder();
  const file = join(folder.path, "a.db");
  new DatabaseSync(file).close();
  const bound = [
    bind("tool", { name: "pay" }),
    bind("mcp", { name: "m", command: server }),
    bind("database", { path: file, mode: "write" }),
    bind("shell", { path: folder.path }),
    bind("directory", { path: folder.path, mode: "write" }),
    bind("file", { path: join(folder.path, "b.txt") }),
  ];
  const source = makeToolSource({ world, tools: [named("refund"), named("pay")] });
  await using box = await source.open(bound, options);
  const names = box.tools.map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => !name.startsWith("m_")),
    [
      ...session,
      "read_file",
      "list_files",
      "find_files",
      "grep_files",
      "write_file",
      "edit_file",
      "shell",
      "query_database",
      "pay",
    ],
  );
  assert.equal(names.filter((name) => name.startsWith("m_")).length, 16);
  await using again = await source.open(bound, options);
  const definitions = (tools: typeof box.tools) =>
    tools.map(({ name, description, input }) => ({ name, description, input }));
  assert.deepEqual(definitions(again.tools), definitions(box.tools));
});

test("a name twice is refused, wherever it comes from", async () => {
  const twice = (name: string) => `invalid: tool "${name}": defined twice`;
  const making = (...names: readonly string[]) =>
    failure(Promise.try(() => makeToolSource({ world, tools: names.map(named) })));
  assert.equal(await making("pay", "pay"), twice("pay"));
  assert.equal(await making("record"), twice("record"));
  const source = makeToolSource({ world, tools: [named("shell"), named("m_echo")] });
  const both = [bind("shell", { path: "." }), bind("tool", { name: "shell" })];
  assert.equal(await failure(source.open(both, options)), twice("shell"));
  const mcp = [bind("mcp", { name: "m", command: server }), bind("tool", { name: "m_echo" })];
  assert.equal(await failure(source.open(mcp, options)), twice("m_echo"));
  const bad = { ...named("x"), name: "a b" };
  assert.match(
    await failure(Promise.try(() => makeToolSource({ world, tools: [bad] }))),
    /invalid tool name "a b"/,
  );
});

test("an unknown tool is refused, with the nearest name", async () => {
  const source = makeToolSource({ world, tools: [named("refund")] });
  const error = await source.open([bind("tool", { name: "refunds" })], options).then(
    () => assert.fail("it should have failed"),
    ({ code, message, hint }: { code: string; message: string; hint: string }) => ({ code, message, hint }),
  );
  assert.deepEqual(error, {
    code: "not-found",
    message: 'tool "refunds" is bound, but not registered in this process',
    hint: 'did you mean "refund"?',
  });
});

test("when one binding fails, the started servers of the others are stopped", async () => {
  const pids: number[] = [];
  const noting: typeof world = {
    ...world,
    spawnPiped: async (...given) => {
      const child = await world.spawnPiped(...given);
      pids.push(child.pid);
      return child;
    },
  };
  const bound = [bind("mcp", { command: server }), bind("tool", { name: "none" })];
  assert.match(await failure(makeToolSource({ world: noting }).open(bound, options)), /^not-found: /);
  assert.equal(pids.length, 1);
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("an interrupt ends the opening", async () => {
  const call = new AbortController();
  const hanging = bind("mcp", { command: [...server, "hangs"] });
  const opening = failure(makeToolSource({ world }).open([hanging], { signal: call.signal }));
  call.abort(new Error("interrupted"));
  assert.equal(await opening, "error: interrupted");
});
