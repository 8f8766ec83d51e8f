/** Much at once: pages hold what fits, what does not fit is refused, and what nobody takes is broken off. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { openSink, type Sink } from "../../src/server/stream/sink.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { workspace } from "../runtime/place.ts";
import { fine, served, type Served } from "./served.ts";
import type { SessionEvent } from "../../src/core/event.ts";

const limits: Record<string, number> = limit;

/** A store that counts which blobs are asked for. */
function counting(): { readonly store: Store; readonly asked: string[] } {
  const asked: string[] = [];
  const inner = memoryStore({ world: realWorld(), workspace });
  const blob: Store["blob"] = (hash) => {
    asked.push(hash);
    return inner.blob(hash);
  };
  return { store: { ...inner, blob }, asked };
}

/** Contents above what is kept in a record, no two alike. */
async function fill(session: Session, count: number, bytes: number): Promise<void> {
  for (let number = 0; number < count; number++)
    await session.append({ type: "x.large", content: `${number} `.padEnd(bytes, "y") });
}

const bytesOf = (events: readonly SessionEvent[]): number =>
  events.reduce((sum, { content }) => sum + Buffer.byteLength(JSON.stringify(content ?? "")), 0);

test("a page of events holds what fits, counted as it is given out, and reads no more", async () => {
  const { store, asked } = counting();
  await using place = await served({ store });
  const session = await place.engine.open({ objective: "Much" });
  await fill(session, 12, 900_000);
  for (const reverse of [false, true]) {
    const seqs: number[] = [];
    for (let next: number | null = reverse ? 13 : 1; next !== null;) {
      asked.length = 0;
      const from = reverse ? { toSeq: next, reverse } : { fromSeq: next };
      const params = { ...from, limit: 1_000 };
      const page = fine(await place.call("session.events", { id: session.id, params })) as Page;
      assert.ok(bytesOf(page.events) <= limit.pageBytesMax, `${bytesOf(page.events)} bytes`);
      assert.equal(asked.length, page.events.filter(({ type }) => type === "x.large").length);
      assert.ok(page.next === null || asked.length === 4, "a page is as full as it can be");
      seqs.push(...page.events.map(({ seq }) => seq));
      ({ next } = page);
    }
    const expected = Array.from({ length: 13 }, (_, at) => at + 1);
    assert.deepEqual(seqs, reverse ? expected.toReversed() : expected);
  }
});

interface Page {
  readonly events: readonly SessionEvent[];
  readonly next: number | null;
}

test("so does a page of the feed, and a stream resumes after any event of it", async () => {
  const { store, asked } = counting();
  await using place = await served({ store });
  const session = await place.engine.open({ objective: "Much" });
  await fill(session, 12, 900_000);
  const found: number[] = [];
  for (let after: string | null = null; ;) {
    asked.length = 0;
    const params = { limit: 1_000, ...(after === null ? {} : { after }) };
    const page = fine(await place.call("engine.feed", { params })) as FeedPage;
    if (page.events.length === 0) break;
    const own = page.events.filter(({ type }) => type === "x.large");
    assert.ok(bytesOf(page.events) <= limit.pageBytesMax, `${bytesOf(page.events)} bytes`);
    assert.equal(asked.length, own.length);
    found.push(...own.map(({ seq }) => seq));
    after = page.position;
  }
  const expected = Array.from({ length: 12 }, (_, at) => at + 2);
  assert.deepEqual(found, expected);
  const headers = { accept: "text/event-stream" };
  const streamed = async (after: string): Promise<string[]> => {
    const answer = await place.call("engine.feed", { params: { after, follow: false }, headers });
    const frames = framesIn(answer.body as string).filter(({ event }) => event === "x.large");
    return frames.map(({ id }) => id);
  };
  const ids = await streamed("");
  assert.deepEqual(
    ids.map((id) => Number(id.split("~")[2])),
    expected,
  );
  const ends = (id: string): string => id.split("~").slice(1, 3).join("~");
  for (const [at, id] of ids.entries())
    assert.deepEqual((await streamed(id)).map(ends), ids.slice(at + 1).map(ends));
});

interface FeedPage {
  readonly events: readonly SessionEvent[];
  readonly position: string;
}

const framesIn = (text: string): { readonly id: string; readonly event: string }[] =>
  [...text.matchAll(/^id: (.*)\nevent: (.*)$/gm)].map(([, id = "", event = ""]) => ({ id, event }));

test("results that are only whole are refused above the limit, and the rest can be read", async (t) => {
  await using place = await served();
  const { engine } = place;
  const session = await engine.open({ objective: "Much" });
  t.mock.property(limits, "wholeBytesMax", 1_000_000);
  const record = async (key: string): Promise<void> => {
    await session.record("fact", key, "y".repeat(300_000));
  };
  for (const key of ["a", "b", "c"]) await record(key);
  const reads = ["session.state", "session.items", "session.context"] as const;
  for (const id of reads) fine(await place.call(id, { id: session.id }));
  await record("d");
  for (const id of reads) {
    const { status, body } = await place.call(id, { id: session.id });
    assert.deepEqual([status, (body as Problem).code], [409, "refused"], id);
    assert.match((body as Problem).hint, /pages/);
  }
  // It runs all the same: what does not fit its share of the context is listed by key.
  const asked = await place.call("session.ask", { id: session.id, params: { input: "Well?" } });
  const kinds = framesIn(asked.body as string).map(({ event }) => event);
  assert.ok(kinds.includes("context.planned") && kinds.includes("turn.ended"), asked.body as string);
  assert.doesNotMatch(asked.body as string, /^event: problem$/m);
  fine(await place.call("session.compress", { id: session.id }));
  fine(await place.call("session.fold", { id: session.id }));
  fine(await place.call("session.events", { id: session.id, params: { limit: 1_000 } }));
  fine(await place.call("session.rewind", { id: session.id, params: { place: 2 } }));
  for (const id of reads) fine(await place.call(id, { id: session.id }));
  assert.deepEqual(place.troubles, []);
});

interface Problem {
  readonly code: string;
  readonly hint: string;
}

/** Far more than the system keeps for a connection. */
const manyBytes = 50_331_648;

async function ask(port: number, ...lines: readonly string[]): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  await once(socket, "connect");
  socket.on("error", () => undefined);
  socket.write([...lines, `Host: 127.0.0.1:${port}`, "", ""].join("\r\n"));
  return socket;
}

/** Asks for many bytes over a connection that takes nothing by itself. */
async function asking(place: Served, hash: string): Promise<Socket> {
  const { port } = place.server;
  return ask(port, `GET /v1/blob?hash=${hash} HTTP/1.1`, `Authorization: Bearer ${place.token}`);
}

test("a response that is not read is closed; a slow reader gets all of it", async (t) => {
  t.mock.property(limits, "unreadMs", 1_500);
  const came: ServerResponse[] = [];
  const beside = async (_: unknown, response: ServerResponse): Promise<boolean> => {
    came.push(response);
    return false;
  };
  await using place = await served({ besides: [beside] });
  const hash = await place.engine.putBlob(Buffer.alloc(manyBytes, 1));
  const idle = await asking(place, hash);
  const slow = await asking(place, hash);
  const startedMs = Date.now();
  let taken = 0;
  // A little at a time, for longer than nothing may be taken.
  for await (const piece of slow) {
    taken += (piece as Buffer).length;
    if (taken >= manyBytes) break;
    await new Promise((resolve) => setTimeout(resolve, 6));
  }
  assert.ok(Date.now() - startedMs > 2 * limit.unreadMs, "it was slow");
  assert.equal(came.length, 2);
  const [unread] = came;
  if (unread?.destroyed === false) await once(unread, "close");
  assert.equal(unread?.writableFinished, false);
  idle.destroy();
});

test("a running stream waits for its reader; an ended one closes after a while", async (t) => {
  t.mock.property(limits, "unreadMs", 200);
  const opened = Promise.withResolvers<readonly [ServerResponse, Sink]>();
  const server = createServer((_, response) => {
    const sink = openSink(response, {}, new AbortController().signal);
    sink.write("x".repeat(manyBytes));
    opened.resolve([response, sink]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = await ask((server.address() as AddressInfo).port, "GET / HTTP/1.1");
  const [response, sink] = await opened.promise;
  await new Promise((resolve) => setTimeout(resolve, 10 * limit.unreadMs));
  assert.equal(response.destroyed, false);
  sink.end();
  await once(response, "close");
  assert.equal(response.writableFinished, false);
  socket.destroy();
  server.close();
});
