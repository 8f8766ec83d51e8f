/** Reading and following events: by position and time, to the end or on and on, also from another process. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import type { EventsOptions } from "../../../src/runtime/read/event-reader.ts";
import { all, inFile, inMemory, newPath } from "../place.ts";
import type { SessionEvent } from "../../../src/core/event.ts";

const seqsOf = (events: readonly SessionEvent[]): number[] => events.map(({ seq }) => seq);

/** Follows until so many events came, or a while passed. */
async function take(
  events: AsyncIterable<SessionEvent>,
  count: number,
  stop: AbortController,
): Promise<SessionEvent[]> {
  const timer = setTimeout(() => stop.abort(), 120_000);
  const taken: SessionEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  clearTimeout(timer);
  return taken;
}

test("following returns existing events, then new ones, and ends on request", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.append("a");
  const stop = new AbortController();
  const taking = take(session.events({ follow: true, signal: stop.signal }), 4, stop);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await session.append("b");
  await session.append("c");
  assert.deepEqual(seqsOf(await taking), [1, 2, 3, 4]);
  const ended = new AbortController();
  const all4 = all(session.events({ follow: true, signal: ended.signal }));
  await new Promise((resolve) => setTimeout(resolve, 5));
  ended.abort();
  assert.deepEqual(seqsOf(await all4), [1, 2, 3, 4]);
  const already = await all(session.events({ follow: true, signal: AbortSignal.abort() }));
  assert.deepEqual(already, []);
});

test("following honours types, positions, limits and moments that are yet to come", async () => {
  await using place = inMemory();
  const { world, engine } = place;
  const session = await engine.open({ objective: "o" });
  const start = world.now();
  const follow = (options: EventsOptions) => all(session.events({ ...options, follow: true }));
  const answers = Promise.all([
    follow({ types: ["x.b"], limit: 2 }),
    follow({ fromSeq: 3, toSeq: 4 }),
    follow({ limit: 3 }),
    follow({ until: start + 3 }),
    follow({ since: start + 2, until: start + 4 }),
    follow({ since: start + 4, limit: 2 }),
  ]);
  for (const type of ["x.a", "x.b", "x.a", "x.b", "x.b"] as const) {
    world.pass(1);
    await session.append({ type });
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual((await answers).map(seqsOf), [
    [3, 5],
    [3, 4],
    [1, 2, 3],
    [1, 2, 3],
    [3, 4],
    [5, 6],
  ]);
});

test("two engines on one file follow one another, and nothing is missed or given twice", async () => {
  await using place = await inFile();
  const other = await place.again();
  const session = await place.engine.open({ objective: "o" });
  const there = await other.engine.session(session.id);
  const stop = new AbortController();
  const count = 200;
  const taking = [session, there].map((one) =>
    take(one.events({ follow: true, signal: stop.signal }), count + 1, stop),
  );
  for (let number = 0; number < count; number++) {
    const writer = number % 3 === 0 ? there : session;
    await writer.append({ type: "x.n", body: number });
    if (number % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const expected = Array.from({ length: count + 1 }, (_, place) => place + 1);
  for (const events of await Promise.all(taking)) assert.deepEqual(seqsOf(events), expected);
  await other.engine.close();
});

test("a follower in another process has each event within 50 ms at the median, and misses none", async () => {
  const { path, remove } = newPath();
  const engine = await openEngine({ store: path });
  const session = await engine.open({ objective: "o" });
  const stop = new AbortController();
  const count = 200;
  const lagsMs: number[] = [];
  const numbers: unknown[] = [];
  const file = join(import.meta.dirname, "follow-writer.ts");
  const writer = spawn(process.execPath, [file, path, session.id, String(count)], { stdio: "inherit" });
  const timer = setTimeout(() => stop.abort(), 120_000);
  for await (const { body } of session.events({ fromSeq: 2, follow: true, signal: stop.signal })) {
    const { number, sentAt } = body as { number: number; sentAt: number };
    lagsMs.push(Date.now() - sentAt);
    numbers.push(number);
    if (numbers.length === count) break;
  }
  clearTimeout(timer);
  if (writer.exitCode === null) await once(writer, "exit");
  assert.deepEqual(
    numbers,
    Array.from({ length: count }, (_, place) => place),
  );
  const median = lagsMs.toSorted((a, b) => a - b)[count / 2]!;
  assert.ok(median <= 50, `${median} ms at the median`);
  await engine.close();
  remove();
});

test("invalid arguments are refused before anything is read", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ fromSeq: 0 }, /fromSeq: expected at least 1, got 0/],
    [{ toSeq: 1.5 }, /toSeq: expected .*, got 1.5/],
    [{ limit: -1 }, /limit: expected at least 1, got -1/],
    [{ since: Number.NaN }, /since: expected/],
    [{ until: new Date("nonsense") }, /until: expected a time/],
    [{ reverse: true, follow: true }, /reverse: not allowed with follow/],
    [{ fromseq: 1 }, /unknown option "fromseq"/],
  ];
  for (const [options, message] of wrong) {
    await assert.rejects(all(session.events(options)), { code: "invalid", message });
  }
});

test("a session that is deleted while it is followed is not found any more", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const following = all(session.events({ follow: true }));
  const gone = assert.rejects(following, { code: "not-found" });
  await new Promise((resolve) => setTimeout(resolve, 5));
  await place.engine.delete(session.id);
  await gone;
  await assert.rejects(all(session.events()), { code: "not-found" });
});

test("the feed returns the events of all logs, and resumes at its position", async () => {
  await using place = await inFile();
  const { engine } = place;
  const one = await engine.open({ objective: "o" });
  const first = await engine.feed();
  assert.deepEqual(
    first.events.map(({ session, seq }) => [session, seq]),
    [[one.id, 1]],
  );
  const two = await engine.open({ objective: "p" });
  await one.append("x".repeat(70_000));
  await engine.delete(two.id);
  const next = await engine.feed({ after: first.position });
  assert.deepEqual(
    next.events.map(({ type }) => type),
    ["input.received", "session.deleted"],
  );
  const said = next.events[0]?.content as { blocks: { text: string }[] };
  assert.equal(said.blocks[0]?.text.length, 70_000);
  assert.deepEqual((await engine.feed({ after: next.position })).events, []);
  const pages = await engine.feed({ limit: 1 });
  assert.equal(pages.events.length, 1);
  await assert.rejects(engine.feed({ after: "nonsense" }), { code: "invalid" });
});
