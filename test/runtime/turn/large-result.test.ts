/** No result of a tool and no answer of a model stops a session, however large or odd it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { limit } from "../../../src/core/limit.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { ToolOutput } from "../../../src/tool/port.ts";
import type { OuterTool } from "../../../src/tool/port.ts";
import { engineWith, say, scripted, use, type Line } from "./scripted.ts";

const server = new URL("../../tool/mcp-server.ts", import.meta.url).pathname;
const mcp = { kind: "mcp", name: "srv", command: [process.execPath, server, "well"] } as const;

interface Result {
  readonly call: string;
  readonly status: string;
  readonly output: unknown;
  readonly detail?: unknown;
  readonly blocks?: readonly {
    readonly type: string;
    readonly blob: string;
    readonly mediaType: string;
    readonly name?: string;
  }[];
}

async function resultsOf(session: Session): Promise<Result[]> {
  const found: Result[] = [];
  for await (const { type, body, content } of session.events()) {
    if (type === "tool.settled") found.push({ ...(body as Result), ...(content as Result) });
  }
  return found;
}

async function ask(session: Session, text: string): Promise<void> {
  for await (const _ of session.ask(text));
}

/** The results of these tools, called once each, and the status of the session then. */
async function resultsFrom(tools: readonly OuterTool[]): Promise<Result[]> {
  const script = scripted([tools.map(({ name }) => use(name, {}, name)), "Done."]);
  await using engine = engineWith(script, { tools });
  const bind = tools.map(({ name }) => ({ kind: "tool", name }) as const);
  const session = await engine.open({ objective: "Call", bind });
  await ask(session, "Go");
  assert.equal((await session.state()).status, "open");
  assert.equal((await session.verify()).ok, true);
  return await resultsOf(session);
}

const tool = (name: string, run: () => Promise<unknown>, effect?: "read"): OuterTool =>
  defineTool({ name, description: name, input: z.object({}), run, ...(effect && { effect }) });

test("an MCP structure over 1 MiB is a blob, also of an unsafe call", async () => {
  const script = scripted([[use("srv_structure", {})], "Stored."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Store", bind: [mcp] });
  await ask(session, "Go");
  const [result] = await resultsOf(session);
  assert.deepEqual([result?.status, result?.output], ["ok", "stored"]);
  const block = result?.blocks?.[0];
  assert.deepEqual([block?.type, block?.mediaType, block?.name], ["file", "application/json", "detail.json"]);
  const bytes = Buffer.from(await engine.blob(block?.blob ?? ""));
  assert.ok(bytes.length > limit.contentBytesMax);
  const kept = JSON.parse(bytes.toString()) as { structured: { rows: unknown[] } };
  assert.equal(kept.structured.rows.length, 13_000);
  assert.deepEqual(result?.detail, { blob: block?.blob, bytes: bytes.length });
  assert.equal((await session.verify()).ok, true);
});

test("an MCP image is stored once, and its base64 is in no text", async () => {
  const script = scripted([[use("srv_media", {})], "A picture."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Look", bind: [mcp] });
  await ask(session, "Go");
  const [result] = await resultsOf(session);
  assert.equal(result?.status, "ok");
  assert.deepEqual(
    result?.blocks?.map(({ type, mediaType }) => `${type} ${mediaType}`),
    ["image image/png"],
  );
  const note = "[image/png, shown as an image]";
  const image = { type: "image", data: note, mimeType: "image/png" };
  assert.deepEqual(result?.detail, { structured: { content: [image] } });
  assert.equal(result?.output, JSON.stringify({ content: [image] }));
  const sent = JSON.stringify(script.calls[1]?.parts);
  assert.ok(sent.includes(result?.blocks?.[0]?.blob ?? "none"));
  assert.ok(!sent.includes("BwcHBwcHBwcHBwcH"), "no base64 is sent as text");
});

test("a session that stopped at such a result in 0.4.0 resumes", async () => {
  const script = scripted([[use("srv_media", {}, "a"), use("srv_structure", {}, "b")], "Seen."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Look", bind: [mcp] });
  await session.input("Go");
  {
    // What 0.4.0 leaves: both calls started, and no outcome.
    await using drive = await session.drive();
    await drive.begin();
    await drive.request({ model: "test/scripted" });
    await drive.respond({
      finish: "tool-calls",
      usage: { inputTokens: 1, outputTokens: 1 },
      costNanoUsd: 0,
      blocks: [use("srv_media", {}, "a"), use("srv_structure", {}, "b")] as never,
      effects: { srv_media: "read" },
    });
    await drive.start("a", "b");
  }
  script.calls.push({} as never);
  await session.run();
  const results = await resultsOf(session);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["ok", "unknown"],
  );
  await session.activate();
  await session.run();
  assert.equal((await session.state()).status, "open");
});

test("odd results of custom tools are stored or reported, and the session continues", async () => {
  const deep = (levels: number): unknown =>
    Array.from({ length: levels }).reduce((inner: unknown) => [inner], "end");
  const hostile = Object.defineProperty({}, "trap", {
    enumerable: true,
    get: () => {
      throw new Error("no");
    },
  });
  const results = await resultsFrom([
    tool("deepest", async () => deep(limit.jsonDepthMax)),
    tool("too-deep", async () => deep(100_000)),
    tool("nul", async () => ({ text: "a\0b", half: "\ud800" })),
    tool("hostile", async () => hostile),
    tool("detail", async () => new ToolOutput("x", { detail: deep(limit.jsonDepthMax) })),
    tool("throws", async () => Promise.reject(new Error("x".repeat(3_000_000)))),
    tool("throws-odd", async () => Promise.reject(Object.create(null) as Error)),
    tool("type", async () => new ToolOutput("x", { images: [picture("a".repeat(2_000_000))] })),
    tool("broken", async () => new ToolOutput("x", { images: [picture("image/png", "no picture")] })),
    tool("many", async () => new ToolOutput("x", { images: Array(10_000).fill(picture("image/png")) as [] })),
    tool("escapes", async () => "\u0001".repeat(limit.toolOutputCharsMax)),
  ]);
  const by = new Map(results.map((one) => [one.call, one]));
  const failed = results.filter(({ status }) => status !== "ok").map(({ call }) => call);
  assert.deepEqual(failed.toSorted(), ["hostile", "throws", "throws-odd", "too-deep"]);
  assert.equal(by.get("deepest")?.output, JSON.stringify(deep(limit.jsonDepthMax)));
  assert.deepEqual(by.get("nul")?.output, { text: "a\uFFFDb", half: "\uFFFD" });
  assert.equal(by.get("detail")?.blocks?.[0]?.name, "detail.json");
  assert.match(String(by.get("broken")?.output), /not shown: it is not image\/png/);
  assert.equal(by.get("many")?.blocks?.length, limit.toolImagesMax);
  assert.match(String(by.get("many")?.output), /9900 more images were left out/);
});

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]).toString("latin1");
const picture = (mediaType: string, bytes = png) => ({ bytes: Buffer.from(bytes, "latin1"), mediaType });

test("an image too large for providers is stored, and the model gets the reason", async () => {
  const bytes = png + "x".repeat(limit.toolImageBytesMax);
  const [result] = await resultsFrom([
    tool("big", async () => new ToolOutput("here", { images: [picture("image/png", bytes)] })),
  ]);
  assert.match(String(result?.output), /^here\n\[an image is kept and not shown: it has \d+ bytes/);
  assert.equal(result?.blocks?.[0]?.type, "file");
});

test("a probe's large output is a blob", async () => {
  const runs: string[] = [];
  const probing = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({}),
    run: async () => runs.push("run"),
    probe: async () => ({ done: "y".repeat(3_000_000) }),
  });
  const script = scripted([[use("pay", {}, "a")], "Paid."]);
  await using engine = engineWith(script, { tools: [probing] });
  const session = await engine.open({ objective: "Pay", bind: [{ kind: "tool", name: "pay" }] });
  await session.input("Go");
  {
    await using drive = await session.drive();
    await drive.begin();
    await drive.request({ model: "test/scripted" });
    const blocks = [use("pay", {}, "a")] as never;
    const usage = { inputTokens: 1, outputTokens: 1 };
    await drive.respond({ finish: "tool-calls", usage, costNanoUsd: 0, blocks });
    await drive.start("a");
  }
  script.calls.push({} as never);
  await session.run();
  const [result] = await resultsOf(session);
  assert.deepEqual([result?.status, result?.blocks?.length, runs], ["ok", 1, []]);
});

test("a program that drives a session can settle a call with a large output", async () => {
  await using engine = engineWith(scripted(["x"]));
  const session = await engine.open({ objective: "Drive" });
  await session.input("Go");
  await using drive = await session.drive();
  await drive.begin();
  await drive.request({ model: "test/scripted" });
  const usage = { inputTokens: 1, outputTokens: 1 };
  const blocks = [use("dump", {}, "a")] as never;
  await drive.respond({ finish: "tool-calls", usage, costNanoUsd: 0, blocks });
  await drive.start("a");
  await drive.settle("a", { status: "ok", output: { text: "z".repeat(3_000_000) } });
  const [result] = await resultsOf(session);
  assert.equal(result?.blocks?.length, 1);
  assert.ok(String(result?.output).length < 40_000);
});

const strange: Readonly<Record<string, Line>> = {
  "text of 600,000 characters of three bytes": [say("語".repeat(600_000))],
  "text of control characters": [say("\u0001".repeat(600_000))],
  "60,000 thoughts of a letter": Array.from(
    { length: 60_000 },
    () => ({ type: "reasoning", text: "a" }) as const,
  ),
  "arguments of 900,000 characters of three bytes": [
    use("record", { kind: "fact", key: "k", value: "語".repeat(890_000) }),
  ],
  "arguments as deep as JSON may be": [
    use(
      "record",
      Array.from({ length: limit.jsonDepthMax }).reduce((inner: unknown) => ({ inner }), 1),
    ),
  ],
  "arguments with 60,000 unknown fields": [
    use("record", Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`\u0001${n}`, 1]))),
  ],
  "metadata with every call": Array.from({ length: 100 }, (_, n) => ({
    ...use("record", {}, `call-${n}`),
    metadata: { test: { signature: "s".repeat(190_000) } },
  })),
};

for (const [name, line] of Object.entries(strange)) {
  test(`an answer with ${name} leaves the session open`, async () => {
    const script = scripted([line, "Well."]);
    await using engine = engineWith(script);
    const session = await engine.open({ objective: "Answer" });
    await ask(session, "Go");
    assert.equal((await session.state()).status, "open");
    assert.equal((await session.verify()).ok, true);
  });
}

test("a recall over the output limit is stored whole and can be read further", async () => {
  const script = scripted([
    [use("recall", { fromSeq: 1, toSeq: 20 }, "first")],
    ({ parts }) => {
      const [, seq, char] = /fromSeq (\d+) and fromChar (\d+)/.exec(JSON.stringify(parts)) ?? [];
      return [use("recall", { fromSeq: Number(seq), fromChar: Number(char) }, "more")];
    },
    "Read.",
  ]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Read" });
  await session.input("w".repeat(500_000));
  await session.input("v".repeat(700_000));
  await ask(session, "Go");
  const [first, more] = await resultsOf(session);
  assert.ok(String(first?.output).length < 40_000);
  assert.match(JSON.stringify(more?.output), /wwww/);
});
