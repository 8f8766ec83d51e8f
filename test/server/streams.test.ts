/** Streams: every event once and in order, whoever reads and however often the connection is cut. */
// Process of its own: it measures the memory of its process.
import assert from "node:assert/strict";
import { seqOf } from "./reader.ts";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { all, inFile } from "../runtime/place.ts";
import { frames, served, type Frame, type Served } from "./served.ts";
import type { SessionEvent } from "../../src/core/event.ts";

const stream = { accept: "text/event-stream" };
const eventsOf = (heard: readonly Frame[]): SessionEvent[] =>
  heard.flatMap(({ event, data }) =>
    event === undefined || event === "delta" ? [] : [JSON.parse(data ?? "") as SessionEvent],
  );

/** Reads a stream until it has what is wanted, or the connection ends. */
async function take(
  place: Served,
  path: string,
  until: (heard: readonly Frame[]) => boolean,
  headers: Readonly<Record<string, string>> = {},
): Promise<Frame[]> {
  const over = new AbortController();
  const heard: Frame[] = [];
  try {
    const response = await place.fetch(path, { headers: { ...stream, ...headers }, signal: over.signal });
    for await (const frame of frames(response)) {
      heard.push(frame);
      if (until(heard)) break;
    }
  } finally {
    over.abort();
  }
  return heard;
}

/** An id is the position, and digits of the hash. */
const positionOf = (id: string | undefined): string | undefined => id?.replace(/\.[0-9a-f]{16}$/, "");

test("a stream sends stored events, then new ones, each with its position as its id", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Stream" });
  const path = `/v1/sessions/${session.id}/events`;
  const reading = take(place, path, (heard) => heard.length === 3);
  await pause(50);
  await session.append("one");
  await session.append("two");
  const heard = await reading;
  assert.deepEqual(
    heard.map(({ id, event }) => [positionOf(id), event]),
    [
      ["1", "session.opened"],
      ["2", "input.received"],
      ["3", "input.received"],
    ],
  );
  assert.deepEqual(eventsOf(heard), JSON.parse(JSON.stringify(await all(session.events()))));
  const later = await take(place, path, (more) => more.length === 1, { "last-event-id": "2" });
  assert.deepEqual(
    later.map(({ id }) => positionOf(id)),
    ["3"],
  );
  const some = await take(place, `${path}?types=input.received&limit=1&follow=false`, () => false);
  assert.deepEqual(
    some.map(({ id, event }) => [positionOf(id), event]),
    [
      ["2", "input.received"],
      [undefined, "end"],
    ],
  );
});

test("readers that are cut at random put the exact log together, of a session and of all", async () => {
  await using file = await inFile();
  await using place = await served({ store: file.store });
  const session = await place.engine.open({ objective: "Busy" });
  const other = await place.engine.open({ objective: "Beside" });
  const readers = 20;
  const records = 120;
  let over = false;

  /** Reads a few, is cut, and goes on from the last id it has. */
  async function read(path: string, isWhole: (ids: readonly string[]) => boolean): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    const ids: string[] = [];
    for (let turn = 1; !isWhole(ids); turn++) {
      const few = 1 + ((turn * 7 + events.length) % 30);
      const heard = await take(
        place,
        path,
        (more) =>
          more.filter(({ event }) => event !== undefined).length >= few || (over && isDone(ids, more)),
        ids.length === 0 ? {} : { "last-event-id": ids.at(-1) ?? "" },
      );
      for (const { id } of heard) if (id !== undefined) ids.push(id);
      events.push(...eventsOf(heard));
    }
    return events;
    function isDone(before: readonly string[], more: readonly Frame[]): boolean {
      return isWhole([...before, ...more.flatMap(({ id }) => (id === undefined ? [] : [id]))]);
    }
  }
  const one = Array.from({ length: readers }, () =>
    read(`/v1/sessions/${session.id}/events`, (ids) => seqOf(ids.at(-1) ?? "") === records + 1),
  );
  const last = (events: readonly string[]): boolean =>
    over && events.some((id) => id.includes(`${session.id}~${records + 1}~`));
  const every = Array.from({ length: 4 }, () => read("/v1/feed?after=", last));
  for (let count = 0; count < records; count++) {
    if (count % 5 === 0) await other.append(`beside ${count}`);
    if (count === records - 1) over = true;
    await session.append(`${count} ${"x".repeat(count % 7 === 0 ? 5_000 : 10)}`);
    if (count % 20 === 0) await pause(5);
  }
  const log = JSON.parse(JSON.stringify(await all(session.events()))) as SessionEvent[];
  for (const events of await Promise.all(one)) assert.deepEqual(events, log);
  for (const events of await Promise.all(every)) {
    assert.deepEqual(
      events.filter((event) => event.session === session.id),
      log,
    );
    const names = events.map((event) => `${event.session} ${event.seq}`);
    assert.equal(new Set(names).size, names.length, "an event came twice");
  }
});

test("a reader that does not read is not buffered for, and has it all once it reads", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Slow" });
  const { port } = place.server;
  const socket = connect({ port, host: "127.0.0.1" });
  socket.write(
    `GET /v1/sessions/${session.id}/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n` +
      `accept: text/event-stream\r\nauthorization: Bearer ${place.token}\r\n\r\n`,
  );
  socket.pause();
  const before = process.memoryUsage().rss;
  const text = "y".repeat(50_000);
  for (let count = 0; count < 600; count++) await session.append(`${count} ${text}`);
  await pause(200);
  const seen: number[] = [];
  let held = "";
  socket.setEncoding("utf8").resume();
  socket.on("data", (chunk: string) => {
    held += chunk;
    for (let end = held.indexOf("\n\n"); end !== -1; end = held.indexOf("\n\n")) {
      const [, id] = /(?:^|\n)id: (\d+)\.[0-9a-f]{16}\n/.exec(held.slice(0, end)) ?? [];
      if (id !== undefined) seen.push(Number(id));
      held = held.slice(end + 2);
    }
  });
  const growth = process.memoryUsage().rss - before;
  for (let tries = 0; tries < 500 && seen.length < 601; tries++) await pause(20);
  socket.destroy();
  assert.deepEqual(
    seen,
    Array.from({ length: 601 }, (_, place) => place + 1),
  );
  // The log itself is 30 MB in memory here; what is buffered for the reader would be as much again.
  assert.ok(growth < 150e6, `grew by ${growth}`);
});

test("deltas come after the request they belong to, live and without an id", async () => {
  await using place = await served({ lines: ["Hello, you."] });
  const session = await place.engine.open({ objective: "Talk" });
  const reading = take(place, `/v1/sessions/${session.id}/events`, (heard) =>
    heard.some(({ event }) => event === "turn.ended"),
  );
  const everything = take(place, "/v1/feed", (heard) => heard.some(({ event }) => event === "turn.ended"));
  await pause(50);
  await session.append("hi");
  await session.run();
  for (const heard of [await reading, await everything]) {
    const types = heard.flatMap(({ event }) => (event === undefined ? [] : [event]));
    const [requested, delta, responded] = ["model.requested", "delta", "model.responded"].map((type) =>
      types.indexOf(type),
    );
    assert.ok(requested! < delta! && delta! < responded!, types.join(" "));
    const [live] = heard.filter(({ event }) => event === "delta");
    assert.equal(live?.id, undefined);
    const { delta: said } = JSON.parse(live?.data ?? "") as { delta: { text: string } };
    assert.equal(said.text, "Hello, you.");
  }
});

test("a stream of a family has its forks, also later ones, and no other session", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Parent" });
  const stranger = await place.engine.open({ objective: "Stranger" });
  const path = `/v1/feed?family=${session.id}&after=`;
  const reading = take(place, path, (heard) => heard.some(({ data }) => data?.includes("last") ?? false));
  await pause(50);
  const fork = await session.fork({ objective: "Child" });
  await stranger.append("not this");
  await fork.append("last");
  const events = eventsOf(await reading);
  assert.deepEqual(
    events.map(({ session: id, type }) => [id, type]),
    [
      [session.id, "session.opened"],
      [fork.id, "session.forked"],
      [fork.id, "input.received"],
    ],
  );
});

test("a disconnected ask cancels nothing; a repeat with the key returns everything", async () => {
  const gate = Promise.withResolvers<void>();
  const line = async (): Promise<string> => {
    await gate.promise;
    return "Done.";
  };
  await using place = await served({ lines: [line] });
  const session = await place.engine.open({ objective: "Ask" });
  const ask = (signal?: AbortSignal): Promise<Response> =>
    place.fetch(`/v1/sessions/${session.id}/ask`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "once" },
      body: JSON.stringify({ input: "Go" }),
      ...(signal === undefined ? {} : { signal }),
    });
  const cut = new AbortController();
  for await (const frame of frames(await ask(cut.signal))) if (frame.event === "model.requested") break;
  cut.abort();
  const again = ask();
  gate.resolve();
  const heard: Frame[] = [];
  for await (const frame of frames(await again)) heard.push(frame);
  assert.equal(heard[0]?.event, "input.received");
  assert.equal(heard.at(-1)?.event, "ran");
  assert.equal((JSON.parse(heard.at(-1)?.data ?? "") as { status: string }).status, "open");
  assert.equal((await all(session.events({ types: ["input.received"] }))).length, 1);
});

test("a stream ends when the server stops, with what there was", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Ends" });
  const reading = take(place, `/v1/sessions/${session.id}/events`, () => false);
  await pause(50);
  await place.server.stop();
  assert.deepEqual(
    (await reading).map(({ id }) => positionOf(id)),
    ["1"],
  );
});

test("a position past the end gets the session's position, and does not wait", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Set back" });
  const other = await place.engine.open({ objective: "Beside" });
  const path = `/v1/sessions/${session.id}/events`;
  const [heard] = await take(place, "/v1/feed?after=", (frame) =>
    frame.some(({ data }) => data !== undefined),
  );
  const known = String(heard?.id).replace(/~.*$/, "");
  const wrong: readonly (readonly [string, string | null])[] = [
    [path, "2"],
    [`${path}?after=2`, null],
    [`${path}?after=2`, ""],
    ["/v1/feed", `${known}~${session.id}~2`],
    ["/v1/feed", "nowhere"],
    [`/v1/feed?after=${known}~${session.id}~2`, null],
  ];
  for (const [at, last] of wrong) {
    const headers = { ...stream, ...(last === null ? {} : { "last-event-id": last }) };
    const answer = await place.fetch(at, { headers });
    const { code, detail } = (await answer.json()) as { readonly code: string; readonly detail: string };
    assert.deepEqual([answer.status, code], [400, "invalid"], at);
    if (last !== "nowhere") assert.match(detail, /which ends at 1$/);
  }
  for (const [at, last] of [
    [path, "1"],
    [`${path}?after=5`, "1"],
    ["/v1/feed", `${known}~${other.id}~1`],
  ] as const) {
    const answer = await place.fetch(at, { headers: { ...stream, "last-event-id": last } });
    assert.equal(answer.status, 200, at);
    await answer.body?.cancel();
  }
});
