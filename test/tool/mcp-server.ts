/**
 * A small MCP server for the tests, without any library: over stdio as a program, whose first argument says
 * how it misbehaves, and over HTTP by `answer`.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Record<string, unknown>;
    readonly _meta?: { readonly progressToken?: number };
  };
}

const object = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const none = { type: "object" };
const tools: { name: string; inputSchema: object; [more: string]: unknown }[] = [
  { name: "echo", description: "Says it again.", inputSchema: object, annotations: { readOnlyHint: true } },
  { name: "set", description: "Sets it.", inputSchema: object, annotations: { idempotentHint: true } },
  { name: "every.thing", inputSchema: none },
  { name: "every/thing", title: "All of it", inputSchema: none },
  { name: `long_${"x".repeat(100)}`, inputSchema: none },
  { name: "fail", inputSchema: none },
  { name: "refuse", inputSchema: none },
  { name: "env", inputSchema: none },
  { name: "slow", inputSchema: none },
  { name: "hang", inputSchema: none },
  { name: "die", inputSchema: none },
  { name: "babble", inputSchema: none },
  { name: "large", inputSchema: none },
  { name: "media", inputSchema: none, annotations: { readOnlyHint: true } },
  { name: "newer", inputSchema: none },
  { name: "structure", inputSchema: none },
];

const text = (value: string) => ({ content: [{ type: "text", text: value }] });

/** An image as the official filesystem server gives it: in the content, in the structure, and as text. */
function media(): object {
  const bytes = Buffer.alloc(950_000, 7);
  bytes.set([0x89, 0x50, 0x4e, 0x47]);
  const image = { type: "image", data: bytes.toString("base64"), mimeType: "image/png" };
  const structuredContent = { content: [image] };
  return { content: [image, ...text(JSON.stringify(structuredContent)).content], structuredContent };
}

/** The results of the calls that answer at once. */
const results: Readonly<Record<string, (input: Record<string, unknown>) => object>> = {
  echo: ({ text: said }) => text(String(said)),
  set: ({ text: said }) => ({ content: [], structuredContent: { set: said } }),
  "every.thing": () => ({
    content: [
      { type: "text", text: "one" },
      { type: "image", data: Buffer.from("png").toString("base64"), mimeType: "image/png" },
      { type: "audio", data: "", mimeType: "audio/wav" },
      { type: "resource_link", name: "notes", uri: "file:///notes" },
      { type: "resource", resource: { uri: "file:///a", text: "two" } },
      { type: "resource", resource: { uri: "file:///b", blob: "AA==", mimeType: "application/x-b" } },
    ],
    structuredContent: { n: 1 },
  }),
  "every/thing": () => ({ content: [] }),
  newer: () => ({
    content: [
      { type: "hologram", depth: 3 },
      { type: "image", data: "%%%", mimeType: "image/png" },
      { type: "text", text: "done" },
    ],
  }),
  fail: () => ({ ...text("no such thing"), isError: true }),
  env: () => text(`${process.env["TOKEN"]} ${process.env["PLAIN"]} ${process.env["SKEIN_TEST_LEAK"]}`),
  babble: () => ({ content: "nonsense" }),
  large: () => text("x".repeat(40_000_000)),
  learned: () => text("something new"),
  media,
  structure: () => ({
    ...text("stored"),
    structuredContent: { rows: Array.from({ length: 13_000 }, (_, row) => ({ row, text: "x".repeat(100) })) },
  }),
};

/** What is answered, if anything. */
export function answer({ id, method, params }: Message): object | undefined {
  if (id === undefined) return undefined;
  const reply = (result: object) => ({ jsonrpc: "2.0", id, result });
  if (method === "initialize") {
    return reply({
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "test", version: "1" },
    });
  }
  if (method === "tools/list") return reply({ tools });
  const run = results[params?.name ?? ""];
  if (method === "tools/call" && run !== undefined) return reply(run(params?.arguments ?? {}));
  if (params?.name === "refuse") {
    const code = Number(params.arguments?.["code"] ?? -32_602);
    return { jsonrpc: "2.0", id, error: { code, message: "not like this", data: { why: "because" } } };
  }
  return params?.name === "hang" || params?.name === "slow"
    ? undefined
    : { jsonrpc: "2.0", id, error: { code: -32_601, message: "unknown" } };
}

const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** Takes longer than the time-out, but says now and then that it is at it. */
async function goSlowly({ id, params }: Message): Promise<void> {
  const progressToken = params?._meta?.progressToken;
  for (let progress = 1; progress <= 6; progress++) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    say({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress } });
  }
  say({ jsonrpc: "2.0", id, result: text("at last") });
}

/** From now on it has another tool, and one less. */
function learn(): void {
  tools.splice(0, tools.length, { name: "learned", inputSchema: none, annotations: { readOnlyHint: true } });
  say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
}

function serve(): void {
  const [, , way] = process.argv;
  if (way === "dies") {
    console.error("no configuration found");
    process.exit(3);
  }
  if (way === "hangs") {
    process.stdin.resume();
    return;
  }
  if (way === "babbles") {
    for (let count = 0; count < 2_000; count++) process.stdout.write("<html>hello</html>\n");
    process.stdin.resume();
    return;
  }
  if (way === "stubborn") {
    // Neither a closed input nor a kind word ends it, and it has a child.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
    setInterval(() => undefined, 1_000);
    console.error(`child ${spawn("sleep", ["300"], { stdio: "ignore" }).pid}`);
  }
  if (way === "banner") process.stdout.write("Welcome to the server!\n\n");
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const message = JSON.parse(line) as Message;
    if (message.params?.name === "die") process.exit(4);
    if (message.params?.arguments?.["text"] === "die") process.exit(5);
    if (message.params?.name === "slow") void goSlowly(message);
    if (way === "learns" && message.params?.name === "every/thing") learn();
    if (way === "endless" && message.method === "tools/list") {
      say({ jsonrpc: "2.0", id: message.id, result: { tools: [], nextCursor: "on" } });
      return;
    }
    const reply = answer(message);
    if (reply !== undefined) say(reply);
  });
}

if (process.argv[1] === import.meta.filename) serve();
