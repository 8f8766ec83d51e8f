/** Conformance: the session index, its filters, and paging while sessions appear, disappear and move. */
import assert from "node:assert/strict";
import type { SessionId } from "../../core/ids.ts";
import { makeSessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, dropped, entryOf, opened, partOf, startOfTime } from "./bench.ts";
import type { IndexEntry, SessionFilter, SessionRow } from "../port.ts";

export const listCases: readonly ConformanceCase[] = [
  { name: "list returns the index columns and the head of the log", run: wholeRow },
  { name: "list puts the most recently active first", run: order },
  { name: "list filters by agent and status", run: byAgentAndStatus },
  { name: "list filters by labels, all of which must match", run: byLabels },
  { name: "list filters by literal text, ignoring ASCII case", run: byText },
  { name: "list filters by activity", run: byActivity },
  { name: "list returns only the named sessions, in its order and pages", run: byName },
  { name: "list combines all filters", run: byAll },
  { name: "list pages lose nothing when many sessions have the same time", run: pagesOfTies },
  { name: "list pages stay consistent while sessions are added, deleted and changed", run: pagesWhileActive },
  { name: "list returns at most the limit of rows", run: mostRows },
  { name: "the index can be corrected without a record", run: corrected },
  { name: "endingWith finds sessions by the end of their ids", run: endings },
];

const indexed = (bench: Bench, entry: Partial<IndexEntry> = {}): Promise<SessionId> =>
  opened(bench, 1, { index: entryOf(entry) });

async function found(bench: Bench, filter: SessionFilter): Promise<ReadonlySet<SessionId>> {
  const { rows, cursor } = await bench.store.list(filter, { limit: 100 });
  assert.equal(cursor, null);
  assert.equal(new Set(rows.map((row) => row.session)).size, rows.length);
  return new Set(rows.map((row) => row.session));
}

async function wholeRow(bench: Bench): Promise<void> {
  const entry: IndexEntry = {
    status: "sleeping",
    agent: "payroll",
    name: "Nómina “10”",
    objective: "pay\neverybody",
    priority: 9,
    labels: { team: "blue", constructor: "x", "": "" },
  };
  const session = await indexed(bench, entry);
  bench.setClock(startOfTime + 7);
  await append(bench, partOf(bench, session, "exists", { count: 2 }));
  const { rows } = await bench.store.list({}, { limit: 10 });
  const times = { openedAt: startOfTime, activeAt: startOfTime + 7 };
  assert.deepEqual(plain(rows), [{ ...entry, session, headSeq: 3, ...times, parent: null }]);
}

/** A driver may create its objects without a prototype. */
const plain = (rows: readonly SessionRow[]): readonly SessionRow[] =>
  rows.map((row) => ({ ...row, labels: { ...row.labels } }));

async function order(bench: Bench): Promise<void> {
  const [first, second, third] = [await indexed(bench), await indexed(bench), await indexed(bench)];
  const inOrder = async (): Promise<readonly SessionId[]> =>
    (await bench.store.list({}, { limit: 10 })).rows.map((row) => row.session);
  // All at one time: the greater id first.
  assert.deepEqual(await inOrder(), [third, second, first]);
  bench.setClock(startOfTime + 1);
  await append(bench, partOf(bench, second, "exists"));
  assert.deepEqual(await inOrder(), [second, third, first]);
}

async function byAgentAndStatus(bench: Bench): Promise<void> {
  const open = await indexed(bench, { agent: "a", status: "open" });
  const running = await indexed(bench, { agent: "a", status: "running" });
  const closed = await indexed(bench, { agent: "b", status: "closed" });
  const none = await indexed(bench);
  assert.deepEqual(await found(bench, {}), new Set([open, running, closed, none]));
  assert.deepEqual(await found(bench, { agent: "a" }), new Set([open, running]));
  assert.deepEqual(await found(bench, { agent: "c" }), new Set());
  assert.deepEqual(await found(bench, { status: ["open"] }), new Set([open, none]));
  assert.deepEqual(await found(bench, { status: ["running", "closed"] }), new Set([running, closed]));
  assert.deepEqual(await found(bench, { agent: "a", status: ["closed"] }), new Set());
  await append(bench, partOf(bench, open, "exists", { index: entryOf({ agent: "a", status: "closed" }) }));
  await append(bench, partOf(bench, running, "exists"));
  assert.deepEqual(await found(bench, { agent: "a", status: ["closed"] }), new Set([open]));
  assert.deepEqual(await found(bench, { status: ["running"] }), new Set([running]));
}

async function byLabels(bench: Bench): Promise<void> {
  const both = await indexed(bench, { labels: { team: "blue", tier: "1" } });
  const one = await indexed(bench, { labels: { team: "blue" } });
  const other = await indexed(bench, { labels: { team: "Blue", tier: "1", "a.b": 'quo"te' } });
  await indexed(bench);
  assert.deepEqual(await found(bench, { labels: { team: "blue" } }), new Set([both, one]));
  assert.deepEqual(await found(bench, { labels: { team: "blue", tier: "1" } }), new Set([both]));
  assert.deepEqual(await found(bench, { labels: { tier: "1" } }), new Set([both, other]));
  assert.deepEqual(await found(bench, { labels: { tier: "1", team: "red" } }), new Set());
  assert.deepEqual(await found(bench, { labels: { "a.b": 'quo"te' } }), new Set([other]));
  assert.deepEqual(await found(bench, { labels: { a: "b" } }), new Set());
  assert.equal((await found(bench, { labels: {} })).size, 4);
  await append(bench, partOf(bench, both, "exists", { index: entryOf({ labels: { tier: "2" } }) }));
  assert.deepEqual(await found(bench, { labels: { team: "blue" } }), new Set([one]));
}

async function byText(bench: Bench): Promise<void> {
  const named = await indexed(bench, { name: "November Run" });
  const aimed = await indexed(bench, { objective: "the run of NOVEMBER, 100%" });
  const accented = await indexed(bench, { name: "Ärger_mit ÉTÉ" });
  await indexed(bench);
  assert.deepEqual(await found(bench, { text: "november" }), new Set([named, aimed]));
  assert.deepEqual(await found(bench, { text: "er r" }), new Set([named]));
  assert.deepEqual(await found(bench, { text: "0%" }), new Set([aimed]));
  assert.deepEqual(await found(bench, { text: "N%r" }), new Set());
  assert.deepEqual(await found(bench, { text: "r_m" }), new Set([accented]));
  assert.deepEqual(await found(bench, { text: "e_i" }), new Set());
  assert.deepEqual(await found(bench, { text: "ÄRGER" }), new Set([accented]));
  assert.deepEqual(await found(bench, { text: "ärger" }), new Set());
}

async function byActivity(bench: Bench): Promise<void> {
  const sessions: SessionId[] = [];
  for (const later of [0, 10, 20]) {
    bench.setClock(startOfTime + later);
    sessions.push(await indexed(bench));
  }
  const [first, second, third] = sessions;
  const at = (later: number): number => startOfTime + later;
  assert.deepEqual(await found(bench, { activeSince: at(10) }), new Set([second, third]));
  assert.deepEqual(await found(bench, { activeSince: at(11) }), new Set([third]));
  assert.deepEqual(await found(bench, { activeBefore: at(10) }), new Set([first]));
  assert.deepEqual(await found(bench, { activeSince: at(1), activeBefore: at(20) }), new Set([second]));
}

async function byName(bench: Bench): Promise<void> {
  const sessions: SessionId[] = [];
  for (const later of [0, 0, 10, 20, 20]) {
    bench.setClock(startOfTime + later);
    sessions.push(await indexed(bench, { status: later === 0 ? "closed" : "open" }));
  }
  const absent = makeSessionId({ nowMs: startOfTime, random: new Uint8Array(10).fill(250) });
  const wanted = [...sessions.slice(1), absent];
  const filter = { sessions: wanted };
  assert.deepEqual(await found(bench, filter), new Set(sessions.slice(1)));
  assert.deepEqual(await found(bench, { sessions: [] }), new Set());
  assert.deepEqual(await found(bench, { ...filter, status: ["closed"] }), new Set([sessions[1]]));
  const whole = (await bench.store.list(filter, { limit: 100 })).rows.map(({ session }) => session);
  const paged: SessionId[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await bench.store.list(filter, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    paged.push(...page.rows.map(({ session }) => session));
    ({ cursor } = page);
  }
  assert.deepEqual(paged, whole);
}

async function byAll(bench: Bench): Promise<void> {
  const entry = { agent: "a", status: "open", name: "November", labels: { team: "blue" } } as const;
  const session = await indexed(bench, entry);
  for (const differs of [{ agent: "b" }, { status: "closed" }, { name: "May" }, { labels: {} }] as const) {
    await indexed(bench, { ...entry, ...differs });
  }
  const { agent, labels } = entry;
  const activity = { activeSince: startOfTime, activeBefore: startOfTime + 1 };
  const filter = { agent, labels, status: ["open"], text: "nov", ...activity } as const;
  assert.deepEqual(await found(bench, filter), new Set([session]));
}

/** Page by page; `between` runs after each page. */
async function paged(
  bench: Bench,
  filter: SessionFilter,
  limit: number,
  between: (page: number) => Promise<unknown> = async () => undefined,
): Promise<readonly SessionId[]> {
  const seen: SessionId[] = [];
  for (let page = 1, cursor: string | null | undefined; cursor !== null; page++) {
    const answer = await bench.store.list(filter, { limit, ...(cursor === undefined ? {} : { cursor }) });
    assert.ok(answer.rows.length <= limit && (answer.rows.length > 0 || answer.cursor === null));
    seen.push(...answer.rows.map((row) => row.session));
    ({ cursor } = answer);
    await between(page);
  }
  return seen;
}

async function pagesOfTies(bench: Bench): Promise<void> {
  const sessions: SessionId[] = [];
  for (let count = 0; count < 12; count++) {
    if (count === 8) bench.setClock(startOfTime + 1);
    sessions.push(await indexed(bench, { agent: count % 2 === 0 ? "a" : "b" }));
  }
  const latestFirst = sessions.toReversed();
  for (const size of [1, 3, 4, 11, 12, 13]) assert.deepEqual(await paged(bench, {}, size), latestFirst);
  const ofAgent = latestFirst.filter((_, place) => place % 2 === 1);
  assert.deepEqual(await paged(bench, { agent: "a" }, 3), ofAgent);
  assert.deepEqual(await paged(bench, { agent: "c" }, 3), []);
}

/**
 * A session that does not move appears exactly once. One that moves to the front may be missed, but never
 * appears twice.
 */
async function pagesWhileActive(bench: Bench): Promise<void> {
  const sessions: SessionId[] = [];
  for (let count = 0; count < 9; count++) {
    bench.setClock(startOfTime + count);
    sessions.push(await indexed(bench));
  }
  const [moved, , , gone] = sessions;
  assert.ok(moved && gone);
  const seen = await paged(bench, {}, 2, async (page) => {
    bench.setClock(startOfTime + 100 + page);
    await indexed(bench);
    if (page === 1) await append(bench, partOf(bench, moved, "exists"));
    if (page === 2) await dropped(bench, gone);
  });
  const still = sessions.filter((session) => session !== moved && session !== gone);
  assert.deepEqual(seen, still.toReversed());
}

async function mostRows(bench: Bench): Promise<void> {
  const most = limit.listMax;
  const parts = Array.from({ length: most + 1 }, () =>
    partOf(bench, bench.newId(), "absent", { index: entryOf() }),
  );
  for (let start = 0; start < parts.length; start += 100)
    await append(bench, ...parts.slice(start, start + 100));
  const page = await bench.store.list({}, { limit: most + 1 });
  assert.equal(page.rows.length, most);
  const rest = await bench.store.list({}, { limit: most, cursor: page.cursor ?? "" });
  assert.deepEqual([rest.rows.length, rest.cursor], [1, null]);
}

async function corrected(bench: Bench): Promise<void> {
  const session = await indexed(bench, { name: "secret", labels: { a: "1" } });
  bench.setClock(startOfTime + 50);
  const entry = entryOf({ status: "closed", labels: { b: "2" } });
  assert.equal(await bench.store.index(session, entryOf({ status: "archived" }), 2), false);
  assert.equal(await bench.store.index(session, entry, 1), true);
  const { rows } = await bench.store.list({ labels: { b: "2" } }, { limit: 10 });
  const shown = rows.map((row) => [row.session, row.name, row.status, row.headSeq, row.activeAt]);
  assert.deepEqual(shown, [[session, null, "closed", 1, startOfTime]]);
  assert.deepEqual(await found(bench, { labels: { a: "1" } }), new Set());
  assert.deepEqual(await found(bench, { text: "secret" }), new Set());
}

async function endings(bench: Bench): Promise<void> {
  const sessions = [await indexed(bench), await indexed(bench), await indexed(bench)];
  const { store } = bench;
  for (const session of sessions) {
    assert.deepEqual(await store.endingWith(session.slice(-6), 10), [session]);
    assert.deepEqual(await store.endingWith(session, 10), [session]);
  }
  assert.deepEqual(await store.endingWith("zzzzzzzz", 10), []);
  assert.deepEqual(await store.endingWith("%", 10), []);
  assert.deepEqual(await store.endingWith("______", 10), []);
  const alike = [1, 2, 3].map((nowMs) => makeSessionId({ nowMs, random: new Uint8Array(10).fill(255) }));
  await append(bench, ...alike.map((session) => partOf(bench, session, "absent", { index: entryOf() })));
  assert.deepEqual(new Set(await store.endingWith("zzzzzz", 10)), new Set(alike));
  assert.equal((await store.endingWith("zzzzzz", 2)).length, 2);
}
