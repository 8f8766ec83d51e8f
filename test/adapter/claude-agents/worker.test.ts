/** `EnvironmentWorker` of the unmodified client executes the toolset of sessions in its environment. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { use } from "../../runtime/turn/scripted.ts";
import { claudeServed, clientOf, isTurnEnd, listed, message, open, readUntil } from "./client.ts";

const tools = [
  {
    type: "agent_toolset_20260401" as const,
    default_config: { permission_policy: { type: "always_allow" as const } },
  },
];
const selfHosted = { tools, config: { type: "self_hosted" as const } };

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-worker-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("a worker polls, executes the calls of a turn, and stops; each call ran once", async (t) => {
  const workdir = folderOf(t);
  const lines = [
    [use("bash", { command: "echo once >> ran.txt" }, "c1")],
    [use("read", { file_path: "ran.txt" }, "c2")],
    "It ran.",
  ];
  await using at = await claudeServed({ lines });
  const { session, environment } = await open(at.client, selfHosted);
  const restarted = await at.place.again();
  t.after(() => restarted.stop());
  const other = clientOf(restarted.url, at.place.token);
  const done = new AbortController();
  const working = [at.client, other].map((client) =>
    client.beta.environments.work
      .worker({ environmentId: environment.id, environmentKey: at.place.token, workdir, maxIdleMs: 50 })
      .run(done.signal)
      .catch((error: unknown) => (done.signal.aborted ? null : Promise.reject(error as Error))),
  );
  const stream = await at.client.beta.sessions.events.stream(session.id);
  await at.client.beta.sessions.events.send(session.id, { events: [message("go")] });
  await readUntil(stream, isTurnEnd);
  done.abort();
  await Promise.all(working);
  assert.equal(readFileSync(join(workdir, "ran.txt"), "utf8"), "once\n");
  const results = await listed(at.client, session.id, { types: ["user.tool_result"] });
  assert.equal(results.length, 2);
  assert.match(JSON.stringify(results[1]), /once/);
  assert.equal(await at.client.beta.environments.work.poll(environment.id), null);
  assert.deepEqual(at.place.troubles, []);
});

test("one of many polls gets the work; its lease is kept by heartbeats and can be lost", async () => {
  await using at = await claudeServed({ lines: [[use("bash", { command: "true" })], "ok"] });
  const { work } = at.client.beta.environments;
  const { session, environment } = await open(at.client, selfHosted);
  const of = { environment_id: environment.id };
  assert.equal(await work.poll(environment.id), null, "nothing is asked yet");
  const waiting = work.poll(environment.id, { block_ms: 900 });
  await at.client.beta.sessions.events.send(session.id, { events: [message("go")] });
  const polls = await Promise.all([
    waiting,
    ...Array.from({ length: 8 }, () => work.poll(environment.id, { block_ms: 900 })),
  ]);
  const [item, ...more] = polls.filter((one) => one !== null);
  assert.ok(item !== undefined && more.length === 0, "exactly one worker gets it");
  assert.deepEqual([item.state, item.data], ["queued", { type: "session", id: session.id }]);
  const lapsed = await work.poll(environment.id, { reclaim_older_than_ms: 0 });
  assert.equal(lapsed?.id, item.id, "what is not acknowledged is handed out again");
  assert.equal((await work.ack(item.id, of)).state, "starting");
  assert.equal(await work.poll(environment.id, { reclaim_older_than_ms: 0 }), null);
  const beat = (expected: string) => work.heartbeat(item.id, { ...of, expected_last_heartbeat: expected });
  const first = await beat("NO_HEARTBEAT");
  assert.deepEqual([first.state, first.lease_extended, first.ttl_seconds], ["active", true, 30]);
  await assert.rejects(
    beat("NO_HEARTBEAT"),
    (error) => error instanceof Anthropic.APIError && error.status === 412,
  );
  const second = await beat(first.last_heartbeat);
  assert.equal((await work.stop(item.id, of)).state, "stopping");
  assert.equal((await beat(second.last_heartbeat)).lease_extended, false);
  assert.equal((await work.stop(item.id, { ...of, force: true })).state, "stopped");
  await assert.rejects(work.stop(item.id, { ...of, force: true }), Anthropic.ConflictError);
  const again = await work.poll(environment.id);
  assert.equal(again?.data.type === "session" && again.data.id, session.id, "the call is still open");
  await assert.rejects(work.ack("work_x", of), Anthropic.NotFoundError);
  await assert.rejects(work.poll("env_0"), Anthropic.NotFoundError);
  const { token } = await at.place.engine.addToken({ scopes: ["read"] });
  await assert.rejects(
    clientOf(at.place.server.url, token).beta.environments.work.poll(environment.id),
    /write/,
  );
  assert.deepEqual(at.place.troubles, []);
});
