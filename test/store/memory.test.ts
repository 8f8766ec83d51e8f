/** The memory driver against the conformance suite, and what only it is asked. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { SessionId } from "../../src/core/ids.ts";
import { makeSessionId, makeWorkspaceId } from "../../src/core/ids.ts";
import { limit } from "../../src/core/limit.ts";
import { conformance, draftOf } from "../../src/store/conformance/conformance.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { IndexEntry, Part, StoreWorld } from "../../src/store/port.ts";

const workspace = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });
const timers = {
  sleep: (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms)),
  defer: (work: () => void) => void setImmediate(work),
};
const digest: StoreWorld["digest"] = (prefix, text) =>
  createHash("sha256").update(prefix, "hex").update(text).digest("hex");
const world: StoreWorld = { ...timers, digest, now: () => 1_700_000_000_000 };
const index: IndexEntry = {
  status: "open",
  agent: null,
  name: null,
  objective: null,
  priority: 5,
  labels: {},
};

conformance({
  name: "memory",
  open: async (given) => ({
    store: memoryStore({ world: { ...given, ...timers }, workspace }),
    done: async () => undefined,
  }),
});

const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: count, random: Uint8Array.from({ length: 10 }, () => 7) });

const fork = (count: number): Part => ({
  session: idOf(count),
  expect: "absent",
  drafts: [draftOf({ body: { count } }, digest)],
  index,
  ...(count === 0 ? {} : { parent: { session: idOf(count - 1), seq: count } }),
});

test("a lineage as deep as the limit is freed from the leaf up", async () => {
  const store = memoryStore({ world, workspace });
  for (let count = 0; count <= limit.forkDepthMax; count++) await store.append([fork(count)]);
  await store.putSnapshot(idOf(0), { seq: 1, form: 1, text: "root" });
  assert.equal((await store.snapshot(idOf(limit.forkDepthMax), 9_999))?.text, "root");
  for (let count = 0; count <= limit.forkDepthMax; count++) {
    await store.append([{ session: idOf(count), expect: "exists", drafts: [], drop: true }]);
  }
  await store.sweep();
  const { sessions, records, snapshots } = await store.stats();
  assert.deepEqual([sessions, records, snapshots], [0, 0, 0]);
});

test("the id of a deleted session is not used again, even when nothing is left of it", async () => {
  const store = memoryStore({ world, workspace });
  await store.append([fork(0)]);
  await store.append([{ session: idOf(0), expect: "exists", drafts: [], drop: true }]);
  await store.sweep();
  assert.deepEqual(await store.append([fork(0)]), { kind: "conflict", session: idOf(0), headSeq: 0 });
});

test("a returned value cannot change the stored one", async () => {
  const store = memoryStore({ world, workspace });
  const labels: Record<string, string> = { team: "blue" };
  await store.append([{ ...fork(0), index: { ...index, labels } }]);
  labels["team"] = "red";
  const { rows } = await store.list({}, { limit: 1 });
  (rows[0]!.labels as Record<string, string>)["team"] = "green";
  assert.equal((await store.list({ labels: { team: "blue" } }, { limit: 1 })).rows.length, 1);
  const [record] = await store.read(idOf(0), { fromSeq: 1, toSeq: 1, limit: 1, contents: true });
  assert.throws(() => void ((record as { body: string }).body = "changed"), TypeError);
});

test("the memory store has no SQL, and names the alternative", async () => {
  const store = memoryStore({ world, workspace });
  const refused = { code: "refused", message: "a store in memory has no SQL queries", hint: /in a file/ };
  await assert.rejects(store.query("select 1", { limit: 1, bytesMax: 1_000_000, timeoutMs: 1_000 }), refused);
});

test("parts that make no sense are refused as invalid and write nothing", async () => {
  const store = memoryStore({ world, workspace });
  const drafts = [draftOf({ key: "k" }, digest), draftOf({ key: "k" }, digest)];
  const wrong: readonly (readonly Part[])[] = [
    [],
    [{ ...fork(0), drafts: [] }],
    [{ ...fork(0), drafts }],
    [{ session: workspace, expect: "exists", drafts: [], drop: true }],
    [{ session: idOf(0), expect: "absent", drafts: [], drop: true }],
    [{ session: workspace, expect: "unchecked", drafts: drafts.slice(1), index }],
    [{ ...fork(1), parent: { session: idOf(0), seq: 0 } }],
  ];
  for (const parts of wrong) await assert.rejects(store.append(parts), { code: "invalid" });
  assert.equal((await store.stats()).records, 0);
});

test("cursors and positions of another make are refused as invalid", async () => {
  const store = memoryStore({ world, workspace });
  await assert.rejects(store.list({}, { limit: 1, cursor: "elsewhere" }), { code: "invalid" });
  await assert.rejects(store.feed("elsewhere", 1), { code: "invalid" });
});

test("the parts of one typed word must stand together", async () => {
  const store = memoryStore({ world, workspace });
  const texts = ["version v2.10 is out", "10 of v2", "v2 100"];
  const drafts = texts.map((content) => draftOf({ content }, digest));
  await store.append([{ ...fork(0), drafts }]);
  const said = texts.map((text, place) => ({ session: idOf(0), seq: place + 1, text }));
  const { position: to } = await store.feed(null, 9);
  assert.equal(await store.project({ from: null, to, texts: said, items: [] }), true);
  const hits = async (text: string) => (await store.search(text, { limit: 9 })).map((hit) => hit.seq);
  assert.deepEqual(await hits("v2.10"), [1]);
  assert.deepEqual(await hits("V2-10*"), [3, 1]);
  assert.deepEqual(await hits("v2 10"), [2, 1]);
});
