/** The list of sessions as the page holds it: pages on demand, what happens merged in, calm while held. */
import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  comparing,
  filterOf,
  matches,
  type FilterQuery,
  type SessionListRow,
} from "../../src/console/view/sessions/filter.ts";
import { holding, rowsMax, sessionList } from "../../src/console/view/sessions/list.ts";
import { rowOf } from "./session-row.ts";

const filter = (query = "") => filterOf(new URLSearchParams(query));
const idOf = (n: number): string => `ses_${String(n).padStart(26, "0")}`;

/** A server with sessions that are numbered, the highest the last active. */
function server(count: number) {
  const rows = new Map<string, SessionListRow>();
  for (let n = 1; n <= count; n++)
    rows.set(idOf(n), rowOf({ session: idOf(n), activeAt: n, priority: n % 10 }));
  const asked: FilterQuery[] = [];
  const read = async (options: FilterQuery) => {
    asked.push(options);
    const { limit = 50, cursor, activeSince = -Infinity, status } = options;
    const all = [...rows.values()]
      .filter(
        (row) =>
          row.activeAt >= activeSince && (status === undefined || status.includes(row.status as never)),
      )
      .toSorted(comparing(filter()));
    const from = cursor === undefined ? 0 : all.findIndex(({ session }) => session === cursor);
    const page = all.slice(from, from + limit);
    return { rows: page, cursor: all[from + limit]?.session ?? null };
  };
  const change = (n: number, part: Partial<SessionListRow>): void => {
    const before = rows.get(idOf(n)) ?? rowOf({ session: idOf(n) });
    rows.set(idOf(n), { ...before, headSeq: before.headSeq + 1, ...part });
  };
  return { read, rows, asked, change };
}

const shown = (list: ReturnType<typeof sessionList>): number[] =>
  list.listing.get().rows.map(({ session }) => Number(session.slice(4)));

test("the first view asks for one page, and the next ones come on demand", async () => {
  const { read, asked } = server(250);
  const list = sessionList(filter(), read);
  await list.readHead();
  assert.deepEqual([asked.length, shown(list).length, list.listing.get().isWhole], [1, 100, false]);
  await list.more();
  await list.more();
  await list.more();
  assert.equal(asked.length, 3);
  assert.deepEqual(
    shown(list),
    Array.from({ length: 250 }, (_, n) => 250 - n),
  );
  assert.equal(list.listing.get().isWhole, true);
});

test("another order reads all there are and sorts them here", async () => {
  const { read } = server(1_234);
  const list = sessionList(filter("sort=priority"), read);
  await list.readHead();
  await list.all(() => true);
  const { rows, isWhole, isCut } = list.listing.get();
  assert.deepEqual([rows.length, isWhole, isCut], [1_234, true, false]);
  assert.deepEqual(
    rows.map(({ priority }) => priority),
    rows.map(({ priority }) => priority).toSorted((a, b) => a - b),
  );
});

test("the list has a maximum length, and says when it is reached", async () => {
  const { read } = server(rowsMax + 600);
  const list = sessionList(filter("sort=cost"), read);
  await list.readHead();
  await list.all(() => true);
  const { rows, isWhole, isCut } = list.listing.get();
  assert.deepEqual([rows.length < rowsMax + 500, isWhole, isCut], [true, false, true]);
});

test("reading all of them ends when it is wanted no more", async () => {
  const { read, asked } = server(5_000);
  const list = sessionList(filter("sort=cost"), read);
  await list.readHead();
  await list.all(() => asked.length < 3);
  assert.equal(asked.length, 3);
});

test("an updated session moves to the top, and rows past the limit are dropped", async () => {
  const { read, change } = server(150);
  const list = sessionList(filter("status=open"), read);
  await list.readHead();
  change(120, { activeAt: 1_000 });
  change(130, { activeAt: 1_001, status: "closed" });
  change(10, { activeAt: 1_002 });
  await list.catchUp(1_000);
  assert.deepEqual(shown(list).slice(0, 3), [10, 120, 150]);
  assert.equal(shown(list).includes(130), false);
});

test("a row that was read earlier does not replace one that was read later", async () => {
  const { read, change, rows } = server(3);
  const list = sessionList(filter(), read);
  await list.readHead();
  change(2, { activeAt: 50, status: "running" });
  await list.catchUp(50);
  const old = rows.get(idOf(2));
  assert.ok(old !== undefined);
  rows.set(idOf(2), { ...old, headSeq: 1, status: "open", activeAt: 60 });
  await list.catchUp(50);
  assert.equal(list.listing.get().rows.find(({ session }) => session === idOf(2))?.status, "running");
});

test("while the list is held, rows change in place, nothing moves, and new ones are counted", async () => {
  const { read, change } = server(5);
  const list = sessionList(filter(), read);
  await list.readHead();
  list.hold(true);
  change(2, { activeAt: 100, status: "suspended" });
  change(6, { activeAt: 101 });
  await list.catchUp(100);
  assert.deepEqual(shown(list), [5, 4, 3, 2, 1]);
  assert.equal(list.listing.get().rows[3]?.status, "suspended");
  assert.equal(list.listing.get().kept, 1);
  list.hold(false);
  assert.deepEqual(shown(list), [6, 2, 5, 4, 3, 1]);
  assert.equal(list.listing.get().kept, 0);
});

test("pages that are read while the list is held are appended after its end", async () => {
  const { read } = server(150);
  const list = sessionList(filter(), read);
  await list.readHead();
  list.hold(true);
  await list.more();
  assert.deepEqual([shown(list).length, shown(list).at(-1), list.listing.get().kept], [150, 1, 0]);
});

test("a deleted session disappears at once, also while the list is held", async () => {
  const { read } = server(3);
  const list = sessionList(filter(), read);
  await list.readHead();
  list.hold(true);
  list.remove(idOf(2));
  assert.deepEqual(shown(list), [3, 1]);
});

test("a read that began before a session was deleted does not bring it back", async () => {
  const { read, rows } = server(3);
  const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isSlow = false;
  const list = sessionList(filter(), async (asked) => {
    const page = await read(asked);
    if (!isSlow) return page;
    begun.resolve();
    await answer.promise;
    return page;
  });
  await list.readHead();
  isSlow = true;
  const catching = list.catchUp(0);
  await begun.promise;
  rows.delete(idOf(2));
  list.remove(idOf(2));
  answer.resolve();
  await catching;
  assert.deepEqual(shown(list), [3, 1]);
});

test("a session deleted during a disconnect disappears when the list is read again", async () => {
  const { read, rows, change } = server(250);
  const list = sessionList(filter(), read);
  await list.readHead();
  await list.more();
  rows.delete(idOf(240));
  rows.delete(idOf(60));
  change(30, { activeAt: 400 });
  await list.readHead();
  const now = shown(list);
  assert.deepEqual([now[0], now.includes(240), now.includes(60), now.length], [30, false, true, 200]);
});

test("an error is shown, the rows stay, and a retry recovers", async () => {
  const { read } = server(150);
  let isDown = false;
  const list = sessionList(filter(), (asked) => (isDown ? Promise.reject(new Error("down")) : read(asked)));
  await list.readHead();
  isDown = true;
  await list.more();
  assert.deepEqual([list.listing.get().error?.message, shown(list).length], ["down", 100]);
  isDown = false;
  await list.more();
  assert.deepEqual([list.listing.get().error, shown(list).length], [undefined, 150]);
});

test("each existing session is shown once, with the list held or not", () => {
  const id = fc.nat(12).map((n) => idOf(n));
  const row = fc.record({ session: id, activeAt: fc.nat(20) }).map((part) => rowOf(part));
  fc.assert(
    fc.property(fc.array(row), fc.array(row), (before, now) => {
      const known = new Map(now.map((one) => [one.session as string, one]));
      const compare = comparing(filter());
      const unique = [...new Map(before.map((one) => [one.session as string, one])).values()].toSorted(
        compare,
      );
      const fresh = [...known.values()].filter((one) => matches(one, filter())).toSorted(compare);
      const { rows, kept } = holding(unique, fresh, known, compare);
      const ids = rows.map(({ session }) => session);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.every((one) => known.has(one)));
      assert.equal(rows.length + kept, known.size);
    }),
  );
});

test("a background refresh fails silently, and the next one makes up for it", async () => {
  const { read, change } = server(3);
  let isDown = false;
  const list = sessionList(filter(), (asked) => (isDown ? Promise.reject(new Error("down")) : read(asked)));
  await list.readHead();
  isDown = true;
  change(1, { activeAt: 10 });
  await list.catchUp(10);
  assert.deepEqual([shown(list), list.listing.get().error], [[3, 2, 1], undefined]);
  isDown = false;
  await list.catchUp(1_000);
  assert.deepEqual(shown(list), [1, 3, 2]);
});

test("however fast things happen, one reading of them is under way and one waits", async () => {
  const { read, asked, change } = server(3);
  const list = sessionList(filter(), read);
  await list.readHead();
  for (let n = 0; n < 50; n++) {
    change(1, { activeAt: 100 + n });
    void list.catchUp(149 - n);
  }
  await list.catchUp(149);
  assert.deepEqual(
    asked.slice(1).map(({ activeSince }) => activeSince),
    [100],
  );
  assert.deepEqual([shown(list), list.listing.get().rows[0]?.activeAt], [[1, 3, 2], 149]);
});
