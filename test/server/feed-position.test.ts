/** Positions of the feed that are not there, as after a store was set back; and how a stream of it ends. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { familyOf } from "../../src/server/stream/feed-cursor.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { noPostgres, ownDatabase } from "../postgres/place.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { fine, frames, served, type Answered, type Frame, type Served } from "./served.ts";
import { until } from "./until.ts";
import type { SessionEvent } from "../../src/core/event.ts";

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
  return [status, code, detail?.includes("the feed ends at "), hint?.includes("rolled back")];
};

/** All that a store gave out stays a position; one that is further on is refused, however it comes. */
async function holdsOn(store: Store): Promise<void> {
  await using place = await served({ store });
  const session = await place.engine.open({ objective: "Set back" });
  await session.append("one");
  let { position } = await page(place, "");
  for (let last = ""; last !== position; { position } = await page(place, position)) last = position;
  const given = [position, await store.feedEnd(), position.replace(/!.*/, "")];
  for (const after of given) {
    assert.deepEqual((await page(place, after)).events, []);
    assert.deepEqual((await heard(place, `after=${encodeURIComponent(after)}`)).at(-1)?.event, "end");
  }
  // As 0.4 gave them out: they name no record, so nobody knows where the histories part.
  const further = position.replace(/!.*/, "").replace(/^\d+/, (number) => `${BigInt(number) + 100_000n}`);
  const refused = [400, "invalid", true, true];
  for (const after of [further, `${further}~${session.id}~1`]) {
    assert.deepEqual(told(await place.call("engine.feed", { params: { after } })), refused);
    assert.deepEqual(told(await place.call("engine.feed", { params: { after }, headers: stream })), refused);
    const headers = { ...stream, "last-event-id": after };
    assert.deepEqual(told(await place.call("engine.feed", { headers })), refused);
  }
  // Named records tell where to go on: here from the beginning.
  const all = (await page(place, "")).events.length;
  const [lost, other] = [position.replace(/^\d+/, "$&00000"), position.replace(/!.{8}/, "!00000000")];
  for (const after of [lost, other]) {
    const again = (await page(place, after)) as Page & { readonly rolledBackTo?: string | null };
    assert.deepEqual([again.rolledBackTo, again.events.length], [null, all], after);
    const [first, ...rest] = await heard(place, `after=${encodeURIComponent(after)}`);
    assert.deepEqual([first?.event, rest.length], ["rollback", all + 1], after);
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

test("lineage and the feed of a family have children and successors, also those opened later", async () => {
  await using place = await served();
  const first = await place.engine.open({ objective: "First" });
  const next = await first.clear({ name: "next" });
  const stranger = await place.engine.open({ objective: "Stranger" });
  const later = await place.engine.open({ objective: "Later", from: next.id });
  for (const session of [first.id, later.id]) {
    const { nodes } = fine(await place.call("engine.lineage", { params: { session } })) as {
      readonly nodes: readonly { readonly session: string; readonly relation: string | null }[];
    };
    assert.deepEqual(
      nodes.map(({ session: id, relation }) => [id, relation]),
      [
        [first.id, null],
        [next.id, "successor"],
        [later.id, "successor"],
      ],
    );
    const ids = (await heard(place, `after=&family=${session}`)).map(({ data }) => data);
    for (const one of [first, next, later]) assert.ok(ids.some((text) => text?.includes(`"${one.id}"`)));
    assert.ok(!ids.some((text) => text?.includes(stranger.id)));
  }
  const family = await familyOf(place.engine, later.id);
  const opening = { type: "session.opened", session: "ses_00000000000000000000000001" };
  const has = (body: object): boolean => family.has({ ...opening, body } as unknown as SessionEvent);
  assert.ok(!has({ from: stranger.id }));
  assert.ok(has({ parent: { session: later.id, seq: 1 } }));
  assert.ok(family.includes(opening.session));
});
