/** The example of `useChat`: its routes with the unmodified client, and its page. */
import assert from "node:assert/strict";
import { globSync, mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { ChatPage } from "../../examples/ai-sdk-chat/page.ts";

test("the example has fewer than 60 lines", () => {
  const files = globSync("examples/ai-sdk-chat/*.ts", { cwd: join(import.meta.dirname, "../..") });
  const lines = files.map((file) => readFileSync(file, "utf8").trimEnd().split("\n").length);
  assert.ok(lines.length === 2 && lines.reduce((sum, one) => sum + one, 0) < 60, lines.join());
});

test("the routes serve the unmodified client, and the page shows the chat again", async (t) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "skein-chat-"));
  process.env["CHAT_STORE"] = join(folder.path, "chat.db");
  t.after(() => delete process.env["CHAT_STORE"]);
  const routes = await import("../../examples/ai-sdk-chat/routes.ts");
  const asked: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    return routes[request.method as "GET" | "POST" | "DELETE"](request);
  };
  const api = "http://chat.test/api/chat";
  const id = "0123456789abcdef";
  const chat = new Chat<UIMessage>({ id, transport: new DefaultChatTransport({ api, fetch: asked }) });
  await chat.sendMessage({ text: "say help" });
  assert.equal(chat.error, undefined);
  const loaded = (await (await asked(`${api}/${id}`)).json()) as UIMessage[];
  assert.equal(loaded.length, 2);
  const page = renderToStaticMarkup(createElement(ChatPage, { id, loaded }));
  assert.match(page, /<b>user<\/b><p>say help<\/p>/);
  assert.match(page, /<b>assistant<\/b><p>/);
  assert.equal((await asked(`${api}/short/stream`)).status, 404);
  assert.equal((await asked(`${api}/${id}/stream`)).status, 204);
});
