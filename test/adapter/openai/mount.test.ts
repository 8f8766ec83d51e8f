/** `/openai` on a server: the unmodified client, and the session of the Agents SDK on it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { ModelError, type ModelCall } from "../../../src/model/port.ts";
import { openaiMount } from "../../../src/adapter/openai/mount.ts";
import { use } from "../../runtime/turn/scripted.ts";
import { served, type Served } from "../../server/served.ts";

const clientOf = (place: Served, apiKey = place.token, more: { fetch?: typeof fetch } = {}): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${place.server.url}/openai/v1`, maxRetries: 1, ...more });

const model = "test/scripted";
const weather = {
  type: "function",
  name: "weather",
  description: "Says what the weather is.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
} as const;

test("conversations: create, retrieve, update, delete, and items in pages", async () => {
  await using place = await served({ mounts: [openaiMount] });
  const client = clientOf(place);
  const made = await client.conversations.create({
    metadata: { topic: "a" },
    items: [{ role: "user", content: "1" }],
  });
  assert.match(made.id, /^conv_/);
  assert.deepEqual((await client.conversations.retrieve(made.id)).metadata, { topic: "a" });
  await client.conversations.update(made.id, { metadata: { topic: "b" } });
  assert.deepEqual((await client.conversations.retrieve(made.id)).metadata, { topic: "b" });
  for (let from = 2; from < 42; from += 20) {
    const items = Array.from({ length: 20 }, (_, n) => ({
      type: "message" as const,
      role: n % 2 === 0 ? ("assistant" as const) : ("user" as const),
      content: String(from + n),
    }));
    const { data } = await client.conversations.items.create(made.id, { items });
    assert.equal(data.length, 20);
  }
  const all = [];
  for await (const item of client.conversations.items.list(made.id, { order: "asc", limit: 7 }))
    if (item.type === "message") all.push(item);
  assert.deepEqual(
    all.map(({ content: [part] }) => (part !== undefined && "text" in part ? part.text : null)),
    Array.from({ length: 41 }, (_, n) => String(n + 1)),
  );
  assert.equal(new Set(all.map(({ id }) => id)).size, 41);
  const [newest] = (await client.conversations.items.list(made.id)).data;
  assert.equal(newest?.id, all.at(-1)?.id);
  const second = all[1]?.id ?? "";
  assert.deepEqual(await client.conversations.items.retrieve(second, { conversation_id: made.id }), all[1]);
  await client.conversations.items.delete(second, { conversation_id: made.id });
  await assert.rejects(
    client.conversations.items.retrieve(second, { conversation_id: made.id }),
    OpenAI.NotFoundError,
  );
  assert.equal((await client.conversations.delete(made.id)).deleted, true);
  await assert.rejects(client.conversations.retrieve(made.id), OpenAI.NotFoundError);
  assert.deepEqual(place.troubles, []);
});

test("a response, the next one after it, and a fork from the first", async () => {
  await using place = await served({ mounts: [openaiMount], lines: ["One.", "Two.", "Three."] });
  const client = clientOf(place);
  const first = await client.responses.create({
    model,
    input: "a",
    instructions: "Be brief.",
    metadata: { n: "1" },
  });
  assert.deepEqual(
    [first.status, first.output_text, first.instructions, first.metadata, first.usage?.total_tokens],
    ["completed", "One.", "Be brief.", { n: "1" }, 110],
  );
  const second = await client.responses.create({ model, input: "b", previous_response_id: first.id });
  const fork = await client.responses.create({ model, input: "c", previous_response_id: first.id });
  assert.deepEqual([second.output_text, fork.output_text], ["Two.", "Three."]);
  const sessions = await place.engine.sessions();
  assert.equal(sessions.rows.length, 2);
  const [, of = ""] = /^resp_([0-9a-z]+)_/.exec(first.id) ?? [];
  assert.ok(second.id.includes(of) && !fork.id.includes(of));
  assert.deepEqual(await client.responses.retrieve(second.id), second);
  const { data } = await client.responses.inputItems.list(second.id);
  assert.deepEqual(
    data.map((item) => "content" in item && item.content),
    [[{ type: "input_text", text: "b" }]],
  );
  const items = await client.conversations.items.list(`conv_${of}`, { order: "asc" });
  assert.deepEqual(
    items.data.map((item) => item.type === "message" && item.role),
    ["user", "assistant", "user", "assistant"],
  );
  const inConversation = await client.responses.create({ model, input: "d", conversation: `conv_${of}` });
  assert.equal(inConversation.conversation?.id, `conv_${of}`);
  assert.deepEqual(place.troubles, []);
});

test("a function is called, waited for, and answered once; also twice at once", async () => {
  const lines = [[use("weather", { city: "Bern" }, "call-1")], "It is sunny."];
  await using place = await served({ mounts: [openaiMount], lines });
  const client = clientOf(place);
  const asked = await client.responses.create({ model, input: "Weather?", tools: [weather] });
  const [call] = asked.output;
  assert.ok(call?.type === "function_call");
  assert.deepEqual([asked.status, call.name, call.arguments], ["completed", "weather", '{"city":"Bern"}']);
  await assert.rejects(
    client.responses.create({ model, input: "And?", previous_response_id: asked.id, tools: [weather] }),
    /No tool output found/,
  );
  const output = { type: "function_call_output" as const, call_id: call.call_id, output: "sunny" };
  const answer = { model, input: [output], previous_response_id: asked.id, tools: [weather] };
  const [one, two] = await Promise.all([client.responses.create(answer), client.responses.create(answer)]);
  assert.deepEqual([one.output_text, two.id], ["It is sunny.", one.id]);
  const [row] = (await place.engine.sessions()).rows;
  const session = await place.engine.session(row?.session ?? "");
  const settled = await Array.fromAsync(session.events({ types: ["tool.settled"] }));
  assert.equal(settled.length, 1);
  const { token } = await place.engine.addToken({ scopes: ["read", "write"] });
  await assert.rejects(clientOf(place, token).responses.create(answer), OpenAI.PermissionDeniedError);
  assert.deepEqual(place.troubles, []);
});

test("a stream with the client's helper; resumed after any number it is the same", async () => {
  const lines = [
    [{ type: "text" as const, text: "I look it up.\n\n" }, use("weather", { city: "Bern" })],
    "It is sunny, and will be.",
  ];
  await using place = await served({ mounts: [openaiMount], lines });
  const client = clientOf(place);
  const stream = client.responses.stream({ model, input: "Weather?", tools: [weather] });
  const heard: number[] = [];
  let text = "";
  stream.on("event", (event) => heard.push(event.sequence_number));
  stream.on("response.output_text.delta", ({ delta }) => (text += delta));
  const final = await stream.finalResponse();
  assert.equal(text, "I look it up.\n\n");
  assert.deepEqual(
    final.output.map(({ type }) => type),
    ["message", "function_call"],
  );
  assert.deepEqual(
    heard,
    heard.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(heard).size, heard.length);
  const again = await place.again();
  try {
    const other = new OpenAI({ apiKey: place.token, baseURL: `${again.url}/openai/v1` });
    for (const [place_, after] of heard.entries()) {
      const rest: number[] = [];
      const resumed = await other.responses.retrieve(final.id, { stream: true, starting_after: after });
      for await (const event of resumed) rest.push(event.sequence_number);
      assert.deepEqual(rest, heard.slice(place_ + 1));
    }
    const helped = other.responses.stream({ response_id: final.id, starting_after: heard[3] ?? 0 });
    assert.deepEqual((await helped.finalResponse()).output, final.output);
  } finally {
    await again.stop();
  }
  assert.deepEqual(place.troubles, []);
});

test("history that a client sends reaches the model", async () => {
  const seen: string[] = [];
  const lines = [
    (call: ModelCall) => {
      seen.push(JSON.stringify(call.parts));
      return "Fine.";
    },
  ];
  await using place = await served({ mounts: [openaiMount], lines });
  const client = clientOf(place);
  const input: OpenAI.Responses.ResponseInput = [
    { role: "user", content: "What is 1 + 1?" },
    { type: "function_call", call_id: "c1", name: "add", arguments: '{"a":1}' },
    { type: "function_call_output", call_id: "c1", output: "2" },
    { role: "assistant", content: "It is 2." },
    { role: "user", content: "Are you sure?" },
  ];
  assert.equal((await client.responses.create({ model, input })).output_text, "Fine.");
  assert.match(
    seen[0] ?? "",
    /user: What is 1 \+ 1\?.*call c1 of add.*result of c1: 2.*assistant: It is 2\./,
  );
  const conversation = await client.conversations.create({
    items: [{ role: "user", content: "My name is Ada." }],
  });
  await client.responses.create({ model, input: "Who am I?", conversation: conversation.id });
  assert.match(seen[1] ?? "", /My name is Ada/);
  const { data } = await client.conversations.items.list(conversation.id, { order: "asc" });
  assert.equal(data.length, 3);
  assert.deepEqual(place.troubles, []);
});

test("the session of the Agents SDK: add, get, pop, clear", async () => {
  await using place = await served({ mounts: [openaiMount] });
  const session = new OpenAIConversationsSession({ client: clientOf(place) });
  const items = [
    { type: "message" as const, role: "user" as const, content: "Hi <b>&\u2028" },
    {
      type: "function_call" as const,
      callId: "c1",
      name: "add",
      arguments: "{}",
      status: "completed" as const,
    },
    {
      type: "function_call_result" as const,
      callId: "c1",
      name: "add",
      status: "completed" as const,
      output: { type: "text" as const, text: "2" },
    },
    {
      type: "message" as const,
      role: "assistant" as const,
      status: "completed" as const,
      content: [{ type: "output_text" as const, text: "Two." }],
    },
  ];
  await session.addItems(items);
  const types = (await session.getItems()).map(({ type }) => type);
  assert.deepEqual(types, ["message", "function_call", "function_call_result", "message"]);
  const [last] = await session.getItems(1);
  assert.deepEqual(await session.popItem(), last);
  assert.ok(JSON.stringify(last).includes("Two."));
  assert.equal((await session.getItems()).length, 3);
  const before = await session.getSessionId();
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  assert.notEqual(await session.getSessionId(), before);
  assert.deepEqual(place.troubles, []);
});

test("a request that the client sends twice by its key takes effect once", async () => {
  await using place = await served({ mounts: [openaiMount], lines: ["One.", "Two.", "Three."] });
  let tries = 0;
  const broken: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    tries += 1;
    if (tries % 2 === 0) return response;
    await response.text();
    throw new TypeError("the connection was reset");
  };
  const client = clientOf(place, place.token, { fetch: broken });
  const keyed = (key: string) => ({ headers: { "Idempotency-Key": key } });
  const first = await client.responses.create({ model, input: "a" }, keyed("k1"));
  const next = { model, previous_response_id: first.id };
  const second = await client.responses.create({ ...next, input: "b" }, keyed("k2"));
  const fork = await client.responses.create({ ...next, input: "c" }, keyed("k3"));
  assert.deepEqual(
    [first, second, fork].map((one) => one.output_text),
    ["One.", "Two.", "Three."],
  );
  assert.equal(tries, 6);
  assert.equal((await place.engine.sessions()).rows.length, 2);
  const made = await client.conversations.create({ items: [{ role: "user", content: "a" }] }, keyed("k4"));
  const page = await clientOf(place).conversations.items.list(made.id);
  assert.equal(page.data.length, 1);
  assert.deepEqual(place.troubles, []);
});

test("errors have the client's classes, and unsupported parameters are refused by name", async () => {
  await using place = await served({ mounts: [openaiMount] });
  const client = clientOf(place);
  await assert.rejects(clientOf(place, "skn_none").conversations.create({}), OpenAI.AuthenticationError);
  const { token } = await place.engine.addToken({ scopes: ["read"] });
  await assert.rejects(
    clientOf(place, token).responses.create({ model, input: "a" }),
    OpenAI.PermissionDeniedError,
  );
  await assert.rejects(client.responses.retrieve("resp_nothing"), OpenAI.NotFoundError);
  await assert.rejects(client.models.list(), OpenAI.NotFoundError);
  for (const [body, param] of [
    [{ background: true }, "background"],
    [{ store: false }, "store"],
    [{ tools: [{ type: "web_search" }] }, "tools[0]"],
    [{ tool_choice: "required" }, "tool_choice"],
    [{ text: { format: { type: "json_object" } } }, "text.format"],
    [{ input: [] }, "input"],
    [{ input: [{ role: "nobody", content: "a" }] }, "input[0].role"],
    [{ metadata: { a: 1 } }, "metadata"],
    [{ previous_response_id: "resp_a", conversation: "conv_a" }, "previous_response_id"],
  ] as const) {
    await assert.rejects(
      client.responses.create({ model, input: "a", ...body } as never),
      (error: unknown) => {
        assert.ok(error instanceof OpenAI.BadRequestError, String(error));
        assert.deepEqual([error.param, error.type], [param, "invalid_request_error"]);
        return true;
      },
    );
  }
  const hostile = await client.conversations.create({});
  await assert.rejects(
    client.conversations.items.create(hostile.id, { items: [{ role: "user", content: "\0" }] }),
    OpenAI.BadRequestError,
  );
  assert.deepEqual(place.troubles, []);
});

test("an agent of the Agents SDK runs on it, with a function of the program", async () => {
  const lines = [[use("add", { a: 1 }, "call-1")], "It is 2."];
  await using place = await served({ mounts: [openaiMount], lines });
  const add = tool({
    name: "add",
    description: "Adds one.",
    parameters: z.object({ a: z.number() }),
    execute: ({ a }) => String(a + 1),
  });
  const agent = new Agent({
    name: "Adder",
    instructions: "Add.",
    tools: [add],
    model: new OpenAIResponsesModel(clientOf(place), model),
  });
  const runner = new Runner({ tracingDisabled: true });
  assert.equal((await runner.run(agent, "What is 1 + 1?")).finalOutput, "It is 2.");
  assert.deepEqual(place.troubles, []);
});

test("a response in progress can be retrieved and cancelled, and accepts no successor", async () => {
  const stuck = async ({ signal }: ModelCall): Promise<never> => {
    if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
    throw new ModelError("interrupted", "stopped");
  };
  await using place = await served({ mounts: [openaiMount], lines: [stuck, "Again."] });
  const client = clientOf(place);
  const stream = await client.responses.create({ model, input: "a", stream: true });
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type !== "response.in_progress") continue;
    const { id } = event.response;
    assert.equal((await client.responses.retrieve(id)).status, "in_progress");
    const next = { model, input: "b", previous_response_id: id };
    await assert.rejects(client.responses.create(next), OpenAI.ConflictError);
    await client.responses.cancel(id);
  }
  const last = events.at(-1);
  assert.ok(last?.type === "response.incomplete");
  assert.equal(last.response.status, "cancelled");
  const next = { model, input: "b", previous_response_id: last.response.id };
  assert.equal((await client.responses.create(next)).output_text, "Again.");
  assert.deepEqual(place.troubles, []);
});
