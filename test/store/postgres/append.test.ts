/** How appends to PostgreSQL go together, and what becomes of each of them. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { contentHashOf } from "../../../src/core/chain.ts";
import type { SessionId } from "../../../src/core/ids.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import * as bench from "../../../src/store/conformance/bench.ts";
import type { Draft, Outcome, Store } from "../../../src/store/port.ts";
import { postgresStore } from "../../../src/store/postgres/store.ts";
import { makeAppender } from "../../../src/store/postgres/log/append.ts";
import type { Driver } from "../../../src/store/postgres/driver.ts";
import { makeHeads } from "../../../src/store/postgres/log/heads.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../../postgres/place.ts";
import { workspace } from "../../runtime/place.ts";

const { draftOf, makeIds, makeWorld, opened, readAll } = bench;
const { digest } = realWorld();
const hash = "ab".repeat(32);

suite("appends that go together", () => {
  /** An appender on a server that answers when it is told to, and a turn of the event loop that is ours. */
  function byHand(count: number) {
    const newId = makeIds();
    const sessions = Array.from({ length: count }, () => newId());
    const heads = makeHeads();
    for (const session of sessions) heads.set(session, { seq: 1, hash, at: 0, epoch: 0, activeAt: 0 });
    const turns: (() => void)[] = [];
    const asked: { readonly sessions: number; readonly answer: () => void }[] = [];
    const once = (_: string, values: readonly unknown[]): Promise<unknown> =>
      new Promise((resolve) => {
        const [, list] = values as readonly [number, string];
        const sent = list.split(",").length;
        asked.push({ sessions: sent, answer: () => resolve([{ count: sent, places: null }]) });
      });
    const database = { now: () => 0, isClockOld: () => false, once } as unknown as Driver["database"];
    const world = { ...realWorld(), defer: (work: () => void) => void turns.push(work) };
    const appender = makeAppender({ database, tenant: 1, world, changed: () => undefined }, heads);
    const seqs = new Map<SessionId, number>();
    return {
      sessions,
      asked,
      append(session: SessionId): Promise<Outcome> {
        const seq = seqs.get(session) ?? 1;
        seqs.set(session, seq + 1);
        const drafts = [draftOf({ content: { seq } }, digest)];
        const expect = seq === 1 ? { seq, hash } : { seq };
        return appender.append([{ session, expect, drafts }]);
      },
      turn: () => {
        for (const work of turns.splice(0)) work();
      },
    };
  }

  const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  test("many at once go in two halves: the server has one while the other is put together", async () => {
    const { sessions, asked, append } = byHand(64);
    for (const session of sessions) void append(session);
    await settled();
    assert.deepEqual(
      asked.map((one) => one.sessions),
      [32, 32],
    );
  });

  test("a caller that appends again joins the next batch", async () => {
    const { sessions, asked, append, turn } = byHand(64);
    const again = sessions.map(async (session) => {
      await append(session);
      // As long as it takes the engine.
      for (let turns = 0; turns < 50; turns++) await Promise.resolve();
      await append(session);
    });
    await settled();
    asked[0]?.answer();
    await settled();
    asked[1]?.answer();
    await settled();
    turn();
    assert.deepEqual(
      asked.map((one) => one.sessions),
      [32, 32, 32, 32],
    );
    for (const one of asked.slice(2)) one.answer();
    await Promise.all(again);
  });

  test("a few go in one", async () => {
    const { sessions, asked, append } = byHand(20);
    for (const session of sessions) void append(session);
    await settled();
    assert.deepEqual(
      asked.map((one) => one.sessions),
      [20],
    );
  });
});

suite("appends that go together to PostgreSQL", { skip: await noPostgres() }, () => {
  const newId = makeIds();
  let place: PostgresPlace;
  let store: Store;

  before(async () => {
    place = await ownDatabase();
    store = await postgresStore({ url: place.url, world: realWorld(), workspace });
  });
  after(async () => {
    await store.close();
    await place.done();
  });

  /** A content as it stands, whatever it is. */
  function raw(text: string): Draft {
    const salt = "07".repeat(16);
    const content = { text, bytes: Buffer.byteLength(text), salt, hash: contentHashOf(digest, salt, text) };
    return { ...draftOf({}, digest), content };
  }

  const cases = [
    { what: "of one record", two: [] },
    { what: "of several records", two: [draftOf({ content: 2 }, digest)] },
  ];
  for (const { what, two } of cases)
    test(`each ${what} is written as it is or not at all, whatever is beside it`, async () => {
      const world = makeWorld();
      const own = { ...world, store, newId, reopen: () => Promise.resolve(store) };
      const sessions: SessionId[] = [];
      for (let count = 0; count < 8; count++) sessions.push(await opened(own));
      const heads = await Promise.all(sessions.map((session) => store.head(session)));
      const texts = [
        JSON.stringify({ text: 'a "quote", a \\, a {brace}, NULL and é' }),
        "{}",
        JSON.stringify({ text: "one that JSON escapes: \u001e" }),
        `{"text":"one that it would have escaped: \u001e"}`,
        '""',
      ];
      const drafts = [
        ...texts.map((text) => [raw(text)]),
        [draftOf({ body: { none: true } }, digest)],
        [draftOf({ content: 1 }, digest), ...two],
        [draftOf({ content: "of one that is elsewhere" }, digest)],
      ];
      const outcomes = await Promise.all(
        sessions.map((session, at) => {
          const expect = at === 7 ? { seq: 1, hash } : { seq: 1, hash: heads[at]?.hash ?? "" };
          return store.append([{ session, expect, drafts: drafts[at] ?? [] }]);
        }),
      );
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["ok", "ok", "ok", "ok", "ok", "ok", "ok", "conflict"],
      );
      const found = await Promise.all(
        sessions.map(async (session) =>
          (await readAll(store, session, { fromSeq: 2 })).map(({ body, content, contentBytes }) => ({
            body,
            content,
            contentBytes,
          })),
        ),
      );
      const expected = drafts.map((list) =>
        list.map(({ body, content }) => ({
          body,
          content: content?.text ?? null,
          contentBytes: content?.bytes ?? null,
        })),
      );
      assert.deepEqual(found, [...expected.slice(0, 7), []]);
      for (const session of sessions.slice(0, 6)) await bench.assertWhole(own, session, 2);
    });
});
