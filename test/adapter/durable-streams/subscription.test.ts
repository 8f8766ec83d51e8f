/** Subscriptions, beside the protocol's suite: a kill, retries, fences, tokens and hostile input. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { makeDurableStreamsMount } from "../../../src/adapter/durable-streams/mount.ts";
import { makePushCalls } from "../../../src/adapter/push-calls.ts";
import type { Mount } from "../../../src/server/http/mount.ts";
import { served, type Served } from "../../server/served.ts";
import { isSigned, startReceiver } from "../receiver.ts";

const secret = "a secret of thirty-two characters";
const push = makePushCalls({ secret, allowPrivate: true });
const root = "/streams/v1/stream";

/** A server with its follower, and short requests. */
async function place(t: TestContext, mount: Mount = makeDurableStreamsMount(push)) {
  const at = await served({ mounts: [mount] });
  const following = await mount.follow?.(at.engine, (error) => at.troubles.push(error));
  t.after(async () => {
    await following?.stop();
    await at[Symbol.asyncDispose]();
  });
  return { ...at, ...requests(at) };
}

type Fields = Record<string, unknown>;

function requests({ fetch: ask }: Pick<Served, "fetch">) {
  const send = async (method: string, path: string, body?: unknown, token?: string) => {
    const response = await ask(`${root}/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    const text = await response.text();
    const json = (text === "" ? null : JSON.parse(text)) as Fields | null;
    const error = (json?.["error"] ?? {}) as Fields;
    return { status: response.status, json, code: error["code"] };
  };
  const sub = (id: string): string => `__ds/subscriptions/${id}`;
  return { send, sub };
}

const tokenOf = ({ token }: Fields): string => (typeof token === "string" ? token : "");
const streamsOf = (json: Fields | null): readonly Fields[] => (json?.["streams"] ?? []) as Fields[];

test("a failing webhook is retried with the same wake, and what came meanwhile wakes again", async (t) => {
  await using receiver = await startReceiver((n) => (n < 2 ? [500] : [200, { done: true }]));
  const { send, sub, troubles } = await place(t);
  const settings = {
    type: "webhook",
    pattern: "jobs/**",
    webhook: { url: receiver.url },
    lease_ttl_ms: 1_000,
  };
  assert.equal((await send("PUT", sub("a"), settings)).status, 201);
  await send("PUT", "jobs/x/1", { n: 1 });
  const first = await receiver.json(0);
  assert.equal((await send("GET", sub("a"))).json?.["status"], "active");
  await send("POST", "jobs/x/1", { n: 2 });
  const second = await receiver.json(1);
  const third = await receiver.json(2);
  for (const name of ["wake_id", "generation", "callback_token"])
    assert.deepEqual([second[name], third[name]], [first[name], first[name]], name);
  const fourth = await receiver.json(3);
  assert.deepEqual([first["generation"], fourth["generation"]], [1, 2]);
  const [, late] = [first, fourth].map((call) => streamsOf(call)[0]);
  assert.equal(late?.["acked_offset"], streamsOf(first)[0]?.["tail_offset"]);
  const { keys } = (await send("GET", "__ds/jwks.json")).json as unknown as { readonly keys: object[] };
  assert.ok(receiver.received.every((call) => isSigned(call, keys)));
  assert.deepEqual(troubles.map(String), [
    'SkeinError: stream subscription "a": the receiver responded with 500',
  ]);
});

test("without the operator's secret no webhook is called, and pull-wake works", async (t) => {
  const { send, sub } = await place(t, makeDurableStreamsMount(null));
  const url = "https://example.com/hook";
  const refused = await send("PUT", sub("a"), { type: "webhook", pattern: "*", webhook: { url } });
  assert.deepEqual([refused.status, refused.code], [400, "INVALID_REQUEST"]);
  assert.deepEqual((await send("GET", "__ds/jwks.json")).json, { keys: [] });
  await send("PUT", "wakes", []);
  const pull = { type: "pull-wake", streams: ["jobs"], wake_stream: "wakes", lease_ttl_ms: 1_000 };
  assert.equal((await send("PUT", sub("b"), pull)).status, 201);
  assert.equal((await send("POST", `${sub("b")}/claim`, { worker: "w" })).code, "NO_PENDING_WORK");
});

test("a lease that runs out fences its worker, and the next one gets the work", async (t) => {
  const { send, sub } = await place(t);
  await send("PUT", "wakes", []);
  const pull = { type: "pull-wake", pattern: "**", wake_stream: "wakes", lease_ttl_ms: 1_000 };
  await send("PUT", sub("a"), pull);
  await send("PUT", "jobs", [{ n: 1 }]);
  const claim = async (worker: string) => (await send("POST", `${sub("a")}/claim`, { worker })).json ?? {};
  const first = await claim("one");
  assert.deepEqual(
    streamsOf(first).map(({ path }) => path),
    ["jobs"],
    "its own wakes do not wake it",
  );
  await sleep(1_100);
  const second = await claim("two");
  assert.ok(Number(second["generation"]) > Number(first["generation"]));
  const settled = async (of: Fields, more: Fields = {}, token = tokenOf(of)) => {
    const body = { wake_id: of["wake_id"], generation: of["generation"], ...more };
    return send("POST", `${sub("a")}/${"acks" in more ? "ack" : "release"}`, body, token);
  };
  const offset = streamsOf(second)[0]?.["tail_offset"];
  const acks = [{ stream: "jobs", offset }];
  assert.equal((await settled(first, { acks, done: true })).code, "FENCED");
  assert.equal((await settled(second, { acks, done: true }, tokenOf(first))).code, "FENCED");
  assert.equal((await settled(second, { acks: [{ stream: "other", offset }] })).code, "INVALID_OFFSET");
  const beyond = "9".repeat(15).padStart(16, "0") + `_${"0".repeat(16)}`;
  assert.equal(
    (await settled(second, { acks: [{ stream: "jobs", offset: beyond }] })).code,
    "INVALID_OFFSET",
  );
  // Without `done` the lease is extended: it outlives its first second.
  for (let n = 0; n < 3; n++) {
    await sleep(500);
    assert.equal((await settled(second, { acks: [] })).status, 200, `beat ${n}`);
  }
  assert.deepEqual((await settled(second, { acks, done: true })).json, { ok: true, next_wake: false });
  assert.equal((await settled(second)).code, "FENCED");
});

test("a token of another subscription, or none, is told nothing", async (t) => {
  const { send, sub } = await place(t);
  await send("PUT", "wakes", []);
  for (const id of ["a", "b"])
    await send("PUT", sub(id), { type: "pull-wake", pattern: "*", wake_stream: "wakes" });
  await send("PUT", "jobs", [1]);
  const claimed = (await send("POST", `${sub("a")}/claim`, { worker: "w" })).json ?? {};
  const body = { wake_id: claimed["wake_id"], generation: claimed["generation"], done: true };
  const token = tokenOf(claimed);
  const wrong = [token.replace("default", "other"), `${token.slice(0, -1)}!`, "dst_default.", "skn_x", ""];
  for (const one of wrong) {
    const refused = await send("POST", `${sub("a")}/ack`, body, one);
    assert.deepEqual([refused.status, refused.code], [401, "TOKEN_INVALID"], one.slice(0, 12));
  }
  for (const path of [`${sub("b")}/ack`, `${sub("none")}/ack`, `${sub("a")}/callback`])
    assert.equal((await send("POST", path, body, token)).status, 401, path);
  assert.equal((await send("POST", `${sub("a")}/ack`, body, token)).status, 200);
});

test("bad requests get the protocol's error, and no trouble", async (t) => {
  const { send, sub, troubles } = await place(t);
  const url = "https://example.com/hook";
  const good = { type: "webhook", pattern: "*", webhook: { url } };
  const bad: readonly unknown[] = [
    [],
    "text",
    {},
    { ...good, type: "push" },
    { ...good, pattern: 7 },
    { ...good, pattern: "*".repeat(400) },
    { type: "webhook", webhook: { url } },
    { ...good, streams: [7] },
    { ...good, streams: ["__ds/a"] },
    { ...good, streams: Array.from({ length: 1_001 }, (_, n) => `s${n}`) },
    { ...good, lease_ttl_ms: 999 },
    { ...good, lease_ttl_ms: "1000" },
    { ...good, description: "a".repeat(1_001) },
    { ...good, webhook: null },
    { ...good, webhook: { url: 7 } },
    { type: "pull-wake", pattern: "*" },
  ];
  for (const body of bad) {
    const refused = await send("PUT", sub("a"), body);
    const what = JSON.stringify(body).slice(0, 60);
    assert.deepEqual([refused.status, refused.code], [400, "INVALID_REQUEST"], what);
  }
  const unsafe = await send("PUT", sub("a"), { ...good, webhook: { url: "http://10.0.0.1/" } });
  assert.deepEqual([unsafe.status, unsafe.code], [400, "WEBHOOK_URL_REJECTED"]);
  assert.equal((await send("PUT", sub("a"), good)).status, 201);
  assert.equal((await send("PUT", sub("a"), { ...good, lease_ttl_ms: 5_000 })).status, 409);
  assert.equal((await send("PATCH", sub("a"))).status, 405);
  assert.equal((await send("GET", "__ds/other")).status, 404);
  assert.equal((await send("POST", `${sub("a")}/claim`, { worker: "w" })).status, 400);
  assert.equal((await send("DELETE", sub("a"))).status, 204);
  assert.equal((await send("DELETE", sub("a"))).status, 204);
  assert.equal((await send("GET", sub("a"))).status, 404);
  assert.equal((await send("PUT", sub("a"), { ...good, lease_ttl_ms: 5_000 })).status, 201);
  assert.deepEqual(troubles, []);
});

test("a server killed in mid-call hands over: the next one calls with the same token", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-subscription-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const start = async () => {
    const child = fork(join(import.meta.dirname, "..", "words-runner.ts"), [join(folder, "s.db")], {
      env: { ...process.env, SKEIN_TEST_PUSH: secret },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const [{ url, token }] = (await once(child, "message")) as [{ url: string; token: string }];
    const ask: Served["fetch"] = (path, init = {}) =>
      fetch(`${url}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) },
      });
    return { child, ...requests({ fetch: ask }) };
  };
  const before = await start();
  // The first call kills the server that makes it.
  await using receiver = await startReceiver((n) => {
    if (n === 0) before.child.kill("SIGKILL");
    return [200];
  });
  const { sub } = before;
  const settings = {
    type: "webhook",
    pattern: "jobs/*",
    webhook: { url: receiver.url },
    lease_ttl_ms: 60_000,
  };
  assert.equal((await before.send("PUT", sub("a"), settings)).status, 201);
  await before.send("PUT", "jobs/1", { n: 1 }).catch(() => null);
  if (before.child.signalCode === null) await once(before.child, "exit");
  const after = await start();
  t.after(() => after.child.kill("SIGKILL"));
  const first = await receiver.json(0);
  const again = await receiver.json(1);
  assert.equal(again["callback_token"], first["callback_token"]);
  assert.equal(again["generation"], 1);
  const tail = streamsOf(first)[0]?.["tail_offset"];
  const acks = [{ stream: "jobs/1", offset: tail }];
  const body = { wake_id: first["wake_id"], generation: 1, acks, done: true };
  const done = await after.send(
    "POST",
    `${sub("a")}/callback`,
    body,
    tokenOf({ token: first["callback_token"] }),
  );
  assert.deepEqual(done.json, { ok: true, next_wake: false });
  await after.send("POST", "jobs/1", { n: 2 });
  assert.equal((await receiver.json(2))["generation"], 2);
});
