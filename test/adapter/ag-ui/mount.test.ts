/** `/ag-ui` on a server: the unmodified client with a token. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpAgent, type Interrupt, type Message } from "@ag-ui/client";
import { agUiMount } from "../../../src/adapter/ag-ui/mount.ts";
import { served, type Served } from "../../server/served.ts";
import { use, type Line } from "../../runtime/turn/scripted.ts";

const agentOn = (place: Served, options: { token?: string; path?: string; threadId?: string } = {}) =>
  new HttpAgent({
    url: `${place.server.url}/ag-ui${options.path ?? ""}`,
    threadId: options.threadId ?? "a thread/of mine",
    headers: { authorization: `Bearer ${options.token ?? place.token}` },
  });

const texts = (messages: readonly Message[]): string[] =>
  messages.map(({ role, content }) => `${role}: ${typeof content === "string" ? content : ""}`);

const user = (id: string, content: string): Message => ({ id, role: "user", content });
const place_ = (lines: readonly Line[]) => served({ mounts: [agUiMount], lines });
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

test("a thread: ask, ask again, repeat a request, open the page again", async () => {
  await using place = await place_(["Hello.", "Again."]);
  const agent = agentOn(place);
  agent.addMessage(user("u1", "Hi"));
  await agent.runAgent({ runId: "run-1" });
  assert.deepEqual(texts(agent.messages), ["user: Hi", "assistant: Hello."]);
  agent.addMessage(user("u2", "More"));
  const sent = agent.messages.slice();
  await agent.runAgent();
  const expected = ["user: Hi", "assistant: Hello.", "user: More", "assistant: Again."];
  assert.deepEqual(texts(agent.messages), expected);
  const repeated = agentOn(place);
  repeated.setMessages(sent);
  await repeated.runAgent();
  const opened = agentOn(place);
  await opened.runAgent();
  assert.deepEqual(plain(repeated.messages), plain(agent.messages));
  assert.deepEqual(texts(opened.messages), expected);
  const { rows } = await place.engine.sessions();
  assert.equal(rows.length, 1);
  const byId = agentOn(place, { path: `/${rows[0]?.session}`, threadId: "another" });
  await byId.runAgent();
  assert.deepEqual(texts(byId.messages), expected);
  assert.deepEqual(place.troubles, []);
});

test("the client's tools wait for its results, and the model gets them", async () => {
  await using place = await place_([[use("pick", { of: "colors" })], "Blue it is."]);
  const agent = agentOn(place);
  const tools = [
    { name: "pick", description: "Picks.", parameters: { type: "object", properties: { of: {} } } },
  ];
  agent.addMessage(user("u1", "Pick"));
  let pending: readonly string[] | undefined;
  const listen = {
    onRunFinishedEvent: ({ event }: { event: { outcome?: object } }) => {
      pending = (event.outcome as { pendingToolCallIds?: string[] }).pendingToolCallIds;
    },
  };
  await agent.runAgent({ tools }, listen);
  const call = agent.messages.at(-1);
  assert.ok(call?.role === "assistant" && call.toolCalls?.length === 1);
  const [{ id, function: called } = { id: "", function: { arguments: "" } }] = call.toolCalls ?? [];
  assert.deepEqual([pending, called.arguments], [[id], '{"of":"colors"}']);
  agent.addMessage({ id: "t1", role: "tool", toolCallId: id, content: "blue" });
  await agent.runAgent({ tools }, listen);
  assert.equal(pending, undefined);
  assert.deepEqual(texts(agent.messages), [
    "user: Pick",
    "assistant: ",
    "tool: blue",
    "assistant: Blue it is.",
  ]);
  const opened = agentOn(place);
  await opened.runAgent();
  assert.deepEqual(texts(opened.messages), texts(agent.messages));
  const copied = agentOn(place);
  copied.setMessages(agent.messages.slice());
  await copied.runAgent();
  assert.deepEqual(plain(copied.messages), plain(agent.messages));
  const session = await place.engine.session((await place.engine.sessions()).rows[0]?.session ?? "");
  const bound = [];
  for await (const event of session.events({ types: ["resource.bound"] })) bound.push(event);
  assert.equal(bound.length, 1);
  assert.deepEqual(place.troubles, []);
});

test("an approval is an interrupt; resume denies it, and allowing needs the scope operate", async () => {
  await using place = await place_([[use("place", {})], "Not then."]);
  const options = { external: true, description: "Where.", input: { type: "object" } };
  const { id: session } = await place.engine.open({
    objective: "Ask first",
    bind: [{ kind: "tool", name: "place", options }],
    grant: [{ tool: "place", rule: "ask" }],
  });
  const { token } = await place.engine.addToken({ scopes: ["read", "write"] });
  const agent = agentOn(place, { token, threadId: session });
  agent.addMessage(user("u1", "Where?"));
  await agent.runAgent();
  const [interrupt] = agent.pendingInterrupts as [Interrupt];
  assert.deepEqual([interrupt.reason, interrupt.toolCallId], ["tool_call", interrupt.id]);
  const reload = agentOn(place, { token, threadId: session });
  await reload.runAgent();
  assert.deepEqual(reload.pendingInterrupts, agent.pendingInterrupts);
  assert.deepEqual(texts(reload.messages), texts(agent.messages));
  const resume = (approved: boolean) => ({
    resume: [{ interruptId: interrupt.id, status: "resolved" as const, payload: { approved } }],
  });
  const { agentId: _, ...more } = { agentId: "", ...resume(true) };
  await assert.rejects(agentOn(place, { token, threadId: session }).runAgent(more), /403.*operate/s);
  await agent.runAgent(resume(false));
  assert.deepEqual(agent.pendingInterrupts, []);
  assert.deepEqual(texts(agent.messages), [
    "user: Where?",
    "assistant: ",
    "tool: denied",
    "assistant: Not then.",
  ]);
  assert.deepEqual(place.troubles, []);
});

test("a client that reconnects in the middle of an answer gets the whole turn", async () => {
  const reached = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await using place = await place_([
    [use("recall", { query: "x" })],
    async () => {
      reached.resolve();
      await go.promise;
      return "Done.";
    },
  ]);
  const agent = agentOn(place);
  agent.addMessage(user("u1", "Look"));
  const running = agent.runAgent().catch(() => null);
  await reached.promise;
  agent.abortRun();
  await running;
  const again = agentOn(place);
  again.addMessage(user("u1", "Look"));
  const second = again.runAgent();
  go.resolve();
  await second;
  const opened = agentOn(place);
  await opened.runAgent();
  assert.equal(texts(again.messages).at(-1), "assistant: Done.");
  assert.deepEqual(plain(again.messages.slice(1)), plain(opened.messages.slice(1)));
  assert.equal(again.messages.filter(({ role }) => role === "assistant").length, 2);
  assert.deepEqual(place.troubles, []);
});

test("items are the state of the page", async () => {
  await using place = await place_([
    [use("record", { kind: "fact", key: "sky", value: "blue", because: "seen" })],
    "Noted.",
  ]);
  const agent = agentOn(place);
  agent.addMessage(user("u1", "Note it"));
  await agent.runAgent();
  const expected = { facts: { sky: "blue" }, decisions: {}, tasks: {}, artifacts: {} };
  assert.deepEqual(agent.state, expected);
  const opened = agentOn(place);
  await opened.runAgent();
  assert.deepEqual(opened.state, expected);
});

test("bad requests get JSON errors with a status, and nothing is opened", async () => {
  await using place = await place_(["ok"]);
  const { token: reader } = await place.engine.addToken({ scopes: ["read"] });
  const { token: writer } = await place.engine.addToken({ scopes: ["write"] });
  const good = { threadId: "t", runId: "r", messages: [], tools: [], context: [] };
  const post = (body: unknown, path = "", token = place.token) =>
    place.fetch(`/ag-ui${path}`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    });
  const message = {
    id: "u",
    role: "user",
    content: [{ type: "image", source: { type: "url", value: "x" } }],
  };
  for (const [response, status, code] of [
    [await post(good, "", "skn_none"), 401, "unauthorized"],
    [await post(good, "", reader), 403, "forbidden"],
    [await post(good, "", writer), 403, "forbidden"],
    [await post("{"), 400, "invalid"],
    [await post({ ...good, threadId: 7 }), 400, "invalid"],
    [await post({ ...good, messages: [{}] }), 400, "invalid"],
    [await post({ ...good, resume: [{ interruptId: "x", status: "?" }] }), 400, "invalid"],
    [await post({ ...good, tools: [{ name: "no good", description: "" }] }), 400, "invalid"],
    [await post(good, "/a/b"), 404, "not-found"],
    [await post(good, "/%ff"), 400, "invalid"],
    [await post({ ...good, threadId: "ses_00000000000000000000000000" }), 404, "not-found"],
    [await place.fetch("/ag-ui"), 405, "wrong-method"],
  ] as const) {
    const body = (await response.json()) as { code: string; message: string };
    assert.deepEqual([response.status, body.code], [status, code], body.message);
  }
  assert.deepEqual((await place.engine.sessions()).rows, []);
  assert.equal((await post({ ...good, messages: [message] })).status, 400);
  assert.equal((await post(good, "/nobody")).status, 404);
  assert.deepEqual(place.troubles, []);
});
