/** Named streams: the unmodified client, hostile bytes, scopes, two servers, and a server that is killed. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { DurableStream } from "@durable-streams/client";
import { durableStreamsMount } from "../../../src/adapter/durable-streams/mount.ts";
import { served } from "../../server/served.ts";

const place = () => served({ mounts: [durableStreamsMount] });

test("the unmodified client creates, appends, reads, follows and closes", async () => {
  await using at = await place();
  const url = `${at.server.url}/streams/v1/stream/orders/2026`;
  const headers = { authorization: `Bearer ${at.token}` };
  const handle = await DurableStream.create({ url, headers, contentType: "application/json" });
  await handle.append(JSON.stringify({ id: 1 }));
  await handle.append(JSON.stringify({ id: 2, __proto__: null }));
  const followed: unknown[] = [];
  const live = await handle.stream<{ id: number }>({ offset: "-1", live: "sse" });
  const ended = new Promise<void>((resolve) => {
    live.subscribeJson(async ({ items }) => {
      followed.push(...items);
      if (followed.length === 3) resolve();
    });
  });
  await handle.append(JSON.stringify({ id: 3 }));
  await ended;
  live.cancel();
  assert.deepEqual(followed, [{ id: 1 }, { id: 2 }, { id: 3 }]);
  const head = await handle.head();
  assert.match(head.exists ? String(head.offset) : "", /^\d{16}_\d{16}$/);
  const { rows } = await at.engine.sessions();
  assert.deepEqual(rows.length, 1);
  assert.ok((await at.engine.verify()).ok);
  assert.deepEqual(at.troubles, []);
});

test("the protocol's reserved names are not streams", async () => {
  await using at = await place();
  const names: readonly (readonly [string, number])[] = [
    ["__ds", 404],
    ["__ds/jwks.json", 405],
    ["__ds/subscriptions/a", 400],
    ["%5f_ds/subscriptions/a", 404],
  ];
  for (const [name, status] of names) {
    const put = await at.fetch(`/streams/v1/stream/${name}`, { method: "PUT", body: "{}" });
    assert.equal(put.status, status, name);
  }
  assert.equal((await at.fetch("/streams/v1/stream/__dsx", { method: "PUT" })).status, 201);
  assert.equal((await at.engine.sessions()).rows.length, 1);
});

test("any bytes come back equal, and so does JSON that is hostile", async () => {
  await using at = await place();
  const name = encodeURIComponent("a b/ü?#\u2028");
  const path = `/streams/v1/stream/${name}`;
  const bytes = Buffer.concat([
    Buffer.from("x\0y\r\nevent: z\n\n é"),
    Buffer.from([0xff, 0xc3]),
    Buffer.alloc(700_000, 7),
  ]);
  const put = await at.fetch(path, { method: "PUT", body: bytes, headers: { "content-type": "a/b" } });
  assert.equal(put.status, 201);
  assert.deepEqual(Buffer.from(await (await at.fetch(path)).arrayBuffer()), bytes);
  const json =
    '{"__proto__":1,"toJSON":"x","key":"sk-ant-api03-abcdefgh","deep":' +
    "[".repeat(200) +
    "]".repeat(200) +
    "}";
  const other = "/streams/v1/stream/json";
  const type = { "content-type": "application/json" };
  await at.fetch(other, { method: "PUT", headers: type });
  assert.equal((await at.fetch(other, { method: "POST", headers: type, body: json })).status, 204);
  assert.equal(await (await at.fetch(other)).text(), `[${json}]`);
  assert.equal((await at.fetch("/streams/v1/stream/%ff", { method: "PUT" })).status, 400);
  assert.equal((await at.fetch("/streams/v1/stream/x%00", { method: "PUT" })).status, 400);
  assert.deepEqual(at.troubles, []);
});

test("creating needs write, reading read, deleting admin; a deleted name begins anew", async () => {
  await using at = await place();
  const path = "/streams/v1/stream/s";
  const as = async (scope: "read" | "write", method: string, body?: string): Promise<number> => {
    const { token } = await at.engine.addToken({ scopes: [scope] });
    const headers = { authorization: `Bearer ${token}`, "content-type": "text/plain" };
    return (await at.fetch(path, { method, headers, ...(body === undefined ? {} : { body }) })).status;
  };
  assert.equal(await as("read", "PUT"), 403);
  for (let round = 0; round < 3; round++) {
    assert.equal(await as("write", "PUT", `round ${round}`), 201);
    assert.equal(await as("write", "GET"), 403);
    assert.equal(await as("read", "GET"), 200);
    assert.equal(await (await at.fetch(path)).text(), `round ${round}`);
    assert.equal(await as("write", "DELETE"), 403);
    assert.equal((await at.fetch(path, { method: "DELETE" })).status, 204);
    assert.equal(await as("read", "GET"), 404);
  }
  assert.deepEqual(at.troubles, []);
});

interface Child extends AsyncDisposable {
  ask(path: string, init?: RequestInit): Promise<Response>;
  kill(): Promise<void>;
}

async function start(store: string): Promise<Child> {
  const child = fork(join(import.meta.dirname, "../words-runner.ts"), [store, "0"]);
  const [{ url, token }] = (await once(child, "message")) as [{ url: string; token: string }];
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}/streams/v1/stream/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) },
    });
  return { ask, kill, [Symbol.asyncDispose]: kill };
}

function makeStore(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-streams-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "skein.db");
}

const text = { "content-type": "text/plain" };
const by = (seq: number) => ({
  ...text,
  "producer-id": "p",
  "producer-epoch": "0",
  "producer-seq": String(seq),
});

test("a producer whose server is killed again and again writes each message once", async (t) => {
  const store = makeStore(t);
  let server = await start(store);
  t.after(() => server.kill());
  assert.equal((await server.ask("s", { method: "PUT", headers: text })).status, 201);
  let answers = 0;
  for (let seq = 0; seq < 12;) {
    const sent = server.ask("s", { method: "POST", headers: by(seq), body: `${seq},` });
    if (seq % 4 === 3 && answers === seq) {
      setTimeout(() => void server.kill(), seq);
      answers = -1;
    }
    const response = await sent.catch(() => null);
    if (answers === -1) {
      // Whether it was written is not known: it is sent again.
      await server.kill();
      server = await start(store);
      answers = seq + 1;
      continue;
    }
    assert.ok(response !== null && [200, 204].includes(response.status), String(response?.status));
    seq += 1;
    answers = Math.max(answers, seq);
  }
  const expected = Array.from({ length: 12 }, (_, n) => `${n},`).join("");
  assert.equal(await (await server.ask("s")).text(), expected);
});

test("two servers on one store: one order, one producer state, one deletion", async (t) => {
  const store = makeStore(t);
  await using one = await start(store);
  await using two = await start(store);
  const created = await Promise.all([one, two].map(({ ask }) => ask("s", { method: "PUT", headers: text })));
  assert.deepEqual(
    created.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 201],
  );
  const waiting = two.ask("s?offset=-1&live=long-poll");
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? one : two).ask("s", { method: "POST", headers: text, body: "x" }),
    ),
  );
  assert.match(await (await waiting).text(), /^x+$/);
  assert.equal((await one.ask("s", { method: "POST", headers: by(0), body: "y" })).status, 200);
  assert.equal((await two.ask("s", { method: "POST", headers: by(0), body: "y" })).status, 204);
  const [first, second] = await Promise.all([one, two].map(async ({ ask }) => (await ask("s")).text()));
  assert.equal(first, `${"x".repeat(20)}y`);
  assert.equal(second, first);
  assert.equal((await one.ask("s", { method: "DELETE" })).status, 204);
  assert.equal((await two.ask("s")).status, 404);
  assert.equal((await two.ask("s", { method: "PUT", headers: text, body: "new" })).status, 201);
  assert.equal(await (await one.ask("s")).text(), "new");
});
