/** Appends to SQLite, in one statement and in a transaction: both answer and write the same. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { makeSessionId, makeWorkspaceId, type SessionId } from "../../../src/core/ids.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { draftOf } from "../../../src/store/conformance/conformance.ts";
import type { Draft, Outcome, Part, Store } from "../../../src/store/port.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { digest } from "../../core/digest.ts";
import { newPath } from "../../path.ts";

const workspace = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });
const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: count, random: new Uint8Array(10).fill(7) });
const index = { status: "open", agent: null, name: null, objective: null, priority: 5, labels: {} } as const;
const draft = (more: Partial<Draft> = {}): Draft => ({ ...draftOf({ body: {} }, digest), ...more });
const opening = (count: number, more: Partial<Part> = {}): Part => ({
  session: idOf(count),
  expect: "absent",
  drafts: [draft()],
  index,
  ...more,
});
const after = (seq: number, more: Partial<Part> = {}): Part => ({
  session: idOf(1),
  expect: { seq },
  drafts: [draft()],
  ...more,
});

/** A store with a session of two records, whose head it has at hand. */
async function opened() {
  const { path, remove } = newPath();
  let now = 1_700_000_000_000;
  const world = { ...realWorld(), now: () => now };
  const stores: Store[] = [];
  const open = async (): Promise<Store> => {
    const store = await sqliteStore({ path, world, workspace });
    stores.push(store);
    return store;
  };
  const store = await open();
  await store.append([opening(1)]);
  await store.append([after(1)]);
  const dispose = async (): Promise<void> => {
    for (const one of stores) await one.close();
    remove();
  };
  return { path, store, open, pass: (ms: number) => (now += ms), [Symbol.asyncDispose]: dispose };
}

const kinds = async (store: Store, ...appends: readonly (readonly Part[])[]): Promise<string[]> => {
  const found: string[] = [];
  for (const parts of appends) found.push((await store.append(parts)).kind);
  return found;
};
const headOf = async (store: Store, count = 1) => store.head(idOf(count));
const first = (outcome: Outcome) => {
  assert.ok(outcome.kind === "ok", outcome.kind);
  return outcome.parts[0];
};

test("a connection whose head is old is refused, and nothing counts that is not written", async () => {
  await using place = await opened();
  const [one, two] = [place.store, await place.open()];
  assert.deepEqual(await kinds(two, [after(2)], [after(3)]), ["ok", "ok"]);
  assert.deepEqual(await kinds(one, [after(2)]), ["conflict"]);
  assert.deepEqual(await kinds(one, [after(4)]), ["ok"]);
  assert.deepEqual(await two.append([after(4)]), { kind: "conflict", session: idOf(1), headSeq: 5 });
  assert.equal((await headOf(two))?.seq, 5);
  await two.append([after(5, { drafts: [], drop: true })]);
  assert.deepEqual(await kinds(one, [after(5)]), ["conflict"]);
});

test("an append is checked against the head: position, hash, epoch", async () => {
  await using place = await opened();
  const { store } = place;
  const { hash = "" } = (await headOf(store)) ?? {};
  const other = "0".repeat(64);
  assert.deepEqual(
    await kinds(
      store,
      [after(1)],
      [after(3)],
      [after(2, { expect: { seq: 2, hash: other } })],
      [after(2, { expect: "absent" })],
      [after(2, { epoch: 2 })],
    ),
    ["conflict", "conflict", "conflict", "conflict", "fenced"],
  );
  assert.equal((await headOf(store))?.seq, 2);
  const open = { drafts: [draft()] };
  assert.deepEqual(
    await kinds(
      store,
      [after(2, { expect: { seq: 2, hash } })],
      [after(3, { ...open, expect: "exists" })],
      [after(4, { ...open, expect: "unchecked" })],
    ),
    ["ok", "ok", "ok"],
  );
  assert.equal((await headOf(store))?.seq, 5);
});

test("a lease is taken, enforced, and released with its record", async () => {
  await using place = await opened();
  const { store } = place;
  const lease = { holder: "one", leaseMs: 5_000 };
  const taken = await store.append([after(2, { lease })]);
  assert.equal(first(taken)?.firstSeq, 3);
  assert.deepEqual([(await headOf(store))?.epoch, (await headOf(store))?.lease?.holder], [3, "one"]);
  assert.deepEqual(await kinds(store, [after(3, { epoch: 2 })], [after(3, { epoch: 3 })]), ["fenced", "ok"]);
  assert.deepEqual(await store.append([after(4, { epoch: 9 })]), {
    kind: "fenced",
    session: idOf(1),
    epoch: 3,
  });
  assert.deepEqual(await kinds(store, [after(4, { epoch: 3, lease: "release" })]), ["ok"]);
  assert.deepEqual([(await headOf(store))?.epoch, (await headOf(store))?.lease], [0, null]);
  assert.deepEqual(await kinds(store, [after(5, { epoch: 3 })]), ["fenced"]);
});

test("all parts and all drafts are written, also when the first has a head at hand", async () => {
  await using place = await opened();
  const { store } = place;
  const both = [after(2), opening(2)];
  const outcome = await store.append(both);
  assert.ok(outcome.kind === "ok" && outcome.parts.length === 2);
  assert.deepEqual([(await headOf(store))?.seq, (await headOf(store, 2))?.seq], [3, 1]);
  const three = first(await store.append([after(3, { drafts: [draft(), draft(), draft()] })]));
  assert.deepEqual([three?.firstSeq, three?.headSeq, three?.hashes.length], [4, 6, 3]);
  assert.equal((await headOf(store))?.hash, three?.hashes[2]);
  // One that is refused keeps all others from being written.
  assert.deepEqual(await kinds(store, [after(6), opening(2)]), ["conflict"]);
  assert.equal((await headOf(store))?.seq, 6);
});

test("a key is used once, whichever way its record came in", async () => {
  await using place = await opened();
  const { store } = place;
  const [key, more] = ["ab".repeat(16), "cd".repeat(16)];
  await store.append([after(2, { drafts: [draft({ key })] })]);
  await store.append([after(3, { drafts: [draft(), draft({ key: more })] })]);
  for (const [used, seq] of [
    [key, 3],
    [more, 5],
  ] as const)
    assert.deepEqual(await store.append([after(5, { drafts: [draft({ key: used })] })]), {
      kind: "duplicate",
      session: idOf(1),
      key: used,
      seq,
    });
  assert.equal((await headOf(store))?.seq, 5);
});

test("no record is older than the one before it, in its log or in the log it forks from", async () => {
  await using place = await opened();
  const { store, pass } = place;
  const { at = 0 } = (await headOf(store)) ?? {};
  pass(-5_000);
  const alone = first(await store.append([after(2)]));
  const two = first(await store.append([after(3, { drafts: [draft(), draft()] })]));
  const parent = { session: idOf(1), seq: 3 };
  const fork = first(await store.append([opening(2, { parent })]));
  assert.deepEqual([alone?.at, two?.at, fork?.at, fork?.firstSeq], [at, at, at, 4]);
  pass(9_000);
  assert.equal(first(await store.append([after(5)]))?.at, at + 4_000);
});

test("a fork begins at a position that is there, as a new session with an index entry", async () => {
  await using place = await opened();
  const { store } = place;
  const parent = { session: idOf(1), seq: 2 };
  await assert.rejects(store.append([opening(2, { parent: { ...parent, seq: 3 } })]), { code: "not-found" });
  await assert.rejects(store.append([opening(2, { parent: { session: idOf(9), seq: 1 } })]), {
    code: "not-found",
  });
  const { index: _, ...bare } = opening(2);
  await assert.rejects(store.append([bare]), { code: "invalid" });
  assert.deepEqual(await kinds(store, [opening(2, { parent })]), ["ok"]);
  assert.deepEqual((await headOf(store, 2))?.parent, parent);
  assert.deepEqual(await kinds(store, [opening(2, { parent })]), ["conflict"]);
});

test("a record that refers to a blob needs it, also where it could be written alone", async () => {
  await using place = await opened();
  const { store } = place;
  const bytes = Buffer.from("blob");
  const hash = realWorld().hashBytes(bytes);
  const referring = after(2, { drafts: [draft({ blobs: [hash] })] });
  await assert.rejects(store.append([referring]), { code: "not-found" });
  await store.putBlob(hash, [bytes]);
  assert.deepEqual(await kinds(store, [referring]), ["ok"]);
  await store.dropBlob(hash);
  assert.notEqual(await store.blob(hash), undefined);
});

test("a type and an actor that are new are known afterwards", async () => {
  await using place = await opened();
  const { store } = place;
  await store.append([after(2, { drafts: [draft({ type: "x.new", actor: "tool:new" })] })]);
  const [record] = await store.read(idOf(1), { fromSeq: 3, toSeq: 3, limit: 1, contents: false });
  assert.deepEqual([record?.type, record?.actor], ["x.new", "tool:new"]);
});

test("a list shows what the index was set to, and since when a session rests", async () => {
  await using place = await opened();
  const { store, pass } = place;
  const { at = 0 } = (await headOf(store)) ?? {};
  const set = { ...index, status: "suspended", name: "n", agent: "a@1", labels: { k: "v" } } as const;
  pass(3_600_000);
  await store.append([after(2, { index: set })]);
  const { rows } = await store.list({}, { limit: 9 });
  const [row] = rows;
  assert.deepEqual([row?.status, row?.name, row?.agent, row?.labels], ["suspended", "n", "a@1", { k: "v" }]);
  assert.equal(row?.activeAt, at + 3_600_000);
  pass(3_600_000);
  await store.append([after(3)]);
  assert.equal((await store.list({}, { limit: 9 })).rows[0]?.activeAt, at + 7_200_000);
});

test("a list by activity finds a session after records that were each appended alone", async () => {
  await using place = await opened();
  const { store, pass } = place;
  for (let seq = 2; seq < 6; seq++) {
    pass(3_600_000);
    await store.append([after(seq)]);
  }
  const { at = 0 } = (await headOf(store)) ?? {};
  const active = await store.list({ activeSince: at - 1_000 }, { limit: 9 });
  assert.deepEqual(
    active.rows.map((row) => row.session),
    [idOf(1)],
  );
  assert.deepEqual((await store.list({ activeBefore: at - 3_600_000 }, { limit: 9 })).rows, []);
});

test("a deleted session leaves no lease, label, title or item, and a scrub is due", async () => {
  await using place = await opened();
  const { store, path } = place;
  const set = { ...index, name: "canary", objective: "canary", labels: { k: "canary" } };
  await store.append([after(2, { index: set, lease: { holder: "one", leaseMs: 5_000 } })]);
  const item = { kind: "fact", key: "k", seq: 2, at: 1, status: null, value: "canary", because: null };
  const items = [{ session: idOf(1), rows: [item] }];
  const to = await store.feedEnd();
  assert.equal(await store.project({ from: await store.projected(), to, texts: [], items }), true);
  const rows = (): unknown[] => {
    using database = new DatabaseSync(path, { readOnly: true });
    const count = (from: string): unknown =>
      database.prepare(`SELECT count(*) AS n FROM ${from}`).get()?.["n"];
    return [count("leases"), count("labels"), count("item_rows"), count("titles WHERE name IS NOT NULL")];
  };
  assert.deepEqual(rows(), [1, 1, 1, 1]);
  assert.equal((await store.stats()).unscrubbed, false);
  await store.append([after(3, { drafts: [], drop: true })]);
  assert.deepEqual(rows(), [0, 0, 0, 0]);
  assert.equal((await store.stats()).unscrubbed, true);
});
