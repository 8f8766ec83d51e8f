/** The prompt for each wire: what a provider would refuse is replaced by something it takes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import type { MessagePart, ModelBlock, ContextPart, UserBlock } from "../../src/core/context/part.ts";
import { makePrompt, type Prompt, type ProviderApi } from "../../src/model/prompt.ts";
import { ask, modelOn, opening, readTool, says } from "./drive.ts";
import type { WireBlock } from "./wire/format.ts";
import { startWire, wires, type WireName } from "./wire/server.ts";

const names = Object.keys(wires) as WireName[];
const bytes = new TextEncoder().encode("rate = 4.1");
const blob = (): Promise<Uint8Array> => Promise.resolve(bytes);

const prompt = (wire: ProviderApi, parts: readonly ContextPart[], read = blob): Promise<Prompt> =>
  makePrompt({ parts, blob: read }, wire);

async function userContent(
  wire: ProviderApi,
  content: readonly UserBlock[],
  images = true,
): Promise<unknown> {
  const settings: ContextPart = { part: "settings", settings: { model: "a/b", images } };
  const { messages } = await prompt(wire, [settings, { part: "message", role: "user", content }]);
  return messages[0]?.content;
}

const modelSays = (...content: readonly ModelBlock[]): MessagePart => ({
  part: "message",
  role: "assistant",
  content,
});

test("images and documents go by their bytes, where the model can see", async () => {
  const png: UserBlock = { type: "image", blob: "h1", mediaType: "image/png" };
  const pdf: UserBlock = { type: "file", blob: "h2", mediaType: "application/pdf", name: "plan.pdf" };
  const data = { type: "data", data: bytes };
  const image = { type: "file", mediaType: "image/png", data };
  const file = { type: "file", mediaType: "application/pdf", data, filename: "plan.pdf" };
  const unread = { type: "text", text: '[a file "plan.pdf" (application/pdf) that this model cannot read]' };
  for (const wire of names) {
    const expected = [image, wire === "compatible" ? unread : file];
    assert.deepEqual(await userContent(wire, [png, pdf]), expected, wire);
    const blind = [{ type: "text", text: "[an image (image/png) that this model cannot see]" }, unread];
    assert.deepEqual(await userContent(wire, [png, pdf], false), blind, wire);
  }
});

test("files of text go as text, whatever the model can see", async () => {
  const files = ["text/plain; charset=utf-8", "text/markdown", "application/json", "application/ld+json"];
  for (const mediaType of files) {
    const file: UserBlock = { type: "file", blob: "h", mediaType, name: "rates.toml" };
    const expected = [{ type: "text", text: '<file name="rates.toml">\nrate = 4.1\n</file>' }];
    assert.deepEqual(await userContent("openai", [file], false), expected, mediaType);
  }
});

test("files of unsupported types are named instead", async () => {
  for (const mediaType of ["application/zip", "image/svg+xml", "audio/wav", "video/mp4", "odd"]) {
    for (const wire of names) {
      const said = JSON.stringify(await userContent(wire, [{ type: "file", blob: "h", mediaType }]));
      assert.match(said, /that this model cannot (see|read)\]/, `${wire} ${mediaType}`);
    }
  }
});

test("a missing blob leaves a named gap", async () => {
  const gone = (): Promise<Uint8Array> => Promise.reject(new SkeinError("not-found", "no such blob"));
  const image: UserBlock = { type: "image", blob: "h", mediaType: "image/png" };
  const parts = opening("openai", { part: "message", role: "user", content: [image] });
  const { messages } = await prompt("openai", parts, gone);
  const expected = [{ type: "text", text: "[an image (image/png) that is no longer there]" }];
  assert.deepEqual(messages.at(-1)?.content, expected);
});

test("blank texts are left out, and a message of nothing else says that it is empty", async () => {
  const blank: UserBlock = { type: "text", text: " \n" };
  const some: UserBlock = { type: "text", text: "Compute." };
  assert.deepEqual(await userContent("anthropic", [blank, some]), [some]);
  assert.deepEqual(await userContent("anthropic", [blank]), [{ type: "text", text: "(empty)" }]);
  const said = modelSays({ type: "text", text: "" });
  const { messages } = await prompt("google", [said, { part: "system", text: " " }]);
  assert.deepEqual(messages, []);
});

test("a blank text with a signature is preserved", async () => {
  const metadata = { google: { thoughtSignature: "c2ln" } };
  const { messages } = await prompt("google", [modelSays({ type: "text", text: "", metadata })]);
  const content = [{ type: "text", text: "", providerOptions: metadata }];
  assert.deepEqual(messages, [{ role: "assistant", content }]);
});

test("reasoning that led to nothing is not shown again", async () => {
  const thought: ModelBlock = { type: "reasoning", text: "Hm.", metadata: { anthropic: { signature: "s" } } };
  const text: ModelBlock = { type: "text", text: "Done." };
  const { messages } = await prompt("anthropic", [modelSays(thought, text, thought), modelSays(thought)]);
  const roles = messages.map(({ role, content }) => [role, content.length]);
  assert.deepEqual(roles, [["assistant", 2]]);
});

test("failed, unknown and skipped calls are errors to the model", async () => {
  for (const wire of names) {
    for (const status of ["error", "unknown", "skipped"] as const) {
      const result = { type: "tool-result", call: "call_1", tool: "read", status, text: "No file." } as const;
      const { messages } = await prompt(wire, [{ part: "message", role: "tool", content: [result] }]);
      const value = wire === "compatible" ? "Error: No file." : "No file.";
      const output = { type: "error-text", value };
      const content = [{ type: "tool-result", toolCallId: "call_1", toolName: "read", output }];
      assert.deepEqual(
        messages.map((message) => message.content),
        [content],
        `${wire} ${status}`,
      );
    }
  }
});

test("images of a result stand in it, or follow it where they cannot", async () => {
  const images = [{ blob: "h", mediaType: "image/png" }];
  const result = { type: "tool-result", call: "call_1", tool: "look", text: "A fox.", images } as const;
  const settings: ContextPart = { part: "settings", settings: { model: "a/b", images: true } };
  const shown = { type: "file", mediaType: "image/png", data: { type: "data", data: bytes } };
  for (const wire of names) {
    for (const status of ["ok", "error"] as const) {
      const message: MessagePart = { part: "message", role: "tool", content: [{ ...result, status }] };
      const { messages } = await prompt(wire, [settings, message]);
      const within = status === "ok" && wire !== "compatible";
      assert.deepEqual(
        messages.map(({ role }) => role),
        within ? ["tool"] : ["tool", "user"],
      );
      const content = [{ type: "text", text: within ? "A fox." : "What look showed:" }, shown];
      const output = { type: "content", value: content };
      const inside = [{ type: "tool-result", toolCallId: "call_1", toolName: "look", output }];
      assert.deepEqual(messages.at(-1)?.content, within ? inside : content, `${wire} ${status}`);
    }
  }
});

test("names of tools that no provider takes are made to fit, and come back as they were", async () => {
  const odd = { ...readTool, name: "files.read all" };
  const call: WireBlock = { type: "call", id: "one", tool: "files_read_all", input: "{}" };
  for (const wire of names) {
    await using server = await startWire(wire, [{ reply: "answer", answer: { blocks: [call] } }]);
    const made = modelSays({ type: "tool-call", call: "call_3", tool: "1 böse\nTool", input: {} });
    const result = {
      type: "tool-result",
      call: "call_3",
      tool: "1 böse\nTool",
      status: "error",
      text: "No.",
    } as const;
    const { deltas, answer } = await ask(modelOn(wire, server.url), [
      ...opening(wire, says("Compute.")),
      { part: "tools", tools: [odd] },
      made,
      { part: "message", role: "tool", content: [result] },
    ]);
    assert.deepEqual(deltas, [{ type: "tool-call", tool: "files.read all" }], wire);
    assert.equal(answer.blocks.find((block) => block.type === "tool-call")?.tool, "files.read all", wire);
    assert.match(server.requests[0]!.text, /"name":"_1_b_se_Tool"/, wire);
  }
});

test("templates of local models get one system message, and users and model take turns", async () => {
  const { messages } = await prompt("compatible", opening("compatible", says("One."), says("Two.")));
  assert.deepEqual(messages, [
    { role: "system", content: "You keep the payroll.\n\nObjective: the run of November." },
    {
      role: "user",
      content: [
        { type: "text", text: "One." },
        { type: "text", text: "Two." },
      ],
    },
  ]);
});

test("of several settings and tools the last ones count", async () => {
  const later: ContextPart[] = [
    { part: "settings", settings: { model: "a/c", images: false, temperature: 0.2 } },
    { part: "tools", tools: [{ ...readTool, name: "write" }] },
  ];
  const { settings, tools } = await prompt("openai", [...opening("openai", says("Go.")), ...later]);
  assert.deepEqual([settings?.model, tools.map(({ name }) => name)], ["a/c", ["write"]]);
});
