/**
 * States: the same from any snapshot, from none, and from bad ones; and never in more time than the log is
 * long.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { snapshotForm, snapshotText } from "../../../src/core/state.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { faultyStore } from "../../store/faulty.ts";
import { noFile } from "../../kind.ts";
import { inFile, inMemory } from "../place.ts";

/**
 * A session of many rewinds, each to just before the one before it: the worst that a log can ask of its
 * reader.
 */
async function rewoundOften(engine: Engine, count: number) {
  const session = await engine.open({ objective: "again and again" });
  for (let place = 0; place < count; place++) {
    await session.scratch(`k${place}`, place);
    await session.rewind((await session.head()).seq - 1);
  }
  return session;
}

/** By processor time: a busy machine takes longer for the same work. */
function assertQuick(started: NodeJS.CpuUsage): void {
  const { user, system } = process.cpuUsage(started);
  const ms = (user + system) / 1000;
  assert.ok(ms < 2_000, `${ms} ms`);
}

test("without snapshots the state takes as long as the log is, however often it was rewound", async () => {
  await using place = await inFile();
  const session = await rewoundOften(place.engine, 120);
  const before = snapshotText(await session.fold());
  await place.store.clearDerived();
  const other = await place.again();
  const started = process.cpuUsage();
  const state = await (await other.engine.session(session.id)).fold();
  assertQuick(started);
  assert.equal(snapshotText(state), before);
  await other.engine.close();
});

test("also when no snapshot can be written", async () => {
  await using place = inMemory();
  const session = await rewoundOften(place.engine, 60);
  const before = snapshotText(await session.fold());
  await place.store.clearDerived();
  const store = faultyStore(place.store, {
    plan: ({ op }) => (op === "putSnapshot" ? "unavailable" : "pass"),
  });
  const engine = new Engine({ store, world: place.world });
  const started = process.cpuUsage();
  assert.equal(snapshotText(await (await engine.session(session.id)).fold()), before);
  assertQuick(started);
});

test("a snapshot that is damaged, of another form or of another position is passed over", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  for (let seq = 2; seq <= 9; seq++) await session.record("fact", `k${seq}`, seq);
  const before = snapshotText(await session.fold());
  const early = snapshotText(await session.fold({ atSeq: 3 }));
  for (const snapshot of [
    { seq: 8, form: snapshotForm, text: '{"seq":8,"mind":' },
    { seq: 8, form: snapshotForm, text: "null" },
    { seq: 8, form: snapshotForm, text: early },
    { seq: 8, form: snapshotForm + 1, text: "of a newer Skein" },
  ]) {
    await place.store.putSnapshot(session.id, snapshot);
    assert.equal(snapshotText(await session.fold()), before, snapshot.text);
  }
  await place.store.putSnapshot(session.id, { seq: 4, form: snapshotForm, text: before });
  assert.equal((await session.fold({ atSeq: 5 })).mind.items.size, 4);
  assert.equal((await session.record("fact", "more", 1)).seq, 10);
});

test("a state is folded from the newest snapshot on", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  for (let seq = 2; seq <= 9; seq++) await session.record("fact", `k${seq}`, seq);
  const state = await session.fold({ atSeq: 8 });
  const reads: number[] = [];
  const { store } = place;
  await store.putSnapshot(session.id, { seq: 8, form: snapshotForm, text: snapshotText(state) });
  const watched = {
    ...store,
    read: (...args: Parameters<typeof store.read>) => {
      reads.push(args[1].fromSeq);
      return store.read(...args);
    },
  };
  const engine = new Engine({ store: watched, world: place.world });
  await (await engine.session(session.id)).fold();
  assert.deepEqual(reads, [9]);
});

test("snapshots are written now and then, and take a small part of the log", { skip: noFile() }, async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  const text = "x".repeat(100);
  for (let batch = 0; batch < 12; batch++) {
    await session.append(Array.from({ length: 100 }, () => ({ type: "input.received" as const, text })));
  }
  await session.append("the last");
  await place.engine.close();
  const raw = new DatabaseSync(place.path, { readOnly: true });
  const snapshots = raw.prepare("SELECT seq, length(text) AS bytes FROM snapshots").all();
  const log = raw
    .prepare("SELECT sum(160 + length(body) + coalesce(content_bytes, 0)) AS bytes FROM records")
    .get();
  raw.close();
  const bytes = snapshots.reduce((sum, row) => sum + Number(row["bytes"]), 0);
  assert.ok(snapshots.length >= 2 && snapshots.length <= 5, `${snapshots.length} snapshots`);
  assert.ok(bytes <= Number(log?.["bytes"]) * 0.05, `${bytes} of ${String(log?.["bytes"])} bytes`);
});
