/** Programs call their providers through the recording proxy. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";
import { proxyMount } from "../../../src/adapter/proxy/mount.ts";
import { eventsOf, memoryOf, type Proxied, proxied } from "./proxied.ts";
import { anthropicStream } from "./upstream.ts";

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const ask = (place: Proxied, messages: readonly object[], more: object = {}) =>
  place.post("/anthropic/v1/messages", { model: "claude-sonnet-5-5", max_tokens: 100, messages, ...more });

const typesOf = async (place: Proxied, session: string): Promise<string[]> =>
  (await eventsOf(place, session))
    .map(({ type }) => type)
    .filter((type) => !/^(session|budget)\./.test(type));

test("a call is recorded before it is forwarded, with its answer, usage and cost", async () => {
  await using place = await proxied();
  let before: string[] = [];
  place.upstream.next.push((response, asked) => {
    void (async () => {
      const [row] = (await place.engine.sessions()).rows;
      before = await typesOf(place, row?.session ?? "");
      response.setHeader("content-type", "application/json");
      const usage = { input_tokens: 1_000, output_tokens: 10 };
      const content = [{ type: "text", text: "4.1 %" }];
      response.end(
        JSON.stringify({ id: "msg_1", role: "assistant", content, stop_reason: "end_turn", usage }),
      );
      assert.equal(asked.headers["x-api-key"], "provider-key");
      assert.equal(asked.headers["x-skein-token"], undefined);
      assert.equal(asked.headers["accept-encoding"], "identity");
    })();
  });
  const answer = await ask(place, [user("What is the rate?")], { system: "Be terse." });
  assert.equal(answer.status, 200);
  assert.deepEqual(
    before,
    ["label.set", "input.imported", "proxy.requested"].filter((t) => before.includes(t)),
  );
  assert.ok(before.includes("proxy.requested"));
  const [session] = await place.recorded(1);
  assert.deepEqual((await typesOf(place, session)).slice(-4), [
    "input.imported",
    "proxy.requested",
    "proxy.responded",
    "answer.imported",
  ]);
  const events = await eventsOf(place, session);
  const requested = events.find(({ type }) => type === "proxy.requested");
  assert.deepEqual((requested?.content as { settings: object } | undefined)?.settings, {
    system: "Be terse.",
    max_tokens: 100,
  });
  const { used, calls } = await memoryOf(place, session);
  assert.deepEqual([calls.inputTokens, calls.outputTokens, calls.calls], [1_000, 10, 1]);
  assert.ok(used.nanoUsd > 0);
  assert.doesNotMatch(JSON.stringify(events), /provider-key|skn_/);
  assert.deepEqual(place.troubles, []);
});

test("the next request of a conversation continues its session, and records only new messages", async () => {
  await using place = await proxied();
  const first = [user("one")];
  await ask(place, first);
  const second = [
    ...first,
    assistant([{ type: "text", text: "Hello" }]),
    user([{ type: "text", text: "two" }]),
  ];
  await ask(place, second);
  const [session, ...others] = await place.recorded(2);
  assert.deepEqual(others, []);
  const types = (await typesOf(place, session)).filter((type) => /imported|proxy/.test(type));
  const round = ["input.imported", "proxy.requested", "proxy.responded", "answer.imported"];
  assert.deepEqual(types, [...round, ...round]);
});

test("another conversation, another token and another provider are other sessions", async () => {
  await using place = await proxied();
  await ask(place, [user("one")]);
  await ask(place, [user("other")]);
  const added = await place.engine.addToken({ scopes: ["write"] });
  await place.post("/anthropic/v1/messages", { model: "m", messages: [user("one")] }, added.token);
  await place.post("/openai/v1/chat/completions", { model: "m", messages: [user("one")] });
  assert.equal((await place.recorded(4)).length, 4);
});

test("another continuation of the same beginning is a fork, and a call beside an open one too", async () => {
  await using place = await proxied();
  const base = [user("one"), assistant("Hello")];
  await ask(place, [user("one")]);
  await ask(place, [...base, user("left")]);
  await ask(place, [...base, user("right")]);
  const sessions = await place.recorded(3);
  assert.equal(sessions.length, 2);
  const rows = (await place.engine.sessions()).rows;
  assert.equal(rows.filter(({ parent }) => parent !== null).length, 1);
  const release = Promise.withResolvers<void>();
  const hold: Parameters<typeof place.upstream.next.push>[0] = (response) => {
    void release.promise.then(() =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(anthropicStream("A")),
    );
  };
  place.upstream.next.push(hold, hold);
  const both = [ask(place, [user("both")]), ask(place, [user("both")])];
  while (place.upstream.asked.length < 5) await new Promise((done) => setTimeout(done, 5));
  release.resolve();
  await Promise.all(both);
  assert.equal((await place.recorded(5)).length, 4);
});

test("after a restart a conversation continues in its session", async () => {
  await using place = await proxied();
  await ask(place, [user("one")]);
  await ask(place, [user("one"), assistant("Hello"), user("two")]);
  await place.recorded(2);
  await place.restart();
  await ask(place, [user("one"), assistant("Hello"), user("two"), assistant("Hello"), user("three")]);
  assert.equal((await place.recorded(3)).length, 1);
});

test("a stream passes byte for byte, as it arrives, and its text is recorded", async () => {
  await using place = await proxied();
  const text = anthropicStream("Zürich 🙂 line\r\nbreak");
  const later = Promise.withResolvers<void>();
  place.upstream.next.push((response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "x-own": "1" });
    const bytes = Buffer.from(text);
    // In the middle of a character, and of a frame.
    const at = bytes.indexOf(Buffer.from("🙂")) + 2;
    response.write(bytes.subarray(0, at));
    void later.promise.then(() => response.end(bytes.subarray(at)));
  });
  const answer = await ask(place, [user("stream")], { stream: true });
  assert.equal(answer.headers.get("x-own"), "1");
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const chunks = [(await reader.read()).value ?? new Uint8Array()];
  assert.ok(chunks[0]?.length, "the beginning arrives before the end is there");
  later.resolve();
  for (let one = await reader.read(); !one.done; one = await reader.read()) chunks.push(one.value);
  assert.equal(Buffer.concat(chunks).toString("utf8"), text);
  const [session] = await place.recorded(1);
  const events = await eventsOf(place, session);
  const said = events.find(({ type }) => type === "answer.imported")?.content;
  assert.deepEqual(said, { blocks: [{ type: "text", text: "Zürich 🙂 line\r\nbreak" }] });
  const responded = events.find(({ type }) => type === "proxy.responded")?.content as { received: string };
  assert.equal(responded.received, createHash("sha256").update(text).digest("hex"));
  assert.deepEqual((await memoryOf(place, session)).calls.outputTokens, 5);
});

test("tool calls are recorded with their results", async () => {
  await using place = await proxied();
  const called = { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } };
  place.upstream.next.push((response) => {
    response.setHeader("content-type", "application/json");
    const usage = { input_tokens: 5, output_tokens: 5 };
    response.end(JSON.stringify({ role: "assistant", content: [called], stop_reason: "tool_use", usage }));
  });
  await ask(place, [user("list")]);
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: "rates.json", is_error: false };
  await ask(place, [user("list"), assistant([called]), user([result])]);
  const [session, ...others] = await place.recorded(2);
  assert.deepEqual(others, []);
  const events = await eventsOf(place, session);
  const call = events.find(({ type }) => type === "call.imported");
  assert.deepEqual(
    [call?.body, call?.content],
    [
      { tool: "Bash", status: "ok" },
      { id: "toolu_1", name: "Bash", input: { command: "ls" }, output: "rates.json" },
    ],
  );
});

test("without a token, the scope or a path of the API nothing passes, in the provider's form", async () => {
  await using place = await proxied();
  const read = await place.engine.addToken({ scopes: ["read"] });
  const body = { model: "m", messages: [user("one")] };
  const none = await place.post("/anthropic/v1/messages", body, null);
  assert.equal(none.status, 401);
  assert.equal(((await none.json()) as { error: { type: string } }).error.type, "authentication_error");
  const forbidden = await place.post("/openai/v1/chat/completions", body, read.token);
  assert.equal(forbidden.status, 403);
  assert.match(((await forbidden.json()) as { error: { message: string } }).error.message, /scope "write"/);
  const out = await place.post("/google/v1beta/a%2f..%2fx:generateContent", body);
  assert.equal(((await out.json()) as { error: { status: string } }).error.status, "INVALID_ARGUMENT");
  const broken = await place.post("/anthropic/v1/messages", "{");
  assert.equal(broken.status, 400);
  assert.equal((await place.post("/elsewhere/v1/x", body)).status, 404);
  assert.equal(place.upstream.asked.length, 0);
});

test("a budget that is reached answers with the provider's 429, and forwards nothing", async () => {
  await using place = await proxied({ budget: { usd: 0.000_001 } });
  const answer = await ask(place, [user("one")]);
  assert.equal(answer.status, 429);
  assert.equal(answer.headers.get("x-should-retry"), "false");
  const { error } = (await answer.json()) as { error: { type: string; message: string } };
  assert.equal(error.type, "rate_limit_error");
  assert.match(
    error.message,
    /cost budget does not cover the call: \$0.00 of \$0.000001 used, up to \$0.00\d+ needed/,
  );
  const unknown = await place.post("/openai/v1/chat/completions", {
    model: "unheard-of",
    messages: [user("x")],
  });
  assert.equal(((await unknown.json()) as { error: { code: string } }).error.code, "insufficient_quota");
  assert.equal(place.upstream.asked.length, 0);
});

test("errors of the provider pass through, cost nothing, and a retry continues the session", async () => {
  await using place = await proxied();
  place.upstream.next.push((response) => {
    response
      .writeHead(529, { "content-type": "application/json" })
      .end('{"type":"error","error":{"type":"overloaded_error"}}');
  });
  assert.equal((await ask(place, [user("one")])).status, 529);
  await place.recorded(1);
  assert.equal((await ask(place, [user("one")])).status, 200);
  const [session, ...others] = await place.recorded(2);
  assert.deepEqual(others, []);
  const inputs = (await eventsOf(place, session)).filter(({ type }) => type === "input.imported");
  assert.equal(inputs.length, 1);
  const { calls } = await memoryOf(place, session);
  assert.deepEqual([calls.calls, calls.unconfirmedTokens], [2, 0]);
});

test("a client that disconnects ends the call; its partial answer is counted and kept", async () => {
  await using place = await proxied();
  const closed = Promise.withResolvers<void>();
  place.upstream.next.push((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(anthropicStream("Half of it").split("event: content_block_stop")[0] ?? "");
    response.on("close", () => closed.resolve());
  });
  const stop = new AbortController();
  const answer = await ask(place, [user("cut")], { stream: true, signal: stop.signal });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  stop.abort();
  await closed.promise;
  const [session] = await place.recorded(1);
  const events = await eventsOf(place, session);
  assert.deepEqual(events.find(({ type }) => type === "answer.imported")?.body, {
    model: "claude-sonnet-5-5",
    interrupted: true,
  });
  const failed = events.find(({ type }) => type === "proxy.failed")?.body as { error: string; usage: object };
  assert.equal(failed.error, "interrupted");
  assert.ok(failed.usage);
});

test("a client that closes after the last event of a stream has the whole answer", async () => {
  await using place = await proxied();
  const open = Promise.withResolvers<() => void>();
  place.upstream.next.push((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(anthropicStream("All of it"));
    // Its connection ends later.
    open.resolve(() => response.end());
  });
  const stop = new AbortController();
  const answer = await ask(place, [user("whole")], { stream: true, signal: stop.signal });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  for (let text = ""; !text.includes("message_stop");)
    text += decoder.decode((await reader.read()).value, { stream: true });
  stop.abort();
  const [session] = await place.recorded(1);
  (await open.promise)();
  const events = await eventsOf(place, session);
  assert.deepEqual(events.find(({ type }) => type === "proxy.failed")?.body, undefined);
  const answered = events.find(({ type }) => type === "answer.imported")?.body;
  assert.deepEqual(answered, { model: "claude-sonnet-5-5" });
});

test("a provider that cannot be reached is an error of the provider's form, and costs nothing", async () => {
  await using place = await proxied({ upstreams: { anthropic: "http://127.0.0.1:1" } });
  const answer = await ask(place, [user("one")]);
  assert.equal(answer.status, 503);
  assert.equal(((await answer.json()) as { error: { type: string } }).error.type, "overloaded_error");
  const [session] = await place.recorded(1);
  const { calls, used } = await memoryOf(place, session);
  assert.deepEqual([used.nanoUsd, calls.unconfirmedNanoUsd], [0, 0]);
});

test("a call that cannot be recorded is refused, unless the operator lets it pass", async () => {
  for (const unrecorded of ["refuse", "forward"] as const) {
    await using place = await proxied({ unrecorded });
    await ask(place, [user("one")]);
    await place.recorded(1);
    place.breakStore();
    const answer = await ask(place, [user("two")]);
    assert.equal(answer.status, unrecorded === "refuse" ? 503 : 200);
    assert.equal(place.upstream.asked.length, unrecorded === "refuse" ? 1 : 2);
  }
});

test("secrets are redacted in the log, and forwarded unchanged", async () => {
  await using place = await proxied();
  const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  await ask(place, [user(`my token is ${secret}`)]);
  assert.match(place.upstream.asked[0]?.body ?? "", new RegExp(secret));
  const [session] = await place.recorded(1);
  assert.doesNotMatch(JSON.stringify(await eventsOf(place, session)), new RegExp(secret));
});

test("long histories, huge texts and images are stored; content without a place is named", async () => {
  await using place = await proxied();
  const many = Array.from({ length: 2_400 }, (_, at) =>
    at % 2 === 0 ? user(`u${at}`) : assistant(`a${at}`),
  );
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGVsbG8=" } };
  const huge = "x".repeat(3_000_000);
  const last = user([image, { type: "text", text: huge }, { type: "search_result" }]);
  assert.equal((await ask(place, [...many, last])).status, 200);
  const [session] = await place.recorded(1);
  const events = await eventsOf(place, session);
  assert.equal(events.filter(({ type }) => type === "input.imported").length, 1_201);
  const kept = events.findLast(({ type }) => type === "input.imported")?.content as {
    blocks: readonly { type: string; text?: string }[];
  };
  assert.deepEqual(
    kept.blocks.map(({ type, text }) => text ?? type),
    ["file", "image", "[search_result: not recorded]"],
  );
  assert.deepEqual(place.troubles, []);
});

test("other requests of a provider's API pass without a record", async () => {
  await using place = await proxied();
  const models = await place.get("/openai/v1/models?limit=2");
  assert.equal(models.status, 200);
  assert.equal(place.upstream.asked[0]?.path, "/v1/models?limit=2");
  assert.deepEqual((await place.engine.sessions()).rows, []);
});

test("unmodified clients work through it: the AI SDK with Anthropic and OpenAI", async () => {
  await using place = await proxied();
  const anthropic = createAnthropic({ baseURL: `${place.base}/anthropic/${place.token}/v1`, apiKey: "k" });
  const one = await generateText({ model: anthropic("claude-sonnet-5-5"), prompt: "Hello?" });
  assert.equal(one.text, "Hello");
  const openai = createOpenAI({ baseURL: `${place.base}/openai/${place.token}/v1`, apiKey: "k" });
  const messages = [{ role: "user", content: "Hello?" }] as const;
  const chat = await generateText({ model: openai.chat("gpt-6"), messages: [...messages] });
  const more = [...messages, ...chat.finalStep.response.messages, { role: "user" as const, content: "And?" }];
  await generateText({ model: openai.chat("gpt-6"), messages: more });
  const responses = await generateText({ model: openai.responses("gpt-6"), prompt: "Hello?" });
  assert.equal(responses.text, "Hello");
  assert.equal((await place.recorded(4)).length, 3);
});

test("Gemini's calls are recorded", async () => {
  await using place = await proxied();
  const body = { contents: [{ role: "user", parts: [{ text: "Hello?" }] }] };
  const path = "/google/v1beta/models/gemini-3:generateContent?key=AIzaSecretKeyOfTheProvider0123456789";
  assert.equal((await place.post(path, body)).status, 200);
  assert.match(place.upstream.asked[0]?.path ?? "", /\?key=AIzaSecretKey/);
  const [session] = await place.recorded(1);
  const text = JSON.stringify(await eventsOf(place, session));
  assert.doesNotMatch(text, /AIzaSecretKey/);
  assert.deepEqual((await memoryOf(place, session)).calls.outputTokens, 3);
});

test("the mount names its prefix", () => {
  assert.equal(proxyMount({ models: () => null, clock: () => 0 }).prefix, "/proxy");
});
