/** `/ai-sdk` on a server: the unmodified client with a token. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import { aiSdkMount } from "../../../src/adapter/ai-sdk/mount.ts";
import { served, type Served } from "../../server/served.ts";
import { use } from "../../runtime/turn/scripted.ts";
import { texts, until } from "./chats.ts";

const chatOn = (place: Served, token = place.token, id = "a chat/of mine"): Chat<UIMessage> =>
  new Chat({
    id,
    transport: new DefaultChatTransport({
      api: `${place.server.url}/ai-sdk/chat`,
      headers: { authorization: `Bearer ${token}` },
      body: { objective: "Help." },
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });

test("a chat with a token: ask, load, resume, stop", async () => {
  await using place = await served({ mounts: [aiSdkMount], lines: ["Hello.", "Again."] });
  const chat = chatOn(place);
  await chat.sendMessage({ text: "Hi" });
  assert.equal(chat.error, undefined);
  await chat.sendMessage({ text: "More" });
  assert.deepEqual(texts(chat.messages).slice(1, 2), ["assistant: Hello."]);
  const path = `/ai-sdk/chat/${encodeURIComponent("a chat/of mine")}`;
  const loaded = (await (await place.fetch(path)).json()) as UIMessage[];
  assert.deepEqual(texts(loaded), texts(chat.messages));
  assert.equal((await place.fetch(`${path}/stream`)).status, 204);
  assert.equal((await place.fetch(`${path}/stream`, { method: "DELETE" })).status, 204);
  const { rows } = await place.engine.sessions();
  assert.deepEqual(
    rows.map(({ objective }) => objective),
    ["Help."],
  );
  await chat.resumeStream();
  assert.equal(chat.status, "ready");
  const byId = chatOn(place, place.token, rows[0]?.session);
  await byId.sendMessage({ text: "By its id" });
  assert.equal(byId.error, undefined);
  assert.equal((await place.engine.sessions()).rows.length, 1);
  assert.deepEqual(place.troubles, []);
});

test("without a token, or without the scope, the chat is refused; errors are texts", async () => {
  await using place = await served({
    mounts: [aiSdkMount],
    lines: [[use("shell", { command: "ls" })], "ok"],
  });
  const none = chatOn(place, "skn_none");
  await none.sendMessage({ text: "Hi" });
  assert.match(none.error?.message ?? "", /not authenticated/);
  const { token: reader } = await place.engine.addToken({ scopes: ["read"] });
  const reading = chatOn(place, reader);
  await reading.sendMessage({ text: "Hi" });
  assert.match(reading.error?.message ?? "", /scope/);
  const { token: writer } = await place.engine.addToken({ scopes: ["write"] });
  const writing = chatOn(place, writer);
  await writing.sendMessage({ text: "Hi" });
  assert.match(writing.error?.message ?? "", /scope read/);
  assert.deepEqual((await place.engine.sessions()).rows, []);
  for (const [path, init, status] of [
    ["/ai-sdk", {}, 404],
    ["/ai-sdk/chat/a/b/c", {}, 404],
    ["/ai-sdk/chat/%ff/stream", {}, 400],
    ["/ai-sdk/chat/a", { method: "PUT" }, 405],
    ["/ai-sdk/chat", { method: "POST", body: "{" }, 400],
    ["/ai-sdk/chat", { method: "POST", body: '{"id":"a"}' }, 400],
    ["/ai-sdk/chat/nothing", {}, 404],
  ] as const) {
    const headers = { "content-type": "application/json" };
    const response = await place.fetch(path, { ...init, headers });
    assert.equal(response.status, status, path);
    assert.match(response.headers.get("content-type") ?? "", /text\/plain/);
  }
  assert.deepEqual(place.troubles, []);
});

test("allowing a call needs a token that may operate", async () => {
  await using place = await served({
    mounts: [aiSdkMount],
    lines: [[use("place", {})], "Done."],
  });
  const session = await place.engine.open({
    objective: "Ask first",
    bind: [
      {
        kind: "tool",
        name: "place",
        options: { external: true, description: "Where.", input: { type: "object" } },
      },
    ],
    grant: [{ tool: "place", rule: "ask" }],
  });
  const { token } = await place.engine.addToken({ scopes: ["read", "write"] });
  const chat = chatOn(place, token, session.id);
  await chat.sendMessage({ text: "Where?" });
  assert.equal(chat.error, undefined);
  const part = chat.messages[1]?.parts.find(({ type }) => type === "tool-place");
  assert.ok(part !== undefined && "approval" in part && part.state === "approval-requested");
  await chat.addToolApprovalResponse({ id: part.approval?.id ?? "", approved: true });
  await until(() => /scope operate/.test(String(chat.error)));
  assert.equal((await session.state()).calls[0]?.phase, "asked");
});
