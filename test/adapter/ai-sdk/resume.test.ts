/** Streams that are cut, resumed, watched twice and stopped: the message is the same in the end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  findChat,
  openChat,
  toUIMessageStreamResponse,
  uiMessages,
} from "../../../src/adapter/ai-sdk/ai-sdk.ts";
import { sliced } from "../../slice.ts";
import { use } from "../../runtime/turn/scripted.ts";
import { defineTool } from "../../../src/tool/define.ts";
import * as z from "zod";
import { chatPlace, plain, texts, until, wordByWord } from "./chats.ts";

/** A response whose connection breaks after so many frames. */
function cutAfter(response: Response, frames: number): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  let left = frames;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (left-- <= 0) {
        await reader.cancel();
        return controller.error(new TypeError("network error"));
      }
      const { value } = (await reader.read()) as { readonly value?: Uint8Array };
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
  });
  return new Response(body, response);
}

const words = ["One ", "two ", "three ", "four."];

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  effect: "read",
  run: () => "a wall\n\ndata: [DONE]",
});

test("a stream cut after any chunk, and resumed, gives the same message", async () => {
  const cuts = sliced(5, 30);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }), async (frames) => {
      const left = [...frames];
      await using at = chatPlace({
        lines: [
          [{ type: "reasoning", text: "Hm." }, use("look", {})],
          [use("look", {}), { type: "text", text: "x" }],
          "A wall.",
        ],
        tools: [look],
        open: () => ({ bind: [{ kind: "tool", name: "look" }] }),
        through: (response) => {
          const cut = left.shift();
          return cut === undefined ? response : cutAfter(response, cut);
        },
      });
      const chat = at.chat();
      await chat.sendMessage({ text: "Look" });
      for (let tries = 0; tries < 8 && chat.status === "error"; tries++) await chat.resumeStream();
      const session = await findChat(at.engine, "chat-1");
      assert.ok(session);
      await until(async () => (await session.fold()).standing.turn === null);
      const [, expected] = await uiMessages(session);
      const shown = chat.messages.find(({ role }) => role === "assistant");
      // A turn that ended meanwhile is not replayed: then the page loads the messages.
      const isWhole = (shown?.metadata as { status?: string } | undefined)?.status === "completed";
      if (isWhole) assert.deepEqual(plain(shown), plain(expected));
      assert.equal(at.script.calls.length, 3);
    }),
    { numRuns: cuts },
  );
});

test("an answer in progress is replayed, then continues live, in any number of tabs", async () => {
  let said = 0;
  let allowed = 2;
  const script = wordByWord(words, async (word) => {
    said = word;
    await until(() => word < allowed);
  });
  await using at = chatPlace({ script });
  const first = at.chat();
  const sending = first.sendMessage({ text: "Count" });
  await until(() => said === 2);
  const session = await findChat(at.engine, "chat-1");
  assert.ok(session);
  const tabs = [at.chat(), at.chat("chat-1", await uiMessages(session))];
  const resumed = tabs.map((tab) => tab.resumeStream());
  await until(() => tabs.every((tab) => texts(tab.messages).at(-1) === "assistant: One two "));
  allowed = 4;
  await Promise.all([sending, ...resumed]);
  const [, expected] = await uiMessages(session);
  for (const tab of [first, ...tabs]) assert.deepEqual(plain(tab.messages.at(-1)), plain(expected));
  assert.equal(texts(first.messages).at(-1), "assistant: One two three four.");
  assert.equal(script.calls.length, 1);
  const idle = await at.fetch("http://skein.test/api/chat/chat-1/stream");
  assert.equal(idle.status, 204);
  assert.equal((await at.fetch("http://skein.test/api/chat/none/stream")).status, 204);
});

test("a page that leaves cancels nothing; stop interrupts the turn, and keeps the text so far", async () => {
  let said = 0;
  let isOver = false;
  const script = wordByWord(words, async (word) => {
    said = word;
    await until(() => word < 2 || isOver);
  });
  await using at = chatPlace({ script });
  const chat = at.chat();
  const sending = chat.sendMessage({ text: "Count" });
  await until(() => said === 2);
  await chat.stop();
  await sending;
  const session = await findChat(at.engine, "chat-1");
  assert.ok(session);
  assert.equal((await session.fold()).standing.status, "running");
  const watching = at.chat();
  const watched = watching.resumeStream();
  await until(() => texts(watching.messages).at(-1) === "assistant: One two ");
  const path = "http://skein.test/api/chat/chat-1/stream";
  assert.equal((await at.fetch(path, { method: "DELETE" })).status, 204);
  await watched;
  assert.equal(watching.status, "ready");
  const message = watching.messages.at(-1);
  assert.equal((message?.metadata as { status?: string } | undefined)?.status, "interrupted");
  const [, expected] = await uiMessages(session);
  assert.deepEqual(plain(message), plain(expected));
  assert.equal(texts(watching.messages).at(-1), "assistant: One two ");
  assert.equal((await at.fetch(path, { method: "DELETE" })).status, 204);
  isOver = true;
});

test("two tabs that send at once: each gets its turn, in one order", async () => {
  await using at = chatPlace({ lines: [({ parts }) => `to ${JSON.stringify(parts.at(-1)).length}`] });
  const tabs = [at.chat(), at.chat(), at.chat()];
  await Promise.all(tabs.map((tab, n) => tab.sendMessage({ text: `from tab ${n}` })));
  for (const tab of tabs) {
    assert.equal(tab.error, undefined);
    assert.equal(tab.status, "ready");
    assert.equal(tab.messages.length, 2);
  }
  const session = await findChat(at.engine, "chat-1");
  assert.ok(session);
  const messages = await uiMessages(session);
  assert.equal(messages.filter(({ role }) => role === "user").length, 3);
  const ids = new Set(messages.map(({ id }) => id));
  for (const tab of tabs) assert.ok(ids.has(tab.messages[1]?.id ?? ""));
});

test("a run as a response: only chunks of its turn; the run continues without a reader", async () => {
  await using at = chatPlace({ lines: ["First.", "Second."] });
  const session = await openChat(at.engine, "c");
  const [one, two] = [session.ask("1"), session.ask("2")].map((run) => toUIMessageStreamResponse(run));
  const read = await Promise.all([one, two].map(async (response) => response?.text() ?? ""));
  for (const text of read) {
    assert.equal(text.match(/"type":"start"/g)?.length, 1);
    assert.equal(text.match(/"type":"finish"/g)?.length, 1);
    assert.ok(text.endsWith("data: [DONE]\n\n"));
  }
  const run = session.ask("3");
  await toUIMessageStreamResponse(run).body?.cancel();
  assert.equal((await run.result).status, "open");
});

test("a huge answer and a huge output are streamed to a reader that takes its time", async () => {
  const huge = "é\n".repeat(300_000);
  const big = defineTool({
    name: "big",
    description: "Is big.",
    input: z.object({}),
    effect: "read",
    run: () => huge,
  });
  await using at = chatPlace({
    lines: [[use("big", {})], huge.slice(0, 300_000)],
    tools: [big],
    open: () => ({ bind: [{ kind: "tool", name: "big" }] }),
  });
  const chat = at.chat();
  await chat.sendMessage({ text: "Go" });
  assert.equal(chat.error, undefined);
  const session = await findChat(at.engine, "chat-1");
  assert.ok(session);
  const [, expected] = await uiMessages(session);
  assert.deepEqual(plain(chat.messages[1]), plain(expected));
  assert.equal(texts(chat.messages)[1]?.length, "assistant: ".length + 300_000);
});
