/** Positions of the feed that are not there, as after a store was set back; and how a stream of it ends. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { noPostgres, ownDatabase } from "../postgres/place.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { fine, frames, served, type Answered, type Frame, type Served } from "./served.ts";
import { until } from "./until.ts";

const world = realWorld();
const stream = { accept: "text/event-stream" };

interface Page {
  readonly events: readonly { readonly type: string }[];
  readonly position: string;
}

const page = async (place: Served, after: string): Promise<Page> =>
  fine(await place.call("engine.feed", { params: { after } })) as Page;

async function heard(place: Served, query: string): Promise<Frame[]> {
  const all: Frame[] = [];
  for await (const frame of frames(await place.fetch(`/v1/feed?follow=false&${query}`, { headers: stream })))
    all.push(frame);
  return all;
}

const told = ({ status, body }: Answered): unknown[] => {
  const { code, detail, hint } = body as Readonly<Record<string, string>>;
  return [status, code, detail?.startsWith("after: the feed ends at "), hint?.includes("set back")];
};

/** All that a store gave out stays a position; one that is further on is refused, however it comes. */
async function holdsOn(store: Store): Promise<void> {
  await using place = await served({ store });
  const session = await place.engine.open({ objective: "Set back" });
  await session.append("one");
  let { position } = await page(place, "");
  for (let last = ""; last !== position; { position } = await page(place, position)) last = position;
  const given = [position, await store.feedEnd()];
  for (const after of given) {
    assert.deepEqual((await page(place, after)).events, []);
    assert.deepEqual((await heard(place, `after=${encodeURIComponent(after)}`)).at(-1)?.event, "end");
  }
  const further = position.replace(/^\d+/, (number) => `${BigInt(number) + 100_000n}`);
  const refused = [400, "invalid", true, true];
  for (const after of [further, `${further}~${session.id}~1`]) {
    assert.deepEqual(told(await place.call("engine.feed", { params: { after } })), refused);
    assert.deepEqual(told(await place.call("engine.feed", { params: { after }, headers: stream })), refused);
    const headers = { ...stream, "last-event-id": after };
    assert.deepEqual(told(await place.call("engine.feed", { headers })), refused);
  }
  await session.append("two");
  for (const after of given) {
    const isGiven = async () => (await page(place, after)).events[0]?.type === "input.received";
    await until(isGiven);
  }
}

test("a position past the end of the feed is refused: in memory", () =>
  holdsOn(memoryStore({ world, workspace })));

test("a position past the end of the feed is refused: in SQLite", async () => {
  const { path, remove } = newPath();
  try {
    await holdsOn(await sqliteStore({ path, world, workspace, durability: "process" }));
  } finally {
    remove();
  }
});

suite("a position past the end of the feed is refused", { skip: await noPostgres() }, () => {
  test("in PostgreSQL", async () => {
    const { url } = await ownDatabase();
    await holdsOn(await postgresStore({ url, world, workspace }));
  });
});

test("a stream of the feed that does not follow says that it is over", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "All" });
  await session.append("one");
  const names = (all: readonly Frame[]) => all.flatMap(({ event }) => event ?? []);
  const own = ["session.opened", "input.received", "end"];
  assert.deepEqual(names(await heard(place, "after=")), ["token.issued", ...own]);
  assert.deepEqual(names(await heard(place, `after=&family=${session.id}`)), own);
  assert.deepEqual(names(await heard(place, "limit=1")), ["end"]);
});
