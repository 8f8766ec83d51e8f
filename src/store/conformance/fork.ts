/** Conformance: forks share by reference, and a deletion leaves forks what they share. */
import assert from "node:assert/strict";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, assertWhole, drafts, dropped, entryOf, feedAll, forked } from "./bench.ts";
import { isError, opened, partOf, readAll, seqsOf, startOfTime, upTo } from "./bench.ts";
import type { Part } from "../port.ts";

export const forkCases: readonly ConformanceCase[] = [
  { name: "a fork shares its parent's prefix and chains from it", run: sharesPrefix },
  { name: "appends to a parent and to its fork are independent", run: goOnApart },
  { name: "a fork of a fork inside the shared prefix", run: forkInsidePrefix },
  { name: "a fork is at least as recent as its fork point", run: noOlder },
  { name: "a fork copies nothing", run: copiesNothing },
  { name: "a fork is accepted at the maximum depth and refused beyond", run: mostDeep },
  {
    name: "a fork of a missing position is refused and nothing is written",
    run: forkOfNothing,
    needs: ["maintenance"],
  },
  { name: "a fork opens a new session and is refused for an existing one", run: forkBegins },
  { name: "a parent and its fork are opened in one append", run: forkOfSameAppend },
  { name: "a fork may use a key of its parent again", run: keysOfFork },
  { name: "a fork starts without a lease", run: leaseOfFork },
  { name: "a deleted session is in no list, search or feed", run: deletedIsGone, needs: ["maintenance"] },
  {
    name: "a feed page smaller than a deleted session yields what follows it",
    run: feedPastDeleted,
    needs: ["maintenance"],
  },
  { name: "a deleted session accepts no append", run: deletedIsClosed, needs: ["maintenance"] },
  {
    name: "a new log is refused if its id was deleted since the caller looked, swept or not",
    run: deletedSince,
    needs: ["maintenance"],
  },
  {
    name: "a deletion is checked and is all or none like any part",
    run: deletionChecked,
    needs: ["maintenance"],
  },
  { name: "deleting a parent leaves its forks whole", run: parentDeleted, needs: ["maintenance"] },
  {
    name: "deleting a parent gives back what no fork shares",
    run: unsharedGivenBack,
    needs: ["maintenance"],
  },
  {
    name: "deleting a parent leaves its forks whole until the last fork is gone",
    run: lastForkGone,
    needs: ["maintenance"],
  },
  {
    name: "deleting a fork whose prefix was forked leaves that fork whole",
    run: insidePrefixDeleted,
    needs: ["maintenance"],
  },
  {
    name: "deleting a fork in the middle leaves those that stand on it whole",
    run: middleDeleted,
    needs: ["maintenance"],
  },
];

async function sharesPrefix(bench: Bench): Promise<void> {
  const { store } = bench;
  const parent = await opened(bench, 5);
  const child = await forked(bench, parent, 3, 2);
  await assertWhole(bench, child, 5);
  const records = await readAll(store, child);
  assert.deepEqual(records.slice(0, 3), await readAll(store, parent, { toSeq: 3 }));
  assert.deepEqual(
    records.map((record) => record.session),
    [parent, parent, parent, child, child],
  );
  assert.deepEqual((await store.head(child))?.parent, { session: parent, seq: 3 });
  assert.equal((await store.head(parent))?.parent, null);
  assert.deepEqual(await store.forks(parent), [{ session: child, seq: 3 }]);
  assert.deepEqual(await store.forks(child), []);
  const { rows } = await store.list({}, { limit: 10 });
  assert.deepEqual(rows.find((row) => row.session === child)?.parent, { session: parent, seq: 3 });
}

async function goOnApart(bench: Bench): Promise<void> {
  const parent = await opened(bench, 3);
  const children = [
    await forked(bench, parent, 3),
    await forked(bench, parent, 3),
    await forked(bench, parent, 1),
  ];
  for (const session of [parent, ...children])
    await append(bench, partOf(bench, session, "exists", { count: 2 }));
  await assertWhole(bench, parent, 5);
  for (const [place, headSeq] of [6, 6, 4].entries()) {
    const child = children[place];
    if (child) await assertWhole(bench, child, headSeq);
  }
  const places = new Map((await bench.store.forks(parent)).map((fork) => [fork.session, fork.seq]));
  assert.deepEqual(
    children.map((child) => places.get(child)),
    [3, 3, 1],
  );
}

async function forkInsidePrefix(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = await opened(bench, 6);
  const middle = await forked(bench, root, 4, 3);
  const leaf = await forked(bench, middle, 2, 2);
  const onMiddle = await forked(bench, middle, 6);
  const edge = await forked(bench, middle, 4);
  const far = await forked(bench, onMiddle, 1);
  await assertWhole(bench, leaf, 4);
  await assertWhole(bench, onMiddle, 7);
  await assertWhole(bench, edge, 5);
  await assertWhole(bench, far, 2);
  const owners = async (session: SessionId): Promise<readonly string[]> =>
    (await readAll(store, session)).map((record) => record.session);
  assert.deepEqual(await owners(leaf), [root, root, leaf, leaf]);
  assert.deepEqual(await owners(onMiddle), [root, root, root, root, middle, middle, onMiddle]);
  assert.deepEqual(await owners(edge), [root, root, root, root, edge]);
  // The parent is the named one, wherever the record at the fork point lies.
  assert.deepEqual((await store.head(leaf))?.parent, { session: middle, seq: 2 });
  assert.deepEqual((await store.head(onMiddle))?.parent, { session: middle, seq: 6 });
  const places = new Map((await store.forks(middle)).map((fork) => [fork.session, fork.seq]));
  assert.deepEqual(
    [leaf, onMiddle, edge].map((fork) => places.get(fork)),
    [2, 6, 4],
  );
  assert.deepEqual(await store.forks(root), [{ session: middle, seq: 4 }]);
}

async function insidePrefixDeleted(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = await opened(bench, 6);
  const middle = await forked(bench, root, 4, 3);
  const leaf = await forked(bench, middle, 2, 2);
  await dropped(bench, middle);
  await store.sweep();
  assert.equal((await store.stats()).records, 6 + 2);
  await assertWhole(bench, leaf, 4);
  await dropped(bench, root);
  await store.sweep();
  assert.equal((await store.stats()).records, 2 + 2);
  await assertWhole(bench, leaf, 4);
}

async function noOlder(bench: Bench): Promise<void> {
  const parent = await opened(bench, 2);
  bench.setClock(startOfTime - 9_000);
  const child = await forked(bench, parent, 2);
  assert.equal((await bench.store.head(child))?.at, startOfTime);
  await assertWhole(bench, child, 3);
}

async function copiesNothing(bench: Bench): Promise<void> {
  const parent = await opened(bench, 0, { drafts: drafts(bench, 20, { content: "x".repeat(1_000) }) });
  const before = await bench.store.stats();
  await forked(bench, parent, 20, 2);
  const after = await bench.store.stats();
  assert.equal(after.records, before.records + 2);
  assert.equal(after.contentBytes, before.contentBytes);
}

async function mostDeep(bench: Bench): Promise<void> {
  const root = await opened(bench);
  const index = entryOf();
  let parent = { session: root, seq: 1 };
  const next = (): Part => {
    const session = bench.newId();
    const part = partOf(bench, session, "absent", { index, parent });
    parent = { session, seq: parent.seq + 1 };
    return part;
  };
  for (let depth = 0; depth < limit.forkDepthMax; depth += limit.appendLogsMax) {
    await append(bench, ...Array.from({ length: limit.appendLogsMax }, next));
  }
  const { session, seq } = parent;
  assert.equal(seq, limit.forkDepthMax + 1);
  await assert.rejects(bench.store.append([next()]), isError("refused"));
  const range = { fromSeq: 1, toSeq: seq, limit: 1, contents: true };
  const [first] = await bench.store.read(session, range);
  const [last] = await bench.store.read(session, { ...range, reverse: true });
  assert.deepEqual([first?.session, last?.session], [root, session]);
  assert.equal(await bench.store.seqAt(session, startOfTime + 1), seq + 1);
  await bench.store.putSnapshot(root, { seq: 1, form: 1, text: "root" });
  assert.equal((await bench.store.snapshot(session, seq))?.text, "root");
  await dropped(bench, root);
  await bench.store.sweep();
  await assertWhole(bench, session, seq);
}

async function forkOfNothing(bench: Bench): Promise<void> {
  const parent = await opened(bench, 2);
  const [child, stranger] = [bench.newId(), bench.newId()];
  const refuses = async (session: SessionId, seq: number): Promise<void> => {
    const fork = partOf(bench, child, "absent", { index: entryOf(), parent: { session, seq } });
    const record = partOf(bench, bench.store.workspace, "unchecked");
    await assert.rejects(bench.store.append([record, fork]), isError("not-found"));
  };
  const before = await bench.store.stats();
  await refuses(parent, 3);
  await refuses(stranger, 1);
  assert.equal((await bench.store.stats()).records, before.records);
  await dropped(bench, parent);
  await refuses(parent, 1);
  assert.equal(await bench.store.head(child), undefined);
}

async function forkBegins(bench: Bench): Promise<void> {
  const [parent, other] = [await opened(bench, 2), await opened(bench, 2)];
  const more = { index: entryOf(), parent: { session: parent, seq: 1 } };
  const outcome = await bench.store.append([partOf(bench, other, "absent", more)]);
  assert.deepEqual(outcome, { kind: "conflict", session: other, headSeq: 2 });
  await assert.rejects(bench.store.append([partOf(bench, other, "unchecked", more)]), isError("invalid"));
  await assertWhole(bench, other, 2);
  assert.deepEqual(await bench.store.forks(parent), []);
}

async function forkOfSameAppend(bench: Bench): Promise<void> {
  const [parent, child] = [bench.newId(), bench.newId()];
  const index = entryOf();
  await append(
    bench,
    partOf(bench, parent, "absent", { index, count: 2 }),
    partOf(bench, child, "absent", { index, parent: { session: parent, seq: 2 } }),
  );
  await assertWhole(bench, parent, 2);
  await assertWhole(bench, child, 3);
}

async function keysOfFork(bench: Bench): Promise<void> {
  const keyed = drafts(bench, 1, { key: "k" });
  const parent = await opened(bench, 0, { drafts: keyed });
  const child = await forked(bench, parent, 1);
  await append(bench, partOf(bench, child, { seq: 2 }, { drafts: keyed }));
  const twice = await bench.store.append([partOf(bench, child, "unchecked", { drafts: keyed })]);
  assert.equal(twice.kind === "duplicate" && twice.seq, 3);
}

async function leaseOfFork(bench: Bench): Promise<void> {
  const parent = await opened(bench, 1, { lease: { holder: "one", leaseMs: 5_000 } });
  const child = await forked(bench, parent, 1);
  const head = await bench.store.head(child);
  assert.deepEqual([head?.epoch, head?.lease], [0, null]);
  assert.equal((await bench.store.head(parent))?.epoch, 1);
}

async function feedPastDeleted(bench: Bench): Promise<void> {
  const { store } = bench;
  const before = await opened(bench, 1);
  // More than a driver may fetch at once.
  const session = await opened(bench, 300);
  const after = await opened(bench, 2);
  await dropped(bench, session);
  const look = async (): Promise<void> => {
    for (const limit of [1, 3, 7]) {
      const { records } = await feedAll(store, null, limit);
      const places = records.map((record) => [record.session, record.seq]);
      assert.deepEqual(
        places,
        [
          [before, 1],
          [after, 1],
          [after, 2],
        ],
        `pages of ${limit}`,
      );
    }
  };
  await look();
  await store.sweep();
  await look();
}

async function deletedIsGone(bench: Bench): Promise<void> {
  const { store } = bench;
  const [parent, kept] = [await opened(bench), await opened(bench)];
  const session = await opened(bench, 0, {
    drafts: drafts(bench, 2, { content: "needle" }),
    parent: { session: parent, seq: 1 },
  });
  const { position } = await feedAll(store, null);
  const texts = [{ session, seq: 2, text: "needle" }];
  assert.equal(await store.project({ from: null, to: position, texts, items: [] }), true);
  await store.putSnapshot(session, { seq: 3, form: 1, text: "state" });
  const before = await store.stats();
  const [appended] = await dropped(bench, session);
  assert.deepEqual([appended?.session, appended?.headSeq, appended?.hashes], [session, 3, []]);
  const look = async (): Promise<void> => {
    assert.equal(await store.head(session), undefined);
    assert.deepEqual(await readAll(store, session), []);
    assert.deepEqual(await store.forks(parent), []);
    assert.deepEqual(await store.endingWith(session.slice(-8), 10), []);
    assert.deepEqual(await store.search("needle", { limit: 10 }), []);
    assert.equal(await store.snapshot(session, 3), undefined);
    assert.equal(await store.renew(session, 2, 5_000), false);
    const { rows } = await store.list({}, { limit: 10 });
    assert.deepEqual(new Set(rows.map((row) => row.session)), new Set([parent, kept]));
    assert.equal((await store.stats()).sessions, before.sessions - 1);
    const { records } = await feedAll(store, null);
    assert.ok(records.length > 0 && records.every((record) => record.session !== session));
  };
  await look();
  await store.sweep();
  await look();
  const after = await store.stats();
  assert.deepEqual([after.records, after.snapshots], [before.records - 2, before.snapshots - 1]);
  assert.deepEqual(await store.check(), []);
}

async function deletedIsClosed(bench: Bench): Promise<void> {
  const session = await opened(bench, 2);
  await dropped(bench, session);
  for (const expect of [{ seq: 2 }, "exists", "absent", "unchecked"] as const) {
    const outcome = await bench.store.append([partOf(bench, session, expect, { index: entryOf() })]);
    assert.deepEqual(outcome, { kind: "conflict", session, headSeq: 0 });
  }
  const again = await bench.store.append([{ session, expect: "exists", drafts: [], drop: true }]);
  assert.deepEqual(again, { kind: "conflict", session, headSeq: 0 });
  assert.equal(await bench.store.head(session), undefined);
}

async function deletedSince(bench: Bench): Promise<void> {
  const { store } = bench;
  const by = store.workspace;
  const session = await opened(bench, 2);
  const other = bench.newId();
  const before = (await store.head(by))?.seq ?? 0;
  const [draft] = drafts(bench, 1, { type: "session.deleted", body: { session } });
  if (draft === undefined) throw new Error("expected a draft");
  await append(
    bench,
    { session, expect: { seq: 2 }, drafts: [], drop: true },
    { session: by, expect: "unchecked", drafts: [draft] },
  );
  const begin = (id: typeof session, afterSeq: number) =>
    partOf(bench, id, "absent", { index: entryOf(), unlessDeleted: { by, afterSeq } });
  for (let sweeps = 0; sweeps < 2; sweeps++) {
    const outcome = await store.append([begin(session, before)]);
    assert.deepEqual(outcome, { kind: "conflict", session, headSeq: 0 });
    await store.sweep();
  }
  await append(bench, begin(other, before));
  assert.equal((await store.head(other))?.seq, 1);
  assert.equal(await store.head(session), undefined);
}

async function deletionChecked(bench: Bench): Promise<void> {
  const session = await opened(bench, 2, { lease: { holder: "one", leaseMs: 5_000 } });
  const drop = { session, expect: { seq: 2 }, drafts: [], drop: true } as const;
  const other = bench.newId();
  const record = partOf(bench, bench.store.workspace, "unchecked");
  const stale = await bench.store.append([{ ...drop, expect: { seq: 1 } }]);
  assert.deepEqual(stale, { kind: "conflict", session, headSeq: 2 });
  const fenced = await bench.store.append([{ ...drop, epoch: 2 }]);
  assert.deepEqual(fenced, { kind: "fenced", session, epoch: 1 });
  const half = await bench.store.append([drop, record, partOf(bench, other, "exists")]);
  assert.deepEqual(half, { kind: "conflict", session: other, headSeq: 0 });
  await assert.rejects(bench.store.append([{ ...drop, drafts: drafts(bench, 1) }]), isError("invalid"));
  await assertWhole(bench, session, 2);
  await append(bench, drop, record);
  assert.equal(await bench.store.head(session), undefined);
}

async function parentDeleted(bench: Bench): Promise<void> {
  const parent = await opened(bench, 5);
  const child = await forked(bench, parent, 3, 2);
  await dropped(bench, parent);
  await assertWhole(bench, child, 5);
  await bench.store.sweep();
  await assertWhole(bench, child, 5);
  assert.deepEqual((await bench.store.head(child))?.parent, { session: parent, seq: 3 });
  await append(bench, partOf(bench, child, { seq: 5 }));
  const grandchild = await forked(bench, child, 2);
  await assertWhole(bench, child, 6);
  await assertWhole(bench, grandchild, 3);
  assert.deepEqual(await readAll(bench.store, parent), []);
}

async function unsharedGivenBack(bench: Bench): Promise<void> {
  const { store } = bench;
  const parent = await opened(bench, 9);
  const [near, far] = [await forked(bench, parent, 2), await forked(bench, parent, 6)];
  await dropped(bench, parent);
  await store.sweep();
  assert.equal((await store.stats()).records, 6 + 2);
  await dropped(bench, far);
  await store.sweep();
  assert.equal((await store.stats()).records, 2 + 1);
  await assertWhole(bench, near, 3);
}

async function lastForkGone(bench: Bench): Promise<void> {
  const { store } = bench;
  const root = await opened(bench, 4);
  const middle = await forked(bench, root, 4, 2);
  const [leaf, other] = [await forked(bench, middle, 6), await forked(bench, middle, 5)];
  await dropped(bench, root);
  await dropped(bench, middle);
  await store.sweep();
  await assertWhole(bench, leaf, 7);
  await dropped(bench, leaf);
  await store.sweep();
  await assertWhole(bench, other, 6);
  assert.equal((await store.stats()).records, 4 + 1 + 1);
  await dropped(bench, other);
  await store.sweep();
  const { sessions, records, contentBytes } = await store.stats();
  assert.deepEqual([sessions, records, contentBytes], [0, 0, 0]);
  assert.deepEqual((await feedAll(store, null)).records, []);
  await opened(bench, 2);
  assert.deepEqual(seqsOf((await feedAll(store, null)).records), upTo(2));
}

async function middleDeleted(bench: Bench): Promise<void> {
  const root = await opened(bench, 2);
  const middle = await forked(bench, root, 2, 2);
  const leaf = await forked(bench, middle, 4, 2);
  await dropped(bench, middle);
  await bench.store.sweep();
  await assertWhole(bench, leaf, 6);
  await assertWhole(bench, root, 2);
  assert.deepEqual(await bench.store.forks(root), []);
}
