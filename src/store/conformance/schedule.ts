/** Conformance: due sessions and their order, leases, and known workers. */
import assert from "node:assert/strict";
import type { SessionId } from "../../core/ids.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, dropped, entryOf, opened, partOf, startOfTime } from "./bench.ts";
import type { DueRow, IndexEntry, RunMatch } from "../port.ts";

export const scheduleCases: readonly ConformanceCase[] = [
  { name: "due returns every field that workers use", run: wholeRow },
  { name: "due orders by urgency, then agent in turn, then age", run: order },
  { name: "due orders by deadline within one priority", run: deadlines },
  { name: "due includes every agent, however many sessions another has", run: turns },
  { name: "due puts a session that ran and is due again behind the others", run: behind },
  { name: "due keeps the position of a session that stays due", run: keepsPlace },
  { name: "due includes a timer when it expires, and nextDue returns that time", run: byTime },
  { name: "due excludes leased sessions until the lease expires", run: leasedOut },
  { name: "due excludes by agent, model and labels", run: without },
  { name: "leased returns holders and sessions in the order of the leases", run: leases },
  { name: "scheduled returns the sessions in the order asked for", run: scheduled },
  { name: "deleted sessions are not due, and the index can be corrected", run: corrected },
  { name: "list filters by sessions with watches", run: watched },
  { name: "feedEnd is after every committed record", run: feedEnd },
  { name: "the workspace log has a lease, which leased does not list", run: duty },
  { name: "servers are listed until they sign off or expire", run: servers },
  { name: "workers are listed until they sign off or miss heartbeats for an hour", run: workers },
  { name: "due sessions survive reopening", run: survives, reopens: true },
];

const indexed = (bench: Bench, entry: Partial<IndexEntry>): Promise<SessionId> =>
  opened(bench, 1, { index: entryOf(entry) });

const reindexed = (bench: Bench, session: SessionId, entry: Partial<IndexEntry>) =>
  append(bench, partOf(bench, session, "exists", { index: entryOf(entry) }));

const take = (bench: Bench, session: SessionId, holder: string, leaseMs = 1_000) =>
  append(bench, partOf(bench, session, "exists", { lease: { holder, leaseMs } }));

const release = (bench: Bench, session: SessionId) =>
  append(bench, partOf(bench, session, "exists", { lease: "release" }));

interface ScheduleQuery {
  readonly nowMs?: number;
  readonly limit?: number;
  readonly perAgent?: number;
  readonly except?: readonly RunMatch[];
}

async function due({ store }: Bench, asked: ScheduleQuery = {}): Promise<readonly SessionId[]> {
  const rows = await store.due({ nowMs: startOfTime + 1_000, limit: 100, perAgent: 100, ...asked });
  return rows.map(({ session }) => session);
}

/** A driver may create its objects without a prototype. */
const plain = <T extends DueRow>(rows: readonly T[]): readonly T[] =>
  rows.map((row) => ({ ...row, labels: { ...row.labels } }));

async function wholeRow(bench: Bench): Promise<void> {
  const entry = { agent: "a", model: "m/x", priority: 2, labels: { team: "blue" }, due: 0 } as const;
  const session = await indexed(bench, { ...entry, status: "running" });
  const rows = await bench.store.due({ nowMs: startOfTime, limit: 10, perAgent: 10 });
  const row = { ...entry, session, status: "running", deadlineMs: null, sinceMs: startOfTime, lease: null };
  assert.deepEqual(plain(rows), [row]);
}

async function order(bench: Bench): Promise<void> {
  const made: SessionId[] = [];
  const given = [
    { agent: "a", priority: 5 },
    { agent: "a", priority: 5 },
    { agent: "b", priority: 5 },
    { priority: 5 },
    { agent: "b", priority: 9 },
    { agent: "b", priority: 1 },
  ];
  for (const [place, entry] of given.entries()) {
    bench.setClock(startOfTime + place);
    made.push(await indexed(bench, { ...entry, due: 0 }));
  }
  await indexed(bench, {});
  const wanted = [5, 0, 2, 3, 1, 4].map((place) => made[place]);
  assert.deepEqual(await due(bench), wanted);
  assert.deepEqual(await due(bench, { limit: 3 }), wanted.slice(0, 3));
}

async function deadlines(bench: Bench): Promise<void> {
  const plain = await indexed(bench, { agent: "a", due: 0 });
  const late = await indexed(bench, { agent: "b", due: 0, deadline: startOfTime + 900 });
  const soon = await indexed(bench, { agent: "b", due: 0, deadline: startOfTime + 800 });
  const urgent = await indexed(bench, { agent: "c", due: 0, priority: 1 });
  // Sessions that are due only by time are not urgent, whatever their deadline.
  const idle = await indexed(bench, { agent: "d", due: startOfTime + 700, deadline: startOfTime + 700 });
  assert.deepEqual(await due(bench), [urgent, soon, late, plain, idle]);
  assert.deepEqual(await due(bench, { limit: 2 }), [urgent, soon]);
  assert.deepEqual(await due(bench, { except: [{ agent: "b" }] }), [urgent, plain, idle]);
  const [row] = await bench.store.scheduled([soon]);
  assert.equal(row?.deadlineMs, startOfTime + 800);
  await reindexed(bench, soon, { agent: "b", due: 0 });
  assert.deepEqual(await due(bench, { limit: 2 }), [urgent, late]);
}

async function turns(bench: Bench): Promise<void> {
  const many: SessionId[] = [];
  for (let place = 0; place < 6; place++) {
    bench.setClock(startOfTime + place);
    many.push(await indexed(bench, { agent: "many", due: 0 }));
  }
  bench.setClock(startOfTime + 10);
  const one = await indexed(bench, { agent: "one", due: 0 });
  assert.deepEqual(await due(bench, { limit: 2 }), [many[0], one]);
  assert.deepEqual(await due(bench, { perAgent: 2 }), [many[0], one, many[1]]);
}

async function behind(bench: Bench): Promise<void> {
  const [first, second] = [await indexed(bench, { due: 0 }), await indexed(bench, { due: 0 })];
  bench.setClock(startOfTime + 1);
  await take(bench, first, "w");
  assert.deepEqual(await due(bench, { nowMs: startOfTime + 2 }), [second]);
  bench.setClock(startOfTime + 5);
  await release(bench, first);
  assert.deepEqual(await due(bench), [second, first]);
}

async function keepsPlace(bench: Bench): Promise<void> {
  const first = await indexed(bench, { due: 0 });
  bench.setClock(startOfTime + 1);
  const second = await indexed(bench, { due: 0 });
  bench.setClock(startOfTime + 2);
  await reindexed(bench, first, { due: 0, name: "another" });
  assert.deepEqual(await due(bench), [first, second]);
  await reindexed(bench, first, {});
  assert.deepEqual(await due(bench), [second]);
  await reindexed(bench, first, { due: 0 });
  assert.deepEqual(await due(bench), [second, first]);
}

async function byTime(bench: Bench): Promise<void> {
  const later = await indexed(bench, { due: startOfTime + 70 });
  const soon = await indexed(bench, { due: startOfTime + 50 });
  assert.deepEqual(await due(bench, { nowMs: startOfTime + 49 }), []);
  assert.deepEqual(await due(bench, { nowMs: startOfTime + 50 }), [soon]);
  assert.deepEqual(await due(bench), [soon, later]);
  assert.equal(await bench.store.nextDue(startOfTime), startOfTime + 50);
  assert.equal(await bench.store.nextDue(startOfTime + 50), startOfTime + 70);
  assert.equal(await bench.store.nextDue(startOfTime + 70), null);
  // Sessions with work do not hide those due by time, nor the other way round.
  const [before, after] = [await indexed(bench, { due: 0 }), startOfTime + 60];
  bench.setClock(after);
  const last = await indexed(bench, { due: 0 });
  assert.deepEqual(await due(bench), [before, soon, last, later]);
  assert.deepEqual(await due(bench, { perAgent: 2 }), [before, soon]);
}

async function leasedOut(bench: Bench): Promise<void> {
  const session = await indexed(bench, { due: 0 });
  await take(bench, session, "w", 1_000);
  bench.setClock(startOfTime + 999);
  // By the store's clock, whatever the caller's clock says.
  assert.deepEqual(await due(bench, { nowMs: startOfTime + 3_600_000 }), []);
  bench.setClock(startOfTime + 1_000);
  const rows = await bench.store.due({ nowMs: startOfTime + 1_000, limit: 1, perAgent: 1 });
  assert.deepEqual(
    rows.map(({ session: found, lease }) => [found, lease?.holder, lease?.untilMs]),
    [[session, "w", startOfTime + 1_000]],
  );
}

async function without(bench: Bench): Promise<void> {
  const a = await indexed(bench, { agent: "a", due: 0 });
  const model = await indexed(bench, { agent: "b", model: "m/x", due: 0 });
  const label = await indexed(bench, { agent: "b", labels: { team: "blue", env: "test" }, due: 0 });
  const all = new Set([a, model, label]);
  const left = async (...except: readonly RunMatch[]) => new Set(await due(bench, { except }));
  assert.deepEqual(await left(), all);
  assert.deepEqual(await left({ agent: "a" }), new Set([model, label]));
  assert.deepEqual(await left({ model: "m/x" }), new Set([a, label]));
  assert.deepEqual(await left({ labels: { team: "blue" } }), new Set([a, model]));
  assert.deepEqual(await left({ labels: { team: "blue", env: "live" } }), all);
  assert.deepEqual(await left({ agent: "b", model: "m/y" }), all);
  assert.deepEqual(await left({ agent: "a" }, { agent: "b", labels: { env: "test" } }), new Set([model]));
  assert.deepEqual(await due(bench, { except: [{ agent: "b", model: "m/x" }], perAgent: 1 }), [a, label]);
}

async function leases(bench: Bench): Promise<void> {
  const sessions = [
    await indexed(bench, { due: 0 }),
    await indexed(bench, { due: 0 }),
    await indexed(bench, {}),
  ];
  const [one, two, three] = sessions as [SessionId, SessionId, SessionId];
  await take(bench, three, "x");
  await take(bench, one, "y");
  await take(bench, two, "z");
  const held = async () =>
    (await bench.store.leased()).map(({ session, lease, due: when }) => [session, lease?.holder, when]);
  assert.deepEqual(await held(), [
    [three, "x", null],
    [one, "y", 0],
    [two, "z", 0],
  ]);
  const orders = (await bench.store.leased()).map(({ lease }) => lease?.order ?? 0);
  assert.equal(new Set(orders).size, 3);
  assert.deepEqual(
    orders,
    orders.toSorted((a, b) => a - b),
  );
  // Renewing keeps the order; taking it again does not.
  const epoch = (await bench.store.head(one))?.epoch ?? 0;
  assert.equal(await bench.store.renew(one, epoch, 5_000), true);
  await release(bench, three);
  await take(bench, three, "x");
  assert.deepEqual(
    (await held()).map(([session]) => session),
    [one, two, three],
  );
  await release(bench, one);
  assert.deepEqual(
    (await held()).map(([session]) => session),
    [two, three],
  );
}

async function scheduled(bench: Bench): Promise<void> {
  const bare = await indexed(bench, {});
  const spend = { unconfirmedNanoUsd: 170_000_000, unpriced: 2 };
  const more = { waits: "trigger", triggers: "nightly", zone: "full", nanoUsd: 12_345, ...spend } as const;
  const full = await indexed(bench, { status: "sleeping", due: startOfTime + 5, model: "m/x", ...more });
  const unknown = bench.newId();
  const rows = plain(await bench.store.scheduled([full, unknown, bare]));
  const common = { agent: null, priority: 5, labels: {}, deadlineMs: null, lease: null };
  assert.deepEqual(rows, [
    {
      ...common,
      session: full,
      status: "sleeping",
      model: "m/x",
      due: startOfTime + 5,
      sinceMs: startOfTime + 5,
      ...more,
    },
    {
      ...common,
      session: bare,
      status: "open",
      model: null,
      due: null,
      sinceMs: 0,
      waits: null,
      triggers: null,
      zone: "smart",
      nanoUsd: 0,
      unconfirmedNanoUsd: 0,
      unpriced: 0,
    },
  ]);
  const unpriced = await indexed(bench, { unpriced: 1 });
  assert.equal((await bench.store.scheduled([unpriced]))[0]?.unpriced, 1);
  await bench.store.index(unpriced, entryOf({}), 1);
  assert.equal((await bench.store.scheduled([unpriced]))[0]?.unpriced, 0);
  await take(bench, bare, "w");
  assert.equal((await bench.store.scheduled([bare]))[0]?.lease?.holder, "w");
}

async function corrected(bench: Bench): Promise<void> {
  const [kept, gone] = [await indexed(bench, { due: 0 }), await indexed(bench, { due: 0, watches: true })];
  await dropped(bench, gone);
  assert.deepEqual(await due(bench), [kept]);
  assert.deepEqual(await bench.store.scheduled([gone]), []);
  assert.equal(await bench.store.index(kept, entryOf({ due: startOfTime + 5 }), 1), true);
  assert.deepEqual(await due(bench, { nowMs: startOfTime }), []);
  assert.equal(await bench.store.nextDue(startOfTime), startOfTime + 5);
  assert.equal(await bench.store.index(kept, entryOf({ due: 0 }), 7), false);
  assert.equal(await bench.store.index(kept, entryOf({}), 1), true);
  assert.equal(await bench.store.nextDue(startOfTime), null);
}

async function watched(bench: Bench): Promise<void> {
  await indexed(bench, { due: 0 });
  const one = await indexed(bench, { watches: true });
  const found = async () =>
    (await bench.store.list({ watches: true }, { limit: 10 })).rows.map(({ session }) => session);
  assert.deepEqual(await found(), [one]);
  assert.deepEqual(
    await due(bench, {}),
    (await due(bench, {})).filter((session) => session !== one),
  );
  await reindexed(bench, one, {});
  assert.deepEqual(await found(), []);
}

async function feedEnd(bench: Bench): Promise<void> {
  await opened(bench, 3);
  const end = await bench.store.feedEnd();
  assert.deepEqual((await bench.store.feed(end, 10)).records, []);
  const session = await opened(bench, 2);
  const { records } = await bench.store.feed(end, 10);
  assert.deepEqual(
    records.map((record) => [record.session, record.seq]),
    [
      [session, 1],
      [session, 2],
    ],
  );
}

async function workers(bench: Bench): Promise<void> {
  const { store } = bench;
  const limits = [{ agent: "a", labels: { team: "blue" }, running: 2 }];
  const one = { name: "one", sinceMs: startOfTime, untilMs: startOfTime + 10, concurrency: 4, limits };
  const two = {
    name: "two",
    sinceMs: startOfTime - 5,
    untilMs: startOfTime + 20,
    concurrency: 1,
    limits: [],
  };
  await store.beat(one);
  await store.beat(two);
  assert.deepEqual(await store.workers(), [two, one]);
  await store.beat({ ...one, untilMs: startOfTime + 30 });
  assert.deepEqual(await store.workers(), [two, { ...one, untilMs: startOfTime + 30 }]);
  await store.beat({ ...two, untilMs: 0 });
  assert.deepEqual(await store.workers(), [{ ...one, untilMs: startOfTime + 30 }]);
  bench.setClock(startOfTime + 3_600_000);
  assert.equal((await store.workers()).length, 1);
  bench.setClock(startOfTime + 3_600_031);
  assert.deepEqual(await store.workers(), []);
}

async function duty(bench: Bench): Promise<void> {
  const { store } = bench;
  const { workspace } = store;
  await append(bench, partOf(bench, workspace, "unchecked"));
  const seq = (await store.head(workspace))?.seq ?? 0;
  const lease = { holder: "one", leaseMs: 10 };
  await append(bench, partOf(bench, workspace, { seq }, { lease }));
  const held = await store.head(workspace);
  assert.deepEqual([held?.epoch, held?.lease], [seq + 1, { holder: "one", untilMs: startOfTime + 10 }]);
  assert.deepEqual(await store.leased(), []);
  bench.setClock(startOfTime + 5);
  assert.equal(await store.renew(workspace, seq, 10), false);
  assert.equal(await store.renew(workspace, seq + 1, 10), true);
  assert.deepEqual((await store.head(workspace))?.lease, { holder: "one", untilMs: startOfTime + 15 });
  // A writer without the lease writes as before.
  await append(bench, partOf(bench, workspace, { seq: seq + 1 }));
  await append(bench, partOf(bench, workspace, { seq: seq + 2 }, { epoch: seq + 1, lease: "release" }));
  const free = await store.head(workspace);
  assert.deepEqual([free?.epoch, free?.lease], [0, null]);
  assert.equal(await store.renew(workspace, seq + 1, 10), false);
}

async function servers(bench: Bench): Promise<void> {
  const { store } = bench;
  const row = (holder: string, untilMs: number, address = `http://${holder}:1`) => ({
    holder,
    address,
    secret: `of ${holder}`,
    untilMs,
  });
  await store.announce(row("b", startOfTime + 10));
  await store.announce(row("a", startOfTime + 20));
  assert.deepEqual(await store.servers(), [row("a", startOfTime + 20), row("b", startOfTime + 10)]);
  await store.announce(row("b", startOfTime + 30, "http://elsewhere:2"));
  assert.deepEqual(await store.servers(), [
    row("a", startOfTime + 20),
    row("b", startOfTime + 30, "http://elsewhere:2"),
  ]);
  bench.setClock(startOfTime + 20);
  assert.deepEqual(await store.servers(), [row("b", startOfTime + 30, "http://elsewhere:2")]);
  await store.announce(row("b", 0));
  assert.deepEqual(await store.servers(), []);
}

async function survives(bench: Bench): Promise<void> {
  const first = await indexed(bench, { due: 0 });
  bench.setClock(startOfTime + 1);
  const second = await indexed(bench, { due: 0, agent: "a", waits: "input" });
  await take(bench, second, "w", 5);
  bench.setClock(startOfTime + 6);
  const store = await bench.reopen();
  const rows = await store.due({ nowMs: startOfTime + 6, limit: 10, perAgent: 10 });
  assert.deepEqual(
    rows.map(({ session, sinceMs }) => [session, sinceMs]),
    [
      [first, startOfTime],
      [second, startOfTime + 1],
    ],
  );
}
