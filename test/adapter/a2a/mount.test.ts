/** `/a2a` on a server: the unmodified client with a token, by both bindings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { TaskState } from "@a2a-js/sdk";
import { ModelError } from "../../../src/model/port.ts";
import { use } from "../../runtime/turn/scripted.ts";
import {
  bindings,
  clientOn,
  data,
  gather,
  message,
  place,
  raw,
  send,
  short,
  stateOf,
  text,
  textsOf,
  url,
} from "./clients.ts";

const taskParams = (id: string) => ({ tenant: "", id });
const listParams = (more: object = {}) => ({
  tenant: "",
  contextId: "",
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: "",
  statusTimestampAfter: undefined,
  ...more,
});

for (const binding of bindings) {
  test(`${binding}: a context has a task a message; a repeated message asks once`, async () => {
    await using at = await place({ lines: ["Hello.", "Again."] });
    const client = await clientOn(at, binding);
    const first = message("Hi");
    const task = await send(client, first);
    assert.deepEqual(short(task), ["COMPLETED", "> Hi", "answer: Hello."]);
    const { contextId } = task;
    assert.deepEqual(await send(client, first), task);
    const next = await send(client, message("More", { contextId }));
    assert.deepEqual(short(next), ["COMPLETED", "> More", "answer: Again."]);
    assert.equal(next.contextId, contextId);
    assert.deepEqual(await client.getTask(taskParams(task.id)), task);
    assert.equal((await client.getTask({ ...taskParams(task.id), historyLength: 0 })).history.length, 0);
    assert.equal((await at.engine.sessions()).rows.length, 1);
    const restarted = await at.again();
    const again = await clientOn({ ...at, server: restarted }, binding);
    assert.deepEqual(await again.getTask(taskParams(next.id)), next);
    await restarted.stop();
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: a stream gives the task that the log has`, async () => {
    const lines = [[use("record", { kind: "artifact", key: "plan", value: { steps: 2 } })], "It is written."];
    await using at = await place({ lines });
    const client = await clientOn(at, binding);
    const { task, kinds } = await gather(client.sendMessageStream(message("Plan")));
    assert.match(kinds[0] ?? "", /^task (SUBMITTED|WORKING)$/);
    assert.equal(kinds.at(-1), "COMPLETED");
    const stored = await client.getTask(taskParams(task.id));
    assert.deepEqual(short(stored), ["COMPLETED", "> Plan", 'plan: {"steps":2}', "answer: It is written."]);
    assert.deepEqual(short(task), short(stored));
    await assert.rejects(gather(client.resubscribeTask(taskParams(task.id))), UnsupportedOperationError);
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: an approval requires input; allowing needs the scope operate`, async () => {
    await using at = await place({ lines: [[use("place", { at: "x" })], "Not then."] });
    const options = { external: true, description: "Where.", input: { type: "object" } };
    const { id: contextId } = await at.engine.open({
      objective: "Ask first",
      bind: [{ kind: "tool", name: "place", options }],
      grant: [{ tool: "place", rule: "ask" }],
    });
    const { token } = await at.engine.addToken({ scopes: ["read", "write"] });
    const client = await clientOn(at, binding, { token });
    const { task, kinds } = await gather(client.sendMessageStream(message("Where?", { contextId })));
    assert.equal(kinds.at(-1), "INPUT_REQUIRED");
    const question = task.status?.message?.parts ?? [];
    const [, asked] = question;
    const calls =
      asked?.content?.$case === "data" ? (asked.content.value as { calls: { call: string }[] }).calls : [];
    const { call = "" } = calls[0] ?? {};
    assert.deepEqual(calls, [{ call, tool: "place", input: { at: "x" }, needs: "approval" }]);
    assert.equal(textsOf(question.slice(0, 1)), "Approval is needed to call place.");
    const reply = (parts: Parameters<typeof message>[0]) => message(parts, { taskId: task.id });
    await assert.rejects(send(client, reply("yes")), /approved/);
    await assert.rejects(send(client, reply([data({ call, approved: true })])), /operate/);
    await assert.rejects(send(client, reply([data({ call: "call_1", approved: false })])), /expected one of/);
    await assert.rejects(send(client, message("More", { contextId })), UnsupportedOperationError);
    const no = reply([data({ call, approved: false, reason: "too far" })]);
    const done = await send(client, no);
    assert.deepEqual(short(done), ["COMPLETED", "> Where?", "answer: Not then."]);
    assert.deepEqual(await send(client, no), done, "a repeated answer is taken once");
    await assert.rejects(send(client, reply([data({ approved: false })])), UnsupportedOperationError);
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: the client brings the result of an external call`, async () => {
    await using at = await place({ lines: [[use("pick", { of: "colors" })], "Blue it is."] });
    const options = { external: true, description: "Picks.", input: { type: "object" } };
    const { id: contextId } = await at.engine.open({
      objective: "Pick",
      bind: [{ kind: "tool", name: "pick", options }],
    });
    const client = await clientOn(at, binding);
    const task = await send(client, message("Pick", { contextId }));
    assert.equal(stateOf(task), "INPUT_REQUIRED");
    const done = await send(client, message("blue", { taskId: task.id, contextId }));
    assert.deepEqual(short(done), ["COMPLETED", "> Pick", "answer: Blue it is."]);
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: a text lets a task go on that failed, and a new message ends it`, async () => {
    const fails = async (): Promise<never> => {
      throw new ModelError("auth", "no key");
    };
    await using at = await place({ lines: [fails, "Now it works.", fails, "Fresh."] });
    const client = await clientOn(at, binding);
    const task = await send(client, message("Try"));
    assert.equal(stateOf(task), "INPUT_REQUIRED");
    assert.match(textsOf(task.status?.message?.parts), /no key|failed/);
    const done = await send(client, message("again", { taskId: task.id }));
    assert.deepEqual([stateOf(done), done.artifacts.length], ["COMPLETED", 1]);
    const { contextId } = task;
    const second = await send(client, message("Try", { contextId }));
    assert.equal(stateOf(second), "INPUT_REQUIRED");
    const third = await send(client, message("Another", { contextId }));
    assert.deepEqual(short(third), ["COMPLETED", "> Another", "answer: Fresh."]);
    assert.equal(stateOf(await client.getTask(taskParams(second.id))), "CANCELED");
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: subscribing from the middle of an answer, and canceling`, async () => {
    const reached = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const line = async (): Promise<string> => {
      reached.resolve();
      await go.promise;
      return "Done.";
    };
    await using at = await place({ lines: [line, "Never."] });
    const client = await clientOn(at, binding);
    const configuration = {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: true,
    };
    const task = await send(client, message("Look", { configuration }));
    assert.ok(["SUBMITTED", "WORKING"].includes(stateOf(task)));
    await reached.promise;
    await assert.rejects(send(client, message("And?", { taskId: task.id })), UnsupportedOperationError);
    const following = gather(client.resubscribeTask(taskParams(task.id)));
    const other = await send(client, message("Then", { contextId: task.contextId, configuration }));
    assert.equal(stateOf(other), "SUBMITTED");
    await assert.rejects(
      client.cancelTask({ ...taskParams(other.id), metadata: undefined }),
      TaskNotCancelableError,
    );
    const canceled = client.cancelTask({ ...taskParams(task.id), metadata: undefined });
    assert.equal(stateOf(await canceled), "CANCELED");
    assert.equal(stateOf((await following).task), "CANCELED");
    go.resolve();
    assert.equal(
      stateOf(await client.cancelTask({ ...taskParams(task.id), metadata: undefined })),
      "CANCELED",
    );
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: lists by context, state, page and time`, async () => {
    await using at = await place({ lines: ["a", "b", "c"] });
    const client = await clientOn(at, binding);
    const one = await send(client, message("1"));
    const two = await send(client, message("2", { contextId: one.contextId }));
    const three = await send(client, message("3"));
    await at.engine.open({ objective: "not of a client" });
    const all = await client.listTasks(listParams());
    assert.equal(all.totalSize, 3);
    assert.deepEqual(new Set(all.tasks.map(({ id }) => id)), new Set([one.id, two.id, three.id]));
    assert.deepEqual(
      all.tasks.flatMap(({ artifacts, history }) => [...artifacts, ...history]),
      [],
    );
    const whole = await client.listTasks(listParams({ includeArtifacts: true, historyLength: 1 }));
    assert.ok(whole.tasks.every(({ artifacts, history }) => artifacts.length === 1 && history.length === 1));
    const pages: string[] = [];
    for (let pageToken = "", n = 0; n < 4; n++) {
      const page = await client.listTasks(listParams({ pageSize: 1, pageToken }));
      pages.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    assert.deepEqual(
      pages,
      all.tasks.map(({ id }) => id),
    );
    const { contextId } = one;
    assert.equal((await client.listTasks(listParams({ contextId }))).totalSize, 2);
    const status = TaskState.TASK_STATE_WORKING;
    assert.equal((await client.listTasks(listParams({ status }))).totalSize, 0);
    const statusTimestampAfter = "2999-01-01T00:00:00Z";
    assert.equal((await client.listTasks(listParams({ statusTimestampAfter }))).totalSize, 0);
    await assert.rejects(client.listTasks(listParams({ pageSize: 101 })), /pageSize/);
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: an agent is a tenant with its own card`, async () => {
    await using at = await place({ lines: ["I am."] });
    await at.engine.addAgent({ name: "poet", instructions: "Rhyme.", description: "Writes verse." });
    const client = await clientOn(at, binding, { path: "/a2a/poet/.well-known/agent-card.json" });
    const { name, description, skills } = await client.getAgentCard();
    assert.deepEqual([name, description, skills.length], ["poet", "Writes verse.", 1]);
    const task = await send(client, message("Who are you?"));
    const session = await at.engine.session(task.contextId);
    assert.equal((await session.fold()).standing.agent?.name, "poet");
    const plain = await clientOn(at, binding);
    assert.deepEqual(
      (await plain.getAgentCard()).skills.map(({ id }) => id),
      ["session", "poet"],
    );
    await assert.rejects(send(plain, { ...message("x"), tenant: "nobody" }), /no agent nobody/);
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: parts of all kinds, hostile texts, and what is refused`, async () => {
    await using at = await place({ lines: ["ok", "ok", "ok"] });
    const client = await clientOn(at, binding);
    const parts = [text("look"), raw(Buffer.from([1, 2, 3]), "image/png"), data({ a: [1] })];
    const task = await send(client, message(parts));
    assert.equal(textsOf(task.history[0]?.parts), 'look | [image: image/png] | {"a":[1]}');
    const evil = "\r\n\r\nevent: error\ndata: {}\n\n\u2028 <script> ${x}";
    assert.equal(textsOf((await send(client, message(evil))).history[0]?.parts), evil);
    await assert.rejects(send(client, message([url("http://127.0.0.1/x")])), /not downloaded/);
    await assert.rejects(send(client, message("nul \0")), /./);
    await assert.rejects(send(client, message("")), /empty/);
    await assert.rejects(send(client, message("x", { messageId: "" })), /messageId/);
    await assert.rejects(send(client, message("x", { contextId: "mine" })), /contextId/);
    await assert.rejects(send(client, message("x", { taskId: "task_1" })), TaskNotFoundError);
    await assert.rejects(client.getTask(taskParams(task.id.replace(/\d+$/, "1"))), TaskNotFoundError);
    const big = "x".repeat(300_000);
    assert.equal(textsOf((await send(client, message(big))).history[0]?.parts), big);
    assert.deepEqual(at.troubles, []);
  });
}

test("the public card needs no token and names nothing of the workspace", async () => {
  await using at = await place({ lines: ["x"] });
  await at.engine.addAgent({ name: "secret-agent", instructions: "Hide." });
  const card = await (await fetch(`${at.server.url}/.well-known/agent-card.json`)).text();
  assert.ok(!card.includes("secret-agent"));
  const { supportedInterfaces } = JSON.parse(card) as { supportedInterfaces: { url: string }[] };
  assert.deepEqual(
    supportedInterfaces.map(({ url: at_ }) => at_),
    Array(2).fill(`${at.server.url}/a2a`),
  );
  const hidden = await fetch(`${at.server.url}/a2a/.well-known/agent-card.json`);
  assert.equal(hidden.status, 401);
});

test("bad requests get the errors of each binding, and nothing is opened", async () => {
  await using at = await place({ lines: ["x"] });
  const { token: reader } = await at.engine.addToken({ scopes: ["read"] });
  const post = (path: string, body: unknown, more: Record<string, string> = {}) =>
    at.fetch(path, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...more },
    });
  const params = { message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "x" }] } };
  const rpc = (method: string, given: unknown = params) => ({ jsonrpc: "2.0", id: 7, method, params: given });
  for (const [response, status, code, id] of [
    [await post("/a2a", rpc("SendMessage"), { authorization: "Bearer skn_none" }), 401, -32000, null],
    [await post("/a2a", rpc("SendMessage"), { authorization: `Bearer ${reader}` }), 403, -32000, 7],
    [await post("/a2a", rpc("SendMessage"), { "a2a-version": "0.3" }), 200, -32009, 7],
    [await post("/a2a", rpc("SendMessage"), { "content-type": "text/plain" }), 200, -32005, null],
    [await post("/a2a", "{"), 200, -32602, null],
    [await post("/a2a", { method: "GetTask" }), 200, -32602, null],
    [await post("/a2a", rpc("toString")), 200, -32601, 7],
    [await post("/a2a", rpc("message/send")), 200, -32601, 7],
    [await post("/a2a", rpc("SendMessage", [])), 200, -32602, 7],
    [await post("/a2a", rpc("SendMessage", {})), 200, -32602, 7],
    [await post("/a2a", rpc("GetTask", { id: "x" })), 200, -32001, 7],
    [await post("/a2a", rpc("ListTaskPushNotificationConfigs", { taskId: "x" })), 200, -32003, 7],
    [await post("/a2a/nobody", rpc("SendMessage")), 200, -32602, 7],
  ] as const) {
    const body = (await response.json()) as { error: { code: number; message: string }; id: unknown };
    assert.deepEqual([response.status, body.error.code, body.id], [status, code, id], body.error.message);
  }
  for (const [response, status, name] of [
    [await post("/a2a/message:send", params, { authorization: "Bearer skn_none" }), 401, "UNAUTHENTICATED"],
    [
      await post("/a2a/message:send", params, { authorization: `Bearer ${reader}` }),
      403,
      "PERMISSION_DENIED",
    ],
    [await post("/a2a/message:send", params, { "a2a-version": "" }), 400, "FAILED_PRECONDITION"],
    [await post("/a2a/message:send", "{"), 400, "INVALID_ARGUMENT"],
    [await post("/a2a/nobody/message:send", params), 400, "INVALID_ARGUMENT"],
    [await post("/a2a/tasks/x:cancel", ""), 404, "NOT_FOUND"],
    [await post("/a2a/tasks/x/pushNotificationConfigs", {}), 400, "FAILED_PRECONDITION"],
    [await post("/a2a/a/b/c", {}), 404, "NOT_FOUND"],
    [await post("/a2a/%ff/x", {}), 400, "INVALID_ARGUMENT"],
    [await at.fetch("/a2a"), 404, "NOT_FOUND"],
  ] as const) {
    const { error } = (await response.json()) as { error: { code: number; status: string; message: string } };
    assert.deepEqual([response.status, error.code, error.status], [status, status, name], error.message);
  }
  assert.deepEqual((await at.engine.sessions()).rows, []);
  assert.deepEqual(at.troubles, []);
});
