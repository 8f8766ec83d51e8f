/** Push notifications, set by the unmodified client, received on loopback. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { makeA2aMounts } from "../../../src/adapter/a2a/mount.ts";
import { makePushCalls } from "../../../src/adapter/push-calls.ts";
import { isSigned, startReceiver, type Received } from "../receiver.ts";
import { bindings, clientOn, message, place as plainPlace, send, stateOf } from "./clients.ts";

const secret = "a secret of thirty-two characters";
const push = makePushCalls({ secret, allowPrivate: true });

/** A server with its follower. */
async function place(t: TestContext) {
  const mounts = makeA2aMounts(push);
  const at = await plainPlace({ mounts });
  const [, { follow }] = mounts;
  const following = await follow?.(at.engine, (error) => at.troubles.push(error));
  t.after(async () => {
    await following?.stop();
    await at[Symbol.asyncDispose]();
  });
  return at;
}

const config = (url: string, more: Partial<TaskPushNotificationConfig> = {}): TaskPushNotificationConfig => ({
  tenant: "",
  id: "",
  taskId: "",
  url,
  token: "",
  authentication: undefined,
  ...more,
});

const withPush = (taskPushNotificationConfig: TaskPushNotificationConfig) => ({
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig, returnImmediately: false },
});

/** What a call says: the state, and whether it has the whole task. */
function said({ text }: Received): string {
  const { task, statusUpdate } = JSON.parse(text) as Record<
    string,
    { status: { state: string } } | undefined
  >;
  const state = (task ?? statusUpdate)?.status.state.replace("TASK_STATE_", "");
  return `${task === undefined ? "update" : "task"} ${state}`;
}

for (const binding of bindings) {
  test(`${binding}: a message with a push notification is told of each change`, async (t) => {
    const at = await place(t);
    await using receiver = await startReceiver();
    const client = await clientOn(at, binding);
    const authentication = { scheme: "Bearer", credentials: "their own key" };
    const own = config(receiver.url, { token: "a token", authentication });
    const task = await send(client, message("Hello", withPush(own)));
    await receiver.json(1);
    const [first, last] = receiver.received;
    assert.ok(first !== undefined && last !== undefined);
    assert.deepEqual(receiver.received.map(said), ["update WORKING", "task COMPLETED"]);
    for (const { headers } of receiver.received) {
      assert.equal(headers["x-a2a-notification-token"], "a token");
      assert.equal(headers["authorization"], "Bearer their own key");
      assert.equal(headers["content-type"], "application/a2a+json");
    }
    assert.ok(isSigned(first, [push.key]) && isSigned(last, [push.key]));
    const got = JSON.parse(last.text) as { readonly task: { readonly id: string; artifacts: unknown[] } };
    assert.deepEqual([got.task.id, got.task.artifacts.length], [task.id, 1]);
    // No key is in the log, nor in what a client can read.
    for await (const event of (await at.engine.session(task.contextId)).events())
      assert.doesNotMatch(JSON.stringify(event), /a token|their own key/);
    assert.deepEqual(at.troubles, []);
  });

  test(`${binding}: push notifications are set, read, listed, replaced and deleted`, async (t) => {
    const at = await place(t);
    await using receiver = await startReceiver();
    const client = await clientOn(at, binding);
    const { id: taskId } = await send(client, message("Hello"));
    const made = await client.createTaskPushNotificationConfig(
      config(receiver.url, { taskId, token: "a token" }),
    );
    assert.match(made.id, /^push_[0-9a-f]{18}$/);
    assert.deepEqual([made.taskId, made.url, made.token], [taskId, receiver.url, "a token"]);
    await client.createTaskPushNotificationConfig(config(receiver.url, { taskId, id: "mine" }));
    const other = `${receiver.url}?other`;
    await client.createTaskPushNotificationConfig(config(other, { taskId, id: "mine" }));
    const list = async () => {
      const { configs } = await client.listTaskPushNotificationConfig({
        tenant: "",
        taskId,
        pageSize: 0,
        pageToken: "",
      });
      return configs.map(({ id, url, token }) => [id, url, token]);
    };
    assert.deepEqual(await list(), [
      [made.id, receiver.url, ""],
      ["mine", other, ""],
    ]);
    const got = await client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "mine" });
    assert.deepEqual([got.url, got.token], [other, ""]);
    for (let n = 0; n < 2; n++)
      await client.deleteTaskPushNotificationConfig({ tenant: "", taskId, id: made.id });
    assert.deepEqual(await list(), [["mine", other, ""]]);
    await assert.rejects(client.getTaskPushNotificationConfig({ tenant: "", taskId, id: made.id }));
    await assert.rejects(client.createTaskPushNotificationConfig(config("http://10.0.0.1/", { taskId })));
    await assert.rejects(
      client.createTaskPushNotificationConfig(config("https://a.example/", { taskId: "x" })),
    );
    await assert.rejects(
      client.createTaskPushNotificationConfig(config(receiver.url, { taskId, token: "a\r\nb: c" })),
      /printable/,
    );
    assert.deepEqual(receiver.received, []);
  });
}

test("a receiver that fails is called again, in order, and trouble is told once", async (t) => {
  const at = await place(t);
  await using receiver = await startReceiver((n) => [n < 2 ? 503 : 200]);
  const client = await clientOn(at, "JSONRPC");
  await send(client, message("Hello", withPush(config(receiver.url))));
  await receiver.json(3);
  const calls = receiver.received.map(said);
  assert.deepEqual(calls, ["update WORKING", "update WORKING", "update WORKING", "task COMPLETED"]);
  assert.equal(at.troubles.length, 1);
});

test("a token with read alone sets none, and a repeated message sets it once", async (t) => {
  const at = await place(t);
  await using receiver = await startReceiver();
  const client = await clientOn(at, "JSONRPC");
  const asked = message("Hello", withPush(config(receiver.url)));
  const { id: taskId } = await send(client, asked);
  await send(client, asked);
  const all = await client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" });
  assert.equal(all.configs.length, 1);
  await receiver.json(1);
  const { token } = await at.engine.addToken({ scopes: ["read"] });
  const reader = await clientOn(at, "JSONRPC", { token });
  await assert.rejects(
    reader.createTaskPushNotificationConfig(config(receiver.url, { taskId })),
    /scope write/,
  );
  for (let n = 0; n < 10; n++)
    await client
      .createTaskPushNotificationConfig(config(receiver.url, { taskId, id: `n${n}` }))
      .catch(() => n);
  await assert.rejects(
    client.createTaskPushNotificationConfig(config(receiver.url, { taskId, id: "more" })),
    /at most 10/,
  );
  await sleep(50);
  assert.equal(receiver.received.length, 2);
});

test("a server is killed while it calls: the next one calls, and nothing is left out", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-a2a-push-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const start = async () => {
    const child = fork(join(import.meta.dirname, "../words-runner.ts"), [join(folder, "s.db"), "1"], {
      env: { ...process.env, SKEIN_TEST_PUSH: secret },
    });
    t.after(() => child.kill("SIGKILL"));
    const [{ url, token }] = (await once(child, "message")) as [{ url: string; token: string }];
    return { child, client: await clientOn({ server: { url }, token }, "JSONRPC") };
  };
  const first = await start();
  await using receiver = await startReceiver((n) => {
    if (n === 0) first.child.kill("SIGKILL");
    return [200];
  });
  const asked = message("Talk", withPush(config(receiver.url, { token: "a token" })));
  await send(first.client, asked).catch(() => null);
  if (first.child.signalCode === null) await once(first.child, "exit");
  const second = await start();
  const done = await send(second.client, asked);
  assert.equal(stateOf(done), "COMPLETED");
  await receiver.json(2);
  const calls = receiver.received.map(said);
  assert.deepEqual(calls, ["update WORKING", "update WORKING", "task COMPLETED"]);
  assert.ok(receiver.received.every(({ headers }) => headers["x-a2a-notification-token"] === "a token"));
});
