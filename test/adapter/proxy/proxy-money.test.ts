/** Costs of forwarded calls are never less than what a provider bills. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { eventsOf, memoryOf, type Proxied, proxied } from "./proxied.ts";

const messages = [{ role: "user", content: "one" }];
const claude = { model: "claude-sonnet-5-5", max_tokens: 8_000, messages };
const frame = (data: unknown): string =>
  `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

async function outcome(place: Proxied): Promise<Record<string, unknown>> {
  const [session] = await place.recorded(1);
  const found = (await eventsOf(place, session)).find(({ type }) => /^proxy\.(resp|fail)/.test(type));
  return { type: found?.type, ...(found?.body as object) };
}
const answered = (place: Proxied, type: string, body: string | Buffer, more: object = {}): void => {
  place.upstream.next.push((response) =>
    response.writeHead(200, { "content-type": type, ...more }).end(body),
  );
};
const stream = "text/event-stream";
const json = "application/json";

test("a compressed answer that cannot be read reserves its maximum", async () => {
  await using place = await proxied();
  answered(place, json, gzipSync('{"usage":{}}'), { "content-encoding": "gzip" });
  await (await place.post("/anthropic/v1/messages", claude)).arrayBuffer();
  const { unconfirmed } = (await outcome(place)) as { unconfirmed: { tokens: number } };
  assert.ok(unconfirmed.tokens >= 8_000, String(unconfirmed.tokens));
});

test("an impossible or missing usage is estimated, never zero", async () => {
  for (const usage of [{}, { prompt_tokens: 1e15, completion_tokens: 1 }, { prompt_tokens: null }]) {
    await using place = await proxied();
    const message = { role: "assistant", content: "Hello there" };
    const body = { id: "c", choices: [{ index: 0, message, finish_reason: "stop" }], usage };
    answered(place, json, JSON.stringify(body));
    await (await place.post("/openai/v1/chat/completions", { model: "gpt-6", messages })).text();
    const { type, usage: used } = (await outcome(place)) as {
      type: string;
      usage: { inputTokens: number; estimated?: true };
    };
    assert.equal(type, "proxy.responded");
    assert.ok(used.inputTokens > 0 && used.inputTokens < 1e9 && used.estimated === true);
    assert.deepEqual(place.troubles, []);
  }
});

test("a null in the last usage does not undo the number before", async () => {
  await using place = await proxied();
  const usage = { input_tokens: 1_000, output_tokens: 1 };
  const events = [
    { type: "message_start", message: { id: "m", usage } },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { input_tokens: null, output_tokens: 7 },
    },
    { type: "message_stop" },
  ];
  answered(place, stream, events.map(frame).join(""));
  await (await place.post("/anthropic/v1/messages", { ...claude, stream: true })).text();
  const used = (await outcome(place))["usage"];
  assert.deepEqual(used, { inputTokens: 1_000, outputTokens: 7, cachedInputTokens: 0, cacheWriteTokens: 0 });
});

test("a stream without usage of a model that reasons keeps an upper bound", async () => {
  await using place = await proxied();
  const events = [{ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] }, "[DONE]"];
  answered(place, stream, events.map(frame).join(""));
  const body = { model: "gpt-6", max_completion_tokens: 5_000, stream: true, messages };
  await (await place.post("/openai/v1/chat/completions", body)).text();
  const { type, unconfirmed } = (await outcome(place)) as {
    type: string;
    unconfirmed: { tokens: number };
  };
  assert.equal(type, "proxy.responded");
  assert.ok(unconfirmed.tokens > 4_900);
  const [session] = await place.recorded(1);
  assert.ok((await memoryOf(place, session)).calls.unconfirmedTokens > 4_900);
});

test("several choices are reserved, and never mixed", async () => {
  await using place = await proxied();
  const choice = (index: number, content: string) => ({ choices: [{ index, delta: { content } }] });
  const usage = { prompt_tokens: 5, completion_tokens: 5 };
  const events = [choice(0, "A"), choice(1, "x"), choice(0, "B"), { choices: [], usage }, "[DONE]"];
  answered(place, stream, events.map(frame).join(""));
  const body = { model: "gpt-6", max_tokens: 1_000, n: 3, stream: true, messages };
  await (await place.post("/openai/v1/chat/completions", body)).text();
  const [session] = await place.recorded(1);
  const events2 = await eventsOf(place, session);
  const requested = events2.find(({ type }) => type === "proxy.requested")?.body as {
    reserved: { tokens: number };
  };
  assert.ok(requested.reserved.tokens >= 3_000);
  const said = events2.find(({ type }) => type === "answer.imported")?.content;
  assert.deepEqual(said, { blocks: [{ type: "text", text: "AB" }] });
});

test("without a response the cost of a model without a price is unknown, not zero", async () => {
  await using place = await proxied();
  place.upstream.next.push((response) => response.destroy());
  await (await place.post("/anthropic/v1/messages", { ...claude, model: "unheard-of" })).text();
  assert.equal((await outcome(place))["costNanoUsd"], null);
  const [session] = await place.recorded(1);
  assert.equal((await memoryOf(place, session)).unpriced, 1);
});

test("an error in a stream, or a cut one, that showed nothing leaves the whole reservation", async () => {
  await using place = await proxied();
  const start = { type: "message_start", message: { id: "m", usage: { input_tokens: 9, output_tokens: 1 } } };
  const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  answered(place, stream, [start, error].map(frame).join(""));
  await (await place.post("/anthropic/v1/messages", { ...claude, stream: true })).text();
  const { error: kind, unconfirmed } = (await outcome(place)) as {
    error: string;
    unconfirmed: { tokens: number };
  };
  assert.equal(kind, "failed");
  assert.ok(unconfirmed.tokens >= 7_900, String(unconfirmed.tokens));
});

test("calls of huge indexes and endless frames neither stop the server nor fill it", async () => {
  await using place = await proxied();
  const tool = { index: 4_294_967_294, id: "c", function: { name: "x", arguments: "{}" } };
  const usage = { prompt_tokens: 5, completion_tokens: 5 };
  const first = { choices: [{ index: 0, delta: { tool_calls: [tool] }, finish_reason: "tool_calls" }] };
  const long = `data: ${"x".repeat(9_000_000)}`;
  place.upstream.next.push((response) => {
    response.writeHead(200, { "content-type": stream });
    response.write(frame(first));
    for (let at = 0; at < long.length; at += 16_384) response.write(long.slice(at, at + 16_384));
    response.end(`\n\n${frame({ choices: [], usage })}${frame("[DONE]")}`);
  });
  const body = { model: "gpt-6", max_tokens: 1_000, stream: true, messages };
  const startMs = performance.now();
  await (await place.post("/openai/v1/chat/completions", body)).text();
  assert.deepEqual((await outcome(place))["type"], "proxy.responded");
  assert.ok(performance.now() - startMs < 8_000);
});
