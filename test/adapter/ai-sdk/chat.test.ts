/** The chat client of the AI SDK, unmodified, on sessions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  safeValidateUIMessages,
  type UIMessage,
} from "ai";
import * as z from "zod";
import { findChat, uiMessages, type ChatMessage } from "../../../src/adapter/ai-sdk/ai-sdk.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { ModelError } from "../../../src/model/port.ts";
import { use } from "../../runtime/turn/scripted.ts";
import { chatPlace, plain, texts, until } from "./chats.ts";

const pay = (paid: unknown[] = []) =>
  defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ cents: z.number() }),
    run: ({ cents }) => {
      paid.push(cents);
      return { receipt: cents };
    },
  });

const place = defineTool({ name: "place", description: "Where the user is.", input: z.object({}) });

async function sessionOf(engine: Engine, id = "chat-1"): Promise<Session> {
  const session = await findChat(engine, id);
  assert.ok(session);
  return session;
}

/** What the server renders is what the client has, but for the ids of the client's own messages. */
async function assertSame(engine: Engine, messages: readonly UIMessage[], id?: string): Promise<void> {
  const rendered = await uiMessages(await sessionOf(engine, id));
  const withoutOwn = (all: readonly UIMessage[]): unknown =>
    plain(all).map((one) => (one.role === "user" ? { ...one, id: "", metadata: null } : one));
  assert.deepEqual(withoutOwn(messages), withoutOwn(rendered));
  const valid = await safeValidateUIMessages({ messages: plain(rendered) });
  assert.ok(valid.success, valid.success ? "" : String(valid.error));
}

test("a message opens a session once, and the answer is a message with its usage", async () => {
  await using at = chatPlace({ lines: ["Hello.", "Again."] });
  const chat = at.chat();
  await chat.sendMessage({ text: "Hi" });
  assert.equal(chat.error, undefined);
  await chat.sendMessage({ text: "More" });
  assert.deepEqual(texts(chat.messages), [
    "user: Hi",
    "assistant: Hello.",
    "user: More",
    "assistant: Again.",
  ]);
  assert.equal(chat.status, "ready");
  assert.equal((await at.engine.sessions()).rows.length, 1);
  const { metadata } = chat.messages[1] as ChatMessage;
  assert.ok(metadata !== undefined && "usage" in metadata);
  const { usage, status, costNanoUsd } = metadata;
  assert.deepEqual([status, costNanoUsd, usage.totalTokens], ["completed", 150_000, 110]);
  await assertSame(at.engine, chat.messages);
});

test("a message sent twice is one input, and two first messages at once open one session", async () => {
  await using at = chatPlace({ lines: ["Hello."] });
  const chat = at.chat();
  await chat.sendMessage({ text: "Hi" });
  const { body } = at.requests[0] ?? { body: "" };
  const post = () => at.fetch("http://skein.test/api/chat", { method: "POST", body });
  const [one, two] = await Promise.all([post(), post()].map(async (sent) => (await sent).text()));
  assert.equal(one, two);
  assert.match(one ?? "", /Hello\./);
  assert.equal(at.script.calls.length, 1);
  const both = [at.chat("new"), at.chat("new")];
  await Promise.all(both.map((tab, n) => tab.sendMessage({ text: `tab ${n}` })));
  assert.deepEqual(
    both.map(({ error }) => error),
    [undefined, undefined],
  );
  assert.equal((await at.engine.sessions()).rows.length, 2);
});

test("tools run on the server; their calls are parts of the message", async () => {
  const paid: unknown[] = [];
  await using at = chatPlace({
    lines: [[use("pay", { cents: 5 })], "Paid."],
    tools: [pay(paid)],
    open: () => ({ bind: [{ kind: "tool", name: "pay" }], grant: [{ tool: "pay", rule: "allow" }] }),
    when: lastAssistantMessageIsCompleteWithToolCalls,
  });
  const chat = at.chat();
  await chat.sendMessage({ text: "Pay 5" });
  assert.equal(chat.error, undefined);
  assert.deepEqual(paid, [5]);
  assert.deepEqual(
    chat.messages[1]?.parts.map((part) => ("state" in part ? `${part.type} ${part.state}` : part.type)),
    ["step-start", "dynamic-tool output-available", "step-start", "text done"],
  );
  assert.equal(at.requests.length, 1);
  await assertSame(at.engine, chat.messages);
});

for (const approved of [true, false]) {
  test(`a waiting call is ${approved ? "approved" : "denied"} from the chat`, async () => {
    const paid: unknown[] = [];
    await using at = chatPlace({
      lines: [[use("pay", { cents: 5 })], "Done."],
      tools: [pay(paid)],
      open: () => ({ bind: [{ kind: "tool", name: "pay" }], grant: [{ tool: "pay", rule: "ask" }] }),
      when: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    const chat = at.chat();
    await chat.sendMessage({ text: "Pay 5" });
    assert.equal(chat.status, "ready");
    assert.deepEqual(paid, []);
    const [part] = chat.messages[1]?.parts.filter(({ type }) => type === "dynamic-tool") ?? [];
    assert.ok(part?.type === "dynamic-tool" && part.state === "approval-requested");
    await assertSame(at.engine, chat.messages);
    await chat.sendMessage({ text: "And now?" });
    assert.match(chat.error?.message ?? "", /suspended \(approval\)/);
    chat.messages = chat.messages.slice(0, -1);
    await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason: "because" });
    await until(() => chat.status === "ready" && chat.messages.at(-1)?.parts.at(-1)?.type === "text");
    assert.equal(chat.error, undefined);
    assert.deepEqual(paid, approved ? [5] : []);
    assert.equal(chat.messages.length, 2);
    assert.deepEqual(texts(chat.messages), ["user: Pay 5", "assistant: Done."]);
    await assertSame(at.engine, chat.messages);
  });
}

test("an external tool is executed by the client, and its output continues the message", async () => {
  for (const fails of [false, true]) {
    await using at = chatPlace({
      lines: [
        [use("place", {})],
        ({ parts }) => (JSON.stringify(parts).includes("Bern") ? "You are in Bern." : "Where?"),
      ],
      tools: [place],
      open: () => ({ bind: [{ kind: "tool", name: "place" }] }),
      when: lastAssistantMessageIsCompleteWithToolCalls,
    });
    const chat = at.chat();
    await chat.sendMessage({ text: "Where am I?" });
    const part = chat.messages[1]?.parts.find(({ type }) => type === "tool-place");
    assert.ok(part !== undefined && "toolCallId" in part && part.state === "input-available");
    const of = { tool: "place", toolCallId: part.toolCallId } as never;
    await chat.addToolOutput(
      fails
        ? ({ ...(of as object), state: "output-error", errorText: "no GPS" } as never)
        : ({ ...(of as object), output: { city: "Bern" } } as never),
    );
    await until(() => chat.status === "ready" && chat.messages.at(-1)?.parts.at(-1)?.type === "text");
    assert.equal(chat.error, undefined);
    assert.deepEqual(texts(chat.messages), [
      "user: Where am I?",
      `assistant: ${fails ? "Where?" : "You are in Bern."}`,
    ]);
    await assertSame(at.engine, chat.messages);
  }
});

test("a message is generated again, and edited: the log rewinds to before it", async () => {
  await using at = chatPlace({ lines: ["One.", "Two.", "Three.", "Four."] });
  const chat = at.chat();
  await chat.sendMessage({ text: "Count" });
  await chat.regenerate();
  assert.deepEqual(texts(chat.messages), ["user: Count", "assistant: Two."]);
  await chat.sendMessage({ text: "On" });
  await assertSame(at.engine, chat.messages);
  const [first] = chat.messages;
  assert.ok(first);
  await chat.sendMessage({ text: "Count to four", messageId: first.id });
  assert.equal(chat.error, undefined);
  assert.deepEqual(texts(chat.messages), ["user: Count to four", "assistant: Four."]);
  await assertSame(at.engine, chat.messages);
});

test("a reloaded page has the same messages, and its ids lead to the same turns", async () => {
  await using at = chatPlace({ lines: ["One.", "Two.", "Three."] });
  await at.chat().sendMessage({ text: "Count" });
  const response = await at.fetch("http://skein.test/api/chat/chat-1");
  const chat = at.chat("chat-1", (await response.json()) as UIMessage[]);
  await chat.sendMessage({ text: "On" });
  assert.deepEqual(texts(chat.messages), ["user: Count", "assistant: One.", "user: On", "assistant: Two."]);
  const answer = chat.messages[1];
  await chat.regenerate(answer === undefined ? {} : { messageId: answer.id });
  assert.deepEqual(texts(chat.messages), ["user: Count", "assistant: Three."]);
  await assertSame(at.engine, chat.messages);
});

test("a model that fails is an error of the chat, and the next message begins a new turn", async () => {
  await using at = chatPlace({ lines: [new ModelError("auth", "no credit"), "Back."] });
  const chat = at.chat();
  await chat.sendMessage({ text: "Hi" });
  assert.equal(chat.status, "error");
  assert.match(chat.error?.message ?? "", /no credit/);
  await chat.sendMessage({ text: "Still there?" });
  assert.equal(chat.error, undefined);
  assert.equal(texts(chat.messages).at(-1), "assistant: Back.");
});

test("files of a message are stored, and come back as data URLs", async () => {
  await using at = chatPlace({ lines: ["A dot."] });
  const chat = at.chat();
  const url = `data:image/png;base64,${Buffer.from("dot").toString("base64")}`;
  await chat.sendMessage({ text: "What is it?", files: [{ type: "file", mediaType: "image/png", url }] });
  assert.equal(chat.error, undefined);
  const response = await at.fetch("http://skein.test/api/chat/chat-1");
  const [message] = (await response.json()) as UIMessage[];
  assert.deepEqual(
    message?.parts.map((part) => (part.type === "file" ? part.url : part.type)),
    [url, "text"],
  );
});
