/** How long a request may take to come in: bodies in all, bytes for as long as they keep a pace. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import type { Problem } from "../../src/protocol/problem.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeArrivals } from "../../src/server/http/request-timeout.ts";
import { served, type Served } from "./served.ts";

/** A request of which the test says what has come of it, and a clock that it sets. */
function slowly(headers: Readonly<Record<string, string>> = { "content-length": "1000000000" }) {
  let nowMs = 0;
  const late: string[] = [];
  const arrivals = makeArrivals(() => nowMs);
  const request = {
    headers,
    complete: false,
    destroyed: false,
    readableLength: 0,
    socket: { bytesRead: 500 },
  };
  arrivals.begin(request, ({ detail }) => void late.push(detail));
  return {
    arrivals,
    request,
    late,
    after(ms: number, bytes: number): void {
      nowMs += ms;
      request.socket.bytesRead += bytes;
      arrivals.look();
    },
  };
}

const { requestMs, uploadPaceBytes: pace } = limit;

test("a body has its time in all, however much comes", () => {
  const { after, late } = slowly();
  for (let part = 1; part < 3; part++) after(requestMs / 3, 10 * pace);
  assert.deepEqual(late, []);
  after(requestMs / 3, 10 * pace);
  assert.deepEqual(late, ["the request body did not arrive within 30 seconds"]);
  after(requestMs, 0);
  assert.equal(late.length, 2);
});

test("uploads have time while they keep the pace, and while the server does not read", () => {
  const { after, arrivals, request, late } = slowly({ "transfer-encoding": "chunked" });
  arrivals.pace(request);
  for (let part = 0; part < 100; part++) after(requestMs - 1, pace);
  request.readableLength = 1;
  for (let part = 0; part < 100; part++) after(requestMs, 0);
  request.readableLength = 0;
  after(requestMs - 1, pace - 1);
  assert.deepEqual(late, []);
  after(1, 0);
  assert.deepEqual(late, ["upload too slow: less than 65536 bytes in 30 seconds"]);
});

test("an early response gets a new time limit; a complete request has none", () => {
  const early = slowly();
  early.arrivals.pace(early.request);
  early.arrivals.end(early.request);
  early.after(requestMs, 10 * pace);
  assert.equal(early.late.length, 1);
  for (const name of ["complete", "destroyed"] as const) {
    const over = slowly();
    over.request[name] = true;
    over.after(requestMs, 0);
    assert.deepEqual(over.late, []);
  }
  const none = slowly({ "content-length": "0" });
  none.after(requestMs, 0);
  assert.deepEqual(none.late, []);
});

/** A server for which time goes by a hundred times as fast. */
function hurried(): Promise<Served> {
  const { now, sleep } = realWorld();
  return served({
    world: { steady: () => now() * 100, sleep: (ms, signal) => sleep(ms / 100, signal) },
  });
}

function begun({ server, token }: Served, path: string, more: string): Socket {
  const socket = connect(server.port, "127.0.0.1").setEncoding("utf8");
  const lines = [`POST ${path} HTTP/1.1`, `host: 127.0.0.1:${server.port}`, `authorization: Bearer ${token}`];
  socket.write(`${lines.join("\r\n")}\r\n${more}`);
  return socket;
}

/** All that the server says until it ends the connection. */
async function heard(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (piece: string) => (text += piece)).on("error", () => undefined);
  await once(socket, "close");
  return text;
}

test("a late request gets a timeout error, and the connection ends", async () => {
  await using place = await hurried();
  const json = "content-type: application/json\r\ncontent-length: 50\r\n\r\n{";
  const slow = "upload too slow: less than 65536 bytes in 30 seconds";
  const [late, faster] = [/^retry; send large data with put-blob/, /^retry on a faster connection/];
  const cases = [
    ["/v1/sessions", json, "the request body did not arrive within 30 seconds", late],
    ["/v1/put-blob", "content-length: 50\r\n\r\nx", slow, faster],
    ["/v1/put-blob", "transfer-encoding: chunked\r\n\r\n", slow, faster],
  ] as const;
  for (const [path, more, detail, hint] of cases) {
    const [head = "", body = ""] = (await heard(begun(place, path, more))).split("\r\n\r\n");
    assert.match(head, /^HTTP\/1.1 408 [^]*\r\ncontent-type: application\/problem\+json(\r\n|$)/i);
    const problem = JSON.parse(body) as Problem;
    assert.deepEqual([problem.code, problem.detail], ["timed-out", detail]);
    assert.match(problem.hint ?? "", hint);
  }
  // One that nobody reads, for it was answered before.
  assert.match(await heard(begun(place, "/v1/nowhere", "content-length: 50\r\n\r\nx")), /^HTTP\/1.1 404 /);
  assert.deepEqual(place.troubles, []);
});
