/** `/streams` on a server: the unmodified client reads the log of a session, and follows it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DurableStream, stream } from "@durable-streams/client";
import { durableStreamsMount } from "../../../src/adapter/durable-streams/mount.ts";
import { makeStreamHandler } from "../../../src/adapter/durable-streams/requests.ts";
import type { Mount } from "../../../src/server/http/mount.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { served, type Served } from "../../server/served.ts";

interface Message {
  readonly seq: number;
  readonly type: string;
}

const quick = (limits: { longPollMs?: number; sseMs?: number; eventsMax?: number } = {}): Mount => ({
  ...durableStreamsMount,
  load: async () => makeStreamHandler({ longPollMs: 200, sseMs: 300, eventsMax: 3, ...limits }),
});

const start = async (mount: Mount = quick()): Promise<{ place: Served; session: Session; url: string }> => {
  const place = await served({ mounts: [mount] });
  const session = await place.engine.open({ objective: "Streamed" });
  for (let n = 0; n < 8; n++) await session.append([{ type: "x.note", body: { n }, content: "a\r\n\rb" }]);
  return { place, session, url: `${place.server.url}/streams/sessions/${session.id}` };
};

const events = async (session: Session, fromSeq = 1): Promise<unknown[]> =>
  JSON.parse(JSON.stringify(await Array.fromAsync(session.events({ fromSeq })))) as unknown[];

const headersOf = (place: Served) => ({ authorization: `Bearer ${place.token}` });

test("catch-up gives every event in chunks, from any offset", async () => {
  const { place, session, url } = await start();
  await using _ = place;
  const headers = headersOf(place);
  // The client reads to the end, unless live is false: then it reads one chunk, and says where it ends.
  const all = await stream<Message>({ url, headers, live: "long-poll" });
  assert.deepEqual(await all.json(), await events(session));
  assert.equal(all.offset, "0000000000000009");
  const read: unknown[] = [];
  for (let offset = "0000000000000004", isOver = false; !isOver;) {
    const chunk = await stream<Message>({ url, headers, live: false, offset });
    read.push(...(await chunk.json()));
    ({ offset, upToDate: isOver } = chunk);
  }
  assert.deepEqual(read, await events(session, 5));
  const none = await stream<Message>({ url, headers: headersOf(place), live: false, offset: "now" });
  assert.deepEqual([await none.json(), none.offset], [[], "0000000000000009"]);
  const head = await new DurableStream({ url, headers: headersOf(place) }).head();
  assert.ok(head.exists);
  assert.deepEqual([head.offset, head.contentType], [all.offset, "application/json"]);
  assert.deepEqual(place.troubles, []);
});

for (const live of ["long-poll", "sse"] as const) {
  test(`${live} follows the log over reconnects, without a gap or a repeat`, async () => {
    const { place, session, url } = await start();
    await using _ = place;
    const stop = new AbortController();
    const response = await stream<Message>({ url, headers: headersOf(place), live, signal: stop.signal });
    const seen: number[] = [];
    const done = Promise.withResolvers<void>();
    response.subscribeJson(async ({ items }) => {
      for (const { seq } of items) seen.push(seq);
      if (seen.at(-1) === 15) done.resolve();
    });
    for (let n = 0; n < 6; n++) {
      await new Promise((resolve) => setTimeout(resolve, 90));
      await session.append([{ type: "x.note", body: { n } }]);
    }
    await done.promise;
    stop.abort();
    await response.closed.catch(() => null);
    assert.deepEqual(
      seen,
      Array.from({ length: 15 }, (__, n) => n + 1),
    );
    assert.deepEqual(place.troubles, []);
  });
}

test("an ETag changes with the head; cursors grow; a long-poll that times out is 204", async () => {
  const { place, session } = await start(quick({ longPollMs: 20, eventsMax: 100 }));
  await using _ = place;
  const path = `/streams/sessions/${session.id}`;
  const first = await place.fetch(`${path}?offset=-1`);
  const etag = first.headers.get("etag") ?? "";
  assert.equal(first.headers.get("x-content-type-options"), "nosniff");
  assert.equal(first.headers.get("stream-closed"), null);
  const again = (): Promise<Response> => place.fetch(path, { headers: { "if-none-match": etag } });
  assert.equal((await again()).status, 304);
  await session.append([{ type: "x.note", body: {} }]);
  assert.equal((await again()).status, 200);
  const tail = `offset=${first.headers.get("stream-next-offset")}`;
  const waited = await place.fetch(`${path}?offset=0000000000000010&live=long-poll&cursor=99999999999`);
  assert.equal(waited.status, 204);
  assert.equal(waited.headers.get("stream-cursor"), "100000000000");
  assert.equal(waited.headers.get("stream-next-offset"), "0000000000000010");
  const more = await place.fetch(`${path}?${tail}&live=long-poll`);
  assert.deepEqual(
    ((await more.json()) as Message[]).map(({ seq }) => seq),
    [10],
  );
});

test("a PUT forks by name, once, and the fork is a stream with the offsets of its source", async () => {
  const { place, session, url } = await start();
  await using _ = place;
  const fork = (name: string, headers: Record<string, string> = {}): Promise<Response> =>
    place.fetch(`/streams/sessions/${name}`, { method: "PUT", headers });
  const from = {
    "stream-forked-from": `/streams/sessions/${session.id}`,
    "stream-fork-offset": "0000000000000004",
  };
  const made = await fork("my%20fork", from);
  assert.deepEqual([made.status, (await fork("my%20fork", from)).status], [201, 200]);
  assert.equal((await fork("my%20fork", { ...from, "stream-fork-offset": "0000000000000005" })).status, 409);
  assert.equal((await fork(session.id)).status, 200);
  const [by, own] = await Promise.all(
    [`${place.server.url}/streams/sessions/my%20fork`, made.headers.get("location") ?? ""].map(async (at) =>
      (await stream<Message>({ url: at, headers: headersOf(place), live: "long-poll" })).json(),
    ),
  );
  assert.deepEqual(by, own);
  const source = await (await stream<Message>({ url, headers: headersOf(place) })).json();
  assert.deepEqual(
    by?.slice(0, 4).map(({ seq }) => seq),
    source.slice(0, 4).map(({ seq }) => seq),
  );
  const nested = await fork("nested", { "stream-forked-from": "/streams/sessions/my%20fork" });
  assert.equal(nested.status, 201);
  const { rows } = await place.engine.sessions();
  assert.equal(rows.length, 3);
  for (const [headers, status] of [
    [{ "stream-forked-from": "/streams/sessions/none" }, 404],
    [{ ...from, "stream-fork-offset": "0000000000000999" }, 400],
    [{ ...from, "stream-fork-sub-offset": "1" }, 400],
    [{ ...from, "stream-ttl": "60" }, 400],
    [{ ...from, "content-type": "text/plain" }, 409],
    [{}, 405],
  ] as const)
    assert.equal((await fork("another", headers)).status, status, JSON.stringify(headers));
  assert.equal((await place.engine.sessions()).rows.length, 3);
  assert.deepEqual(place.troubles, []);
});

test("bad reads, writes and tokens are refused", async () => {
  const { place, session } = await start();
  await using _ = place;
  const path = `/streams/sessions/${session.id}`;
  const other = await place.engine.open({ objective: "other" });
  const { token: own } = await place.engine.addToken({ scopes: ["settle"], session: other.id });
  const { token: reader } = await place.engine.addToken({ scopes: ["read"] });
  const as = (token: string, init: RequestInit = {}): RequestInit => ({
    ...init,
    headers: { authorization: `Bearer ${token}`, "stream-forked-from": path },
  });
  for (const [at, init, status] of [
    [`${path}?offset=`, {}, 400],
    [`${path}?offset=5`, {}, 400],
    [`${path}?offset=-1&offset=-1`, {}, 400],
    [`${path}?offset=0000000000000999`, {}, 400],
    [`${path}?live=sse`, {}, 400],
    [`${path}?offset=-1&live=web-socket`, {}, 400],
    ["/streams/sessions/ses_00000000000000000000000000", {}, 404],
    ["/streams/sessions/nothing", { method: "HEAD" }, 404],
    ["/streams/sessions/%ff", {}, 400],
    ["/streams/v1/stream/a", {}, 404],
    [path, { method: "POST", body: "{}" }, 405],
    [path, { method: "DELETE" }, 405],
    [path, as("skn_none"), 401],
    [path, as(own), 403],
    ["/streams/sessions/fork", as(reader, { method: "PUT" }), 403],
  ] as const) {
    const response = await place.fetch(at, init);
    assert.equal(response.status, status, at);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    if (status === 405) assert.equal(response.headers.get("allow"), "GET, HEAD, PUT");
  }
  assert.equal((await place.engine.sessions()).rows.length, 2);
  assert.deepEqual(place.troubles, []);
});
