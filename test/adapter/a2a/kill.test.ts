/** A server is killed in the middle of a task: the next one finishes it, and the same message finds it. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@a2a-js/sdk/client";
import { clientOn, gather, message, send, short, stateOf } from "./clients.ts";

interface Child extends AsyncDisposable {
  readonly client: Client;
  kill(): Promise<void>;
}

async function start(store: string, wordMs: number): Promise<Child> {
  const child = fork(join(import.meta.dirname, "../words-runner.ts"), [store, String(wordMs)]);
  const [{ url, token }] = (await once(child, "message")) as [{ url: string; token: string }];
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return { client: await clientOn({ server: { url }, token }, "JSONRPC"), kill, [Symbol.asyncDispose]: kill };
}

const whole = Array.from({ length: 30 }, (_, n) => `word-${n} `).join("");

test("a server is killed in the middle of a task: the next one finishes it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-a2a-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const store = join(folder, "skein.db");
  const asked = message("Talk");
  let id = "";
  let chunks = 0;
  {
    await using first = await start(store, 40);
    await assert.rejects(async () => {
      for await (const { payload } of first.client.sendMessageStream(asked)) {
        if (payload?.$case === "task") ({ id } = payload.value);
        if (payload?.$case === "artifactUpdate" && ++chunks === 8) await first.kill();
      }
    });
  }
  assert.equal(chunks, 8);
  await using second = await start(store, 5);
  const expected = ["COMPLETED", "> Talk", `answer: ${whole}`];
  // The client does not know whether its message arrived, and sends it again.
  const done = await send(second.client, asked);
  assert.deepEqual([done.id, ...short(done)], [id, ...expected]);
  await second.kill();
  await using third = await start(store, 0);
  assert.deepEqual(await third.client.getTask({ tenant: "", id }), done);
  const { tasks } = await third.client.listTasks({
    tenant: "",
    contextId: done.contextId,
    status: 0,
    pageToken: "",
    statusTimestampAfter: undefined,
  });
  assert.deepEqual(
    tasks.map((task) => [task.id, stateOf(task)]),
    [[id, "COMPLETED"]],
  );
});

test("two servers on one store: a task of one is followed and canceled at the other", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-a2a-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const store = join(folder, "skein.db");
  await using first = await start(store, 60);
  await using second = await start(store, 60);
  const configuration = {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately: true,
  };
  const { id } = await send(first.client, message("Talk", { configuration }));
  // Until its turn has started it waits, and what waits is not canceled.
  while (stateOf(await second.client.getTask({ tenant: "", id, historyLength: 0 })) !== "WORKING")
    await sleep(20);
  const following = gather(second.client.resubscribeTask({ tenant: "", id }));
  const canceled = await second.client.cancelTask({ tenant: "", id, metadata: undefined });
  assert.equal(stateOf(canceled), "CANCELED");
  assert.equal(stateOf((await following).task), "CANCELED");
});
