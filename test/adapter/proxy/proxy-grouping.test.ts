/** Calls of one conversation that come close together, and sessions that changed meanwhile. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import type { SessionId } from "../../../src/core/ids.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";
import { memoryOf, type Proxied, proxied } from "./proxied.ts";

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const ask = (place: Proxied, messages: readonly object[], more: object = {}) =>
  place.post("/anthropic/v1/messages", { model: "claude-sonnet-5-5", max_tokens: 100, messages, ...more });
const usage = { input_tokens: 5, output_tokens: 5 };
const reply = (response: ServerResponse, text: string): void => {
  response.setHeader("content-type", "application/json");
  const content = [{ type: "text", text }];
  response.end(JSON.stringify({ id: "msg_1", role: "assistant", content, stop_reason: "end_turn", usage }));
};

test("a request before the outcome of the last is durable continues the session", async () => {
  await using place = await proxied();
  place.slowStore(30);
  await (await ask(place, [user("one")])).text();
  await (await ask(place, [user("one"), assistant("Hello"), user("two")])).text();
  assert.equal((await place.recorded(2)).length, 1);
});

test("so does a retry after an error, and a response that names the one before", async () => {
  await using place = await proxied();
  place.slowStore(30);
  place.upstream.next.push((response) => response.writeHead(529).end("{}"));
  await (await ask(place, [user("one")])).text();
  await (await ask(place, [user("one")])).text();
  assert.equal((await place.recorded(2)).length, 1);
  const path = "/openai/v1/responses";
  const first = await (await place.post(path, { model: "gpt-6", input: "one" })).json();
  const { id } = first as { id: string };
  await (await place.post(path, { model: "gpt-6", input: "two", previous_response_id: id })).text();
  assert.equal((await place.recorded(4)).length, 2);
});

test("two requests that continue one conversation at once keep both answers", async () => {
  await using place = await proxied();
  await (await ask(place, [user("one")])).text();
  await place.recorded(1);
  place.slowStore(20);
  const release = Promise.withResolvers<void>();
  const hold = (text: string) => (response: ServerResponse) =>
    void release.promise.then(() => reply(response, text));
  place.upstream.next.push(hold("A"), hold("B"));
  const base = [user("one"), assistant("Hello")];
  const both = [ask(place, [...base, user("left")]), ask(place, [...base, user("right")])];
  while (place.upstream.asked.length < 3) await new Promise((done) => setTimeout(done, 5));
  release.resolve();
  for (const one of both) await (await one).text();
  const sessions = await place.recorded(3);
  assert.equal(sessions.length, 2);
  assert.deepEqual(place.troubles, []);
  let unconfirmed = 0;
  for (const session of sessions) unconfirmed += (await memoryOf(place, session)).calls.unconfirmedTokens;
  assert.equal(unconfirmed, 0);
});

test("a deleted session begins anew, an archived or closed one is forked", async () => {
  for (const how of ["delete", "archive", "close"] as const) {
    await using place = await proxied();
    await (await ask(place, [user("one")])).text();
    const [session] = await place.recorded(1);
    if (how === "delete") await place.engine.delete(session);
    else await (await place.engine.session(session)).close();
    if (how === "archive") await (await place.engine.session(session)).archive();
    const answer = await ask(place, [user("one"), assistant("Hello"), user("two")]);
    assert.equal(answer.status, 200, how);
    await answer.text();
    await place.recorded(how === "delete" ? 1 : 2);
    assert.deepEqual(place.troubles, []);
  }
});

test("a session that was rewound meanwhile is forked where the conversation was", async () => {
  await using place = await proxied();
  await (await ask(place, [user("one")])).text();
  const [session] = await place.recorded(1);
  await (await place.engine.session(session)).rewind(1);
  await (await ask(place, [user("one"), assistant("Hello"), user("two")])).text();
  assert.equal((await place.recorded(2)).length, 2);
});

test("a call that another server forwards, or died with, is not settled by the next", async () => {
  await using place = await proxied();
  await (await ask(place, [user("one")])).text();
  const [session] = await place.recorded(1);
  const sha = "0".repeat(64);
  const known = { messages: 3, known: 2, chain: sha, bytes: 9, settings: sha };
  const model = { provider: "anthropic", model: "anthropic/claude-sonnet-5-5" };
  const { writer, actor } = internalsOf(place.engine);
  const id = session as SessionId;
  const body = { ...model, path: "/v1/messages", ...known, reserved: { tokens: 9 } };
  const content = { sent: sha };
  const open = await writer.change(id, { do: "forward", entries: [], body, content }, { actor });
  const messages = [user("one"), assistant("Hello"), user("two")];
  assert.equal((await ask(place, messages)).status, 200);
  assert.equal((await place.recorded(2)).length, 2);
  const late = { model: model.model, status: 200, usage: { inputTokens: 1, outputTokens: 1 } };
  const rest = { costNanoUsd: 1, bytes: 1, ms: 1 };
  await writer.change(
    id,
    {
      do: "pass-on",
      requestSeq: open.headSeq,
      body: { ...late, ...rest },
      content: { received: sha },
      answer: null,
    },
    { actor },
  );
  assert.equal((await memoryOf(place, session)).calls.unconfirmedTokens, 0);
});

test("a budget that is too small for a first call leaves no session behind", async () => {
  await using place = await proxied({ budget: { usd: 0.000_001 } });
  for (let times = 0; times < 3; times++) assert.equal((await ask(place, [user("one")])).status, 429);
  assert.deepEqual((await place.engine.sessions()).rows, []);
});
