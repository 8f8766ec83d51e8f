/** What many streams are given is encoded once, and is read by each as if it had been written to it alone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import { openSink, SharedFrame } from "../../src/server/stream/sink.ts";
import { served, type Served } from "./served.ts";
import { until } from "./until.ts";

/** All that comes over a connection on which these requests were sent at once. */
async function raw(place: Served, requests: readonly string[]): Promise<{ text: string; end(): void }> {
  const socket = connect({ port: place.server.port, host: "127.0.0.1" });
  const got = { text: "", end: () => void socket.destroy() };
  socket.setEncoding("utf8").on("data", (piece: string) => (got.text += piece));
  await once(socket, "connect");
  socket.write(requests.join(""));
  return got;
}

const asking = (place: Served, path: string, version: string): string =>
  `GET ${path} HTTP/${version}\r\nhost: 127.0.0.1:${place.server.port}\r\n` +
  `authorization: Bearer ${place.token}\r\naccept: text/event-stream\r\n\r\n`;

/** The body of an answer that came in chunks, each as long as it says. */
function unchunked(body: string): string {
  let rest = Buffer.from(body);
  const pieces: Buffer[] = [];
  while (rest.length > 0) {
    const end = rest.indexOf("\r\n");
    const length = Number.parseInt(rest.subarray(0, end).toString(), 16);
    pieces.push(rest.subarray(end + 2, end + 2 + length));
    assert.equal(rest.subarray(end + 2 + length, end + 4 + length).toString(), "\r\n");
    rest = rest.subarray(end + 4 + length);
  }
  return Buffer.concat(pieces).toString();
}

const idsIn = (text: string): string[] =>
  [...text.matchAll(/(?:^|\n)id: (\d+)\.[0-9a-f]{16}\n/g)].map(([, id]) => id ?? "");
const ids = (count: number): string[] => Array.from({ length: count }, (_, place) => `${place + 1}`);

test("in chunks, to an older client without, and after an earlier request on the connection", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Streams" });
  const path = `/v1/sessions/${session.id}/events`;
  const plain = asking(place, "/healthz", "1.1");
  const newer = await raw(place, [asking(place, path, "1.1")]);
  const older = await raw(place, [asking(place, path, "1.0")]);
  const later = await raw(place, [plain, plain, asking(place, path, "1.1")]);
  const all = [newer, older, later];
  await until(async () => all.every(({ text }) => text.includes("id: 1.")));
  for (let number = 0; number < 20; number++) await session.append(`größer, 大きい ${number}`);
  await Promise.all(Array.from({ length: 20 }, (_, number) => session.append(`at once ${number}`)));
  await until(async () => all.every(({ text }) => idsIn(text).length === 41));
  const bodyOf = (text: string, answers: number): string =>
    text.split("\r\n\r\n").slice(answers).join("\r\n\r\n");
  const one = unchunked(bodyOf(newer.text, 1));
  assert.deepEqual(idsIn(one), ids(41));
  assert.equal(unchunked(bodyOf(later.text, 3)), one);
  assert.equal(bodyOf(older.text, 1), one);
  for (const { end } of all) end();
});

test("a reader that is slow falls back to reading, and misses nothing", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Slow" });
  const socket = connect({ port: place.server.port, host: "127.0.0.1" });
  let text = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  await once(socket, "connect");
  socket.write(asking(place, `/v1/sessions/${session.id}/events`, "1.1"));
  await until(async () => text.includes("id: 1."));
  socket.pause();
  const count = 400;
  for (let number = 0; number < count; number++) await session.append("x".repeat(60_000));
  socket.resume();
  await until(async () => text.includes(`id: ${count + 1}.`), 20_000);
  assert.deepEqual(idsIn(text), ids(count + 1));
  socket.destroy();
});

test("written and shared data of one turn keep that order", async () => {
  const server = createServer((_, response) => {
    const sink = openSink(response, {}, new AbortController().signal);
    const few = (turn: number): void => {
      for (const one of ["a", "b", "c"]) {
        sink.write(`id: ${turn}${one}1\n\n`);
        sink.share(new SharedFrame(`id: ${turn}${one}2\n\n`));
        sink.share(new SharedFrame(`id: ${turn}${one}3\n\n`));
      }
    };
    few(1);
    setImmediate(() => {
      sink.share(new SharedFrame("id: 20\n\n"));
      few(2);
      setImmediate(() => sink.end());
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const text = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  await new Promise((resolve) => server.close(resolve));
  const got = [...text.matchAll(/id: (\w+)/g)].map(([, id]) => id);
  const turn = (number: number): string[] =>
    ["a", "b", "c"].flatMap((one) => ["1", "2", "3"].map((place) => `${number}${one}${place}`));
  assert.deepEqual(got, [...turn(1), "20", ...turn(2)]);
});
